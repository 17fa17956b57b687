/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * exec, shell, attach, wait and kill: commands in a sandbox that is there.
 */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"

/* "NAME=value" for a bare NAME, as it is here; NULL: not set, or no memory. */
static const char *
exec_env_here(const char *name)
{
	const char *value = getenv(name);
	char *entry;

	if (value == NULL || asprintf(&entry, "%s=%s", name, value) == -1)
		return NULL;
	return entry;
}

/* -e options; a terminal's TERM first, so that they win. */
static const char *const *
exec_env(const struct options *o)
{
	const char **env, *entry;
	size_t i, n = 0;

	if ((env = calloc(o->env.n + 2, sizeof(*env))) == NULL)
		return NULL;
	if (o->has_pty && (entry = exec_env_here("TERM")) != NULL)
		env[n++] = entry;
	for (i = 0; i < o->env.n; i++) {
		entry = o->env.words[i];
		if (strchr(entry, '=') == NULL)
			entry = exec_env_here(entry);
		if (entry != NULL)
			env[n++] = entry;
	}
	return env;
}

void
exec_fill(const struct options *o, struct sandbox_exec *exec)
{
	sandbox_exec_init(exec);
	exec->cwd = o->cwd;
	exec->has_pty = o->has_pty;
	exec->rows = 24;
	exec->cols = 80;
	if (o->has_pty)
		tty_size(&exec->rows, &exec->cols);
	if (o->has_pty || o->env.n != 0)
		exec->env = exec_env(o);
	exec->timeout_ms = o->timeout;
	exec->cpu_time_ms = o->cpu_time;
	exec->output = o->output;
	exec->kill_on_disconnect = true;
}

/* exec -d: start, print ID/N, leave. */
static int
exec_detached(struct session *s, const char *id)
{
	struct sandbox_error error = { 0 };
	int i;

	s->exec.kill_on_disconnect = false;
	for (i = 0; i < 3; i++)
		s->exec.fds[i] = SANDBOX_FD_RELAY;
	if (!s->o->is_interactive)
		s->exec.fds[0] = SANDBOX_FD_NULL;
	if (sandbox_exec_start(s->conn, &s->exec, &s->number, &error) == -1)
		return say_error(s->o->command, &error);
	printf("%s/%llu\n", id, (unsigned long long)s->number);
	return print_end(0);
}

int
exec_run(struct options *o, char **words)
{
	struct session s = { .o = o };
	char id[SANDBOX_ID_SIZE];

	if ((s.client = connect_daemon(o)) == NULL ||
	    (s.conn = connect_sandbox(o, s.client, words[0], id)) == NULL)
		return EXIT_OWN;
	exec_fill(o, &s.exec);
	s.exec.argv = (const char *const *)words + 1;
	return o->is_detached ? exec_detached(&s, id) : session_start(&s);
}

int
shell_run(struct options *o, char **words)
{
	struct session s = { .o = o };
	char id[SANDBOX_ID_SIZE];

	if (isatty(STDIN_FILENO))
		o->has_pty = true;
	if ((s.client = connect_daemon(o)) == NULL ||
	    (s.conn = connect_sandbox(o, s.client, words[0], id)) == NULL)
		return EXIT_OWN;
	exec_fill(o, &s.exec);
	s.exec.shell = "command -v bash >/dev/null 2>&1 && exec bash -l; "
	    "exec sh -l";
	return session_start(&s);
}

/*** Commands that run already ***/

/* Connects to the sandbox of ID/N; NULL: complained. */
static struct sandbox_conn *
exec_connect(struct options *o, const char *operand,
    struct sandbox_client **client, uint64_t *number)
{
	struct sandbox_conn *conn = NULL;
	char *name, id[SANDBOX_ID_SIZE];

	if (connect_operand(operand, &name, number) == -1)
		return NULL;
	if (*client != NULL || (*client = connect_daemon(o)) != NULL)
		conn = connect_sandbox(o, *client, name, id);
	free(name);
	return conn;
}

int
attach_run(struct options *o, char **words)
{
	struct session s = { .o = o };
	struct sandbox_error error = { 0 };
	int fds[3] = { -1, 1, 1 };

	if ((s.conn = exec_connect(o, words[0], &s.client,
	    &s.number)) == NULL)
		return EXIT_OWN;
	if (s.number == 0) {
		say("attach: %s: which command? give ID/N; 'sandboxctl ls "
		    "ID' lists them", words[0]);
		return EXIT_OWN;
	}
	if (o->is_interactive)
		fds[0] = 1;
	if (sandbox_exec_attach(s.conn, s.number, 0, fds, &error) == -1)
		return say_error(words[0], &error);
	return session_join(&s, s.number, fds);
}

static int
wait_sandbox(struct options *o, const char *name)
{
	struct sandbox_error error = { 0 };
	struct sandbox_client *client;
	struct sandbox_reply *reply;

	if ((client = connect_daemon(o)) == NULL)
		return EXIT_OWN;
	if (sandbox_client_wait(client, name, &reply, &error) == -1)
		return say_error(name, &error);
	if (o->is_json)
		json_print(sandbox_reply_value(reply));
	return print_end(0);
}

int
wait_run(struct options *o, char **words)
{
	struct sandbox_error error = { 0 };
	struct sandbox_client *client = NULL;
	struct sandbox_conn *conn;
	struct sandbox_params *params;
	struct sandbox_reply *reply;
	struct sandbox_result result;
	uint64_t number;

	if (strchr(words[0], '/') == NULL)
		return wait_sandbox(o, words[0]);
	if ((conn = exec_connect(o, words[0], &client, &number)) == NULL)
		return EXIT_OWN;
	if ((params = sandbox_params_new()) == NULL)
		return say_memory();
	sandbox_params_uint(params, "exec", number);
	if (sandbox_conn_call(conn, "exec.wait", params, NULL, 0, &reply,
	    &error) == -1 || sandbox_result_unpack(sandbox_reply_value(reply),
	    &result, &error) == -1)
		return say_error(words[0], &error);
	if (o->is_json) {
		json_print(sandbox_reply_value(reply));
		return print_end(session_status(o, &result));
	}
	return session_status(o, &result);
}

struct kill {
	struct sandbox_conn	*conn;
	int			 signal;
};

/* One of all commands of a sandbox; those that are over are left alone. */
static int
kill_row(const struct options *o, struct sandbox_value row, void *arg)
{
	struct sandbox_error error = { 0 };
	struct kill *kill = arg;
	uint64_t number;
	char state[32];

	if (sandbox_value_uint(sandbox_value_get(row, "exec"), &number) == -1 ||
	    sandbox_value_text(sandbox_value_get(row, "state"), state,
	    sizeof(state)) == -1 || strcmp(state, "running") != 0)
		return 0;
	if (sandbox_exec_kill(kill->conn, number, kill->signal, o->is_all,
	    &error) == 0 || error.code == SANDBOX_NOT_FOUND)
		return 0;
	return say_error(o->command, &error);
}

int
kill_run(struct options *o, char **words)
{
	struct sandbox_error error = { 0 };
	struct sandbox_client *client = NULL;
	struct kill kill = { .signal = SIGTERM };
	uint64_t number;
	int one, status = 0;

	if (o->signal != NULL &&
	    (kill.signal = signal_number(o->signal)) == -1) {
		say("kill: %s: no such signal; TERM, KILL, 15 are possible",
		    o->signal);
		return EXIT_OWN;
	}
	for (; *words != NULL; words++) {
		if ((kill.conn = exec_connect(o, *words, &client,
		    &number)) == NULL) {
			status = EXIT_OWN;
			continue;
		}
		one = 0;
		if (number == 0)
			one = list_execs(o, kill.conn, kill_row, &kill);
		else if (sandbox_exec_kill(kill.conn, number, kill.signal,
		    o->is_all, &error) == -1)
			one = say_error(*words, &error);
		if (one != 0)
			status = one;
		sandbox_conn_free(kill.conn);
	}
	return status;
}
