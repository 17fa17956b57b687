/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The worker with a real agent: starting, results, names, ends.
 */

#include <sys/socket.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "worker_driver.h"

/* Starts with three descriptors; id of the request. */
static uint32_t
start_passed(struct driver *d, int in, int out, int err, const char *shell)
{
	int	fds[3] = { in, out, err };

	return client_send(&d->client, "exec.start", fds, 3,
	    "{'shell':'%s','cwd':'/','stdin':'fd','stdout':'fd',"
	    "'stderr':'fd','fds':3}", shell);
}

static void
start_passed_output_and_code(void **state)
{
	struct driver	*d = *state;
	struct reply	 r;
	int		 out[2], null_fd = dev_null();
	uint32_t	 id, exec;
	char		*text;

	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	id = start_passed(d, null_fd, out[1], out[1], "echo hi; exit 7");
	(void)close(out[1]);
	client_reply(d, &d->client, id, &r);
	assert_false(r.is_error);
	exec = (uint32_t)reply_uint(&r, "exec");
	assert_string_equal(reply_text(&r, "mode.stdin"), "fd");
	assert_string_equal(reply_text(&r, "mode.stdout"), "fd");
	reply_free(&r);
	driver_exits(d, exec, 7);
	text = driver_read_fd(d, out[0], 100, NULL);
	assert_string_equal(text, "hi\n");
	free(text);
	(void)close(out[0]);
	(void)close(null_fd);
}

static void
start_many_each_result_once(void **state)
{
	struct driver	*d = *state;
	struct reply	 r;
	uint32_t	 ids[40], exec;
	int		 i, j, null_fd = dev_null();

	for (i = 0; i < 10; i++) {
		for (j = 0; j < 40; j++)
			ids[j] = start_passed(d, null_fd, null_fd, null_fd,
			    "exit 3");
		for (j = 0; j < 40; j++) {
			client_reply(d, &d->client, ids[j], &r);
			assert_false(r.is_error);
			exec = (uint32_t)reply_uint(&r, "exec");
			assert_int_equal(exec, i * 40 + j + 1);
			reply_free(&r);
			driver_exits(d, exec, 3);
			/* It stays the same. */
			driver_exits(d, exec, 3);
		}
	}
	(void)close(null_fd);
}

static void
start_missing_command_not_found(void **state)
{
	struct driver	*d = *state;

	driver_refuses(d, ERR_NOT_FOUND, "lookup", "exec.start",
	    "{'argv':['no-such-command'],'cwd':'/'}");
	driver_refuses(d, ERR_NOT_FOUND, "cwd", "exec.start",
	    "{'argv':['true'],'cwd':'/no-such-directory'}");
	driver_refuses(d, ERR_BACKEND, "execve", "exec.start",
	    "{'argv':['/etc/passwd'],'cwd':'/'}");
	/* Nothing of them is left. */
	driver_refuses(d, ERR_NOT_FOUND, "exec", "exec.wait", "{'exec':1}");
}

static void
start_bad_params_refused(void **state)
{
	struct driver	*d = *state;
	static const struct {
		const char	*params;
		enum err_code	 code;
		const char	*key;
	} bad[] = {
		{ "{}", ERR_INVALID, "argv" },
		{ "{'argv':[]}", ERR_INVALID, "argv" },
		{ "{'argv':['']}", ERR_INVALID, "argv" },
		{ "{'argv':[1]}", ERR_INVALID, "argv" },
		{ "{'argv':'true'}", ERR_INVALID, "argv" },
		{ "{'argv':['true'],'shell':'true'}", ERR_INVALID, "argv" },
		{ "{'argv':['true'],'bogus':1}", ERR_INVALID, "bogus" },
		{ "{'argv':['true'],'cwd':''}", ERR_INVALID, "cwd" },
		{ "{'argv':['true'],'env':{'':'x'}}", ERR_INVALID, "env" },
		{ "{'argv':['true'],'env':{'A=B':'x'}}", ERR_INVALID,
		    "env" },
		{ "{'argv':['true'],'env':{'A':[]}}", ERR_INVALID, "env" },
		{ "{'argv':['true'],'stdin':'tty'}", ERR_INVALID, "stdin" },
		{ "{'argv':['true'],'stdin':'fd'}", ERR_INVALID, "fds" },
		{ "{'argv':['true'],'timeout':0}", ERR_INVALID, "timeout" },
		{ "{'argv':['true'],'timeout':-1}", ERR_INVALID, "timeout" },
		{ "{'argv':['true'],'output':0}", ERR_INVALID, "output" },
		{ "{'argv':['true'],'output_full':'x'}", ERR_INVALID,
		    "output_full" },
		{ "{'argv':['true'],'on_disconnect':'x'}", ERR_INVALID,
		    "on_disconnect" },
		{ "{'argv':['true'],'tag':''}", ERR_INVALID, "tag" },
		{ "{'argv':['true'],'pty':true,'stderr':'relay'}",
		    ERR_INVALID, "stderr" },
	};
	size_t		 i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		driver_refuses(d, bad[i].code, bad[i].key, "exec.start", "%s",
		    bad[i].params);
	driver_refuses(d, ERR_UNSUPPORTED, "method", "exec.bogus", "{}");
	driver_exits(d, driver_start(d, "exit 0", ""), 0);
}

static void
refuse_fd(struct driver *d, int i, int fd, const char *key)
{
	int		 null_fd = dev_null(), fds[3];
	struct reply	 r;
	uint32_t	 id;

	fds[0] = fds[1] = fds[2] = null_fd;
	fds[i] = fd;
	id = client_send(&d->client, "exec.start", fds, 3,
	    "{'shell':'exit 0','cwd':'/','fds':3}");
	client_reply(d, &d->client, id, &r);
	reply_is_error(&r, ERR_INVALID, key);
	reply_free(&r);
	(void)close(null_fd);
}

static void
start_other_descriptors_refused(void **state)
{
	struct driver	*d = *state;
	int		 fds[2], fd;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	refuse_fd(d, 0, fds[0], "stdin");
	(void)close(fds[0]);
	(void)close(fds[1]);
	fd = open("/", O_RDONLY | O_DIRECTORY);
	refuse_fd(d, 1, fd, "stdout");
	(void)close(fd);
	fd = open("/dev/zero", O_RDWR);
	refuse_fd(d, 2, fd, "stderr");
	(void)close(fd);
	fd = open("/dev/null", O_PATH);
	refuse_fd(d, 0, fd, "stdin");
	(void)close(fd);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	refuse_fd(d, 0, fds[1], "stdin");
	refuse_fd(d, 1, fds[0], "stdout");
	(void)close(fds[0]);
	(void)close(fds[1]);
	driver_exits(d, driver_start(d, "exit 0", ""), 0);
}

static void
env_is_built_from_nothing(void **state)
{
	struct driver	*d = *state;
	uint32_t	 exec;
	char		*text;

	exec = driver_start(d, "env -u PWD -u SHLVL -u _ env | sort",
	    "'env':{'A':'b=c','LANG':'X','USER':null}");
	driver_exits(d, exec, 0);
	text = driver_read(d, exec, "stdout", NULL);
	assert_string_equal(text, "A=b=c\nHOME=/workspace\nLANG=X\n"
	    "LOGNAME=sandbox\nPATH=/usr/local/bin:/usr/bin:/bin\n"
	    "SHELL=/bin/sh\n");
	free(text);
}

static void
kill_by_name_and_number(void **state)
{
	struct driver	*d = *state;
	struct reply	 r;
	uint32_t	 exec;

	exec = driver_start(d, "exec sleep 600", "");
	driver_refuses(d, ERR_INVALID, "signal", "exec.kill",
	    "{'exec':%u,'signal':'NONE'}", exec);
	driver_refuses(d, ERR_INVALID, "signal", "exec.kill",
	    "{'exec':%u,'signal':65}", exec);
	driver_call(d, &r, "exec.kill", "{'exec':%u,'signal':'SIGUSR1'}",
	    exec);
	assert_string_equal(reply_text(&r, "state"), "running");
	reply_free(&r);
	driver_result(d, exec, &r);
	assert_string_equal(reply_text(&r, "cause"), "signal");
	assert_int_equal(reply_int(&r, "signal"), SIGUSR1);
	assert_int_equal(reply_int(&r, "code"), -1);
	reply_free(&r);
	/* What has ended is no error. */
	driver_call(d, &r, "exec.kill", "{'exec':%u,'signal':9}", exec);
	assert_string_equal(reply_text(&r, "state"), "exited");
	reply_free(&r);
}

static void
kill_all_reaches_other_sessions(void **state)
{
	struct driver	*d = *state;
	struct reply	 r;
	uint32_t	 exec;
	char		*text;
	int		 pid;

	exec = driver_start(d, "setsid sleep 600 & echo $!; exec sleep 600",
	    "");
	do {
		driver_call(d, &r, "exec.read",
		    "{'exec':%u,'stream':'stdout','wait_ms':60000}", exec);
		text = strdup(reply_text(&r, "data"));
		reply_free(&r);
	} while (strchr(text, '\n') == NULL && (free(text), true));
	pid = atoi(text);
	free(text);
	assert_true(pid > 1);
	assert_int_equal(kill(pid, 0), 0);
	driver_call(d, &r, "exec.kill", "{'exec':%u,'all':true}", exec);
	assert_false(r.is_error);
	reply_free(&r);
	driver_result(d, exec, &r);
	assert_int_equal(reply_int(&r, "signal"), SIGKILL);
	reply_free(&r);
	assert_int_equal(kill(pid, 0), -1);
}

static void
timeout_kills_everything(void **state)
{
	struct driver	*d = *state;
	struct reply	 r;
	uint32_t	 exec;

	exec = driver_start(d, "setsid sleep 601 & sleep 601",
	    "'timeout':0.3");
	driver_result(d, exec, &r);
	assert_string_equal(reply_text(&r, "cause"), "timeout");
	reply_free(&r);
	exec = driver_start(d, "ps -eo args | grep -c [s]leep.601", "");
	driver_exits(d, exec, 1);
}

static void
cpu_time_is_its_own_cause(void **state)
{
	struct driver	*d = *state;
	struct reply	 r;
	uint32_t	 exec;

	exec = driver_start(d, "while :; do :; done", "'cpu_time':1");
	driver_result(d, exec, &r);
	assert_string_equal(reply_text(&r, "cause"), "cpu");
	reply_free(&r);
}

static void
tag_names_the_running_one(void **state)
{
	struct driver	*d = *state;
	struct reply	 r;
	uint32_t	 exec;

	exec = driver_start(d, "exec sleep 600", "'tag':'main'");
	driver_refuses(d, ERR_CONFLICT, "tag", "exec.start",
	    "{'shell':'exit 0','cwd':'/','tag':'main'}");
	driver_call(d, &r, "exec.info", "{'exec':'main'}");
	assert_int_equal(reply_uint(&r, "exec"), exec);
	assert_string_equal(reply_text(&r, "state"), "running");
	assert_string_equal(reply_text(&r, "tag"), "main");
	reply_free(&r);
	driver_call(d, &r, "exec.kill", "{'exec':'main','signal':'KILL'}");
	reply_free(&r);
	driver_result(d, exec, &r);
	reply_free(&r);
	exec = driver_start(d, "exit 4", "'tag':'main'");
	driver_call(d, &r, "exec.wait", "{'exec':'main'}");
	assert_int_equal(reply_uint(&r, "exec"), exec);
	assert_int_equal(reply_int(&r, "code"), 4);
	reply_free(&r);
}

/* All requests are sent before the first is answered. */
static void
requests_wait_for_the_start(void **state)
{
	struct driver	*d = *state;
	struct client	*c = &d->client;
	struct reply	 r;
	uint32_t	 ids[4];

	ids[0] = client_send(c, "exec.start", NULL, 0, "{'shell':'cat; "
	    "exit 5','cwd':'/','tag':'t','stdin':'relay'}");
	ids[1] = client_send(c, "exec.wait", NULL, 0, "{'exec':'t'}");
	ids[2] = client_send(c, "exec.write", NULL, 0,
	    "{'exec':'t','data':'abc','eof':true}");
	ids[3] = client_send(c, "exec.start", NULL, 0,
	    "{'argv':['no-such'],'cwd':'/','tag':'u'}");
	client_reply(d, c, ids[0], &r);
	assert_false(r.is_error);
	reply_free(&r);
	client_reply(d, c, ids[2], &r);
	assert_int_equal(reply_uint(&r, "written"), 3);
	reply_free(&r);
	client_reply(d, c, ids[1], &r);
	assert_int_equal(reply_int(&r, "code"), 5);
	reply_free(&r);
	client_reply(d, c, ids[3], &r);
	reply_is_error(&r, ERR_NOT_FOUND, "lookup");
	reply_free(&r);
}

static void
list_is_paged(void **state)
{
	struct driver	*d = *state;
	struct reply	 r;
	uint32_t	 i;

	for (i = 0; i < 5; i++)
		driver_exits(d, driver_start(d, "exit 0", ""), 0);
	driver_call(d, &r, "exec.list", "{'max':3}");
	assert_true(reply_bool(&r, "more"));
	reply_free(&r);
	driver_call(d, &r, "exec.list", "{'max':3,'after':3}");
	assert_false(reply_bool(&r, "more"));
	reply_free(&r);
}

static void
events_go_to_the_front(void **state)
{
	struct driver	*d = *state;
	union message	 u;
	char		 kind[16];

	driver_exits(d, driver_start(d, "exit 0", ""), 0);
	side_expect(d, &d->front, MSG_WORKER_EVENT, &u, NULL);
	assert_int_equal(text_copy(kind, sizeof(kind), u.worker_event.kind),
	    0);
	assert_string_equal(kind, "exec");
	side_expect(d, &d->front, MSG_WORKER_EVENT, &u, NULL);
	assert_int_equal(text_copy(kind, sizeof(kind), u.worker_event.kind),
	    0);
	assert_string_equal(kind, "exit");
	assert_int_equal(u.worker_event.exec, 1);
}

static void
disconnect_kills_or_keeps(void **state)
{
	struct driver	*d = *state;
	struct client	 other;
	struct reply	 r;
	uint32_t	 ids[2];

	client_open(d, &other, 2);
	ids[0] = client_send(&other, "exec.start", NULL, 0,
	    "{'argv':['sleep','600'],'cwd':'/','tag':'killed',"
	    "'on_disconnect':'kill'}");
	ids[1] = client_send(&other, "exec.start", NULL, 0,
	    "{'argv':['sleep','600'],'cwd':'/','tag':'kept'}");
	client_reply(d, &other, ids[0], &r);
	assert_false(r.is_error);
	reply_free(&r);
	client_reply(d, &other, ids[1], &r);
	reply_free(&r);
	client_close(&other);
	driver_call(d, &r, "exec.wait", "{'exec':'killed'}");
	assert_int_equal(reply_int(&r, "signal"), SIGKILL);
	reply_free(&r);
	driver_call(d, &r, "exec.info", "{'exec':'kept'}");
	assert_string_equal(reply_text(&r, "state"), "running");
	reply_free(&r);
}

static bool
client_is_gone(void *arg)
{
	struct client	*c = arg;

	(void)client_has_reply(c, 0);
	return c->is_gone;
}

static void
hangup_closes_what_was_issued(void **state)
{
	struct driver			*d = *state;
	struct client			 other;
	struct msg_worker_hangup	 m = { .handle = 2 };

	client_open(d, &other, 2);
	side_send(&d->broker, MSG_WORKER_HANGUP, &m, -1);
	driver_until(d, client_is_gone, &other);
	client_close(&other);
	driver_exits(d, driver_start(d, "exit 0", ""), 0);
}

static void
bad_client_ends_alone(void **state)
{
	struct driver	*d = *state;
	struct client	 other;

	client_open(d, &other, 2);
	assert_int_equal(write(rpc_fd(other.rpc), "\xc1garbage", 8), 8);
	driver_until(d, client_is_gone, &other);
	client_close(&other);
	driver_exits(d, driver_start(d, "exit 0", ""), 0);
}

/* Every answer is out before the worker exits. */
static void
end_gives_its_cause(void **state)
{
	struct driver		*d = *state;
	struct msg_worker_end	 m = { view_of("destroyed") };
	struct reply		 r;
	uint32_t		 exec, id;

	exec = driver_start(d, "exec sleep 600", "");
	id = client_send(&d->client, "exec.wait", NULL, 0, "{'exec':%u}",
	    exec);
	driver_exits(d, driver_start(d, "exit 0", ""), 0);
	side_send(&d->broker, MSG_WORKER_END, &m, -1);
	client_reply(d, &d->client, id, &r);
	assert_string_equal(reply_text(&r, "cause"), "destroyed");
	assert_int_equal(reply_int(&r, "code"), -1);
	reply_free(&r);
	driver_wait_exit(d);
}

static void
broker_lost_ends_all(void **state)
{
	struct driver	*d = *state;
	struct reply	 r;
	uint32_t	 exec, id;

	exec = driver_start(d, "exec sleep 600", "");
	id = client_send(&d->client, "exec.wait", NULL, 0, "{'exec':%u}",
	    exec);
	driver_exits(d, driver_start(d, "exit 0", ""), 0);
	(void)shutdown(chan_fd(d->broker.chan), SHUT_RDWR);
	client_reply(d, &d->client, id, &r);
	assert_string_equal(reply_text(&r, "cause"), "lost");
	reply_free(&r);
	driver_wait_exit(d);
}

static void
agent_killed_is_lost(void **state)
{
	struct driver		*d = *state;
	struct msg_worker_end	 m = { view_of("lost") };
	union message		 u;
	struct reply		 r;
	uint32_t		 exec, id;
	char			 cause[16];

	exec = driver_start(d, "exec sleep 600", "");
	id = client_send(&d->client, "exec.wait", NULL, 0, "{'exec':%u}",
	    exec);
	assert_int_equal(kill(d->agent_pid, SIGKILL), 0);
	side_expect(d, &d->broker, MSG_WORKER_OVER, &u, NULL);
	assert_int_equal(text_copy(cause, sizeof(cause),
	    u.worker_over.cause), 0);
	assert_string_equal(cause, "lost");
	side_send(&d->broker, MSG_WORKER_END, &m, -1);
	client_reply(d, &d->client, id, &r);
	assert_string_equal(reply_text(&r, "cause"), "lost");
	assert_int_equal(reply_int(&r, "code"), -1);
	reply_free(&r);
	driver_wait_exit(d);
}

#define TEST(f)		DRIVER_TEST(f, "", driver_agent)
#define TEST_STREAM(f)	DRIVER_TEST(f, "_stream", driver_agent_stream)
#define TEST_GROUPS(f)	DRIVER_TEST(f, "_groups", driver_agent_groups)

int
main(void)
{
	const struct CMUnitTest	tests[] = {
		TEST(start_passed_output_and_code),
		TEST_STREAM(start_passed_output_and_code),
		TEST_GROUPS(start_passed_output_and_code),
		TEST(start_many_each_result_once),
		TEST_STREAM(start_many_each_result_once),
		TEST_GROUPS(start_many_each_result_once),
		TEST(start_missing_command_not_found),
		TEST_STREAM(start_missing_command_not_found),
		TEST_GROUPS(start_missing_command_not_found),
		TEST(start_bad_params_refused),
		TEST(start_other_descriptors_refused),
		TEST(env_is_built_from_nothing),
		TEST(kill_by_name_and_number),
		TEST_STREAM(kill_by_name_and_number),
		TEST(kill_all_reaches_other_sessions),
		TEST_STREAM(kill_all_reaches_other_sessions),
		TEST(timeout_kills_everything),
		TEST_STREAM(timeout_kills_everything),
		TEST(cpu_time_is_its_own_cause),
		TEST(tag_names_the_running_one),
		TEST(requests_wait_for_the_start),
		TEST_STREAM(requests_wait_for_the_start),
		TEST(list_is_paged),
		TEST(events_go_to_the_front),
		TEST(disconnect_kills_or_keeps),
		TEST(hangup_closes_what_was_issued),
		TEST(bad_client_ends_alone),
		TEST(end_gives_its_cause),
		TEST_STREAM(end_gives_its_cause),
		TEST(broker_lost_ends_all),
		TEST(agent_killed_is_lost),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
