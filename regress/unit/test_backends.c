/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * backends: the table, destinations of mounts, bwrap's words explained, and
 * the steps of a child that need no rights.
 */

#include <sys/types.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "backends/backend.h"
#include "backends/child.h"
#include "proto/proto.h"

static void
table_complete(void **state)
{
	const struct backend *b;
	size_t i;

	(void)state;
	for (i = 0; (b = backend_table[i]) != NULL; i++) {
		assert_true(name_is_valid(b->name));
		assert_ptr_equal(backend_find(b->name), b);
		assert_non_null(b->probe);
		assert_non_null(b->enter);
		assert_non_null(b->protections);
		assert_true((b->agent_pid == NULL) == (b->explain == NULL));
	}
	assert_int_equal(i, 3);
	assert_null(backend_find("nothing"));
	assert_null(backend_find(""));
	assert_int_equal(backend_find("ns")->level, LEVEL_NAMESPACE);
	assert_int_equal(backend_find("bwrap")->level, LEVEL_NAMESPACE);
	assert_int_equal(backend_find("host")->level, LEVEL_NONE);
}

static void
ns_without_root_says_why(void **state)
{
	struct error e = { .code = ERR_NONE };

	(void)state;
	assert_int_equal(backend_find("ns")->probe(false, &e), -1);
	assert_int_equal(e.code, ERR_UNAVAILABLE);
	assert_true(e.message[0] != '\0' && e.fix[0] != '\0');
	assert_int_equal(backend_find("host")->probe(false, &e), 0);
}

static void
destination_judged(void **state)
{
	static const struct {
		const char	*path;
		int		 answer;
	} paths[] = {
		{ "/workspace", 0 }, { "/a/b/c", 0 }, { "/process", 0 },
		{ "/deva/x", 0 }, { "/...", 0 }, { "/a/..b", 0 },
		{ "", -1 }, { "/", -1 }, { "a", -1 }, { "//", -1 },
		{ "/a//b", -1 }, { "/a/", -1 }, { "/.", -1 }, { "/a/.", -1 },
		{ "/..", -1 }, { "/a/../b", -1 }, { "/proc", -1 },
		{ "/proc/1", -1 }, { "/dev/shm", -1 }, { "/sys", -1 },
		{ "/sys/fs", -1 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		struct error e = { .code = ERR_NONE };

		if (picture_destination(paths[i].path, &e) != paths[i].answer)
			fail_msg("\"%s\"", paths[i].path);
		if (paths[i].answer == -1)
			assert_string_equal(e.key, "mounts");
	}
}

/* Paths of the picture lead nowhere but into it. */
static void
picture_paths_relative(void **state)
{
	const struct picture_text *t;
	const char *const *p;

	(void)state;
	for (p = picture_etc; *p != NULL; p++)
		assert_memory_equal(*p, "etc/", 4);
	for (p = picture_system; *p != NULL; p++)
		assert_null(strchr(*p, '/'));
	for (t = picture_files; t->path != NULL; t++) {
		assert_int_not_equal(t->path[0], '/');
		assert_null(strstr(t->path, ".."));
		assert_int_equal(t->text[strlen(t->text) - 1], '\n');
	}
}

static void
explain_names_cause_and_fix(void **state)
{
	static const struct {
		const char	*text;
		const char	*cause;
		const char	*fix;
	} words[] = {
		{ "bwrap: Unknown option --disable-userns\n", "too old",
		    "install" },
		{ "bwrap: loopback: Failed RTM_NEWADDR: Operation not "
		    "permitted\n", "AppArmor", "sysctl" },
		{ "bwrap: setting up uid map: Permission denied\n",
		    "AppArmor", "sysctl" },
		{ "bwrap: Creating new namespace failed: No space left on "
		    "device\n", "no further", "max_user_namespaces" },
		{ "bwrap: Can't mount proc on /newroot/proc: Operation not "
		    "permitted\n", "hidden", "container" },
		{ "bwrap: Can't mkdir /bin/x: Read-only file system\n",
		    "mounted there", "another place" },
		{ "bwrap: something else\nmore\n", "something else", "bwrap" },
		{ "", "said nothing", "bwrap" },
	};
	const struct backend *b = backend_find("bwrap");
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		struct error e = { .code = ERR_NONE };

		b->explain(words[i].text, &e);
		/* A kernel without user namespaces explains everything. */
		if (strstr(e.message, "are disabled") != NULL)
			skip();
		if (strstr(e.message, words[i].cause) == NULL ||
		    strstr(e.fix, words[i].fix) == NULL)
			fail_msg("%s: %s; %s", words[i].text, e.message,
			    e.fix);
	}
}

static void
agent_pid_absent_is_minus_one(void **state)
{
	const struct backend *b = backend_find("bwrap");
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		pause();
		_exit(0);
	}
	assert_int_equal(b->agent_pid(pid), -1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(b->agent_pid(pid), -1);
}

/* Exit status of a child that ran the steps: the line that failed, or 0. */
static int
in_child(int (*step)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(step());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int
step_limits(void)
{
	struct error e = { .code = ERR_NONE };
	struct rlimit limit;

	if (child_limits(128, &e) == -1)
		return 1;
	if (getrlimit(RLIMIT_NOFILE, &limit) == -1 || limit.rlim_cur != 128 ||
	    limit.rlim_max != 128)
		return 2;
	if (getrlimit(RLIMIT_CORE, &limit) == -1 || limit.rlim_max > 1)
		return 3;
	/* More than we may have is what we may have. */
	if (child_limits(UINT64_MAX, &e) == -1)
		return 4;
	if (getrlimit(RLIMIT_NOFILE, &limit) == -1 || limit.rlim_cur != 128)
		return 5;
	return 0;
}

static void
limits_clamped(void **state)
{
	(void)state;
	assert_int_equal(in_child(step_limits), 0);
}

static int
step_descriptors(void)
{
	struct error e = { .code = ERR_NONE };
	struct backend_create c = { .agent_fd = open("/dev/null", O_RDONLY),
	    .channel_fd = open("/dev/zero", O_RDWR) };
	int fd, other = fcntl(0, F_DUPFD, 20);

	if (dup2(0, AGENT_CHANNEL_FD) == -1)
		return 1;
	c.agent_fd = fcntl(c.agent_fd, F_DUPFD, 4);
	c.channel_fd = open("/dev/zero", O_RDWR | O_CLOEXEC);
	if ((fd = child_descriptors(&c, &e)) == -1 || child_stdio(-1, &e) == -1)
		return 2;
	if (fcntl(AGENT_CHANNEL_FD, F_GETFD) != 0)
		return 3;
	if (fcntl(fd, F_GETFD) != FD_CLOEXEC ||
	    fcntl(other, F_GETFD) != FD_CLOEXEC)
		return 4;
	for (fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) != 0)
			return 5;
	return 0;
}

static void
descriptors_only_four_stay(void **state)
{
	(void)state;
	assert_int_equal(in_child(step_descriptors), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_complete),
		cmocka_unit_test(ns_without_root_says_why),
		cmocka_unit_test(destination_judged),
		cmocka_unit_test(picture_paths_relative),
		cmocka_unit_test(explain_names_cause_and_fix),
		cmocka_unit_test(agent_pid_absent_is_minus_one),
		cmocka_unit_test(limits_clamped),
		cmocka_unit_test(descriptors_only_four_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
