/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Unit tests of parent/confine.c: a process that went all the way down dies
 * of each system call that a taken-over front would want.
 */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "parent/parent.h"

#define NOBODY	65533u

static void
descend(void)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	bool is_root = uid == 0;
	int fd;

	confine_begin(256);
	if (is_root) {
		fd = open("/", O_RDONLY | O_DIRECTORY);
		confine_root(fd);
		uid = gid = NOBODY;
		confine_ids(uid, gid);
	}
	confine_caps();
	confine_landlock();
	confine_seccomp();
	confine_verify(uid, gid, is_root);
}

static void
try_socket(void)
{
	socket(AF_UNIX, SOCK_STREAM, 0);
}

static void
try_connect(void)
{
	connect(0, NULL, 0);
}

static void
try_accept(void)
{
	accept(0, NULL, NULL);
}

static void
try_exec(void)
{
	execl("/bin/true", "true", NULL);
}

static void
try_fork(void)
{
	syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static void
try_kill(void)
{
	kill(0, 0);
}

static void
try_ptrace(void)
{
	ptrace(PTRACE_TRACEME, 0, 0, 0);
}

static void
try_unlink(void)
{
	unlink("/nonexistent");
}

static void
try_dup(void)
{
	fcntl(0, F_DUPFD, 100);
}

static void
try_owner(void)
{
	fcntl(0, F_SETOWN, 1);
}

static void
try_option(void)
{
	setsockopt(0, IPPROTO_IP, 1, NULL, 0);
}

static void
try_setuid(void)
{
	syscall(SYS_setuid, 0);
}

static void
try_io_uring(void)
{
	syscall(425, 1, NULL);
}

#ifndef SANDBOXD_SANITIZERS
static void
try_open(void)
{
	open("/", O_RDONLY);
}

static void
try_dumpable(void)
{
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

static void
try_code(void)
{
	mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
	    -1, 0);
}
#endif

static void (*const attempts[])(void) = {
	try_socket, try_connect, try_accept, try_exec, try_fork, try_kill,
	try_ptrace, try_unlink, try_dup, try_owner, try_option, try_setuid,
	try_io_uring,
#ifndef SANDBOXD_SANITIZERS
	try_open, try_dumpable, try_code,
#endif
};

static int
status_of(void (*attempt)(void))
{
	int status;
	pid_t pid;

	assert_true((pid = fork()) != -1);
	if (pid == 0) {
		descend();
		if (attempt != NULL)
			attempt();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void
confine_nothing_tried_lives(void **state)
{
	(void)state;
	assert_int_equal(status_of(NULL), 0);
}

static void
confine_each_attempt_killed(void **state)
{
	size_t i;
	int status;

	(void)state;
	for (i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++) {
		status = status_of(attempts[i]);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), SIGSYS);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(confine_nothing_tried_lives),
		cmocka_unit_test(confine_each_attempt_killed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
