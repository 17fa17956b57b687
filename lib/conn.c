/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The sandbox connection: a direct line to the worker of one sandbox.  Runs
 * in the client's process.
 */

#include <stdlib.h>
#include <unistd.h>

#include "lib.h"

struct sandbox_conn *
conn_new(int fd, struct error *e)
{
	struct sandbox_conn *conn;

	if ((conn = calloc(1, sizeof(*conn))) == NULL) {
		close(fd);
		fault_memory(e);
		return NULL;
	}
	if (peer_init(&conn->peer, fd, e) == -1) {
		free(conn);
		return NULL;
	}
	return conn;
}

int
sandbox_conn_from_fd(int fd, struct sandbox_conn **conn,
    struct sandbox_error *error)
{
	struct error e = { 0 };
	struct sandbox_conn *c;

	if ((c = conn_new(fd, &e)) == NULL)
		return fault_give(error, &e);
	*conn = c;
	return 0;
}

void
sandbox_conn_free(struct sandbox_conn *conn)
{
	if (conn != NULL && peer_free(&conn->peer))
		free(conn);
}

int
sandbox_conn_fd(const struct sandbox_conn *conn)
{
	return conn->peer.rpc == NULL ? -1 : rpc_fd(conn->peer.rpc);
}

short
sandbox_conn_events(const struct sandbox_conn *conn)
{
	return peer_events(&conn->peer);
}

int
sandbox_conn_dispatch(struct sandbox_conn *conn, struct sandbox_error *error)
{
	struct error e = { 0 };
	int r;

	if ((r = peer_dispatch(&conn->peer, &e)) == 1) {
		conn->peer.is_freed = false;
		sandbox_conn_free(conn);
		return 0;
	}
	return r == -1 ? fault_give(error, &e) : 0;
}

int
sandbox_conn_request(struct sandbox_conn *conn, const char *method,
    const struct sandbox_params *params, const int *fds, int nfds,
    sandbox_reply_fn *fn, void *arg, struct sandbox_error *error)
{
	struct error e = { 0 };

	if (peer_request(&conn->peer, method, params, fds, nfds, fn, arg,
	    &e) == -1)
		return fault_give(error, &e);
	return 0;
}

int
sandbox_conn_hold(struct sandbox_conn *conn, int is_held,
    struct sandbox_error *error)
{
	struct error e = { 0 };

	/* One that has ended says so to the next request. */
	if (conn->peer.rpc == NULL)
		return 0;
	if (rpc_hold(conn->peer.rpc, is_held != 0, &e) == -1)
		return fault_give(error, &e);
	return 0;
}

int
sandbox_conn_call(struct sandbox_conn *conn, const char *method,
    const struct sandbox_params *params, const int *fds, int nfds,
    struct sandbox_reply **reply, struct sandbox_error *error)
{
	struct error e = { 0 };

	if (peer_call(&conn->peer, method, params, fds, nfds, reply,
	    &e) == -1)
		return fault_give(error, &e);
	return 0;
}
