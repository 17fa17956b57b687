/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Sandbox connections, and requests on them that are answered later.  Run
 * by the worker.  Whoever holds such a connection may drive the sandbox,
 * since the broker issued it; its bytes are not trusted.
 */

#include <stdlib.h>
#include <string.h>

#include "worker.h"

static void	conn_message(struct rpc *, struct rpc_msg *, void *);
static void	conn_gone(const struct error *, void *);

/*** Connections ***/

int
conn_new(struct worker *w, int fd, uint64_t handle)
{
	struct conn	*c;
	struct rpc	*rpc;

	if (w->nconns >= CONNS_PER_SANDBOX_MAX) {
		log_info("%s: %u connections, no more", w->id, w->nconns);
		fd_close(&fd);
		return -1;
	}
	if ((rpc = rpc_new(fd)) == NULL)
		fatal("out of memory");
	c = xcalloc(1, sizeof(*c));
	c->worker = w;
	c->handle = handle;
	TAILQ_INIT(&c->pendings);
	c->watch = watch_rpc(w->base, rpc, conn_message, conn_gone, c);
	if (c->watch == NULL)
		fatal("out of memory");
	TAILQ_INSERT_TAIL(&w->conns, c, entry);
	w->nconns++;
	return 0;
}

static void
conn_free(struct conn *c)
{
	struct worker	*w = c->worker;
	struct pending	*p;

	c->is_dead = true;
	while ((p = TAILQ_FIRST(&c->pendings)) != NULL)
		pending_free(p);
	exec_conn_closed(w, c);
	TAILQ_REMOVE(&w->conns, c, entry);
	w->nconns--;
	watch_free(c->watch);
	free(c);
}

static void
conn_reap(evutil_socket_t fd, short what, void *arg)
{
	struct worker	*w = arg;
	struct conn	*c, *next;

	(void)fd;
	(void)what;
	for (c = TAILQ_FIRST(&w->conns); c != NULL; c = next) {
		next = TAILQ_NEXT(c, entry);
		if (c->is_dead)
			conn_free(c);
	}
}

/* Somebody may be using it right now: it goes when the loop is back. */
static void
conn_end(struct conn *c)
{
	static const struct timeval	 now = { 0, 0 };
	struct worker			*w = c->worker;

	if (c->is_dead)
		return;
	c->is_dead = true;
	watch_read(c->watch, false);
	if (w->reap == NULL)
		w->reap = evtimer_new(w->base, conn_reap, w);
	if (w->reap == NULL)
		fatal("out of memory");
	evtimer_add(w->reap, &now);
}

void
conn_hangup(struct worker *w, uint64_t handle)
{
	struct conn	*c;

	TAILQ_FOREACH(c, &w->conns, entry)
		if (c->handle == handle)
			conn_end(c);
}

void
conn_free_all(struct worker *w)
{
	struct conn	*c;

	while ((c = TAILQ_FIRST(&w->conns)) != NULL)
		conn_free(c);
}

bool
conn_all_flushed(const struct worker *w)
{
	const struct conn	*c;

	TAILQ_FOREACH(c, &w->conns, entry)
		if (!c->is_dead && rpc_pending(watch_get_rpc(c->watch)) > 0)
			return false;
	return true;
}

static void
conn_gone(const struct error *e, void *arg)
{
	struct conn	*c = arg;

	log_debug("%s: a connection ended: %s", c->worker->id, e->message);
	conn_end(c);
}

static void
conn_message(struct rpc *rpc, struct rpc_msg *msg, void *arg)
{
	struct conn		*c = arg;
	const struct method	*m;
	struct error		 e = { 0 };
	struct call		 call = { .conn = c, .id = msg->id,
				    .params = msg->params, .msg = msg };

	(void)rpc;
	if (c->is_dead)
		return;
	if (msg->kind != RPC_REQUEST) {
		log_info("%s: not a request, connection ended",
		    c->worker->id);
		conn_end(c);
		return;
	}
	if (c->worker->state < WORKER_LIVE) {
		error_set(&e, ERR_CONFLICT, "the sandbox is creating");
		conn_fail(c, msg->id, &e);
	} else if ((m = method_find(msg->method)) == NULL) {
		error_key(&e, ERR_UNSUPPORTED, "method",
		    "no such method on a sandbox connection");
		conn_fail(c, msg->id, &e);
	} else
		method_call(m, &call);
}

/*** Answers ***/

static void
conn_sent(struct conn *c, int result, const struct error *e)
{
	if (result == -1) {
		log_debug("%s: cannot answer: %s", c->worker->id, e->message);
		conn_end(c);
	} else
		watch_kick(c->watch);
}

void
conn_reply(struct conn *c, uint32_t id, const struct buf *b, const int *fds,
    int nfds)
{
	struct error	 e = { 0 };
	int		 i, fd;

	if (c->is_dead) {
		for (i = 0; i < nfds; i++) {
			fd = fds[i];
			fd_close(&fd);
		}
		return;
	}
	conn_sent(c, rpc_reply(watch_get_rpc(c->watch), id, b, fds, nfds, &e),
	    &e);
}

void
conn_fail(struct conn *c, uint32_t id, const struct error *why)
{
	struct error	 e = { 0 };

	if (!c->is_dead)
		conn_sent(c, rpc_reply_error(watch_get_rpc(c->watch), id, why,
		    &e), &e);
}

/*** Requests that wait ***/

struct pending *
pending_new(struct conn *c, struct exec *x, struct pending_list *list,
    enum pending_kind kind, uint32_t id, struct error *e)
{
	struct pending	*p;

	if (c->npendings >= RPC_PENDING_MAX) {
		error_set(e, ERR_BUSY, "%u requests of this connection wait",
		    c->npendings);
		return NULL;
	}
	p = xcalloc(1, sizeof(*p));
	p->conn = c;
	p->exec = x;
	p->kind = kind;
	p->id = id;
	p->list = list;
	TAILQ_INSERT_TAIL(&c->pendings, p, of_conn);
	TAILQ_INSERT_TAIL(list, p, of_exec);
	c->npendings++;
	return p;
}

/* All connections share what may be held: the worker has no memory limit. */
static size_t held;

int
pending_hold(struct pending *p, struct view v, struct error *e)
{
	if (v.n > HELD_MAX - held)
		return error_set(e, ERR_BUSY, "requests of %zu bytes wait "
		    "already", held);
	held += p->held = p->n = v.n;
	p->p = xcalloc(1, v.n + 1);
	if (v.n > 0)
		memcpy(p->p, v.p, v.n);
	return 0;
}

void
pending_free(struct pending *p)
{
	held -= p->held;
	TAILQ_REMOVE(&p->conn->pendings, p, of_conn);
	TAILQ_REMOVE(p->list, p, of_exec);
	p->conn->npendings--;
	if (p->kind == PEND_WRITE && p->exec->in != NULL)
		p->exec->in->queued -= p->n - p->off;
	if (p->timer != NULL)
		event_free(p->timer);
	free(p->p);
	free(p);
}

void
pending_reply(struct pending *p, const struct buf *b)
{
	struct conn	*c = p->conn;
	uint32_t	 id = p->id;

	pending_free(p);
	conn_reply(c, id, b, NULL, 0);
}

void
pending_fail(struct pending *p, const struct error *e)
{
	struct conn	*c = p->conn;
	uint32_t	 id = p->id;

	pending_free(p);
	conn_fail(c, id, e);
}
