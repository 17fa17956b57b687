/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * What the front may ask for: this table is all of it.  The front may be
 * taken over: it acts only for handles of clients that are connected, and
 * gets for them no more than the policy gives.  A frame that is no message
 * of the table, or comes too early, ends the broker and with it everything.
 */

#include "broker.h"

/* All but the first begin with the handle. */
union request {
	uint64_t			 handle;
	struct msg_broker_policy	 policy;
	struct msg_broker_drop		 drop;
	struct msg_broker_create	 create;
	struct msg_broker_connect	 connect;
	struct msg_broker_destroy	 destroy;
	struct msg_broker_offer		 offer;
	struct msg_broker_check		 check;
};

static struct peer front = { .name = "front" };

void
request_send(enum msg_type type, uint32_t id, const void *msg, const int *fds,
    int nfds)
{
	peer_send(&front, type, id, msg, fds, nfds);
}

void
request_fail(uint32_t id, const struct error *e)
{
	struct msg_broker_failed msg;

	msg_from_error(e, &msg);
	request_send(MSG_BROKER_FAILED, id, &msg, NULL, 0);
}

struct ask {
	struct client		*c;
	uint32_t		 id;
	const union request	*r;
};

/*** The requests ***/

static int
policy_request(const struct ask *a, struct error *e)
{
	if (policy_set(a->r->policy.policy, e) == -1 || (priv_is_root() &&
	    slot_init(policy_get(), e) == -1) ||
	    accept_listen(policy_get(), e) == -1) {
		request_fail(0, e);
		broker_stop(1);
		return 0;
	}
	slot_fill(0);
	probe_order();
	return 0;
}

static int
drop_request(const struct ask *a, struct error *e)
{
	(void)e;
	client_drop(a->c);
	return 0;
}

static int
create_request(const struct ask *a, struct error *e)
{
	char name[ID_LEN + 1];
	struct sandbox *sb;

	if (text_copy(name, sizeof(name), a->r->create.id) == -1 ||
	    !id_is_valid(name))
		return error_set(e, ERR_INVALID, "not a sandbox's id");
	if (sandbox_find(a->r->create.id) != NULL)
		return error_set(e, ERR_CONFLICT, "%s exists", name);
	if ((sb = sandbox_new(name)) == NULL)
		return error_set(e, ERR_LIMIT, "there are %d sandboxes",
		    SANDBOXES_MAX);
	sb->request = a->id;
	sb->handle = a->c->handle;
	sb->uid = a->c->who.uid;
	sb->gid = a->c->who.gid;
	buf_add(&sb->request_spec, a->r->create.spec.p, a->r->create.spec.n);
	if (sb->request_spec.has_failed)
		fatal("out of memory");
	sandbox_wake(sb);
	return 0;
}

/* The same answer for an id that is not there and one of another owner. */
static struct sandbox *
sandbox_of(const struct client *c, struct view id)
{
	struct sandbox *sb = sandbox_find(id);

	return sb == NULL || (!c->is_admin && c->who.uid != sb->uid) ? NULL :
	    sb;
}

static int
connect_request(const struct ask *a, struct error *e)
{
	struct msg_broker_connected msg = { .id = a->r->connect.id };
	struct sandbox *sb = sandbox_of(a->c, a->r->connect.id);
	int fd;

	if (sb == NULL)
		return error_set(e, ERR_NOT_FOUND, "no such sandbox");
	if (sb->state != SB_RUNNING)
		return error_set(e, ERR_CONFLICT, "%s is %s", sb->id,
		    sb->state == SB_CREATING ? "creating" : "destroying");
	if (sandbox_connect(sb, a->c->handle, &fd, e) == -1)
		return -1;
	request_send(MSG_BROKER_CONNECTED, a->id, &msg, &fd, 1);
	return 0;
}

/* Of what is not there, too: so it can be asked for twice. */
static int
destroy_request(const struct ask *a, struct error *e)
{
	struct msg_broker_destroyed msg = { .id = a->r->destroy.id };
	struct sandbox *sb = sandbox_of(a->c, a->r->destroy.id);

	if (sb == NULL) {
		request_send(MSG_BROKER_DESTROYED, a->id, &msg, NULL, 0);
		return 0;
	}
	if (sb->nwaiters == WAITERS_MAX)
		return error_set(e, ERR_BUSY, "%s is being destroyed", sb->id);
	sb->waiters[sb->nwaiters++] = a->id;
	sandbox_end(sb, true, "destroyed", "%s", "");
	return 0;
}

static int
offer_request(const struct ask *a, struct error *e)
{
	struct msg_broker_offered msg = { 0 };
	struct offer offer;

	if (client_offer(a->c, &offer, e) == -1)
		return -1;
	msg.offer = offer.id;
	request_send(MSG_BROKER_OFFERED, a->id, &msg, &offer.fd, 1);
	return 0;
}

static int
check_request(const struct ask *a, struct error *e)
{
	return probe_check(a->id, a->r->check.is_fresh, e);
}

static const struct {
	enum msg_type	 type;
	bool		 is_first;	/* once, before all others */
	int		 (*handler)(const struct ask *, struct error *);
} requests[] = {
	{ MSG_BROKER_POLICY, true, policy_request },
	{ MSG_BROKER_DROP, false, drop_request },
	{ MSG_BROKER_CREATE, false, create_request },
	{ MSG_BROKER_CONNECT, false, connect_request },
	{ MSG_BROKER_DESTROY, false, destroy_request },
	{ MSG_BROKER_OFFER, false, offer_request },
	{ MSG_BROKER_CHECK, false, check_request },
};

static void
request_frame(void *arg, struct frame *f)
{
	struct error e = { 0 };
	union request r;
	struct ask a = { .id = f->id, .r = &r };
	size_t i;

	(void)arg;
	log_debug("from front: %s %u", msg_name(f->type), f->id);
	for (i = 0; i < NITEMS(requests) && requests[i].type != f->type; i++)
		;
	if (i == NITEMS(requests) || msg_unpack(f, &r, &e) == -1 ||
	    requests[i].is_first != (policy_get() == NULL)) {
		log_warn("bad %s from the front: %s", msg_name(f->type),
		    e.message);
		broker_stop(1);
		return;
	}
	/* Whoever the front names has to be connected now. */
	if (broker_is_stopping())
		error_set(&e, ERR_UNAVAILABLE, "the daemon is ending");
	else if (!requests[i].is_first &&
	    (a.c = client_find(r.handle)) == NULL)
		error_set(&e, ERR_UNAVAILABLE, "this client has left");
	else if (requests[i].handler(&a, &e) == 0)
		return;
	if (f->id != 0)
		request_fail(f->id, &e);
}

static void
request_lost(void *arg, const struct error *e)
{
	(void)arg;
	if (e->code == ERR_INVALID)
		log_error("front", e);
	broker_stop(1);
}

void
request_init(int fd)
{
	peer_open(&front, fd, 0, 1u << DIR_FB, request_frame, request_lost,
	    NULL);
}
