/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * A connection to the front or to a worker: requests out, answers to their
 * callbacks, events to theirs; and blocking calls made from these.  Runs in
 * the client's process.  A message that is no answer to anything asked is
 * dropped, its descriptors closed.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib.h"

int
peer_init(struct peer *peer, int fd, struct error *e)
{
	memset(peer, 0, sizeof(*peer));
	if ((peer->rpc = rpc_new(fd)) == NULL) {
		close(fd);
		return fault_memory(e);
	}
	return 0;
}

/*** Replies ***/

struct sandbox_value
sandbox_reply_value(const struct sandbox_reply *reply)
{
	return reply->value;
}

int
sandbox_reply_fd(struct sandbox_reply *reply, int n)
{
	int fd;

	if (n < 0 || n >= reply->nfds)
		return -1;
	fd = reply->fds[n];
	reply->fds[n] = -1;
	return fd;
}

static void
reply_close(struct sandbox_reply *reply)
{
	int i;

	for (i = 0; i < reply->nfds; i++)
		fd_close(&reply->fds[i]);
	reply->nfds = 0;
}

void
sandbox_reply_free(struct sandbox_reply *reply)
{
	if (reply == NULL)
		return;
	reply_close(reply);
	free(reply);
}

/* A copy that lives on its own; takes the descriptors. */
static struct sandbox_reply *
reply_keep(struct sandbox_reply *lent)
{
	struct sandbox_reply *reply;
	char *data;

	if ((reply = malloc(sizeof(*reply) + lent->value.len)) == NULL)
		return NULL;
	data = (char *)(reply + 1);
	if (lent->value.len != 0)
		memcpy(data, lent->value.data, lent->value.len);
	*reply = *lent;
	reply->value.data = data;
	reply->is_lent = false;
	lent->nfds = 0;
	return reply;
}

/*** Requests ***/

static struct pending *
pending_take(struct peer *peer, uint32_t id)
{
	struct pending **at, *pending;

	for (at = &peer->pending; (pending = *at) != NULL; at = &pending->next)
		if (pending->id == id) {
			*at = pending->next;
			return pending;
		}
	return NULL;
}

/* Copies of the caller's descriptors, which sending consumes. */
static int
peer_dup(const int *fds, int nfds, int *copies, struct error *e)
{
	int i;

	if (nfds > RPC_FDS_MAX)
		return error_set(e, ERR_TOO_LARGE,
		    "libsandboxd: more than %d descriptors", RPC_FDS_MAX);
	for (i = 0; i < nfds; i++) {
		/* Not 0 to 2, in case the program has closed these. */
		copies[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 3);
		if (copies[i] == -1) {
			error_sys(e, ERR_INVALID, errno,
			    "cannot pass descriptor %d", fds[i]);
			while (--i >= 0)
				close(copies[i]);
			return -1;
		}
	}
	return 0;
}

int
peer_request(struct peer *peer, const char *method,
    const struct sandbox_params *params, const int *fds, int nfds,
    sandbox_reply_fn *fn, void *arg, struct error *e)
{
	struct pending *pending = NULL;
	struct buf buf = { 0 };
	int copies[RPC_FDS_MAX];

	if (peer->rpc == NULL) {
		*e = peer->why;
		return -1;
	}
	if (params_pack(params, nfds, &buf, e) == -1)
		goto fail;
	if ((pending = malloc(sizeof(*pending))) == NULL) {
		fault_memory(e);
		goto fail;
	}
	if (peer_dup(fds, nfds, copies, e) == -1)
		goto fail;
	*pending = (struct pending){ peer->pending, ++peer->next_id, fn, arg };
	if (rpc_request(peer->rpc, pending->id, method, &buf, copies, nfds,
	    e) == -1)
		goto fail;
	peer->pending = pending;
	buf_free(&buf);
	return 0;
 fail:
	free(pending);
	buf_free(&buf);
	return -1;
}

/*** What arrives ***/

static void
peer_response(struct peer *peer, struct rpc_msg *msg)
{
	struct sandbox_reply reply = { .is_lent = true };
	struct sandbox_error error;
	struct error e = { 0 };
	struct pending *pending;
	int i;

	if ((pending = pending_take(peer, msg->id)) == NULL)
		return;
	for (i = 0; i < msg->nfds; i++)
		reply.fds[reply.nfds++] = rpc_take_fd(msg, i);
	reply.value.data = msg->result.p;
	reply.value.len = msg->result.n;
	if (msg->error.p == NULL || msg->error.n == 0 ||
	    sandbox_value_kind((struct sandbox_value){ msg->error.p,
	    msg->error.n }) == SANDBOX_NIL)
		pending->fn(&reply, NULL, pending->arg);
	else {
		rpc_error_unpack(msg->error, &e);
		fault_give(&error, &e);
		pending->fn(NULL, &error, pending->arg);
	}
	reply_close(&reply);
	free(pending);
}

static void
peer_message(struct peer *peer, struct rpc_msg *msg)
{
	struct sandbox_value event = { msg->params.p, msg->params.n };

	if (msg->kind == RPC_RESPONSE)
		peer_response(peer, msg);
	else if (msg->kind == RPC_NOTIFY && peer->event != NULL &&
	    view_is(msg->method, "event"))
		peer->event(event, peer->event_arg);
}

void
peer_end(struct peer *peer, const struct error *why)
{
	struct sandbox_error error;
	struct pending *pending;

	if (peer->rpc == NULL)
		return;
	rpc_free(peer->rpc);
	peer->rpc = NULL;
	peer->why = *why;
	fault_give(&error, why);
	while ((pending = peer->pending) != NULL) {
		peer->pending = pending->next;
		pending->fn(NULL, &error, pending->arg);
		free(pending);
	}
}

bool
peer_free(struct peer *peer)
{
	struct error e = { 0 };

	if (peer->is_running) {
		peer->is_freed = true;
		return false;
	}
	error_set(&e, ERR_UNAVAILABLE, "the connection was closed here");
	peer->is_running = true;	/* a second free does nothing */
	peer_end(peer, &e);
	return true;
}

/* All that is there: what stayed in our buffer, poll would not show. */
static int
peer_run(struct peer *peer, struct error *e)
{
	struct rpc_msg msg;
	struct error why = { 0 };
	int r = 0;

	if (peer->rpc == NULL) {
		*e = peer->why;
		return -1;
	}
	peer->is_running = true;
	if (rpc_pending(peer->rpc) != 0)
		r = rpc_flush(peer->rpc, &why);
	/* What was answered before the end still counts. */
	while (!peer->is_freed &&
	    (r = rpc_recv(peer->rpc, &msg, &why)) == 1)
		peer_message(peer, &msg);
	if (r == -1) {
		peer_end(peer, &why);
		*e = why;
	}
	peer->is_running = false;
	return r == -1 ? -1 : 0;
}

int
peer_dispatch(struct peer *peer, struct error *e)
{
	int r;

	r = peer_run(peer, e);
	return peer->is_freed ? 1 : r;
}

short
peer_events(const struct peer *peer)
{
	if (peer->rpc != NULL && rpc_pending(peer->rpc) != 0)
		return POLLIN | POLLOUT;
	return POLLIN;
}

/*** Blocking calls ***/

struct call {
	bool			 is_done;
	struct sandbox_reply	*reply;
	struct error		*e;
};

static void
call_done(struct sandbox_reply *reply, const struct sandbox_error *error,
    void *arg)
{
	struct call *call = arg;

	call->is_done = true;
	if (error != NULL)
		memcpy(call->e, error, sizeof(*call->e));
	else if ((call->reply = reply_keep(reply)) == NULL)
		fault_memory(call->e);
}

int
peer_call(struct peer *peer, const char *method,
    const struct sandbox_params *params, const int *fds, int nfds,
    struct sandbox_reply **reply, struct error *e)
{
	struct call call = { .e = e };
	struct error gone = { 0 };
	struct pollfd pfd;

	if (peer->is_running)
		return error_set(e, ERR_CONFLICT,
		    "libsandboxd: a callback called a blocking function");
	if (peer_request(peer, method, params, fds, nfds, call_done, &call,
	    e) == -1)
		return -1;
	while (!call.is_done) {
		pfd.fd = rpc_fd(peer->rpc);
		pfd.events = peer_events(peer);
		if (poll(&pfd, 1, -1) == -1 && errno != EINTR) {
			error_sys(&gone, ERR_INTERNAL, errno, "poll");
			peer->is_running = true;
			peer_end(peer, &gone);
			peer->is_running = false;
		} else
			/* An end is answered to call_done too. */
			peer_run(peer, &gone);
		/* The caller still has the handle in use. */
		peer->is_freed = false;
	}
	if (call.reply == NULL)
		return -1;
	if (reply != NULL)
		*reply = call.reply;
	else
		sandbox_reply_free(call.reply);
	return 0;
}
