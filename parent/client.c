/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Control connections and their requests.  Run by the front, confined.  The
 * broker accepted each connection and says who it is; its bytes may be
 * anything.  Whatever a client does ends that client at worst: a bad message
 * is answered with an error and the connection closed, and one that does not
 * read its answers is not read from until it does.
 *
 * A client is freed by the reaper, in a turn of the event loop of its own, so
 * that nobody who walks over clients has one vanish below him.
 */

#include "config.h"

#include <event2/event.h>
#include <stdlib.h>

#include "parent/parent.h"

#define UNREAD_MAX	(256 * 1024)	/* unsent bytes that stop reading */
#define PACE_FIRST_MS	10u
#define PACE_LAST_MS	1000u
#define BAD_MESSAGE_ID	UINT32_MAX	/* the answer to no request */

struct client {
	TAILQ_ENTRY(client)	 entry;
	uint64_t		 handle;
	uid_t			 uid;
	pid_t			 pid;
	bool			 is_admin;
	bool			 is_ending;
	bool			 is_held;
	bool			 is_subscribed;
	uint64_t		 next_seq;	/* the next event it gets */
	struct watch		*watch;		/* NULL: a tunnel, or ending */
	struct tunnel		*tunnel;
	struct event		*pace;		/* timer; NULL until needed */
	unsigned int		 pace_ms;	/* 0: not running */
	struct request_list	 requests;
	unsigned int		 nrequests;
};

static struct clients {
	struct event_base		*base;
	struct event			*reaper;
	TAILQ_HEAD(, client)		 all;
	unsigned int			 n;
	unsigned int			 nrequests;
} clients;

static void	 client_pace(struct client *);

/*** End ***/

static void
client_end(struct client *c)
{
	if (c->is_ending)
		return;
	c->is_ending = true;
	c->is_subscribed = false;
	event_active(clients.reaper, EV_TIMEOUT, 0);
}

static void
request_free(struct request *r)
{
	if (r->client != NULL) {
		LIST_REMOVE(r, of_client);
		r->client->nrequests--;
	}
	if (r->is_waiting)
		LIST_REMOVE(r, of_wait);
	clients.nrequests--;
	free(r);
}

static void
client_free(struct client *c)
{
	struct request *r;

	while ((r = LIST_FIRST(&c->requests)) != NULL) {
		if (r->broker_id == 0) {
			request_free(r);
			continue;
		}
		/* Its answer still has to be taken down. */
		LIST_REMOVE(r, of_client);
		r->client = NULL;
	}
	TAILQ_REMOVE(&clients.all, c, entry);
	clients.n--;
	broker_drop(c->handle);
	log_debug("client %u of uid %u: end", c->pid, c->uid);
	watch_free(c->watch);
	tunnel_free(c->tunnel);
	if (c->pace != NULL)
		event_free(c->pace);
	free(c);
	if (front_is_inetd() && clients.n == 0)
		front_stop(0);
}

static void
reap(evutil_socket_t fd, short what, void *arg)
{
	struct client *c, *next;

	(void)fd;
	(void)what;
	(void)arg;
	for (c = TAILQ_FIRST(&clients.all); c != NULL; c = next) {
		next = TAILQ_NEXT(c, entry);
		if (c->is_ending)
			client_free(c);
	}
}

/*** Start ***/

void
client_init(struct event_base *base)
{
	clients.base = base;
	TAILQ_INIT(&clients.all);
	clients.reaper = event_new(base, -1, 0, reap, NULL);
	if (clients.reaper == NULL)
		fatal("out of memory");
}

static void
client_message(struct rpc *rpc, struct rpc_msg *m, void *arg)
{
	struct client *c = arg;
	struct request *r;
	struct error e;

	if (c->is_ending)
		return;
	if (m->kind != RPC_REQUEST) {
		error_set(&e, ERR_INVALID, "only requests are taken here");
		rpc_reply_error(rpc, BAD_MESSAGE_ID, &e, NULL);
		client_end(c);
		return;
	}
	if (c->nrequests >= RPC_PENDING_MAX ||
	    clients.nrequests >= REQUESTS_MAX) {
		error_set(&e, ERR_BUSY, "too many requests are unanswered");
		if (rpc_reply_error(rpc, m->id, &e, NULL) == -1)
			client_end(c);
		client_pace(c);
		return;
	}
	r = xcalloc(1, sizeof(*r));
	r->client = c;
	r->rpc_id = m->id;
	LIST_INSERT_HEAD(&c->requests, r, of_client);
	c->nrequests++;
	clients.nrequests++;
	method_call(r, m);
}

static void
client_closed(const struct error *e, void *arg)
{
	struct client *c = arg;

	if (e->code != ERR_UNAVAILABLE) {
		log_debug("client %u of uid %u: %s", c->pid, c->uid,
		    e->message);
		rpc_reply_error(watch_get_rpc(c->watch), BAD_MESSAGE_ID, e,
		    NULL);
	}
	client_end(c);
}

void
client_add(const struct msg_broker_client *m, int fd)
{
	struct client *c;
	struct rpc *rpc;

	if (clients.n >= CLIENTS_MAX || !front_has_room() ||
	    (rpc = rpc_new(fd)) == NULL) {
		log_debug("client of uid %u refused", (unsigned int)m->uid);
		fd_close(&fd);
		broker_drop(m->handle);
		return;
	}
	rpc_refuse_fds(rpc);
	c = xcalloc(1, sizeof(*c));
	c->handle = m->handle;
	c->uid = (uid_t)m->uid;
	c->pid = (pid_t)m->pid;
	c->is_admin = m->is_admin;
	LIST_INIT(&c->requests);
	TAILQ_INSERT_TAIL(&clients.all, c, entry);
	clients.n++;
	log_debug("client %u of uid %u%s", c->pid, c->uid,
	    c->is_admin ? ", admin" : "");
	c->watch = watch_rpc(clients.base, rpc, client_message, client_closed,
	    c);
	if (c->watch == NULL)
		client_end(c);
}

/*** Who it is ***/

unsigned int
client_count(void)
{
	return clients.n;
}

uint64_t
client_handle(const struct client *c)
{
	return c->handle;
}

uid_t
client_uid(const struct client *c)
{
	return c->uid;
}

bool
client_is_admin(const struct client *c)
{
	return c->is_admin;
}

bool
client_may_see(const struct client *c, uid_t owner)
{
	return c->is_admin || c->uid == owner;
}

unsigned int
client_requests(const struct client *c)
{
	return c->nrequests;
}

/*** Pace: a client that does not read gets no more ***/

static bool
is_clogged(const struct client *c)
{
	return rpc_pending(watch_get_rpc(c->watch)) > UNREAD_MAX;
}

static void
events_send(struct client *c)
{
	const struct event_entry *entry;
	struct buf missed = { 0 };
	struct rpc *rpc = watch_get_rpc(c->watch);
	int rc = 0;

	if (c->next_seq <= event_log_dropped()) {
		put_map(&missed, 2);
		put_str(&missed, "kind");
		put_str(&missed, "missed");
		put_str(&missed, "seq");
		put_uint(&missed, event_log_dropped());
		rc = rpc_notify(rpc, "event", &missed, NULL);
		buf_free(&missed);
		c->next_seq = event_log_dropped() + 1;
	}
	while (rc == 0 && !is_clogged(c) &&
	    (entry = event_log_from(c->next_seq)) != NULL) {
		c->next_seq = entry->seq + 1;
		if (client_may_see(c, entry->owner))
			rc = rpc_notify(rpc, "event", &entry->params, NULL);
	}
	if (rc == -1)
		client_end(c);
}

static void
pace(evutil_socket_t fd, short what, void *arg)
{
	struct client *c = arg;

	(void)fd;
	(void)what;
	if (c->is_ending || c->watch == NULL)
		return;
	if (!is_clogged(c)) {
		c->pace_ms = 0;
		if (!c->is_held)
			watch_read(c->watch, true);
		if (c->is_subscribed)
			events_send(c);
	}
	client_pace(c);
}

/* After anything was queued. */
static void
client_pace(struct client *c)
{
	struct timeval tv;

	if (c->is_ending || c->watch == NULL)
		return;
	watch_kick(c->watch);
	if (!is_clogged(c))
		return;
	watch_read(c->watch, false);
	if (c->pace == NULL &&
	    (c->pace = event_new(clients.base, -1, 0, pace, c)) == NULL) {
		client_end(c);
		return;
	}
	if (event_pending(c->pace, EV_TIMEOUT, NULL))
		return;
	c->pace_ms = c->pace_ms == 0 ? PACE_FIRST_MS : c->pace_ms * 2;
	if (c->pace_ms > PACE_LAST_MS)
		c->pace_ms = PACE_LAST_MS;
	tv.tv_sec = c->pace_ms / 1000;
	tv.tv_usec = (suseconds_t)(c->pace_ms % 1000) * 1000;
	event_add(c->pace, &tv);
}

void
client_hold(struct client *c, bool is_held)
{
	c->is_held = is_held;
	if (c->is_ending || c->watch == NULL)
		return;
	if (is_held)
		watch_read(c->watch, false);
	else if (!is_clogged(c))
		watch_read(c->watch, true);
}

/*** Events ***/

void
client_subscribe(struct client *c, uint64_t seq)
{
	if (c->is_ending || c->watch == NULL)
		return;
	c->is_subscribed = true;
	c->next_seq = seq;
	events_send(c);
	client_pace(c);
}

void
client_events(void)
{
	struct client *c;

	TAILQ_FOREACH(c, &clients.all, entry) {
		if (!c->is_subscribed || c->is_ending || c->watch == NULL)
			continue;
		events_send(c);
		client_pace(c);
	}
}

/*** Tunnel ***/

static void
tunnel_done(void *arg)
{
	client_end(arg);
}

void
client_tunnel(struct client *c, int fd)
{
	struct buf rest = { 0 };
	struct rpc *rpc;
	int own;

	/* The answer that announces it has to be out, whole. */
	if (c->is_ending || rpc_pending(watch_get_rpc(c->watch)) != 0) {
		fd_close(&fd);
		client_end(c);
		return;
	}
	c->is_subscribed = false;
	rpc = watch_detach_rpc(c->watch);
	c->watch = NULL;
	if ((own = rpc_detach(rpc, &rest)) == -1) {
		rpc_free(rpc);
		fd_close(&fd);
	} else
		c->tunnel = tunnel_new(clients.base, own, fd, &rest,
		    tunnel_done, c);
	buf_free(&rest);
	if (c->tunnel == NULL)
		client_end(c);
}

/*** Requests ***/

unsigned int
request_count(void)
{
	return clients.nrequests;
}

void
request_wait(struct request *r, struct request_list *list)
{
	LIST_INSERT_HEAD(list, r, of_wait);
	r->is_waiting = true;
}

void
request_fail(struct request *r, const struct error *error)
{
	struct client *c = r->client;

	if (c != NULL && !c->is_ending && c->watch != NULL) {
		if (rpc_reply_error(watch_get_rpc(c->watch), r->rpc_id,
		    error, NULL) == -1)
			client_end(c);
		client_pace(c);
	}
	request_free(r);
}

/*
 * Descriptors would pile up in the queue of a client that does not read.  A
 * new sandbox is bounded otherwise.
 */
static bool
is_unread(const struct request *r)
{
	const struct client *c = r->client;

	return c != NULL && c->watch != NULL &&
	    r->reply != MSG_BROKER_CREATED &&
	    rpc_pending(watch_get_rpc(c->watch)) > 0;
}

void
request_reply(struct request *r, struct buf *result, int fd)
{
	struct client *c = r->client;
	struct error e;
	int rc = 0;

	if (fd != -1 && is_unread(r)) {
		fd_close(&fd);
		rc = error_set(&e, ERR_LIMIT,
		    "earlier answers of this connection are not read yet");
	} else if (c != NULL && !c->is_ending && c->watch != NULL) {
		rc = rpc_reply(watch_get_rpc(c->watch), r->rpc_id, result,
		    &fd, fd != -1, &e);
		fd = -1;
	}
	buf_free(result);
	fd_close(&fd);
	if (rc == -1 && e.code != ERR_BUSY && e.code != ERR_UNAVAILABLE) {
		request_fail(r, &e);
		return;
	}
	if (rc == -1)
		client_end(c);
	else if (c != NULL)
		client_pace(c);
	request_free(r);
}
