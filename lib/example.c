/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * How a program runs something that it does not trust, with libsandboxd:
 * create a sandbox, run a command whose output comes through a pipe, see how
 * it ended, destroy the sandbox.
 *
 *	cc example.c $(pkg-config --cflags --libs sandboxd)
 */

#include <sandboxd.h>
#include <stdio.h>
#include <unistd.h>

static int
fail(const char *what, const struct sandbox_error *error)
{
	fprintf(stderr, "%s: %s; %s\n", what, error->message, error->fix);
	return 1;
}

/* Runs argv in the sandbox and copies what it prints. */
static int
run(struct sandbox_conn *conn, const char *const *argv)
{
	struct sandbox_error error;
	struct sandbox_result result;
	struct sandbox_exec exec;
	char buf[4096];
	ssize_t n;
	uint64_t number;
	int ends[2];

	if (pipe(ends) == -1)
		return 1;
	sandbox_exec_init(&exec);
	exec.argv = argv;
	exec.fds[1] = ends[1];		/* the program writes to our pipe */
	exec.timeout_ms = 10000;
	if (sandbox_exec_start(conn, &exec, &number, &error) == -1)
		return fail("start", &error);
	close(ends[1]);
	while ((n = read(ends[0], buf, sizeof(buf))) > 0)
		fwrite(buf, 1, (size_t)n, stdout);
	close(ends[0]);
	if (sandbox_exec_wait(conn, number, &result, &error) == -1)
		return fail("wait", &error);
	printf("cause %s, code %d\n", result.cause, result.code);
	return 0;
}

int
main(void)
{
	const char *const argv[] = { "sh", "-c", "id -u; exit 3", NULL };
	struct sandbox_error error;
	struct sandbox_client *client;
	struct sandbox_params *params;
	struct sandbox_conn *conn;
	char id[SANDBOX_ID_SIZE];
	int status;

	if (sandbox_client_open(NULL, &client, &error) == -1)
		return fail("open", &error);
	if ((params = sandbox_params_new()) == NULL)
		return 1;
	sandbox_params_uint(params, "pids", 16);
	sandbox_params_bool(params, "die_with_client", true);
	if (sandbox_client_create(client, params, id, &conn, NULL,
	    &error) == -1)
		return fail("create", &error);
	sandbox_params_free(params);
	status = run(conn, argv);
	sandbox_conn_free(conn);
	if (sandbox_client_destroy(client, id, &error) == -1)
		status = fail("destroy", &error);
	sandbox_client_free(client);
	return status;
}
