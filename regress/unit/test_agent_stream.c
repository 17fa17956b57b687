/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * sandboxd-agent without descriptors: byte channels with credit, and the
 * keepers that stand in for control groups (on both kinds of channel).  Run
 * by whoever runs the tests.
 */

#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent_driver.h"

static void
send_data(struct driver *d, uint32_t id, const void *p, size_t n)
{
	struct msg_agent_data	m = { .exec = id, .data = { p, n } };

	driver_send(d, MSG_AGENT_DATA, 0, &m);
}

static void
send_eof(struct driver *d, uint32_t id)
{
	struct msg_agent_eof	m = { .exec = id };

	driver_send(d, MSG_AGENT_EOF, 0, &m);
}

static uint32_t
stream_run(struct driver *d, const char *text, unsigned int flags)
{
	struct command	c;
	int		i;

	for (i = 0; i < 3; i++) {
		buf_free(&d->got[i]);
		d->is_eof[i] = d->is_closed[i] = false;
	}
	d->credited = 0;
	command_init(&c);
	c.shell = text;
	c.flags = flags;
	c.rows = 40;
	c.cols = 100;
	return driver_run(d, &c, NULL);
}

/* The result, and both outputs to their ends (of a terminal, one). */
static void
stream_finish(struct driver *d, uint32_t id, bool has_pty, struct result *r)
{
	struct frame	f;
	union answer	a;

	driver_result(d, id, r);
	while (!d->is_eof[1] || (!has_pty && !d->is_eof[2]))
		assert_true(driver_next(d, &f, &a) >= MSG_AGENT_DATA);
}

static void
is_output(struct driver *d, int stream, const char *text)
{
	assert_int_equal(d->got[stream].n, strlen(text));
	assert_memory_equal(d->got[stream].p, text, strlen(text));
}

/*** Streams ***/

static void
stream_outputs_apart_and_exact(void **state)
{
	struct driver	*d = *state;
	struct result	 r;
	uint32_t	 id;

	id = stream_run(d, "printf 'out\\000\\377'; echo err >&2; exit 5", 0);
	stream_finish(d, id, false, &r);
	assert_int_equal(r.code, 5);
	assert_int_equal(d->got[1].n, 5);
	assert_memory_equal(d->got[1].p, "out\0\xff", 5);
	is_output(d, 2, "err\n");
}

static void
stream_output_precedes_result(void **state)
{
	struct driver	*d = *state;
	uint32_t	 id;
	int		 i;

	for (i = 0; i < 100; i++) {
		id = stream_run(d, "echo hi; echo oh >&2", 0);
		driver_result(d, id, NULL);
		is_output(d, 1, "hi\n");
		is_output(d, 2, "oh\n");
		stream_finish(d, stream_run(d, ":", 0), false, NULL);
	}
}

static void
stream_input_and_its_end_delivered(void **state)
{
	struct driver	*d = *state;
	struct result	 r;
	uint32_t	 id;

	id = stream_run(d, "cat; echo over", 0);
	send_data(d, id, "one\n", 4);
	send_data(d, id, "two", 3);
	send_eof(d, id);
	stream_finish(d, id, false, &r);
	is_output(d, 1, "one\ntwoover\n");
	id = stream_run(d, "cat; exit 3", 0);
	send_eof(d, id);
	stream_finish(d, id, false, &r);
	assert_int_equal(r.code, 3);
}

/* More than the window, there and back; credit is obeyed and given. */
static void
stream_big_both_ways(void **state)
{
	enum { TOTAL = 3 * 1024 * 1024 };
	struct driver	*d = *state;
	unsigned char	*all = malloc(TOTAL);
	uint64_t	 sent = 0;
	struct frame	 f;
	union answer	 a;
	uint32_t	 id;
	size_t		 n, i;

	assert_non_null(all);
	for (i = 0; i < TOTAL; i++)
		all[i] = (unsigned char)(i * 7 + i / 251);
	id = stream_run(d, "cat", 0);
	while (sent < TOTAL) {
		n = (size_t)(d->credited + STREAM_WINDOW - sent);
		n = n < STREAM_CHUNK_MAX ? n : STREAM_CHUNK_MAX;
		n = n < TOTAL - sent ? n : TOTAL - sent;
		if (n > 0)
			send_data(d, id, all + sent, n);
		else
			assert_true(driver_next(d, &f, &a) >= MSG_AGENT_DATA);
		sent += n;
	}
	send_eof(d, id);
	stream_finish(d, id, false, NULL);
	assert_int_equal(d->got[1].n, TOTAL);
	assert_memory_equal(d->got[1].p, all, TOTAL);
	free(all);
}

static void
stream_output_waits_for_credit(void **state)
{
	struct msg_agent_credit	 c = { .stream = 1, .bytes = STREAM_WINDOW };
	struct driver		*d = *state;
	struct frame		 f;
	union answer		 a;
	struct result		 r;
	uint32_t		 id, other;

	d->gives_credit = false;
	id = stream_run(d, "head -c 2000000 /dev/zero", 0);
	while (d->got[1].n < STREAM_WINDOW)
		assert_int_equal(driver_next(d, &f, &a), MSG_AGENT_DATA);
	/* Nothing more comes, and others are served. */
	other = d->next_id;
	{
		const char	*argv[] = { "/bin/false", NULL };
		struct command	 false_command;

		command_init(&false_command);
		false_command.argv = argv;
		other = driver_run(d, &false_command, NULL);
	}
	driver_result(d, other, &r);
	assert_int_equal(r.code, 1);
	assert_int_equal(d->got[1].n, STREAM_WINDOW);
	/* The ends of the other one's streams are not this one's. */
	while (!d->is_eof[1] || !d->is_eof[2])
		(void)driver_next(d, &f, &a);
	d->is_eof[1] = d->is_eof[2] = false;
	d->gives_credit = true;
	c.exec = id;
	driver_send(d, MSG_AGENT_CREDIT, 0, &c);
	stream_finish(d, id, false, &r);
	assert_int_equal(r.code, 0);
	assert_int_equal(d->got[1].n, 2000000);
}

static void
stream_reader_closed_breaks_pipe(void **state)
{
	struct msg_agent_closed	 m = { .stream = 1 };
	struct driver		*d = *state;
	struct result		 r;

	m.exec = stream_run(d, "exec yes", 0);
	driver_send(d, MSG_AGENT_CLOSED, 0, &m);
	driver_result(d, (uint32_t)m.exec, &r);
	assert_int_equal(r.signal, SIGPIPE);
	assert_false(d->is_eof[1]);
}

static void
stream_closed_input_told(void **state)
{
	struct driver	*d = *state;
	struct frame	 f;
	union answer	 a;
	uint32_t	 id;

	id = stream_run(d, "exec <&-; exec sleep 1000", 0);
	while (!d->is_closed[0])
		(void)driver_next(d, &f, &a);
	/* What was on its way is dropped. */
	send_data(d, id, "x", 1);
	send_eof(d, id);
	driver_signal(d, id, SIGTERM);
	stream_finish(d, id, false, NULL);
}

static void
stream_late_frames_ignored(void **state)
{
	struct msg_agent_credit	 c = { .exec = 999, .stream = 1, .bytes = 9 };
	struct driver		*d = *state;
	uint32_t		 id;

	id = stream_run(d, "exit 0", 0);
	stream_finish(d, id, false, NULL);
	send_data(d, id, "x", 1);
	send_eof(d, id);
	driver_send(d, MSG_AGENT_CREDIT, 0, &c);
	stream_finish(d, stream_run(d, "exit 0", 0), false, NULL);
}

static void
stream_background_output_follows(void **state)
{
	struct driver	*d = *state;
	struct result	 r;
	uint32_t	 id;

	id = stream_run(d, "(sleep 0.2; echo late) & exit 6", 0);
	stream_finish(d, id, false, &r);
	assert_int_equal(r.code, 6);
	is_output(d, 1, "late\n");
}

static void
stream_terminal_works(void **state)
{
	struct driver	*d = *state;
	struct result	 r;
	uint32_t	 id;

	id = stream_run(d, "stty -echo; stty size; cat; echo over", EXEC_PTY);
	send_data(d, id, "one\n", 4);
	send_eof(d, id);
	stream_finish(d, id, true, &r);
	assert_int_equal(r.code, 0);
	/* The echo depends on who was first; the rest does not. */
	assert_non_null(memmem(d->got[1].p, d->got[1].n, "40 100\r\n", 8));
	assert_non_null(memmem(d->got[1].p, d->got[1].n, "one\r\nover\r\n",
	    11));
	assert_false(d->is_eof[2]);
}

static void
stream_terminal_hung_up(void **state)
{
	struct msg_agent_closed	 m = { .stream = 1 };
	struct driver		*d = *state;
	struct result		 r;

	m.exec = stream_run(d, "exec sleep 1000", EXEC_PTY);
	driver_send(d, MSG_AGENT_CLOSED, 0, &m);
	driver_result(d, (uint32_t)m.exec, &r);
	assert_int_equal(r.signal, SIGHUP);
}

static void
stream_waits_without_spinning(void **state)
{
	struct msg_agent_credit	 c = { .stream = 1, .bytes = STREAM_WINDOW };
	struct driver		*d = *state;
	struct result		 r;
	uint32_t		 id;

	/* The writer is gone, its bytes are not wanted yet. */
	d->gives_credit = false;
	id = stream_run(d, "head -c 300000 /dev/zero; exec <&-", 0);
	driver_result(d, id, &r);
	assert_idle(d->pid);
	d->gives_credit = true;
	c.exec = id;
	driver_send(d, MSG_AGENT_CREDIT, 0, &c);
	while (!d->is_eof[1] || !d->is_eof[2]) {
		struct frame	f;
		union answer	a;

		(void)driver_next(d, &f, &a);
	}
	assert_int_equal(d->got[1].n, 300000);
}

/*** Keepers ***/

static const char	two_sessions[] =
    "setsid sh -c 'setsid sleep 1000 & exec sleep 1000' & "
    "(setsid sleep 1000 &); echo; exec sleep 1000";

/* Its stdout in a pipe of which only descendants have the other end. */
static uint32_t
keeper_run(struct driver *d, const char *text, int *out, pid_t *pid)
{
	struct command	c;
	uint32_t	id;
	char		byte;
	int		p[2];

	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	command_init(&c);
	c.flags = 0;
	c.shell = text;
	c.fds[1] = p[1];
	id = driver_run(d, &c, pid);
	(void)close(p[1]);
	assert_int_equal(read(p[0], &byte, 1), 1);
	*out = p[0];
	return id;
}

static bool
has_no_keeper(void *arg)
{
	struct driver	*d = arg;

	return children(d->pid, "sandboxd-keeper", NULL) == 0;
}

/* The two answers come in any order. */
static void
expect_killed(struct driver *d, uint32_t id, uint32_t request)
{
	bool		 is_killed = false, is_exited = false;
	struct frame	 f;
	union answer	 a;
	enum msg_type	 type;

	while (!is_killed || !is_exited) {
		type = driver_next(d, &f, &a);
		if (type == MSG_AGENT_KILLED) {
			assert_int_equal(f.id, request);
			assert_int_equal(a.killed.exec, id);
			is_killed = true;
		} else {
			assert_int_equal(type, MSG_AGENT_EXITED);
			assert_int_equal(a.exited.exec, id);
			assert_int_equal(a.exited.signal, SIGKILL);
			is_exited = true;
		}
	}
}

static void
keeper_results_as_without(void **state)
{
	const char	*missing[] = { "test_agent_missing", NULL };
	struct driver	*d = *state;
	struct command	 c;
	struct result	 r;
	uint32_t	 id;
	int		 i;

	command_init(&c);
	c.flags = 0;
	for (i = 0; i < 100; i++) {
		c.shell = "exit 7";
		driver_result(d, driver_run(d, &c, NULL), &r);
		assert_int_equal(r.code, 7);
	}
	c.shell = "exec sleep 1000";
	id = driver_run(d, &c, NULL);
	driver_signal(d, id, SIGUSR1);
	driver_result(d, id, &r);
	assert_int_equal(r.signal, SIGUSR1);
	c.shell = NULL;
	c.argv = missing;
	driver_fails(d, &c, "lookup", ENOENT, "test_agent_missing");
	c.argv = missing;
	c.cwd = "/nonexistent";
	driver_fails(d, &c, "cwd", ENOENT, "/nonexistent");
}

static void
keeper_kills_all_it_started(void **state)
{
	struct driver		*d = *state;
	struct msg_agent_kill	 m;
	char			 byte;
	int			 out, other;
	uint32_t		 id, id_other;
	pid_t			 pid_other;

	id_other = keeper_run(d, two_sessions, &other, &pid_other);
	id = keeper_run(d, two_sessions, &out, NULL);
	m.exec = id;
	driver_send(d, MSG_AGENT_KILL, 42, &m);
	expect_killed(d, id, 42);
	/* All are gone, and nobody else. */
	assert_int_equal(read(out, &byte, 1), 0);
	(void)close(out);
	assert_false(is_gone(pid_other));
	m.exec = id_other;
	driver_send(d, MSG_AGENT_KILL, 43, &m);
	expect_killed(d, id_other, 43);
	(void)close(other);
	/* Of what is not there any more nothing is left. */
	driver_send(d, MSG_AGENT_KILL, 44, &m);
	{
		union answer	a;

		driver_expect(d, MSG_AGENT_KILLED, 44, &a);
	}
}

/* Each makes its successor and is gone, or waits for its own child. */
static void
keeper_kills_a_running_chain(void **state)
{
	static const char	*const chains[] = {
		"f() { [ $1 -gt 20000 ] || (f $(($1+1)) &); exit; }; "
		    "echo; (f 0 &); exec sleep 1000",
		"export T='[ $1 -gt 60 ] && exec sleep 1000; "
		    "sh -c \"$T\" sh $(($1+1)); :'; "
		    "echo; exec sh -c \"$T\" sh 0",
	};
	struct driver		*d = *state;
	struct msg_agent_kill	 m;
	size_t			 i;
	char			 byte;
	int			 out;

	for (i = 0; i < sizeof(chains) / sizeof(chains[0]); i++) {
		m.exec = keeper_run(d, chains[i], &out, NULL);
		driver_send(d, MSG_AGENT_KILL, 7, &m);
		expect_killed(d, (uint32_t)m.exec, 7);
		assert_int_equal(read(out, &byte, 1), 0);
		(void)close(out);
	}
}

static void
keeper_killed_result_still_right(void **state)
{
	struct driver		*d = *state;
	struct msg_agent_kill	 m;
	struct command		 c;
	struct result		 r;
	pid_t			 keeper;
	char			 byte;
	uint32_t		 id;
	int			 p[2], out;

	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	command_init(&c);
	c.flags = 0;
	c.shell = "read go; kill -9 $PPID; exit 5";
	c.fds[0] = p[0];
	id = driver_run(d, &c, NULL);
	assert_int_equal(write(p[1], "\n", 1), 1);
	driver_result(d, id, &r);
	assert_int_equal(r.code, 5);
	(void)close(p[0]);
	(void)close(p[1]);
	/* And what is below is still found. */
	m.exec = keeper_run(d, two_sessions, &out, NULL);
	assert_int_equal(children(d->pid, "sandboxd-keeper", &keeper), 1);
	assert_int_equal(kill(keeper, SIGKILL), 0);
	driver_send(d, MSG_AGENT_KILL, 8, &m);
	expect_killed(d, (uint32_t)m.exec, 8);
	assert_int_equal(read(out, &byte, 1), 0);
	(void)close(out);
}

/* Before it could say that the command runs: then none may. */
static void
keeper_killed_at_once(void **state)
{
	struct driver	*d = *state;
	struct command	 c;
	struct frame	 f;
	union answer	 a;
	char		 byte;
	int		 p[2], i;

	for (i = 0; i < 50; i++) {
		assert_int_equal(pipe2(p, O_CLOEXEC), 0);
		command_init(&c);
		c.flags = 0;
		c.shell = "kill -9 $PPID; exec sleep 1000";
		c.fds[1] = p[1];
		(void)driver_exec(d, &c);
		(void)close(p[1]);
		if (driver_next(d, &f, &a) == MSG_AGENT_STARTED) {
			driver_signal(d, d->next_id, SIGKILL);
			wait_until(has_no_keeper, d);
			driver_signal(d, d->next_id, SIGKILL);
			driver_result(d, d->next_id, NULL);
		} else {
			assert_int_equal(f.type, MSG_AGENT_FAILED);
			assert_int_equal(a.failed.sys_errno, ECHILD);
		}
		assert_int_equal(read(p[0], &byte, 1), 0);
		(void)close(p[0]);
	}
}

static void
keeper_outlives_no_agent(void **state)
{
	struct driver	*d = *state;
	int		 status, out;
	char		 byte;

	(void)keeper_run(d, two_sessions, &out, NULL);
	assert_int_equal(kill(d->pid, SIGKILL), 0);
	assert_int_equal(waitpid(d->pid, &status, 0), d->pid);
	d->pid = 0;
	assert_int_equal(read(out, &byte, 1), 0);
	(void)close(out);
}

#define T(f)	cmocka_unit_test_setup_teardown(f, driver_start, driver_stop)
#define T_STREAM(f)	cmocka_unit_test_setup_teardown(f,		\
	    driver_start_stream, driver_stop)

int
main(void)
{
	const struct CMUnitTest	tests[] = {
		T_STREAM(stream_outputs_apart_and_exact),
		T_STREAM(stream_output_precedes_result),
		T_STREAM(stream_input_and_its_end_delivered),
		T_STREAM(stream_big_both_ways),
		T_STREAM(stream_output_waits_for_credit),
		T_STREAM(stream_reader_closed_breaks_pipe),
		T_STREAM(stream_closed_input_told),
		T_STREAM(stream_late_frames_ignored),
		T_STREAM(stream_background_output_follows),
		T_STREAM(stream_waits_without_spinning),
		T_STREAM(stream_terminal_works),
		T_STREAM(stream_terminal_hung_up),
		T(keeper_results_as_without),
		T(keeper_kills_all_it_started),
		T(keeper_kills_a_running_chain),
		T(keeper_killed_result_still_right),
		T(keeper_killed_at_once),
		T(keeper_outlives_no_agent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
