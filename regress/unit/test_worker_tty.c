/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Terminals through the worker, and quiet where nothing moves, on both kinds
 * of channel.
 */

#include <sys/socket.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "worker_driver.h"

/*** Terminals ***/

static void
pty_is_a_terminal_of_that_size(void **state)
{
	struct driver	*d = *state;
	struct reply	 r;
	uint32_t	 exec;
	char		*got;

	exec = driver_start(d, "stty size; tty; read x; stty size; "
	    "echo $TERM", "'pty':true,'rows':33,'cols':77");
	driver_refuses(d, ERR_INVALID, "rows", "exec.resize",
	    "{'exec':%u,'rows':0,'cols':5}", exec);
	driver_call(d, &r, "exec.resize",
	    "{'exec':%u,'rows':44,'cols':88}", exec);
	assert_false(r.is_error);
	reply_free(&r);
	driver_call(d, &r, "exec.write", "{'exec':%u,'data':'go\n'}", exec);
	reply_free(&r);
	driver_exits(d, exec, 0);
	got = driver_read(d, exec, "stdout", NULL);
	assert_non_null(strstr(got, "/dev/pts/"));
	assert_non_null(strstr(got, "44 88\r\n"));
	assert_non_null(strstr(got, "xterm-256color\r\n"));
	free(got);
	driver_refuses(d, ERR_CONFLICT, "stream", "exec.read",
	    "{'exec':%u,'stream':'stderr'}", exec);
	exec = driver_start(d, "exit 0", "");
	driver_refuses(d, ERR_CONFLICT, "exec", "exec.resize",
	    "{'exec':%u,'rows':4,'cols':5}", exec);
}

static void
pty_short_output_never_lost(void **state)
{
	struct driver	*d = *state;
	uint32_t	 exec;
	char		*got;
	int		 i;

	for (i = 0; i < 100; i++) {
		exec = driver_start(d, "echo hi", "'pty':true");
		driver_exits(d, exec, 0);
		got = driver_read(d, exec, "stdout", NULL);
		assert_string_equal(got, "hi\r\n");
		free(got);
	}
}

/* Shutting down sends the end; leaving altogether only detaches. */
static void
pty_detach_is_no_end(void **state)
{
	struct driver	*d = *state;
	struct reply	 r;
	uint32_t	 exec;
	int		 in;

	exec = driver_start(d, "cat >/dev/null; exit 6", "'pty':true");
	in = attach(d, exec, "stdin", 0);
	driver_write_fd(d, in, "abc\n", 4);
	detach(in);
	driver_call(d, &r, "exec.info", "{'exec':%u}", exec);
	assert_string_equal(reply_text(&r, "state"), "running");
	reply_free(&r);
	in = attach(d, exec, "stdin", 0);
	assert_int_equal(shutdown(in, SHUT_WR), 0);
	driver_exits(d, exec, 6);
	detach(in);
}

/* Descriptors that the agent would set flags on are copied by the worker. */
static void
pty_passed_pipes_keep_their_flags(void **state)
{
	struct driver	*d = *state;
	struct reply	 r;
	uint32_t	 id, exec;
	char		*got;
	int		 fds[2], in[2], out[2];

	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	fds[0] = in[0];
	fds[1] = out[1];
	id = client_send(&d->client, "exec.start", fds, 2,
	    "{'shell':'stty -echo; echo ready; read x; echo got $x',"
	    "'cwd':'/','pty':true,'fds':2}");
	client_reply(d, &d->client, id, &r);
	assert_false(r.is_error);
	exec = (uint32_t)reply_uint(&r, "exec");
	reply_free(&r);
	got = driver_read_fd(d, out[0], 7, NULL);
	assert_string_equal(got, "ready\r\n");
	free(got);
	driver_write_fd(d, in[1], "abc\n", 4);
	driver_exits(d, exec, 0);
	assert_int_equal(fcntl(in[0], F_GETFL) & O_NONBLOCK, 0);
	assert_int_equal(fcntl(out[1], F_GETFL) & O_NONBLOCK, 0);
	detach(out[1]);
	got = driver_read_fd(d, out[0], SIZE_MAX, NULL);
	assert_string_equal(got, "got abc\r\n");
	free(got);
	detach(in[0]);
	detach(in[1]);
	detach(out[0]);
}

/* Nothing to poll behind it: the agent gets pipes. */
static void
pty_without_streams_ends(void **state)
{
	struct driver	*d = *state;
	uint32_t	 exec;

	exec = driver_start(d, "cat; echo x; exit 8",
	    "'pty':true,'stdin':'null','stdout':'null'");
	driver_exits(d, exec, 8);
}

/*** Quiet ***/

static unsigned long
ticks(pid_t pid)
{
	char		 path[64];
	unsigned long	 user, system;
	FILE		*f;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%*d %*s %*c %*d %*d %*d %*d %*d %*u %*u "
	    "%*u %*u %*u %lu %lu", &user, &system), 2);
	(void)fclose(f);
	return user + system;
}

/* Stalled readers, closed ends, full inputs: nobody uses the processor. */
static void
stalled_streams_use_no_time(void **state)
{
	struct driver	*d = *state;
	struct reply	 r;
	uint32_t	 exec, i;
	unsigned long	 before;
	int		 fds[8], in[2], out[2], pass[3];

	for (i = 0; i < 8; i++) {
		exec = driver_start(d, "exec 3<&0; cat /dev/zero & sleep 600",
		    "'stdin':'relay'");
		fds[i] = attach(d, exec, i % 2 ? "stdout" : "stdin", 0);
		if (i % 2 == 0)
			assert_int_equal(shutdown(fds[i], SHUT_WR), 0);
		if (i % 4 == 0)
			detach(fds[i]);
	}
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	pass[0] = in[0];
	pass[1] = out[1];
	pass[2] = dev_null();
	i = client_send(&d->client, "exec.start", pass, 3,
	    "{'shell':'sleep 600 <&0 & cat /dev/zero','cwd':'/','fds':3}");
	client_reply(d, &d->client, i, &r);
	assert_false(r.is_error);
	reply_free(&r);
	detach(in[1]);
	/* The outputs without a reader go on; end them. */
	for (i = 1; i <= 8; i++) {
		if (i % 2 == 0)
			continue;
		driver_call(d, &r, "exec.kill", "{'exec':%u,'all':true}", i);
		reply_free(&r);
	}
	for (i = 0; i < 50; i++)
		driver_run(d, 10);
	(void)usleep(300000);
	before = ticks(d->pid);
	(void)usleep(600000);
	assert_in_range(ticks(d->pid), before, before + 5);
	for (i = 0; i < 8; i++)
		if (i % 4 != 0)
			detach(fds[i]);
	detach(in[0]);
	detach(out[0]);
	detach(out[1]);
	detach(pass[2]);
}

#define TEST(f)								\
	DRIVER_TEST(f, "", driver_agent),				\
	DRIVER_TEST(f, "_stream", driver_agent_stream)

int
main(void)
{
	const struct CMUnitTest	tests[] = {
		TEST(pty_is_a_terminal_of_that_size),
		TEST(pty_short_output_never_lost),
		TEST(pty_detach_is_no_end),
		TEST(pty_passed_pipes_keep_their_flags),
		TEST(pty_without_streams_ends),
		TEST(stalled_streams_use_no_time),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
