/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The worker with the test as its agent and broker: what an agent that
 * speaks for an attacker may say, groups, deadlines, bounds.
 */

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "worker_driver.h"

static int
set_up(void **state)
{
	*state = driver_new(0, NULL);
	return 0;
}

static int
set_up_stream(void **state)
{
	*state = driver_new(WITH_STREAM, NULL);
	return 0;
}

static int
set_up_groups(void **state)
{
	*state = driver_new(WITH_GROUPS, NULL);
	return 0;
}

/* Asks for an exec and lets it start; the number of the exec. */
static uint32_t
start(struct driver *d, const char *more)
{
	struct msg_agent_started	 m;
	struct reply			 r;
	union message			 u;
	uint32_t			 id;

	id = client_send(&d->client, "exec.start", NULL, 0,
	    "{'argv':['x']%s%s}", more[0] == '\0' ? "" : ",", more);
	side_expect(d, &d->agent, MSG_AGENT_EXEC, &u, NULL);
	m.exec = u.agent_exec.exec;
	m.pid = 4711;
	side_send(&d->agent, MSG_AGENT_STARTED, &m, -1);
	client_reply(d, &d->client, id, &r);
	if (r.is_error)
		fail_msg("start: %s", reply_text(&r, "message"));
	assert_int_equal(reply_uint(&r, "exec"), m.exec);
	reply_free(&r);
	return (uint32_t)m.exec;
}

static void
ended(struct driver *d, uint32_t exec, uint64_t code, uint64_t sig)
{
	struct msg_agent_exited	m = { .exec = exec, .code = code,
				    .signal = sig, .user_us = 1500000,
				    .peak = 4096 };

	side_send(&d->agent, MSG_AGENT_EXITED, &m, -1);
}

static void
over(struct driver *d, const char *cause)
{
	union message	u;
	char		got[33];

	side_expect(d, &d->broker, MSG_WORKER_OVER, &u, NULL);
	assert_int_equal(text_copy(got, sizeof(got), u.worker_over.cause), 0);
	assert_string_equal(got, cause);
	assert_true(u.worker_over.text.n > 0);
}

/* The broker's answer to WORKER_OVER. */
static void
end(struct driver *d, const char *cause)
{
	struct msg_worker_end	m = { view_of(cause) };

	side_send(&d->broker, MSG_WORKER_END, &m, -1);
	driver_wait_exit(d);
}

static void
result_is_what_the_agent_said(void **state)
{
	struct driver	*d = *state;
	struct reply	 r;
	uint32_t	 exec;

	exec = start(d, "'stdin':'null','stdout':'null','stderr':'null'");
	ended(d, exec, 9, 0);
	driver_result(d, exec, &r);
	assert_int_equal(reply_int(&r, "code"), 9);
	assert_int_equal(reply_int(&r, "peak"), 4096);
	reply_free(&r);
}

/*** Bad frames ***/

static void
bad_stream_number(struct driver *d, uint32_t exec)
{
	struct msg_agent_data	m = { exec, 0, view_of("x") };

	side_send(&d->agent, MSG_AGENT_DATA, &m, -1);
}

static void
bad_data_without_credit(struct driver *d, uint32_t exec)
{
	static unsigned char	bytes[STREAM_CHUNK_MAX];
	struct msg_agent_data	m = { exec, 1, { bytes, sizeof(bytes) } };
	int			i;

	/* Nobody reads, but all that is kept has room for the window. */
	for (i = 0; i < 2 + RING_MAX / STREAM_CHUNK_MAX; i++) {
		if (d->agent.is_gone)
			break;
		side_send(&d->agent, MSG_AGENT_DATA, &m, -1);
	}
}

static void
bad_data_after_eof(struct driver *d, uint32_t exec)
{
	struct msg_agent_eof	eof = { exec, 1 };
	struct msg_agent_data	m = { exec, 1, view_of("x") };

	side_send(&d->agent, MSG_AGENT_EOF, &eof, -1);
	side_send(&d->agent, MSG_AGENT_DATA, &m, -1);
}

static void
bad_credit(struct driver *d, uint32_t exec)
{
	struct msg_agent_credit	m = { exec, 0, 1 };

	side_send(&d->agent, MSG_AGENT_CREDIT, &m, -1);
}

static void
bad_started_twice(struct driver *d, uint32_t exec)
{
	struct msg_agent_started	m = { exec, 1 };

	side_send(&d->agent, MSG_AGENT_STARTED, &m, -1);
}

static void
bad_failed_late(struct driver *d, uint32_t exec)
{
	struct msg_agent_failed	m = { exec, view_of("fork"), 11,
				    view_of("") };

	side_send(&d->agent, MSG_AGENT_FAILED, &m, -1);
}

static void
bad_exited_twice(struct driver *d, uint32_t exec)
{
	ended(d, exec, 0, 0);
	ended(d, exec, 0, 0);
}

static void
bad_unknown_exec(struct driver *d, uint32_t exec)
{
	ended(d, exec + 1, 0, 0);
}

static void
bad_killed_unasked(struct driver *d, uint32_t exec)
{
	struct msg_agent_killed	m = { exec };

	side_send(&d->agent, MSG_AGENT_KILLED, &m, -1);
}

static void
bad_hello_again(struct driver *d, uint32_t exec)
{
	struct msg_agent_hello	m = { WIRE_VERSION };

	(void)exec;
	side_send(&d->agent, MSG_AGENT_HELLO, &m, -1);
}

static void
bad_direction(struct driver *d, uint32_t exec)
{
	struct msg_agent_kill	m = { exec };

	side_send(&d->agent, MSG_AGENT_KILL, &m, -1);
}

static void
bad_bytes(struct driver *d, uint32_t exec)
{
	(void)exec;
	assert_int_equal(write(chan_fd(d->agent.chan),
	    "0123456789abcdef0123", 20), 20);
}

/* Each of them ends its sandbox, with results for what was running. */
static void
bad_frames_end_the_sandbox(void **state)
{
	static void	(*const bad[])(struct driver *, uint32_t) = {
		bad_stream_number, bad_data_without_credit,
		bad_data_after_eof, bad_credit, bad_started_twice,
		bad_failed_late, bad_exited_twice, bad_unknown_exec,
		bad_killed_unasked, bad_hello_again, bad_direction, bad_bytes,
	};
	struct driver	*d;
	struct reply	 r;
	uint32_t	 exec, id;
	size_t		 i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		d = driver_new(WITH_STREAM, NULL);
		exec = start(d, "'stdin':'relay','output_full':'block'");
		id = client_send(&d->client, "exec.wait", NULL, 0,
		    "{'exec':%u}", exec);
		bad[i](d, exec);
		over(d, "lost");
		end(d, "lost");
		client_reply(d, &d->client, id, &r);
		assert_false(r.is_error);
		if (bad[i] != bad_exited_twice)
			assert_string_equal(reply_text(&r, "cause"), "lost");
		reply_free(&r);
		driver_free(d);
	}
}

static void
stream_frames_only_on_streams(void **state)
{
	struct driver		*d = *state;
	struct msg_agent_data	 m = { 1, 1, view_of("x") };

	assert_int_equal(start(d, ""), 1);
	/* Such a channel does not even take them in. */
	side_send(&d->agent, MSG_AGENT_DATA, &m, -1);
	over(d, "lost");
	end(d, "lost");
}

/* A broker that says nothing: results all the same. */
static void
lost_agent_is_not_waited_for(void **state)
{
	struct driver	*d = *state;
	struct reply	 r;
	uint32_t	 exec, id;

	exec = start(d, "");
	id = client_send(&d->client, "exec.wait", NULL, 0, "{'exec':%u}",
	    exec);
	side_send(&d->agent, MSG_AGENT_STARTED,
	    &(struct msg_agent_started){ exec, 1 }, -1);
	over(d, "lost");
	client_reply(d, &d->client, id, &r);
	assert_string_equal(reply_text(&r, "cause"), "lost");
	reply_free(&r);
	driver_wait_exit(d);
}

/* With WORKER_END on its way, that cause wins. */
static void
end_cause_wins_over_lost(void **state)
{
	struct driver	*d = *state;
	struct reply	 r;
	uint32_t	 exec, id, early;

	exec = start(d, "");
	id = client_send(&d->client, "exec.wait", NULL, 0, "{'exec':%u}",
	    exec);
	early = client_send(&d->client, "exec.start", NULL, 0,
	    "{'argv':['x']}");
	side_expect(d, &d->agent, MSG_AGENT_EXEC, &(union message){ 0 },
	    NULL);
	chan_free(d->agent.chan);
	d->agent.chan = NULL;
	over(d, "lost");
	end(d, "expired");
	client_reply(d, &d->client, id, &r);
	assert_string_equal(reply_text(&r, "cause"), "expired");
	reply_free(&r);
	client_reply(d, &d->client, early, &r);
	reply_is_error(&r, ERR_UNAVAILABLE, "");
	reply_free(&r);
}

static void
end_of_life_is_expired(void **state)
{
	struct limits	 limits = { .ends = (uint64_t)now_ms() + 200 };
	struct driver	*d = driver_new(0, &limits);

	(void)state;
	over(d, "expired");
	end(d, "expired");
	driver_free(d);
}

/*** Limits of the sandbox ***/

static void
limits_are_defaults_and_ceilings(void **state)
{
	struct limits	 limits = { .timeout = 60000, .cpu_time = 5000,
			    .output = 1000 };
	struct driver	*d = driver_new(0, &limits);
	union message	 u;

	(void)state;
	driver_refuses(d, ERR_INVALID, "timeout", "exec.start",
	    "{'argv':['x'],'timeout':61}");
	driver_refuses(d, ERR_INVALID, "cpu_time", "exec.start",
	    "{'argv':['x'],'cpu_time':5.001}");
	driver_refuses(d, ERR_INVALID, "output", "exec.start",
	    "{'argv':['x'],'output':1001}");
	(void)client_send(&d->client, "exec.start", NULL, 0,
	    "{'argv':['x']}");
	side_expect(d, &d->agent, MSG_AGENT_EXEC, &u, NULL);
	assert_int_equal(u.agent_exec.cpu_time, 5);
	(void)client_send(&d->client, "exec.start", NULL, 0,
	    "{'argv':['x'],'cpu_time':1.5,'timeout':59.9}");
	side_expect(d, &d->agent, MSG_AGENT_EXEC, &u, NULL);
	assert_int_equal(u.agent_exec.cpu_time, 2);
	driver_free(d);
}

/*** Groups ***/

static void
group_joins_and_is_done(void **state)
{
	struct driver	*d = *state;
	union message	 u;
	struct reply	 r;
	uint32_t	 id;
	int		 fds[FRAME_FDS_MAX + 1];

	id = client_send(&d->client, "exec.start", NULL, 0,
	    "{'argv':['x'],'stdin':'null','stdout':'null',"
	    "'stderr':'null'}");
	side_expect(d, &d->agent, MSG_AGENT_EXEC, &u, fds);
	assert_int_equal(u.agent_exec.flags, EXEC_GROUP);
	assert_true(fds[3] != -1 && fds[4] == -1);
	while (fds[0] != -1) {
		(void)close(fds[0]);
		memmove(fds, fds + 1, sizeof(fds) - sizeof(fds[0]));
	}
	side_send(&d->agent, MSG_AGENT_STARTED,
	    &(struct msg_agent_started){ 1, 5 }, -1);
	client_reply(d, &d->client, id, &r);
	reply_free(&r);
	ended(d, 1, 0, 0);
	side_expect(d, &d->broker, MSG_WORKER_DONE, &u, NULL);
	assert_true(u.worker_done.group > 0);
	driver_exits(d, 1, 0);
}

/* No group is there: the start waits, and other requests do not. */
static void
start_waits_for_a_group(void **state)
{
	struct driver			*d;
	struct msg_worker_group		 g = { 77 };
	struct reply			 r;
	union message			 u;
	uint32_t			 id;
	int				 fd = dev_null();

	(void)state;
	d = driver_new(WITH_GROUPS | KEEPS_GROUPS, NULL);
	side_expect(d, &d->broker, MSG_WORKER_GROUPS, &u, NULL);
	assert_int_equal(u.worker_groups.count, GROUPS_AHEAD);
	side_send(&d->broker, MSG_WORKER_GROUP, &g, fd);
	(void)start(d, "");
	id = client_send(&d->client, "exec.start", NULL, 0,
	    "{'argv':['x'],'env':{'A':'B'}}");
	driver_call(d, &r, "exec.list", "{}");
	reply_free(&r);
	assert_false(client_has_reply(&d->client, id));
	g.group++;
	side_send(&d->broker, MSG_WORKER_GROUP, &g, fd);
	side_expect(d, &d->agent, MSG_AGENT_EXEC, &u, NULL);
	assert_int_equal(u.agent_exec.flags, EXEC_GROUP);
	assert_true(u.agent_exec.env.n > 20);
	side_send(&d->agent, MSG_AGENT_STARTED,
	    &(struct msg_agent_started){ u.agent_exec.exec, 5 }, -1);
	client_reply(d, &d->client, id, &r);
	assert_false(r.is_error);
	reply_free(&r);
	/* None comes: the time of the exec runs all the same. */
	id = client_send(&d->client, "exec.start", NULL, 0,
	    "{'argv':['x'],'timeout':0.1}");
	client_reply(d, &d->client, id, &r);
	reply_is_error(&r, ERR_TIMEOUT, "");
	reply_free(&r);
	(void)close(fd);
	driver_free(d);
}

static void
timeout_kills_the_group(void **state)
{
	struct driver			*d = *state;
	struct msg_worker_killed	 k;
	struct reply			 r;
	union message			 u;
	uint32_t			 exec;

	exec = start(d, "'timeout':0.1");
	side_expect(d, &d->broker, MSG_WORKER_KILL, &u, NULL);
	k.group = u.worker_kill.group;
	k.is_empty = true;
	ended(d, exec, 0, SIGKILL);
	side_send(&d->broker, MSG_WORKER_KILLED, &k, -1);
	driver_result(d, exec, &r);
	assert_string_equal(reply_text(&r, "cause"), "timeout");
	reply_free(&r);
}

/* Killed, but the agent keeps it to itself. */
static void
killed_without_exit_gets_a_result(void **state)
{
	struct driver			*d = *state;
	struct msg_worker_killed	 k;
	struct reply			 r;
	union message			 u;
	uint32_t			 exec;

	exec = start(d, "'timeout':0.1");
	side_expect(d, &d->broker, MSG_WORKER_KILL, &u, NULL);
	k.group = u.worker_kill.group;
	k.is_empty = true;
	side_send(&d->broker, MSG_WORKER_KILLED, &k, -1);
	driver_result(d, exec, &r);
	assert_string_equal(reply_text(&r, "cause"), "timeout");
	assert_int_equal(reply_int(&r, "signal"), SIGKILL);
	reply_free(&r);
	/* Late is not twice. */
	ended(d, exec, 0, 0);
	ended(d, start(d, "'stdout':'null','stderr':'null'"), 4, 0);
	driver_exits(d, exec + 1, 4);
}

static void
group_not_empty_ends_the_sandbox(void **state)
{
	struct driver			*d = *state;
	struct msg_worker_killed	 k;
	union message			 u;

	(void)start(d, "'timeout':0.1");
	side_expect(d, &d->broker, MSG_WORKER_KILL, &u, NULL);
	k.group = u.worker_kill.group;
	k.is_empty = false;
	side_send(&d->broker, MSG_WORKER_KILLED, &k, -1);
	over(d, "timeout");
	end(d, "timeout");
}

static void
kill_unanswered_ends_the_sandbox(void **state)
{
	struct driver	*d = *state;
	union message	 u;

	(void)start(d, "'timeout':0.1");
	side_expect(d, &d->agent, MSG_AGENT_KILL, &u, NULL);
	over(d, "timeout");
	end(d, "timeout");
}

/*** Bounds ***/

static void
running_execs_are_bounded(void **state)
{
	struct driver	*d = *state;
	struct reply	 r;
	uint32_t	 i;

	for (i = 0; i < EXECS_MAX; i++)
		(void)start(d, "'stdout':'null','stderr':'null'");
	driver_refuses(d, ERR_LIMIT, "", "exec.start", "{'argv':['x']}");
	ended(d, 5, 0, 0);
	driver_exits(d, 5, 0);
	(void)start(d, "'stdout':'null','stderr':'null'");
	driver_call(d, &r, "exec.list", "{'after':1000}");
	assert_false(reply_bool(&r, "more"));
	reply_free(&r);
}

/* The oldest results go, numbers are not used again. */
static void
results_are_bounded(void **state)
{
	struct driver	*d = *state;
	uint32_t	 i, exec = 0;

	for (i = 0; i < RESULTS_MAX + 10; i++) {
		exec = start(d, "'stdout':'null','stderr':'null'");
		assert_int_equal(exec, i + 1);
		/* The first one ends last. */
		if (i > 0)
			ended(d, exec, 0, 0);
		if (i > 0)
			driver_exits(d, exec, 0);
	}
	ended(d, 1, 3, 0);
	driver_exits(d, 1, 3);
	driver_exits(d, exec, 0);
	driver_refuses(d, ERR_NOT_FOUND, "exec", "exec.wait", "{'exec':2}");
	driver_refuses(d, ERR_NOT_FOUND, "exec", "exec.wait",
	    "{'exec':%u}", exec + 1);
}

static void
requests_of_a_connection_are_bounded(void **state)
{
	struct driver	*d = *state;
	struct reply	 r;
	uint32_t	 exec = start(d, ""), id, i;

	for (i = 0; i < RPC_PENDING_MAX; i++)
		(void)client_send(&d->client, "exec.wait", NULL, 0,
		    "{'exec':%u}", exec);
	id = client_send(&d->client, "exec.wait", NULL, 0, "{'exec':%u}",
	    exec);
	client_reply(d, &d->client, id, &r);
	reply_is_error(&r, ERR_BUSY, "");
	reply_free(&r);
}

static unsigned int
descriptors(pid_t pid)
{
	char		 path[64];
	unsigned int	 n = 0, i;

	for (i = 0; i < 256; i++) {
		(void)snprintf(path, sizeof(path), "/proc/%d/fd/%u",
		    (int)pid, i);
		n += faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) ==
		    0;
	}
	return n;
}

/* Each way to fail gives back what it held. */
static void
descriptors_do_not_leak(void **state)
{
	struct driver	*d = *state;
	struct reply	 r;
	union message	 u;
	uint32_t	 id;
	unsigned int	 before = 0;
	int		 i, fds[3], p[2];

	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	fds[0] = p[0];
	fds[1] = fds[2] = p[1];
	for (i = 0; i < 60; i++) {
		if (i == 10)
			before = descriptors(d->pid);
		id = client_send(&d->client, "exec.start", fds, 3,
		    "{'argv':['x'],'fds':3}");
		side_expect(d, &d->agent, MSG_AGENT_EXEC, &u, NULL);
		side_send(&d->agent, MSG_AGENT_FAILED,
		    &(struct msg_agent_failed){ u.agent_exec.exec,
		    view_of("lookup"), 2, view_of("x") }, -1);
		client_reply(d, &d->client, id, &r);
		reply_is_error(&r, ERR_NOT_FOUND, "lookup");
		reply_free(&r);
		id = client_send(&d->client, "exec.start", fds, 3,
		    "{'argv':['x'],'bogus':1,'fds':3}");
		client_reply(d, &d->client, id, &r);
		assert_true(r.is_error);
		reply_free(&r);
		id = client_send(&d->client, "exec.start", fds, 1,
		    "{'argv':['x'],'stdin':'fd','stdout':'relay',"
		    "'output':7,'timeout':-1,'fds':1}");
		client_reply(d, &d->client, id, &r);
		assert_true(r.is_error);
		reply_free(&r);
		id = client_send(&d->client, "exec.start", NULL, 0,
		    "{'argv':['x'],'stdin':'relay'}");
		side_expect(d, &d->agent, MSG_AGENT_EXEC, &u, NULL);
		side_send(&d->agent, MSG_AGENT_STARTED,
		    &(struct msg_agent_started){ u.agent_exec.exec, 1 }, -1);
		client_reply(d, &d->client, id, &r);
		reply_free(&r);
		driver_call(d, &r, "exec.attach", "{'exec':%u}",
		    (unsigned int)u.agent_exec.exec);
		assert_int_equal(r.nfds, 3);
		reply_free(&r);
		ended(d, (uint32_t)u.agent_exec.exec, 0, 0);
		driver_exits(d, (uint32_t)u.agent_exec.exec, 0);
	}
	/*
	 * Streams of the last few may still be closing.  The worker is not
	 * dumpable: only root sees what it holds.
	 */
	if (geteuid() == 0)
		assert_in_range(descriptors(d->pid), before - 6,
		    before + 6);
	(void)close(p[0]);
	(void)close(p[1]);
}

#define TEST(f)		DRIVER_TEST(f, "", set_up)
#define TEST_STREAM(f)	DRIVER_TEST(f, "_stream", set_up_stream)
#define TEST_GROUPS(f)	DRIVER_TEST(f, "", set_up_groups)

int
main(void)
{
	const struct CMUnitTest	tests[] = {
		TEST(result_is_what_the_agent_said),
		TEST_STREAM(result_is_what_the_agent_said),
		cmocka_unit_test(bad_frames_end_the_sandbox),
		TEST(stream_frames_only_on_streams),
		TEST(lost_agent_is_not_waited_for),
		TEST(end_cause_wins_over_lost),
		cmocka_unit_test(end_of_life_is_expired),
		cmocka_unit_test(limits_are_defaults_and_ceilings),
		TEST_GROUPS(group_joins_and_is_done),
		cmocka_unit_test(start_waits_for_a_group),
		TEST_GROUPS(timeout_kills_the_group),
		TEST_GROUPS(killed_without_exit_gets_a_result),
		TEST_GROUPS(group_not_empty_ends_the_sandbox),
		TEST(kill_unanswered_ends_the_sandbox),
		TEST(running_execs_are_bounded),
		TEST(results_are_bounded),
		TEST(requests_of_a_connection_are_bounded),
		TEST(descriptors_do_not_leak),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
