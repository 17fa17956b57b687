/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * sandboxd-agent: terminals on a descriptor channel.  Run by whoever runs
 * the tests, on the machine's own /dev/pts.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent_driver.h"

#define FAST	200	/* commands that end before anybody looks */

struct terminal {
	uint32_t	 id;
	pid_t		 pid;
	int		 in;	/* ours, -1 closed */
	int		 out;
};

static void
terminal_run(struct driver *d, const char *text, struct terminal *t)
{
	struct command	c;
	int		in[2], out[2];

	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	command_init(&c);
	c.shell = text;
	c.flags |= EXEC_PTY;
	c.rows = 40;
	c.cols = 100;
	c.fds[0] = in[0];
	c.fds[1] = out[1];
	t->id = driver_run(d, &c, &t->pid);
	(void)close(in[0]);
	(void)close(out[1]);
	t->in = in[1];
	t->out = out[0];
}

static void
terminal_type(struct terminal *t, const char *text)
{
	assert_int_equal(write(t->in, text, strlen(text)), (int)strlen(text));
}

/* Reads until the text ends so. */
static void
terminal_await(struct terminal *t, const char *end)
{
	char	got[4096] = "";
	size_t	n = 0, len = strlen(end);

	while (n < len || memcmp(got + n - len, end, len) != 0) {
		assert_true(n < sizeof(got) - 1);
		if (read(t->out, got + n, 1) != 1)
			fail_msg("ended after '%s'", got);
		n++;
	}
}

/* Everything to the end, and the result; closes both. */
static char *
terminal_finish(struct driver *d, struct terminal *t, struct result *r)
{
	char	*out = read_all(t->out, NULL);

	driver_result(d, t->id, r);
	fd_close(&t->in);
	return out;
}

static void
pty_is_the_controlling_terminal(void **state)
{
	struct driver	*d = *state;
	struct terminal	 t;
	struct result	 r;
	char		*out;

	terminal_run(d, "tty >/dev/null && [ -t 0 ] && [ -t 1 ] && [ -t 2 ] "
	    "&& echo told >/dev/tty && exec ls /proc/self/fd", &t);
	out = terminal_finish(d, &t, &r);
	assert_int_equal(r.code, 0);
	assert_string_equal(out, "told\r\n0  1  2  3\r\n");
	free(out);
}

static void
pty_size_is_there_from_the_start(void **state)
{
	struct driver	*d = *state;
	struct terminal	 t;
	char		*out;

	terminal_run(d, "stty size", &t);
	out = terminal_finish(d, &t, NULL);
	assert_string_equal(out, "40 100\r\n");
	free(out);
}

static void
pty_resize_signals(void **state)
{
	struct msg_agent_resize	 m;
	struct driver		*d = *state;
	struct terminal		 t;
	char			*out;
	unsigned int		 i;

	terminal_run(d, "trap 'stty size' WINCH; echo ready; "
	    "until [ \"$x\" = stop ]; do read x; done", &t);
	terminal_await(&t, "ready\r\n");
	for (i = 1; i <= 100; i++) {
		m = (struct msg_agent_resize){ .exec = t.id, .rows = i,
		    .cols = 2 * i };
		driver_send(d, MSG_AGENT_RESIZE, 0, &m);
	}
	terminal_await(&t, "100 200\r\n");
	terminal_type(&t, "stop\n");
	out = terminal_finish(d, &t, NULL);
	free(out);
}

static void
pty_fast_output_never_lost(void **state)
{
	struct driver	*d = *state;
	struct terminal	 t;
	char		*out;
	int		 i;

	for (i = 0; i < FAST; i++) {
		terminal_run(d, "echo hi", &t);
		out = terminal_finish(d, &t, NULL);
		assert_string_equal(out, "hi\r\n");
		free(out);
	}
}

static void
pty_big_output_complete(void **state)
{
	struct driver	*d = *state;
	struct terminal	 t;
	size_t		 n;
	char		*out;

	terminal_run(d, "stty -opost; seq 1 200000", &t);
	out = read_all(t.out, &n);
	driver_result(d, t.id, NULL);
	assert_int_equal(n, 1288895);
	assert_string_equal(out + n - 14, "199999\n200000\n");
	free(out);
	fd_close(&t.in);
}

static void
pty_input_and_its_end_delivered(void **state)
{
	struct driver	*d = *state;
	struct terminal	 t;
	struct result	 r;
	char		*out;

	terminal_run(d, "stty -echo; echo ready; cat; echo over", &t);
	terminal_await(&t, "ready\r\n");
	terminal_type(&t, "one\ntwo\n");
	fd_close(&t.in);
	out = terminal_finish(d, &t, &r);
	assert_string_equal(out, "one\r\ntwo\r\nover\r\n");
	assert_int_equal(r.code, 0);
	free(out);
	/* Also after an unfinished line. */
	terminal_run(d, "stty -echo; echo ready; cat; echo over", &t);
	terminal_await(&t, "ready\r\n");
	terminal_type(&t, "one");
	fd_close(&t.in);
	out = terminal_finish(d, &t, &r);
	assert_string_equal(out, "oneover\r\n");
	free(out);
}

static void
pty_keys_make_signals(void **state)
{
	struct driver	*d = *state;
	struct terminal	 t;
	struct result	 r;
	char		*out;

	terminal_run(d, "echo ready; exec sleep 1000", &t);
	terminal_await(&t, "ready\r\n");
	terminal_type(&t, "\003");
	out = terminal_finish(d, &t, &r);
	assert_int_equal(r.signal, SIGINT);
	free(out);
}

static void
pty_reader_gone_hangs_up(void **state)
{
	struct driver	*d = *state;
	struct terminal	 t;
	struct result	 r;

	terminal_run(d, "echo ready; exec sleep 1000", &t);
	terminal_await(&t, "ready\r\n");
	fd_close(&t.out);
	driver_result(d, t.id, &r);
	assert_int_equal(r.signal, SIGHUP);
	fd_close(&t.in);
}

static void
pty_slow_reader_holds_the_writer(void **state)
{
	struct driver	*d = *state;
	struct terminal	 t, other;
	size_t		 n;
	char		*out;

	/* Nobody reads: more than all buffers hold. */
	terminal_run(d, "stty -opost; head -c 2000000 /dev/zero", &t);
	/* Others are served meanwhile. */
	terminal_run(d, "echo hi", &other);
	out = terminal_finish(d, &other, NULL);
	assert_string_equal(out, "hi\r\n");
	free(out);
	out = read_all(t.out, &n);
	driver_result(d, t.id, NULL);
	assert_int_equal(n, 2000000);
	free(out);
	fd_close(&t.in);
}

static void
pty_terminal_closed_and_opened_again(void **state)
{
	struct driver	*d = *state;
	struct terminal	 t;
	char		*out;
	struct result	 r;

	/* While no slave is open the agent must neither spin nor give up. */
	terminal_run(d, "exec </dev/null >/dev/null 2>&1; "
	    "i=0; while [ $i -lt 50 ]; do /bin/true; i=$((i+1)); done; "
	    "echo again >/dev/tty; exit 3", &t);
	out = terminal_finish(d, &t, &r);
	assert_string_equal(out, "again\r\n");
	assert_int_equal(r.code, 3);
	free(out);
}

static void
pty_background_child_still_heard(void **state)
{
	struct driver	*d = *state;
	struct terminal	 t;
	struct result	 r;
	char		*out;

	terminal_run(d, "trap '' HUP; (sleep 0.2; echo late) & exit 6", &t);
	driver_result(d, t.id, &r);
	assert_int_equal(r.code, 6);
	out = read_all(t.out, NULL);
	assert_string_equal(out, "late\r\n");
	free(out);
	fd_close(&t.in);
}

static void
pty_waits_without_spinning(void **state)
{
	struct driver	*d = *state;
	struct terminal	 full, quiet, ended;
	struct result	 r;

	/* Nobody reads; no slave is open; input has ended, unread. */
	terminal_run(d, "exec yes", &full);
	terminal_run(d, "exec sleep 1000 </dev/null >/dev/null 2>&1", &quiet);
	terminal_run(d, "exec sleep 1000", &ended);
	fd_close(&ended.in);
	assert_idle(d->pid);
	driver_signal(d, full.id, SIGKILL);
	driver_result(d, full.id, &r);
	driver_signal(d, quiet.id, SIGKILL);
	driver_result(d, quiet.id, &r);
	driver_signal(d, ended.id, SIGKILL);
	driver_result(d, ended.id, &r);
	assert_idle(d->pid);
	free(read_all(full.out, NULL));
	free(read_all(quiet.out, NULL));
	free(read_all(ended.out, NULL));
	fd_close(&full.in);
	fd_close(&quiet.in);
}

#define T(f)	cmocka_unit_test_setup_teardown(f, driver_start, driver_stop)

int
main(void)
{
	const struct CMUnitTest	tests[] = {
		T(pty_is_the_controlling_terminal),
		T(pty_size_is_there_from_the_start),
		T(pty_resize_signals),
		T(pty_fast_output_never_lost),
		T(pty_big_output_complete),
		T(pty_input_and_its_end_delivered),
		T(pty_keys_make_signals),
		T(pty_reader_gone_hangs_up),
		T(pty_slow_reader_holds_the_writer),
		T(pty_terminal_closed_and_opened_again),
		T(pty_background_child_still_heard),
		T(pty_waits_without_spinning),
	};

	if (access("/dev/ptmx", R_OK | W_OK) == -1)
		return 77;
	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
