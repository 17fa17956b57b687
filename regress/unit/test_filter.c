/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * filter: what the base filter answers to calls, on each architecture, with
 * and without rubbish in the upper halves; and that the kernel takes it.
 */

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "backends/backend.h"
#include "bpf_machine.h"
#include "proto/proto.h"

#define ALLOW		((int64_t)SECCOMP_RET_ALLOW)
#define FAILS(n)	((int64_t)(SECCOMP_RET_ERRNO | (n)))
#define HIGH		0x100000000ull

static struct sock_fprog program;
static int program_fd = -1;

static int64_t
run(uint32_t arch, int nr, const uint64_t *args)
{
	struct seccomp_data data = { .nr = nr, .arch = arch };

	memcpy(data.args, args, 4 * sizeof(args[0]));
	return bpf_machine_run(&program, &data);
}

struct question {
	const char	*name;
	uint64_t	 args[4];
	int64_t		 answer;
};

static const struct question questions[] = {
	{ "read", { 0 }, ALLOW }, { "execve", { 0 }, ALLOW },
	{ "execveat", { 0 }, ALLOW }, { "ptrace", { 0 }, ALLOW },
	{ "mount", { 0 }, FAILS(EPERM) }, { "umount2", { 0 }, FAILS(EPERM) },
	{ "move_mount", { 0 }, FAILS(EPERM) }, { "bpf", { 0 }, FAILS(EPERM) },
	{ "io_uring_setup", { 0 }, FAILS(EPERM) },
	{ "setns", { 0 }, FAILS(EPERM) }, { "keyctl", { 0 }, FAILS(EPERM) },
	{ "pidfd_getfd", { 0 }, FAILS(EPERM) },
	{ "clone3", { 0 }, FAILS(ENOSYS) }, { "openat2", { 0 }, FAILS(ENOSYS) },
	{ "clone", { SIGCHLD }, ALLOW },
	{ "clone", { CLONE_VM | CLONE_VFORK | SIGCHLD }, ALLOW },
	{ "clone", { CLONE_NEWUSER | SIGCHLD }, FAILS(EPERM) },
	{ "clone", { CLONE_NEWNS }, FAILS(EPERM) },
	{ "clone", { CLONE_NEWNET }, FAILS(EPERM) },
	{ "unshare", { CLONE_FILES | CLONE_FS }, ALLOW },
	{ "unshare", { CLONE_NEWCGROUP }, FAILS(EPERM) },
	{ "unshare", { 0x80 }, FAILS(EPERM) },
	{ "ioctl", { 0, 0x5401 }, ALLOW },
	{ "ioctl", { 0, 0x5412 }, FAILS(EPERM) },
	{ "ioctl", { 0, HIGH | 0x5412 }, FAILS(EPERM) },
	{ "ioctl", { 0, 0x541c }, FAILS(EPERM) },
	{ "ioctl", { 0, 0x5423 }, FAILS(EPERM) },
	{ "ioctl", { 0, 0x40049409 }, ALLOW },		/* FICLONE */
	{ "ioctl", { 0, 0x4020940d }, ALLOW },		/* FICLONERANGE */
	{ "ioctl", { 0, 0x5000940e }, FAILS(EPERM) },	/* subvolume */
	{ "ioctl", { 0, HIGH | 0x5000940e }, FAILS(EPERM) },
	{ "chmod", { 0, 0755 }, ALLOW }, { "chmod", { 0, 01777 }, ALLOW },
	{ "chmod", { 0, 04755 }, FAILS(EPERM) },
	{ "fchmod", { 0, 02755 }, FAILS(EPERM) },
	{ "fchmodat", { 0, 0, HIGH | 04755 }, FAILS(EPERM) },
	{ "fchmodat2", { 0, 0, 04755 }, FAILS(EPERM) },
	{ "creat", { 0, 04755 }, FAILS(EPERM) },
	{ "mknod", { 0, 0104755 }, FAILS(EPERM) },
	{ "mknodat", { 0, 0, 0102755 }, FAILS(EPERM) },
	{ "open", { 0, O_RDONLY, 04755 }, ALLOW },
	{ "open", { 0, O_CREAT | O_RDWR, 0755 }, ALLOW },
	{ "open", { 0, O_CREAT | O_RDWR, 04755 }, FAILS(EPERM) },
	{ "openat", { 0, 0, O_CREAT | O_RDWR, 02755 }, FAILS(EPERM) },
	{ "openat", { 0, 0, HIGH | O_CREAT, HIGH | 04755 }, FAILS(EPERM) },
	{ "openat", { 0, 0, O_TMPFILE | O_RDWR, 04755 }, FAILS(EPERM) },
	{ "openat", { 0, 0, O_DIRECTORY, 04755 }, ALLOW },
	{ "prlimit64", { 0, 7, 1, 0 }, ALLOW },
	{ "prlimit64", { 1, 7, 0, 1 }, ALLOW },
	{ "prlimit64", { 1, 7, 1, 0 }, FAILS(EPERM) },
	{ "prlimit64", { 1, 7, HIGH, 0 }, FAILS(EPERM) },
	{ "prlimit64", { HIGH, 7, 1, 0 }, ALLOW },	/* as the kernel */
	{ "prlimit64", { 0, 4, 1, 0 }, FAILS(0) },
	{ "prlimit64", { 0, 4, 1, 1 }, FAILS(EPERM) },
	{ "setrlimit", { 4, 1 }, FAILS(0) }, { "setrlimit", { 7, 1 }, ALLOW },
	{ "setpriority", { 0, 0, 5 }, ALLOW },
	{ "setpriority", { 0, 1, 5 }, FAILS(EPERM) },
	{ "setpriority", { 2, 0, 5 }, FAILS(EPERM) },
	{ "ioprio_set", { 1, 0, 0 }, ALLOW },
	{ "ioprio_set", { 1, 7, 0 }, FAILS(EPERM) },
	{ "ioprio_set", { 3, 0, 0 }, FAILS(EPERM) },
	{ "sched_setaffinity", { 0 }, ALLOW },
	{ "sched_setaffinity", { 1 }, FAILS(EPERM) },
	{ "sched_setscheduler", { 1 }, FAILS(EPERM) },
	{ "sched_setattr", { 1 }, FAILS(EPERM) },
	{ "sched_setparam", { 1 }, FAILS(EPERM) },
	{ "sched_getaffinity", { 1 }, ALLOW },
	{ "personality", { 0xffffffff }, ALLOW },
	{ "personality", { 0x40000 }, ALLOW },
	{ "personality", { 0x400000 }, FAILS(EPERM) },
};

static const struct question sockets[] = {
	{ "socket", { 1, 1, 0 }, ALLOW }, { "socket", { 1, 5, 0 }, ALLOW },
	{ "socket", { 2, 1, 0 }, ALLOW }, { "socket", { 10, 1, 6 }, ALLOW },
	{ "socket", { 2, 02000002, 17 }, ALLOW },
	{ "socket", { HIGH | 2, HIGH | 2, HIGH }, ALLOW },
	{ "socket", { 2, 3, 1 }, FAILS(EPERM) },
	{ "socket", { 2, 1, 132 }, FAILS(EPROTONOSUPPORT) },
	{ "socket", { 10, 5, 0 }, FAILS(EPROTONOSUPPORT) },
	{ "socket", { 2, 6, 0 }, FAILS(EPROTONOSUPPORT) },
	{ "socket", { 16, 2, 0 }, FAILS(EAFNOSUPPORT) },
	{ "socket", { 16, 3, 0 }, FAILS(EPERM) },
	{ "socket", { 40, 1, 0 }, FAILS(EAFNOSUPPORT) },
	{ "socket", { 38, 5, 0 }, FAILS(EAFNOSUPPORT) },
	{ "socketpair", { 1, 1, 0 }, ALLOW },
	{ "socketpair", { 30, 1, 0 }, FAILS(EAFNOSUPPORT) },
};

static void
ask(uint32_t arch, const struct question *q, int nr)
{
	int64_t answer = run(arch, nr, q->args);

	if (answer != q->answer)
		fail_msg("%s(%llx, %llx, %llx, %llx): %llx", q->name,
		    (unsigned long long)q->args[0],
		    (unsigned long long)q->args[1],
		    (unsigned long long)q->args[2],
		    (unsigned long long)q->args[3],
		    (unsigned long long)answer);
}

static void
base_native_answers(void **state)
{
	uint32_t arch = seccomp_arch_native();
	size_t i;
	int nr;

	(void)state;
	for (i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
		nr = seccomp_syscall_resolve_name_arch(arch,
		    questions[i].name);
		if (nr >= 0)
			ask(arch, &questions[i], nr);
	}
	for (i = 0; i < sizeof(sockets) / sizeof(sockets[0]); i++)
		ask(arch, &sockets[i], seccomp_syscall_resolve_name_arch(arch,
		    sockets[i].name));
}

static void
base_i386_answers(void **state)
{
	static const struct question muxed[] = {
		{ "socketcall", { 1 }, FAILS(EAFNOSUPPORT) },
		{ "socketcall", { 8 }, FAILS(EAFNOSUPPORT) },
		{ "socketcall", { 3 }, ALLOW },
	};
	size_t i;
	int nr;

	(void)state;
	if (seccomp_arch_native() != SCMP_ARCH_X86_64)
		skip();
	for (i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
		nr = seccomp_syscall_resolve_name_arch(SCMP_ARCH_X86,
		    questions[i].name);
		if (nr >= 0)
			ask(SCMP_ARCH_X86, &questions[i], nr);
	}
	for (i = 0; i < sizeof(sockets) / sizeof(sockets[0]); i++)
		ask(SCMP_ARCH_X86, &sockets[i],
		    strcmp(sockets[i].name, "socket") == 0 ? 359 : 360);
	for (i = 0; i < sizeof(muxed) / sizeof(muxed[0]); i++)
		ask(SCMP_ARCH_X86, &muxed[i], 102);
}

static void
base_x32_and_unknown_absent(void **state)
{
	const uint64_t none[4] = { 0 };
	uint32_t arch = seccomp_arch_native();
	int nr;

	(void)state;
	for (nr = 0; nr < 1024; nr++)
		assert_int_equal(run(arch, 0x40000000 | nr, none),
		    FAILS(ENOSYS));
	for (nr = 470; nr < 1024; nr++)
		assert_int_equal(run(arch, nr, none), FAILS(ENOSYS));
	assert_int_equal(run(arch, -1, none), FAILS(ENOSYS));
	assert_int_equal(run(0x12345678, 0, none), SECCOMP_RET_KILL_PROCESS);
}

static void
base_fd_holds_the_same(void **state)
{
	size_t n = program.len * sizeof(program.filter[0]);
	char *bytes = malloc(n + 1);

	(void)state;
	assert_non_null(bytes);
	assert_int_equal(pread(program_fd, bytes, n + 1, 0), n);
	assert_memory_equal(bytes, program.filter, n);
	assert_int_equal(write(program_fd, "x", 1), -1);
	free(bytes);
}

/* In a child: the kernel's verdict on a few calls that change nothing. */
static void
base_installed_holds(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1 ||
		    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0,
		    &program) == -1)
			_exit(1);
		if (syscall(SYS_clone3, NULL, 0) != -1 || errno != ENOSYS)
			_exit(2);
		if (unshare(CLONE_NEWUSER) != -1 || errno != EPERM)
			_exit(3);
		if (getppid() == 0 || unshare(CLONE_FS) == -1)
			_exit(4);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static int
setup(void **state)
{
	struct error e = { .code = ERR_NONE };

	(void)state;
	return filter_base(&program, &program_fd, &e);
}

static int
teardown(void **state)
{
	(void)state;
	free(program.filter);
	close(program_fd);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(base_native_answers),
		cmocka_unit_test(base_i386_answers),
		cmocka_unit_test(base_x32_and_unknown_absent),
		cmocka_unit_test(base_fd_holds_the_same),
		cmocka_unit_test(base_installed_holds),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
