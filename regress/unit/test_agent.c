/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * sandboxd-agent on a descriptor channel: starting, failing, ending,
 * signals, orphans, and the end of everything.  Run by whoever runs the
 * tests, outside any sandbox, with harmless commands only.
 */

#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent_driver.h"

#define MANY		300

static void
run_argv(struct driver *d, const char *const *argv, struct result *r)
{
	struct command	c;

	command_init(&c);
	c.argv = argv;
	driver_result(d, driver_run(d, &c, NULL), r);
}

/*** Results ***/

static void
agent_exit_code_passed_on(void **state)
{
	const char	*argv[] = { "/bin/true", NULL };
	struct driver	*d = *state;
	struct result	 r;

	run_argv(d, argv, &r);
	assert_int_equal(r.code, 0);
	assert_int_equal(r.signal, 0);
	free(driver_shell(d, "exit 7", &r));
	assert_int_equal(r.code, 7);
	free(driver_shell(d, "exit 255", &r));
	assert_int_equal(r.code, 255);
}

static void
agent_death_by_signal_reported(void **state)
{
	struct driver	*d = *state;
	struct result	 r;

	free(driver_shell(d, "kill -ABRT $$", &r));
	assert_int_equal(r.signal, SIGABRT);
	assert_int_equal(r.code, 0);
	free(driver_shell(d, "kill -KILL $$", &r));
	assert_int_equal(r.signal, SIGKILL);
}

static void
agent_usage_is_measured(void **state)
{
	struct driver	*d = *state;
	struct result	 r;

	free(driver_shell(d,
	    "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done", &r));
	assert_int_equal(r.code, 0);
	assert_true(r.user_us + r.system_us > 0);
	assert_true(r.peak > 64 * 1024);
}

/*** What a command gets ***/

static void
agent_words_arrive_as_sent(void **state)
{
	const char	*argv[] = { "printf", "[%s]", "a b", "", "\xff\x01'\"",
	    "$x", NULL };
	const char	*env[] = { "PATH=/usr/bin:/bin", "A==b=", "odd name=1",
	    "noequals", NULL };
	const char	*env_argv[] = { "/usr/bin/env", NULL };
	struct driver	*d = *state;
	struct command	 c;
	char		*out;
	uint32_t	 id;
	int		 p[2], i;

	for (i = 0; i < 2; i++) {
		command_init(&c);
		c.argv = i == 0 ? argv : env_argv;
		c.env = env;
		assert_int_equal(pipe2(p, O_CLOEXEC), 0);
		c.fds[1] = p[1];
		id = driver_run(d, &c, NULL);
		(void)close(p[1]);
		out = read_all(p[0], NULL);
		assert_string_equal(out, i == 0 ?
		    "[a b][][\xff\x01'\"][$x]" :
		    "PATH=/usr/bin:/bin\nA==b=\nodd name=1\nnoequals\n");
		free(out);
		driver_result(d, id, NULL);
	}
}

static void
agent_shell_text_runs(void **state)
{
	struct driver	*d = *state;
	struct result	 r;
	char		*out;

	out = driver_shell(d, "echo \"$0\" $#; exit 3", &r);
	assert_string_equal(out, "sh 0\n");
	assert_int_equal(r.code, 3);
	free(out);
	/* Taken for a command, not for options of the shell. */
	free(driver_shell(d, "-x", &r));
	assert_int_equal(r.code, 127);
}

static void
agent_child_has_three_descriptors(void **state)
{
	char	*out = driver_shell(*state, "exec ls /proc/self/fd", NULL);

	/* The directory that ls reads is the next one. */
	assert_string_equal(out, "0\n1\n2\n3\n");
	free(out);
}

static void
agent_child_starts_clean(void **state)
{
	struct driver	*d = *state;
	char		*out;

	out = driver_shell(d, "read pid comm st ppid pgrp sid rest "
	    "</proc/self/stat; [ $pid = $pgrp ] && [ $pid = $sid ] && "
	    "echo own", NULL);
	assert_string_equal(out, "own\n");
	free(out);
	out = driver_shell(d, "grep -E '^(Sig(Blk|Ign)|NoNewPrivs)' "
	    "/proc/self/status | tr -d '\\n\\t'; umask", NULL);
	assert_string_equal(out, "SigBlk:0000000000000000"
	    "SigIgn:0000000000000000NoNewPrivs:10022\n");
	free(out);
}

static void
agent_limits_applied(void **state)
{
	struct driver	*d = *state;
	struct command	 c;
	struct result	 r;

	command_init(&c);
	c.files = 64;
	c.cpu_time = 1;
	c.shell = "[ $(ulimit -n) = 64 ] && [ $(ulimit -t) = 1 ] && "
	    "while :; do :; done";
	driver_result(d, driver_run(d, &c, NULL), &r);
	assert_int_equal(r.signal, SIGXCPU);
	/* The limit is on ticks; the usage is exact, and may be less. */
	assert_true(r.user_us + r.system_us > 0);
}

static void
agent_cwd_entered(void **state)
{
	struct driver	*d = *state;
	struct command	 c;
	struct result	 r;

	command_init(&c);
	c.cwd = "/usr/bin";
	c.shell = "[ \"$(pwd -P)\" = \"$(cd /usr/bin && pwd -P)\" ]";
	driver_result(d, driver_run(d, &c, NULL), &r);
	assert_int_equal(r.code, 0);
}

/*** What does not start ***/

static void
agent_cwd_failure_reported(void **state)
{
	const char	*argv[] = { "/bin/true", NULL };
	struct driver	*d = *state;
	struct command	 c;
	char		 path[64];
	int		 i;

	command_init(&c);
	c.argv = argv;
	c.cwd = "/nonexistent/dir";
	driver_fails(d, &c, "cwd", ENOENT, "/nonexistent/dir");
	c.cwd = "/dev/null";
	driver_fails(d, &c, "cwd", ENOTDIR, "/dev/null");
	/* No descriptor of the agent's is left to go through. */
	for (i = 3; i < 64; i++) {
		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", i);
		c.cwd = path;
		driver_fails(d, &c, "cwd", ENOENT, path);
	}
}

static void
agent_cwd_removed_refused(void **state)
{
	const char	*argv[] = { "/bin/true", NULL };
	char		 dir[] = "/tmp/test_agent.XXXXXX", path[64];
	struct driver	*d = *state;
	struct command	 c;
	pid_t		 pid;
	uint32_t	 id;

	assert_non_null(mkdtemp(dir));
	command_init(&c);
	c.cwd = dir;
	c.shell = "exec sleep 1000";
	id = driver_run(d, &c, &pid);
	assert_int_equal(rmdir(dir), 0);
	/* There, but without a path: so might be one outside the root. */
	(void)snprintf(path, sizeof(path), "/proc/%d/cwd", (int)pid);
	command_init(&c);
	c.argv = argv;
	c.cwd = path;
	driver_fails(d, &c, "cwd", ENOENT, path);
	driver_signal(d, id, SIGKILL);
	driver_result(d, id, NULL);
}

static void
put_file(const char *dir, const char *name, mode_t mode, const char *text)
{
	char	path[256];
	int	fd;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_true((fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
	    mode)) != -1);
	assert_int_equal(write(fd, text, strlen(text)), (int)strlen(text));
	(void)close(fd);
}

static void
agent_lookup_as_execvp(void **state)
{
	const char	*argv[] = { "test_agent_tool", NULL };
	char		 dir[] = "/tmp/test_agent.XXXXXX";
	char		 path[256], tool[256], rm[64];
	const char	*env[] = { path, NULL };
	struct driver	*d = *state;
	struct command	 c;
	struct result	 r;

	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "PATH=/nonexistent:%s:/dev/null",
	    dir);
	(void)snprintf(tool, sizeof(tool), "%s/test_agent_tool", dir);
	command_init(&c);
	c.argv = argv;
	c.env = env;
	driver_fails(d, &c, "lookup", ENOENT, "test_agent_tool");
	/* Found but not executable counts for more than not found. */
	put_file(dir, "test_agent_tool", 0600, "#!/bin/sh\nexit 9\n");
	driver_fails(d, &c, "lookup", EACCES, "test_agent_tool");
	assert_int_equal(chmod(tool, 0700), 0);
	driver_result(d, driver_run(d, &c, NULL), &r);
	assert_int_equal(r.code, 9);
	/* An empty entry is the working directory. */
	(void)snprintf(path, sizeof(path), "PATH=/nonexistent:");
	c.cwd = dir;
	driver_result(d, driver_run(d, &c, NULL), &r);
	assert_int_equal(r.code, 9);
	/* What the kernel cannot run is not given to a shell. */
	assert_int_equal(unlink(tool), 0);
	put_file(dir, "test_agent_tool", 0700, "exit 9\n");
	(void)snprintf(path, sizeof(path), "PATH=%s", dir);
	driver_fails(d, &c, "execve", ENOEXEC, tool);
	(void)snprintf(rm, sizeof(rm), "rm -r %s", dir);
	assert_int_equal(system(rm), 0);
}

static void
agent_execve_failure_reported(void **state)
{
	const char	*missing[] = { "/nonexistent/tool", NULL };
	const char	*directory[] = { "/usr/", NULL };
	const char	*empty[] = { "", NULL };
	const char	*none[] = { NULL };
	struct driver	*d = *state;
	struct command	 c;

	command_init(&c);
	c.argv = missing;
	driver_fails(d, &c, "execve", ENOENT, "/nonexistent/tool");
	c.argv = directory;
	driver_fails(d, &c, "execve", EACCES, "/usr/");
	c.argv = empty;
	driver_fails(d, &c, "lookup", ENOENT, "");
	c.argv = none;
	driver_fails(d, &c, "execve", EINVAL, "");
	/* Failures leave nothing behind: the agent goes on, and childless. */
	assert_int_equal(children(d->pid, NULL, NULL), 0);
}

static void
agent_group_failure_reported(void **state)
{
	const char		*argv[] = { "/bin/true", NULL };
	struct driver		*d = *state;
	struct msg_agent_exec	 m = { .exec = 77, .flags = EXEC_GROUP };
	struct buf		 words = { 0 }, env = { 0 };
	struct error		 e = { 0 };
	union answer		 a;
	int			 fds[4], i;

	put_array(&words, 1);
	put_str(&words, argv[0]);
	put_array(&env, 0);
	m.argv = (struct view){ words.p, words.n };
	m.env = (struct view){ env.p, env.n };
	m.cwd = view_of("");
	for (i = 0; i < 4; i++)
		assert_true((fds[i] = open(i < 3 ? "/dev/null" : "/dev/full",
		    O_RDWR | O_CLOEXEC)) != -1);
	assert_int_equal(chan_send(d->chan, MSG_AGENT_EXEC, 5, &m, fds, 4, &e),
	    0);
	driver_expect(d, MSG_AGENT_FAILED, 5, &a);
	assert_int_equal(a.failed.sys_errno, ENOSPC);
	assert_true(view_is(a.failed.stage, "group"));
	buf_free(&words);
	buf_free(&env);
}

/*** Many ***/

static void
agent_many_one_after_another(void **state)
{
	const char	*argv[] = { "/bin/true", NULL };
	struct driver	*d = *state;
	struct result	 r;
	int		 i;

	for (i = 0; i < MANY; i++) {
		run_argv(d, argv, &r);
		assert_int_equal(r.code, 0);
	}
}

static void
agent_many_at_once_each_answered_once(void **state)
{
	const char	*argv[] = { "/bin/true", NULL };
	bool		 is_started[MANY + 1] = { false };
	bool		 is_ended[MANY + 1] = { false };
	struct driver	*d = *state;
	struct command	 c;
	struct frame	 f;
	union answer	 a;
	enum msg_type	 type;
	int		 i;

	command_init(&c);
	c.argv = argv;
	d->next_id = 0;
	for (i = 0; i < MANY; i++)
		(void)driver_exec(d, &c);
	for (i = 0; i < 2 * MANY; i++) {
		type = driver_next(d, &f, &a);
		if (type == MSG_AGENT_STARTED) {
			assert_false(is_started[a.started.exec]);
			is_started[a.started.exec] = true;
			continue;
		}
		assert_int_equal(type, MSG_AGENT_EXITED);
		assert_true(is_started[a.exited.exec]);
		assert_false(is_ended[a.exited.exec]);
		is_ended[a.exited.exec] = true;
	}
}

static void
agent_full_table_refuses_and_recovers(void **state)
{
	const char	*argv[] = { "/bin/true", NULL };
	struct driver	*d = *state;
	struct command	 c;
	struct result	 r;
	uint32_t	 first = 0, id;
	int		 p[2], i;

	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	command_init(&c);
	c.shell = "read x";
	c.fds[0] = p[0];
	for (i = 0; i < EXECS_MAX; i++) {
		id = driver_run(d, &c, NULL);
		if (i == 0)
			first = id;
	}
	driver_fails(d, &c, "fork", EAGAIN, "");
	driver_signal(d, first, SIGTERM);
	driver_result(d, first, &r);
	assert_int_equal(r.signal, SIGTERM);
	run_argv(d, argv, &r);
	(void)close(p[0]);
	(void)close(p[1]);
	for (i = 1; i < EXECS_MAX; i++) {
		union answer a;

		driver_expect(d, MSG_AGENT_EXITED, 0, &a);
	}
}

static bool
has_no_children(void *arg)
{
	struct driver	*d = arg;

	return children(d->pid, NULL, NULL) == 0;
}

static void
agent_orphans_reaped(void **state)
{
	struct driver	*d = *state;
	struct result	 r;

	free(driver_shell(d, "i=0; while [ $i -lt 300 ]; do (true &); "
	    "i=$((i+1)); done", &r));
	assert_int_equal(r.code, 0);
	wait_until(has_no_children, d);
	/* The main process is gone before what it started. */
	free(driver_shell(d, "read x <&1 & exit 5", &r));
	assert_int_equal(r.code, 5);
	wait_until(has_no_children, d);
}

/*** Signals ***/

static void
agent_signal_reaches_the_process_group(void **state)
{
	struct driver	*d = *state;
	struct command	 c;
	struct result	 r;
	uint32_t	 id;
	char		*out;
	int		 p[2];

	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	command_init(&c);
	c.fds[1] = p[1];
	c.shell = "sleep 1000 & trap 'wait; echo got; exit 4' TERM; "
	    "echo ready; wait; wait; exit 9";
	id = driver_run(d, &c, NULL);
	(void)close(p[1]);
	out = calloc(1, 16);
	assert_int_equal(read(p[0], out, 6), 6);
	assert_string_equal(out, "ready\n");
	free(out);
	driver_signal(d, id, SIGTERM);
	out = read_all(p[0], NULL);
	assert_string_equal(out, "got\n");
	free(out);
	driver_result(d, id, &r);
	assert_int_equal(r.code, 4);
}

static void
agent_signal_to_the_dead_ignored(void **state)
{
	const char	*argv[] = { "/bin/true", NULL };
	struct driver	*d = *state;
	struct result	 r;

	run_argv(d, argv, &r);
	driver_signal(d, d->next_id, SIGKILL);
	driver_signal(d, 999, SIGKILL);
	run_argv(d, argv, &r);
	assert_int_equal(r.code, 0);
}

/*** The end ***/

static void
agent_channel_closed_kills_all(void **state)
{
	struct driver	*d = *state;
	struct command	 c;
	pid_t		 pid, below;
	int		 p[2];
	char		 byte;

	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	command_init(&c);
	c.fds[1] = p[1];
	c.shell = "setsid sh -c 'sleep 1000 & echo; wait' & exec sleep 1000";
	(void)driver_run(d, &c, &pid);
	(void)close(p[1]);
	assert_int_equal(read(p[0], &byte, 1), 1);
	assert_int_equal(children(pid, NULL, &below), 1);
	(void)driver_stop(state);
	/* Nobody holds the pipe any more. */
	assert_int_equal(read(p[0], &byte, 1), 0);
	(void)close(p[0]);
	assert_true(is_gone(pid));
	assert_true(is_gone(below));
}

static void
agent_bad_frame_ends_it(void **state)
{
	struct driver		*d = *state;
	struct msg_agent_eof	 m = { .exec = 1 };
	struct command		 c;
	pid_t			 pid;
	int			 status;

	command_init(&c);
	c.shell = "exec sleep 1000";
	(void)driver_run(d, &c, &pid);
	/* Not for this kind of channel. */
	driver_send(d, MSG_AGENT_EOF, 0, &m);
	assert_int_equal(waitpid(d->pid, &status, 0), d->pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 1);
	assert_true(is_gone(pid));
	d->pid = 0;
	(void)driver_stop(state);
}

#define T(f)	cmocka_unit_test_setup_teardown(f, driver_start, driver_stop)
#define T_END(f)	cmocka_unit_test_setup(f, driver_start)

int
main(void)
{
	const struct CMUnitTest	tests[] = {
		T(agent_exit_code_passed_on),
		T(agent_death_by_signal_reported),
		T(agent_usage_is_measured),
		T(agent_words_arrive_as_sent),
		T(agent_shell_text_runs),
		T(agent_child_has_three_descriptors),
		T(agent_child_starts_clean),
		T(agent_limits_applied),
		T(agent_cwd_entered),
		T(agent_cwd_failure_reported),
		T(agent_cwd_removed_refused),
		T(agent_lookup_as_execvp),
		T(agent_execve_failure_reported),
		T(agent_group_failure_reported),
		T(agent_many_one_after_another),
		T(agent_many_at_once_each_answered_once),
		T(agent_full_table_refuses_and_recovers),
		T(agent_orphans_reaped),
		T(agent_signal_reaches_the_process_group),
		T(agent_signal_to_the_dead_ignored),
		T_END(agent_channel_closed_kills_all),
		T_END(agent_bad_frame_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
