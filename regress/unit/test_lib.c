/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The library against a daemon that is a child of the test: see
 * lib_daemon.c.  Only the public header is used on our side.
 */

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/sandboxd.h"
#include "lib_daemon.h"
#include "proto/proto.h"

/*** Set-up ***/

struct fixture {
	struct sandbox_client	*client;
	pid_t			 pid;
	int			 fds_before;
};

static int
count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(dir) != NULL)
		n++;
	closedir(dir);
	return n;
}

static int
setup(void **state)
{
	static struct fixture f;
	struct sandbox_error error;
	int fds[2];

	f.fds_before = count_fds();
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
	    fds), 0);
	if ((f.pid = fork()) == 0) {
		close(fds[0]);
		fake_main(fds[1]);
	}
	close(fds[1]);
	assert_int_equal(sandbox_client_from_fd(fds[0], &f.client, &error), 0);
	*state = &f;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	sandbox_client_free(f->client);
	assert_int_equal(waitpid(f->pid, NULL, 0), f->pid);
	assert_int_equal(count_fds(), f->fds_before);
	return 0;
}

/* Dispatch until the condition holds. */
#define UNTIL(f, condition)						\
	while (!(condition))						\
		dispatch((f)->client)

static int
dispatch(struct sandbox_client *client)
{
	struct sandbox_error error;
	struct pollfd pfd = { sandbox_client_fd(client),
	    sandbox_client_events(client), 0 };

	assert_int_equal(poll(&pfd, 1, 30000), 1);
	return sandbox_client_dispatch(client, &error);
}

/*** Values and parameters ***/

static void
params_nested_come_back(void **state)
{
	struct fixture *f = *state;
	struct sandbox_error error;
	struct sandbox_params *params = sandbox_params_new();
	struct sandbox_reply *r;
	struct sandbox_value v, inner;
	struct sandbox_iter it;
	char text[16];
	uint64_t u;
	double d;
	bool b;

	sandbox_params_text(params, "text", "abc");
	sandbox_params_uint(params, "max", UINT64_MAX);
	sandbox_params_double(params, "half", 0.5);
	sandbox_params_bool(params, "yes", true);
	sandbox_params_open_array(params, "list");
	sandbox_params_open_map(params, NULL);
	sandbox_params_bytes(params, "bytes", "\0\377", 2);
	sandbox_params_close(params);
	sandbox_params_text(params, NULL, "second");
	sandbox_params_close(params);
	assert_int_equal(sandbox_client_call(f->client, "echo", params, NULL,
	    0, &r, &error), 0);
	sandbox_params_free(params);

	v = sandbox_reply_value(r);
	assert_int_equal(sandbox_value_count(v), 5);
	assert_int_equal(sandbox_value_text(sandbox_value_get(v, "text"),
	    text, sizeof(text)), 0);
	assert_string_equal(text, "abc");
	assert_int_equal(sandbox_value_text(sandbox_value_get(v, "text"),
	    text, 3), -1);
	assert_int_equal(sandbox_value_uint(sandbox_value_get(v, "max"), &u),
	    0);
	assert_true(u == UINT64_MAX);
	assert_int_equal(sandbox_value_double(sandbox_value_get(v, "half"),
	    &d), 0);
	assert_true(d == 0.5);
	assert_int_equal(sandbox_value_bool(sandbox_value_get(v, "yes"), &b),
	    0);
	assert_true(b);
	assert_int_equal(sandbox_value_bool(sandbox_value_get(v, "text"), &b),
	    -1);
	assert_int_equal(sandbox_value_kind(sandbox_value_get(v, "absent")),
	    SANDBOX_ABSENT);

	sandbox_iter_init(&it, sandbox_value_get(v, "list"));
	assert_true(sandbox_iter_next(&it, NULL, &inner));
	inner = sandbox_value_get(inner, "bytes");
	assert_int_equal(sandbox_value_kind(inner), SANDBOX_BYTES);
	assert_true(sandbox_iter_next(&it, NULL, &inner));
	assert_int_equal(sandbox_value_kind(inner), SANDBOX_TEXT);
	assert_false(sandbox_iter_next(&it, NULL, &inner));
	sandbox_reply_free(r);
}

static void
params_unbalanced_refused(void **state)
{
	struct fixture *f = *state;
	struct sandbox_error error;
	struct sandbox_params *params = sandbox_params_new();
	int i;

	sandbox_params_open_map(params, "open");
	assert_int_equal(sandbox_client_call(f->client, "echo", params, NULL,
	    0, NULL, &error), -1);
	assert_int_equal(error.code, SANDBOX_INVALID);
	sandbox_params_free(params);

	params = sandbox_params_new();
	for (i = 0; i < 20; i++)
		sandbox_params_open_array(params, i == 0 ? "a" : NULL);
	for (i = 0; i < 20; i++)
		sandbox_params_close(params);
	assert_int_equal(sandbox_client_call(f->client, "echo", params, NULL,
	    0, NULL, &error), -1);
	sandbox_params_free(params);
}

/*** Requests ***/

static void
error_of_daemon_whole(void **state)
{
	struct fixture *f = *state;
	struct sandbox_error error = { 0 };

	assert_int_equal(sandbox_client_call(f->client, "fail", NULL, NULL, 0,
	    NULL, &error), -1);
	assert_int_equal(error.code, SANDBOX_DENIED);
	assert_string_equal(sandbox_error_name(error.code), "denied");
	assert_int_equal(error.sys_errno, EPERM);
	assert_string_equal(error.message, "no network for you");
	assert_string_equal(error.key, "network");
	assert_string_equal(error.path, "/etc/sandboxd.conf");
	assert_string_equal(error.fix, "ask somebody");
}

struct seen {
	int		 order[8];
	int		 n;
	int		 errors;
	struct fixture	*f;
	enum sandbox_code code;
};

static void
seen_first(struct sandbox_reply *r, const struct sandbox_error *error,
    void *arg)
{
	struct seen *seen = arg;

	seen->order[seen->n++] = 1;
	seen->errors += error != NULL;
	assert_true((r == NULL) == (error != NULL));
}

static void
seen_second(struct sandbox_reply *r, const struct sandbox_error *error,
    void *arg)
{
	struct seen *seen = arg;

	seen->order[seen->n++] = 2;
	seen->errors += error != NULL;
	assert_true((r == NULL) == (error != NULL));
}

static void
answers_in_any_order(void **state)
{
	struct fixture *f = *state;
	struct sandbox_error error;
	struct seen seen = { 0 };

	assert_int_equal(sandbox_client_request(f->client, "hold", NULL, NULL,
	    0, seen_first, &seen, &error), 0);
	assert_int_equal(sandbox_client_request(f->client, "release", NULL,
	    NULL, 0, seen_second, &seen, &error), 0);
	UNTIL(f, seen.n == 2);
	assert_int_equal(seen.order[0], 2);
	assert_int_equal(seen.order[1], 1);
	assert_int_equal(seen.errors, 0);
}

static void
callback_runs_in_blocking_call(void **state)
{
	struct fixture *f = *state;
	struct sandbox_error error;
	struct seen seen = { 0 };

	assert_int_equal(sandbox_client_request(f->client, "echo", NULL, NULL,
	    0, seen_first, &seen, &error), 0);
	assert_int_equal(sandbox_client_call(f->client, "echo", NULL, NULL, 0,
	    NULL, &error), 0);
	assert_int_equal(seen.n, 1);
}

static void
seen_blocking(struct sandbox_reply *r, const struct sandbox_error *error,
    void *arg)
{
	struct seen *seen = arg;
	struct sandbox_error inner = { 0 };

	(void)r;
	(void)error;
	assert_int_equal(sandbox_client_call(seen->f->client, "echo", NULL,
	    NULL, 0, NULL, &inner), -1);
	seen->code = inner.code;
	seen->n++;
}

static void
blocking_in_callback_refused(void **state)
{
	struct fixture *f = *state;
	struct sandbox_error error;
	struct seen seen = { .f = f };

	assert_int_equal(sandbox_client_request(f->client, "echo", NULL, NULL,
	    0, seen_blocking, &seen, &error), 0);
	UNTIL(f, seen.n == 1);
	assert_int_equal(seen.code, SANDBOX_CONFLICT);
}

static void
seen_freeing(struct sandbox_reply *r, const struct sandbox_error *error,
    void *arg)
{
	struct seen *seen = arg;

	(void)r;
	(void)error;
	seen->n++;
	sandbox_client_free(seen->f->client);
}

static void
free_in_callback_allowed(void **state)
{
	struct fixture *f = *state;
	struct sandbox_error error;
	struct seen seen = { .f = f };

	assert_int_equal(sandbox_client_request(f->client, "echo", NULL, NULL,
	    0, seen_freeing, &seen, &error), 0);
	/* It may come alone; then the second is answered by the free. */
	assert_int_equal(sandbox_client_request(f->client, "hold", NULL, NULL,
	    0, seen_first, &seen, &error), 0);
	assert_int_equal(dispatch(f->client), 0);
	assert_int_equal(seen.n, 2);
	assert_int_equal(seen.errors, 1);
	f->client = NULL;
}

static void
end_of_daemon_answers_all(void **state)
{
	struct fixture *f = *state;
	struct sandbox_error error = { 0 };
	struct seen seen = { 0 };

	assert_int_equal(sandbox_client_request(f->client, "hold", NULL, NULL,
	    0, seen_first, &seen, &error), 0);
	assert_int_equal(sandbox_client_call(f->client, "exit", NULL, NULL, 0,
	    NULL, &error), -1);
	assert_int_equal(error.code, SANDBOX_UNAVAILABLE);
	assert_int_equal(seen.errors, 1);
	assert_int_equal(sandbox_client_fd(f->client), -1);
	/* And it stays so. */
	memset(&error, 0, sizeof(error));
	assert_int_equal(sandbox_client_call(f->client, "echo", NULL, NULL, 0,
	    NULL, &error), -1);
	assert_int_equal(error.code, SANDBOX_UNAVAILABLE);
	assert_int_equal(sandbox_client_dispatch(f->client, &error), -1);
}

static void
seen_event(struct sandbox_value event, void *arg)
{
	struct seen *seen = arg;
	uint64_t seq;

	assert_int_equal(sandbox_value_uint(sandbox_value_get(event, "seq"),
	    &seq), 0);
	assert_int_equal(seq, 41);
	seen->n++;
}

static void
events_before_the_answer_seen(void **state)
{
	struct fixture *f = *state;
	struct sandbox_error error;
	struct seen seen = { 0 };

	assert_int_equal(sandbox_client_subscribe(f->client, 3, seen_event,
	    &seen, &error), 0);
	assert_int_equal(seen.n, 1);
}

/*** Sandboxes and commands ***/

static void
create_run_destroy(void **state)
{
	struct fixture *f = *state;
	struct sandbox_error error = { 0 };
	struct sandbox_params *params = sandbox_params_new();
	struct sandbox_conn *conn;
	struct sandbox_exec exec;
	struct sandbox_result result;
	const char *const argv[] = { "true", NULL };
	char id[SANDBOX_ID_SIZE], bytes[8] = "";
	int ends[2];

	assert_int_equal(sandbox_client_create(f->client, params, id, &conn,
	    NULL, &error), 0);
	sandbox_params_free(params);
	assert_string_equal(id, ID);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	sandbox_exec_init(&exec);
	exec.argv = argv;
	exec.fds[0] = exec.fds[1] = ends[1];
	assert_int_equal(sandbox_exec_run(conn, &exec, &result, &error), 0);
	assert_int_equal(result.exec, 1);
	assert_int_equal(result.code, -1);
	assert_int_equal(result.signal, 9);
	assert_string_equal(result.cause, "timeout");
	assert_true(result.wall == 1.5);
	assert_int_equal(result.peak, 4096);
	assert_true(result.stdout_truncated);
	assert_false(result.stderr_truncated);
	assert_true(result.has_core);
	/* Ours is still open: it was a copy that went. */
	close(ends[1]);
	assert_int_equal(read(ends[0], bytes, sizeof(bytes)), 5);
	assert_string_equal(bytes, "hello");
	assert_int_equal(read(ends[0], bytes, sizeof(bytes)), 0);
	close(ends[0]);
	sandbox_conn_free(conn);
	assert_int_equal(sandbox_client_destroy(f->client, id, &error), 0);
}

static void
start_seen(struct sandbox_reply *r, const struct sandbox_error *error,
    void *arg)
{
	struct seen *seen = arg;
	struct sandbox_value params, env;
	char text[16];
	double d;

	assert_null(error);
	params = sandbox_value_get(sandbox_reply_value(r), "params");
	env = sandbox_value_get(params, "env");
	assert_int_equal(sandbox_value_count(env), 2);
	assert_int_equal(sandbox_value_text(sandbox_value_get(env, "A"), text,
	    sizeof(text)), 0);
	assert_string_equal(text, "2=2");
	assert_int_equal(sandbox_value_text(sandbox_value_get(params,
	    "stdout"), text, sizeof(text)), 0);
	assert_string_equal(text, "relay");
	assert_int_equal(sandbox_value_kind(sandbox_value_get(params,
	    "stderr")), SANDBOX_ABSENT);
	assert_int_equal(sandbox_value_double(sandbox_value_get(params,
	    "timeout"), &d), 0);
	assert_true(d == 0.25);
	seen->n++;
}

static void
exec_parameters_in_words(void **state)
{
	struct fixture *f = *state;
	struct sandbox_error error = { 0 };
	struct sandbox_conn *conn;
	struct sandbox_exec exec;
	struct seen seen = { 0 };
	struct pollfd pfd;
	const char *const env[] = { "A=1", "AB=x", "A=2=2", NULL };
	const char *const bad[] = { "A", NULL };
	char id[SANDBOX_ID_SIZE];

	assert_int_equal(sandbox_client_connect(f->client, "name", id, &conn,
	    &error), 0);
	sandbox_exec_init(&exec);
	exec.shell = "echo";
	exec.env = bad;
	exec.has_pty = true;
	exec.fds[1] = SANDBOX_FD_RELAY;
	exec.timeout_ms = 250;
	assert_int_equal(sandbox_exec_start_async(conn, &exec, start_seen,
	    &seen, &error), -1);
	assert_string_equal(error.key, "env");
	exec.env = env;
	assert_int_equal(sandbox_exec_start_async(conn, &exec, start_seen,
	    &seen, &error), 0);
	while (seen.n == 0) {
		pfd = (struct pollfd){ sandbox_conn_fd(conn),
		    sandbox_conn_events(conn), 0 };
		assert_int_equal(poll(&pfd, 1, 30000), 1);
		assert_int_equal(sandbox_conn_dispatch(conn, &error), 0);
	}
	assert_int_equal(sandbox_exec_kill(conn, 1, 15, false, &error), 0);
	sandbox_conn_free(conn);
}

static void
tunnel_reads_output(void **state)
{
	struct fixture *f = *state;
	struct sandbox_error error = { 0 };
	struct sandbox_conn *conn;
	uint64_t offset = 10;
	char bytes[8];
	size_t len = sizeof(bytes);
	bool eof;

	assert_int_equal(sandbox_client_tunnel(f->client, ID, &conn, &error),
	    0);
	f->client = NULL;
	assert_int_equal(sandbox_exec_read(conn, 1, 1, &offset, bytes, &len,
	    0, &eof, &error), 0);
	assert_int_equal(len, 2);
	assert_memory_equal(bytes, "\0\377", 2);
	assert_int_equal(offset, 12);
	assert_true(eof);
	len = sizeof(bytes);
	assert_int_equal(sandbox_exec_read(conn, 1, 0, &offset, bytes, &len,
	    0, &eof, &error), -1);
	sandbox_conn_free(conn);
}

static void
offer_passes_directories(void **state)
{
	struct fixture *f = *state;
	struct sandbox_error error = { 0 };
	struct sandbox_reply *r;
	uint64_t offer, n;
	int dirs[3], i;

	for (i = 0; i < 3; i++)
		dirs[i] = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(sandbox_client_offer(f->client, dirs, 3, &offer,
	    &error), 0);
	assert_int_equal(offer, 9);
	assert_int_equal(sandbox_client_call(f->client, "count", NULL, NULL,
	    0, &r, &error), 0);
	assert_int_equal(sandbox_value_uint(sandbox_value_get(
	    sandbox_reply_value(r), "count"), &n), 0);
	assert_int_equal(n, 3);
	sandbox_reply_free(r);
	for (i = 0; i < 3; i++)
		close(dirs[i]);
}

static void
bad_descriptor_refused(void **state)
{
	struct fixture *f = *state;
	struct sandbox_error error = { 0 };
	int fds[2] = { 0, -7 };

	assert_int_equal(sandbox_client_call(f->client, "echo", NULL, fds, 2,
	    NULL, &error), -1);
	assert_int_equal(error.sys_errno, EBADF);
}

/*** Places ***/

static void
open_says_what_is_wrong(void **state)
{
	struct sandbox_error error = { 0 };
	struct sandbox_client *client;
	char path[300];

	(void)state;
	assert_int_equal(sandbox_client_open("/nowhere/sock", &client,
	    &error), -1);
	assert_int_equal(error.code, SANDBOX_UNAVAILABLE);
	assert_int_equal(error.sys_errno, ENOENT);
	assert_string_equal(error.path, "/nowhere/sock");
	assert_true(error.fix[0] != '\0');
	memset(path, 'x', sizeof(path) - 1);
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(sandbox_client_open(path, &client, &error), -1);
	assert_int_equal(error.code, SANDBOX_INVALID);

	setenv("SANDBOXD_SOCKET", "/nowhere/else", 1);
	assert_false(sandbox_client_is_default());
	assert_int_equal(sandbox_client_open(NULL, &client, &error), -1);
	assert_string_equal(error.path, "/nowhere/else");
	unsetenv("SANDBOXD_SOCKET");
	assert_true(sandbox_client_is_default());
}

#define TEST(name)	cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(params_nested_come_back),
		TEST(params_unbalanced_refused),
		TEST(error_of_daemon_whole),
		TEST(answers_in_any_order),
		TEST(callback_runs_in_blocking_call),
		TEST(blocking_in_callback_refused),
		TEST(free_in_callback_allowed),
		TEST(end_of_daemon_answers_all),
		TEST(events_before_the_answer_seen),
		TEST(create_run_destroy),
		TEST(exec_parameters_in_words),
		TEST(tunnel_reads_output),
		TEST(offer_passes_directories),
		TEST(bad_descriptor_refused),
		cmocka_unit_test(open_says_what_is_wrong)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
