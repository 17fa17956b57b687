/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The control connection and one function per common request on it.  Runs in
 * the client's process.  Where the daemon is comes from the caller, then the
 * environment, then two fixed places.
 */

#include <sys/socket.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib.h"

struct sandbox_client *
client_new(int fd, struct error *e)
{
	struct sandbox_client *client;

	if ((client = calloc(1, sizeof(*client))) == NULL) {
		close(fd);
		fault_memory(e);
		return NULL;
	}
	client->log_fd = -1;
	if (peer_init(&client->peer, fd, e) == -1) {
		free(client);
		return NULL;
	}
	return client;
}

int
sandbox_client_from_fd(int fd, struct sandbox_client **client,
    struct sandbox_error *error)
{
	struct error e = { 0 };
	struct sandbox_client *c;

	if ((c = client_new(fd, &e)) == NULL)
		return fault_give(error, &e);
	*client = c;
	return 0;
}

static void
client_release(struct sandbox_client *client)
{
	private_end(client);
	free(client);
}

void
sandbox_client_free(struct sandbox_client *client)
{
	if (client != NULL && peer_free(&client->peer))
		client_release(client);
}

int
sandbox_client_fd(const struct sandbox_client *client)
{
	return client->peer.rpc == NULL ? -1 : rpc_fd(client->peer.rpc);
}

short
sandbox_client_events(const struct sandbox_client *client)
{
	return peer_events(&client->peer);
}

int
sandbox_client_dispatch(struct sandbox_client *client,
    struct sandbox_error *error)
{
	struct error e = { 0 };
	int r;

	if ((r = peer_dispatch(&client->peer, &e)) == 1) {
		client->peer.is_freed = false;
		sandbox_client_free(client);
		return 0;
	}
	return r == -1 ? fault_give(error, &e) : 0;
}

int
sandbox_client_request(struct sandbox_client *client, const char *method,
    const struct sandbox_params *params, const int *fds, int nfds,
    sandbox_reply_fn *fn, void *arg, struct sandbox_error *error)
{
	struct error e = { 0 };

	if (peer_request(&client->peer, method, params, fds, nfds, fn, arg,
	    &e) == -1)
		return fault_give(error, &e);
	return 0;
}

int
sandbox_client_call(struct sandbox_client *client, const char *method,
    const struct sandbox_params *params, const int *fds, int nfds,
    struct sandbox_reply **reply, struct sandbox_error *error)
{
	struct error e = { 0 };

	if (peer_call(&client->peer, method, params, fds, nfds, reply,
	    &e) == -1)
		return fault_give(error, &e);
	return 0;
}

/*** Requests ***/

/* A request whose one parameter is the sandbox. */
static int
client_call_id(struct sandbox_client *client, const char *method,
    const char *id, struct sandbox_reply **reply, struct error *e)
{
	struct sandbox_params *params;
	int r;

	if ((params = sandbox_params_new()) == NULL)
		return fault_memory(e);
	sandbox_params_text(params, "id", id);
	r = peer_call(&client->peer, method, params, NULL, 0, reply, e);
	sandbox_params_free(params);
	return r;
}

/* Takes what create and connect answer with: the id and the connection. */
static int
client_take_conn(struct sandbox_reply *reply, char *id,
    struct sandbox_conn **conn, struct error *e)
{
	int fd;

	if (id != NULL && sandbox_value_text(sandbox_value_get(reply->value,
	    "id"), id, SANDBOX_ID_SIZE) == -1)
		return error_set(e, ERR_INTERNAL,
		    "the daemon's answer has no id");
	if (conn == NULL)
		return 0;
	if ((fd = sandbox_reply_fd(reply, 0)) == -1)
		return error_set(e, ERR_INTERNAL,
		    "the daemon's answer has no sandbox connection");
	return (*conn = conn_new(fd, e)) == NULL ? -1 : 0;
}

int
sandbox_client_hello(struct sandbox_client *client,
    struct sandbox_reply **reply, struct sandbox_error *error)
{
	return sandbox_client_call(client, "hello", NULL, NULL, 0, reply,
	    error);
}

int
sandbox_client_create(struct sandbox_client *client,
    struct sandbox_params *params, char *id, struct sandbox_conn **conn,
    struct sandbox_reply **reply, struct sandbox_error *error)
{
	struct error e = { 0 };
	struct sandbox_reply *r = NULL;

	if (conn != NULL)
		sandbox_params_bool(params, "connect", true);
	if (peer_call(&client->peer, "sandbox.create", params, NULL, 0, &r,
	    &e) == -1 || client_take_conn(r, id, conn, &e) == -1) {
		sandbox_reply_free(r);
		return fault_give(error, &e);
	}
	if (reply != NULL)
		*reply = r;
	else
		sandbox_reply_free(r);
	return 0;
}

int
sandbox_client_offer(struct sandbox_client *client, const int *dirs, int ndirs,
    uint64_t *offer, struct sandbox_error *error)
{
	struct error e = { 0 };
	struct sandbox_reply *reply = NULL;
	int i, r = -1, sock = -1;

	if (peer_call(&client->peer, "sandbox.offer", NULL, NULL, 0, &reply,
	    &e) == -1)
		goto out;
	if (sandbox_value_uint(sandbox_value_get(reply->value, "offer"),
	    offer) == -1 || (sock = sandbox_reply_fd(reply, 0)) == -1) {
		error_set(&e, ERR_INTERNAL, "the daemon's offer is incomplete");
		goto out;
	}
	/* One byte with a descriptor each: they are taken one by one. */
	for (i = 0; i < ndirs; i++)
		if (fds_send(sock, "", 1, &dirs[i], 1) == -1) {
			error_sys(&e, ERR_UNAVAILABLE, errno,
			    "cannot pass a directory to the daemon");
			goto out;
		}
	r = 0;
 out:
	fd_close(&sock);
	sandbox_reply_free(reply);
	return r == -1 ? fault_give(error, &e) : 0;
}

int
sandbox_client_connect(struct sandbox_client *client, const char *name,
    char *id, struct sandbox_conn **conn, struct sandbox_error *error)
{
	struct error e = { 0 };
	struct sandbox_reply *reply = NULL;
	int r;

	if ((r = client_call_id(client, "sandbox.connect", name, &reply,
	    &e)) == 0)
		r = client_take_conn(reply, id, conn, &e);
	sandbox_reply_free(reply);
	return r == -1 ? fault_give(error, &e) : 0;
}

int
sandbox_client_tunnel(struct sandbox_client *client, const char *name,
    struct sandbox_conn **conn, struct sandbox_error *error)
{
	struct error e = { 0 };
	struct sandbox_params *params;
	struct sandbox_conn *c = NULL;
	int r = -1;

	if ((params = sandbox_params_new()) == NULL ||
	    (c = calloc(1, sizeof(*c))) == NULL) {
		fault_memory(&e);
		goto out;
	}
	if (client->peer.pending != NULL) {
		error_set(&e, ERR_CONFLICT,
		    "libsandboxd: a tunnel while requests are open");
		goto out;
	}
	sandbox_params_text(params, "id", name);
	sandbox_params_bool(params, "tunnel", true);
	r = peer_call(&client->peer, "sandbox.connect", params, NULL, 0, NULL,
	    &e);
	if (r == 0) {
		/* From here on the worker is at the other end. */
		c->peer.rpc = client->peer.rpc;
		c->peer.next_id = client->peer.next_id;
		client->peer.rpc = NULL;
		*conn = c;
		c = NULL;
	}
 out:
	free(c);
	sandbox_params_free(params);
	sandbox_client_free(client);
	return r == -1 ? fault_give(error, &e) : 0;
}

int
sandbox_client_destroy(struct sandbox_client *client, const char *name,
    struct sandbox_error *error)
{
	struct error e = { 0 };

	if (client_call_id(client, "sandbox.destroy", name, NULL, &e) == -1)
		return fault_give(error, &e);
	return 0;
}

int
sandbox_client_info(struct sandbox_client *client, const char *name,
    struct sandbox_reply **reply, struct sandbox_error *error)
{
	struct error e = { 0 };

	if (client_call_id(client, "sandbox.info", name, reply, &e) == -1)
		return fault_give(error, &e);
	return 0;
}

int
sandbox_client_wait(struct sandbox_client *client, const char *name,
    struct sandbox_reply **reply, struct sandbox_error *error)
{
	struct error e = { 0 };

	if (client_call_id(client, "sandbox.wait", name, reply, &e) == -1)
		return fault_give(error, &e);
	return 0;
}

int
sandbox_client_subscribe(struct sandbox_client *client, uint64_t since,
    sandbox_event_fn *fn, void *arg, struct sandbox_error *error)
{
	struct error e = { 0 };
	struct sandbox_params *params;
	int r;

	if ((params = sandbox_params_new()) == NULL) {
		fault_memory(&e);
		return fault_give(error, &e);
	}
	if (since != 0)
		sandbox_params_uint(params, "since", since);
	/* Old events may come before the answer. */
	client->peer.event = fn;
	client->peer.event_arg = arg;
	r = peer_call(&client->peer, "event.subscribe", params, NULL, 0, NULL,
	    &e);
	sandbox_params_free(params);
	return r == -1 ? fault_give(error, &e) : 0;
}
