/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Commands in a sandbox, over its sandbox connection: start, wait, streams.
 * Runs in the client's process.  What may be started and what a descriptor
 * may be is for the worker to judge; here it is only put into words.
 */

#include <string.h>

#include "lib.h"

static const char *const stream_names[3] = { "stdin", "stdout", "stderr" };

void
sandbox_exec_init(struct sandbox_exec *exec)
{
	memset(exec, 0, sizeof(*exec));
	exec->fds[0] = exec->fds[1] = exec->fds[2] = SANDBOX_FD_NULL;
}

/*** Starting ***/

static void
exec_put_argv(const char *const *argv, struct sandbox_params *params)
{
	sandbox_params_open_array(params, "argv");
	for (; *argv != NULL; argv++)
		sandbox_params_bytes(params, NULL, *argv, strlen(*argv));
	sandbox_params_close(params);
}

/* Is the same name set again later? */
static bool
exec_env_again(const char *const *env, size_t name_len)
{
	const char *const *later;

	for (later = env + 1; *later != NULL; later++)
		if (strncmp(*later, *env, name_len + 1) == 0)
			return true;
	return false;
}

static int
exec_put_env(const char *const *env, struct sandbox_params *params,
    struct error *e)
{
	struct buf *body;
	const char *eq;
	size_t len;

	sandbox_params_open_map(params, "env");
	body = &params->levels[params->depth].body;
	for (; *env != NULL; env++) {
		if ((eq = strchr(*env, '=')) == NULL || eq == *env)
			return error_key(e, ERR_INVALID, "env",
			    "environment entry without NAME=");
		len = (size_t)(eq - *env);
		if (exec_env_again(env, len))
			continue;
		put_str_view(body, (struct view){
		    (const unsigned char *)*env, len });
		put_bin(body, view_of(eq + 1));
		params->levels[params->depth].count++;
	}
	sandbox_params_close(params);
	return 0;
}

/* How each stream is meant, and which descriptors go along. */
static int
exec_put_streams(const struct sandbox_exec *exec, int *fds,
    struct sandbox_params *params)
{
	const char *how;
	int i, n = 0;

	for (i = 0; i < (exec->has_pty ? 2 : 3); i++) {
		if (exec->fds[i] >= 0) {
			how = "fd";
			fds[n++] = exec->fds[i];
		} else
			how = exec->fds[i] == SANDBOX_FD_RELAY ? "relay" :
			    "null";
		sandbox_params_text(params, stream_names[i], how);
	}
	return n;
}

static void
exec_put_seconds(struct sandbox_params *params, const char *key, uint64_t ms)
{
	if (ms != 0)
		sandbox_params_double(params, key, (double)ms / 1000);
}

/* The parameters of exec.start; *nfds of fds ride along. */
static struct sandbox_params *
exec_params(const struct sandbox_exec *exec, int fds[3], int *nfds,
    struct error *e)
{
	struct sandbox_params *params;

	if ((params = sandbox_params_new()) == NULL) {
		fault_memory(e);
		return NULL;
	}
	if (exec->argv != NULL)
		exec_put_argv(exec->argv, params);
	if (exec->shell != NULL)
		sandbox_params_bytes(params, "shell", exec->shell,
		    strlen(exec->shell));
	if (exec->env != NULL && exec_put_env(exec->env, params, e) == -1) {
		sandbox_params_free(params);
		return NULL;
	}
	if (exec->cwd != NULL)
		sandbox_params_bytes(params, "cwd", exec->cwd,
		    strlen(exec->cwd));
	*nfds = exec_put_streams(exec, fds, params);
	if (exec->has_pty) {
		sandbox_params_bool(params, "pty", true);
		sandbox_params_uint(params, "rows", exec->rows);
		sandbox_params_uint(params, "cols", exec->cols);
	}
	if (exec->tag != NULL)
		sandbox_params_text(params, "tag", exec->tag);
	exec_put_seconds(params, "timeout", exec->timeout_ms);
	exec_put_seconds(params, "cpu_time", exec->cpu_time_ms);
	if (exec->output != 0)
		sandbox_params_uint(params, "output", exec->output);
	if (exec->output_full != NULL)
		sandbox_params_text(params, "output_full", exec->output_full);
	if (exec->kill_on_disconnect)
		sandbox_params_text(params, "on_disconnect", "kill");
	return params;
}

int
sandbox_exec_start_async(struct sandbox_conn *conn,
    const struct sandbox_exec *exec, sandbox_reply_fn *fn, void *arg,
    struct sandbox_error *error)
{
	struct error e = { 0 };
	struct sandbox_params *params;
	int fds[3], nfds, r;

	if ((params = exec_params(exec, fds, &nfds, &e)) == NULL)
		return fault_give(error, &e);
	r = peer_request(&conn->peer, "exec.start", params, fds, nfds, fn, arg,
	    &e);
	sandbox_params_free(params);
	return r == -1 ? fault_give(error, &e) : 0;
}

int
sandbox_exec_start(struct sandbox_conn *conn, const struct sandbox_exec *exec,
    uint64_t *number, struct sandbox_error *error)
{
	struct error e = { 0 };
	struct sandbox_params *params;
	struct sandbox_reply *reply = NULL;
	int fds[3], nfds, r;

	if ((params = exec_params(exec, fds, &nfds, &e)) == NULL)
		return fault_give(error, &e);
	r = peer_call(&conn->peer, "exec.start", params, fds, nfds, &reply, &e);
	sandbox_params_free(params);
	if (r == 0 && sandbox_value_uint(sandbox_value_get(
	    sandbox_reply_value(reply), "exec"), number) == -1)
		r = error_set(&e, ERR_INTERNAL,
		    "the answer to exec.start has no number");
	sandbox_reply_free(reply);
	return r == -1 ? fault_give(error, &e) : 0;
}

/*** Waiting ***/

static void
result_signal(struct sandbox_value map, struct sandbox_result *result)
{
	int64_t n;

	result->code = -1;
	result->signal = 0;
	if (sandbox_value_int(sandbox_value_get(map, "code"), &n) == 0 &&
	    n >= 0 && n <= 255)
		result->code = (int)n;
	if (sandbox_value_int(sandbox_value_get(map, "signal"), &n) == 0 &&
	    n > 0 && n <= 64)
		result->signal = (int)n;
}

int
sandbox_result_unpack(struct sandbox_value map, struct sandbox_result *result,
    struct sandbox_error *error)
{
	struct error e = { 0 };
	struct sandbox_value cut = sandbox_value_get(map, "truncated");

	memset(result, 0, sizeof(*result));
	result_signal(map, result);
	if (sandbox_value_text(sandbox_value_get(map, "cause"), result->cause,
	    sizeof(result->cause)) == -1) {
		error_set(&e, ERR_INTERNAL, "a result without a cause");
		return fault_give(error, &e);
	}
	sandbox_value_uint(sandbox_value_get(map, "exec"), &result->exec);
	sandbox_value_double(sandbox_value_get(map, "wall"), &result->wall);
	sandbox_value_double(sandbox_value_get(map, "user"), &result->user);
	sandbox_value_double(sandbox_value_get(map, "system"),
	    &result->system);
	sandbox_value_uint(sandbox_value_get(map, "peak"), &result->peak);
	sandbox_value_bool(sandbox_value_get(cut, "stdout"),
	    &result->stdout_truncated);
	sandbox_value_bool(sandbox_value_get(cut, "stderr"),
	    &result->stderr_truncated);
	sandbox_value_bool(sandbox_value_get(map, "core"), &result->has_core);
	return 0;
}

/* Parameters that name an exec. */
static struct sandbox_params *
exec_named(uint64_t exec, struct error *e)
{
	struct sandbox_params *params;

	if ((params = sandbox_params_new()) == NULL)
		fault_memory(e);
	else
		sandbox_params_uint(params, "exec", exec);
	return params;
}

/* Makes the call and frees params. */
static int
exec_call(struct sandbox_conn *conn, const char *method,
    struct sandbox_params *params, struct sandbox_reply **reply,
    struct error *e)
{
	int r;

	r = peer_call(&conn->peer, method, params, NULL, 0, reply, e);
	sandbox_params_free(params);
	return r;
}

int
sandbox_exec_wait(struct sandbox_conn *conn, uint64_t exec,
    struct sandbox_result *result, struct sandbox_error *error)
{
	struct error e = { 0 };
	struct sandbox_params *params;
	struct sandbox_reply *reply;
	int r;

	if ((params = exec_named(exec, &e)) == NULL ||
	    exec_call(conn, "exec.wait", params, &reply, &e) == -1)
		return fault_give(error, &e);
	r = sandbox_result_unpack(sandbox_reply_value(reply), result, error);
	sandbox_reply_free(reply);
	return r;
}

int
sandbox_exec_wait_async(struct sandbox_conn *conn, uint64_t exec,
    sandbox_reply_fn *fn, void *arg, struct sandbox_error *error)
{
	struct error e = { 0 };
	struct sandbox_params *params;
	int r;

	if ((params = exec_named(exec, &e)) == NULL)
		return fault_give(error, &e);
	r = peer_request(&conn->peer, "exec.wait", params, NULL, 0, fn, arg,
	    &e);
	sandbox_params_free(params);
	return r == -1 ? fault_give(error, &e) : 0;
}

int
sandbox_exec_run(struct sandbox_conn *conn, const struct sandbox_exec *exec,
    struct sandbox_result *result, struct sandbox_error *error)
{
	uint64_t number;

	if (sandbox_exec_start(conn, exec, &number, error) == -1)
		return -1;
	return sandbox_exec_wait(conn, number, result, error);
}

int
sandbox_exec_kill(struct sandbox_conn *conn, uint64_t exec, int signal,
    bool all, struct sandbox_error *error)
{
	struct error e = { 0 };
	struct sandbox_params *params;

	if ((params = exec_named(exec, &e)) == NULL)
		return fault_give(error, &e);
	if (all)
		sandbox_params_bool(params, "all", true);
	else
		sandbox_params_uint(params, "signal", (uint64_t)signal);
	if (exec_call(conn, "exec.kill", params, NULL, &e) == -1)
		return fault_give(error, &e);
	return 0;
}

int
sandbox_exec_resize(struct sandbox_conn *conn, uint64_t exec,
    unsigned int rows, unsigned int cols, struct sandbox_error *error)
{
	struct error e = { 0 };
	struct sandbox_params *params;

	if ((params = exec_named(exec, &e)) == NULL)
		return fault_give(error, &e);
	sandbox_params_uint(params, "rows", rows);
	sandbox_params_uint(params, "cols", cols);
	if (exec_call(conn, "exec.resize", params, NULL, &e) == -1)
		return fault_give(error, &e);
	return 0;
}

/*** Streams ***/

int
sandbox_exec_attach(struct sandbox_conn *conn, uint64_t exec, uint64_t offset,
    int fds[3], struct sandbox_error *error)
{
	struct error e = { 0 };
	struct sandbox_params *params;
	struct sandbox_reply *reply;
	int i, n = 0;

	if ((params = exec_named(exec, &e)) == NULL)
		return fault_give(error, &e);
	sandbox_params_open_array(params, "streams");
	for (i = 0; i < 3; i++)
		if (fds[i] != -1)
			sandbox_params_text(params, NULL, stream_names[i]);
	sandbox_params_close(params);
	if (offset != 0)
		sandbox_params_uint(params, "offset", offset);
	if (exec_call(conn, "exec.attach", params, &reply, &e) == -1)
		return fault_give(error, &e);
	for (i = 0; i < 3; i++)
		if (fds[i] != -1)
			fds[i] = sandbox_reply_fd(reply, n++);
	sandbox_reply_free(reply);
	return 0;
}

int
sandbox_exec_read(struct sandbox_conn *conn, uint64_t exec, int stream,
    uint64_t *offset, void *data, size_t *len, unsigned int wait_ms, bool *eof,
    struct sandbox_error *error)
{
	struct error e = { 0 };
	struct sandbox_params *params;
	struct sandbox_reply *reply;
	struct sandbox_value map;
	const void *p;
	size_t n;
	int r = 0;

	if (stream < 1 || stream > 2) {
		error_key(&e, ERR_INVALID, "stream",
		    "stream %d is no output", stream);
		return fault_give(error, &e);
	}
	if ((params = exec_named(exec, &e)) == NULL)
		return fault_give(error, &e);
	sandbox_params_text(params, "stream", stream_names[stream]);
	sandbox_params_uint(params, "offset", *offset);
	sandbox_params_uint(params, "max", *len);
	sandbox_params_uint(params, "wait_ms", wait_ms);
	if (exec_call(conn, "exec.read", params, &reply, &e) == -1)
		return fault_give(error, &e);
	map = sandbox_reply_value(reply);
	*eof = false;
	sandbox_value_bool(sandbox_value_get(map, "eof"), eof);
	if (sandbox_value_bytes(sandbox_value_get(map, "data"), &p, &n) == -1 ||
	    n > *len || sandbox_value_uint(sandbox_value_get(map, "next"),
	    offset) == -1)
		r = error_set(&e, ERR_INTERNAL,
		    "the answer to exec.read is wrong");
	else {
		if (n != 0)
			memcpy(data, p, n);
		*len = n;
	}
	sandbox_reply_free(reply);
	return r == -1 ? fault_give(error, &e) : 0;
}

int
sandbox_exec_write(struct sandbox_conn *conn, uint64_t exec, const void *data,
    size_t len, bool eof, struct sandbox_error *error)
{
	struct error e = { 0 };
	struct sandbox_params *params;

	if ((params = exec_named(exec, &e)) == NULL)
		return fault_give(error, &e);
	sandbox_params_bytes(params, "data", data, len);
	if (eof)
		sandbox_params_bool(params, "eof", true);
	if (exec_call(conn, "exec.write", params, NULL, &e) == -1)
		return fault_give(error, &e);
	return 0;
}
