/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The asking side of the channel to the broker: one function per request,
 * and the answers brought back to who asked.  Run by the front, confined.
 * The broker judges every request again by itself, so nothing here has to be
 * right for the system to be safe.  A bad frame from it is the end of both.
 */

#include "config.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "parent/parent.h"

#define BUCKETS		256u

/* Room for the struct of any answer. */
union answer {
	struct msg_broker_ready		 ready;
	struct msg_broker_client	 client;
	struct msg_broker_created	 created;
	struct msg_broker_connected	 connected;
	struct msg_broker_destroyed	 destroyed;
	struct msg_broker_offered	 offered;
	struct msg_broker_checked	 checked;
	struct msg_broker_gone		 gone;
	struct msg_broker_failed	 failed;
};

static struct broker {
	struct watch		*watch;
	uint32_t		 last_id;
	bool			 is_ready;
	struct request_list	 pending[BUCKETS];
} broker;

static struct request *
pending_find(uint32_t id)
{
	struct request *r;

	LIST_FOREACH(r, &broker.pending[id % BUCKETS], of_wait) {
		if (r->broker_id == id)
			return r;
	}
	return NULL;
}

/*** Answers ***/

static void
client_came(const struct msg_broker_client *m, struct frame *frame)
{
	int fd;

	if ((fd = frame_take_fd(frame, 0)) != -1) {
		client_add(m, fd);
		return;
	}
	log_warn("a client is lost: no descriptor is free");
	broker_drop(m->handle);
}

/* What nobody asked for. */
static void
notice(const union answer *m, struct frame *frame)
{
	struct error e;

	if (frame->type == MSG_BROKER_READY && !broker.is_ready) {
		broker.is_ready = true;
		front_ready(m->ready.backend.n == 0 ? "" :
		    strndupa((const char *)m->ready.backend.p,
		    m->ready.backend.n));
	} else if (frame->type == MSG_BROKER_FAILED && !broker.is_ready) {
		msg_to_error(&m->failed, &e);
		log_error("start", &e);
		front_stop(1);
	} else if (frame->type == MSG_BROKER_CLIENT && broker.is_ready)
		client_came(&m->client, frame);
	else if (frame->type == MSG_BROKER_GONE && broker.is_ready)
		method_gone(&m->gone);
	else
		front_lost(msg_name(frame->type));
}

static void
answered(struct request *r, const union answer *m, struct frame *frame)
{
	struct error failed;

	if (frame->type != r->reply && frame->type != MSG_BROKER_FAILED) {
		front_lost(msg_name(frame->type));
		return;
	}
	LIST_REMOVE(r, of_wait);
	r->is_waiting = false;
	r->broker_id = 0;
	if (frame->type != MSG_BROKER_FAILED) {
		r->answer(r, m, frame, NULL);
		return;
	}
	msg_to_error(&m->failed, &failed);
	r->answer(r, NULL, frame, &failed);
}

static void
broker_frame(struct chan *chan, struct frame *frame, void *arg)
{
	struct request *r = NULL;
	union answer m;
	struct error e;

	(void)chan;
	(void)arg;
	if (msg_unpack(frame, &m, &e) == -1) {
		front_lost(e.message);
		return;
	}
	log_debug("from broker: %s %u", msg_name(frame->type), frame->id);
	if (frame->id != 0)
		r = pending_find(frame->id);
	if (r != NULL)
		answered(r, &m, frame);
	else
		notice(&m, frame);
}

static void
broker_closed(const struct error *e, void *arg)
{
	(void)arg;
	front_lost(e->code == ERR_INVALID ? e->message : NULL);
}

void
broker_init(struct event_base *base, int fd)
{
	struct chan *chan;

	if ((chan = chan_new(fd, 0, 1u << DIR_BF)) == NULL ||
	    (broker.watch = watch_chan(base, chan, broker_frame,
	    broker_closed, NULL)) == NULL)
		fatal("out of memory");
}

void
broker_end(void)
{
	watch_free(broker.watch);
	broker.watch = NULL;
}

/*** Requests ***/

/* What has no answer of its own; failure is found when the channel closes. */
static void
tell(enum msg_type type, const void *m)
{
	struct error e;

	if (broker.watch == NULL)
		return;
	if (chan_send(watch_get_chan(broker.watch), type, 0, m, NULL, 0,
	    &e) == -1 && e.code == ERR_BUSY)
		front_lost("it does not read");
	watch_kick(broker.watch);
}

static uint32_t
new_id(void)
{
	do {
		broker.last_id++;
	} while (broker.last_id == 0 || pending_find(broker.last_id) != NULL);
	return broker.last_id;
}

static int
ask(struct request *r, enum msg_type type, const void *m,
    enum msg_type reply, broker_answer_fn *answer, struct error *e)
{
	uint32_t id = new_id();

	if (broker.watch == NULL)
		return error_set(e, ERR_UNAVAILABLE, "the daemon ends");
	if (chan_send(watch_get_chan(broker.watch), type, id, m, NULL, 0,
	    e) == -1)
		return -1;
	watch_kick(broker.watch);
	log_debug("to broker: %s %u", msg_name(type), id);
	r->broker_id = id;
	r->reply = reply;
	r->answer = answer;
	request_wait(r, &broker.pending[id % BUCKETS]);
	return 0;
}

void
broker_policy(struct buf *policy)
{
	struct msg_broker_policy m = { .policy = { policy->p, policy->n } };
	struct error e;

	if (policy->has_failed)
		fatal("out of memory");
	if (chan_send(watch_get_chan(broker.watch), MSG_BROKER_POLICY, 0, &m,
	    NULL, 0, &e) == -1 && e.code != ERR_UNAVAILABLE)
		fatal("configuration: %s", e.message);
	/* A broker that has left already said why; its end is seen later. */
	watch_kick(broker.watch);
	buf_free(policy);
}

void
broker_drop(uint64_t handle)
{
	struct msg_broker_drop m = { .handle = handle };

	tell(MSG_BROKER_DROP, &m);
}

int
broker_create(struct request *r, struct view spec, broker_answer_fn *answer,
    struct error *e)
{
	struct msg_broker_create m = { .handle = client_handle(r->client),
	    .id = view_of(r->id), .spec = spec };

	return ask(r, MSG_BROKER_CREATE, &m, MSG_BROKER_CREATED, answer, e);
}

int
broker_connect(struct request *r, broker_answer_fn *answer, struct error *e)
{
	struct msg_broker_connect m = { .handle = client_handle(r->client),
	    .id = view_of(r->id) };

	return ask(r, MSG_BROKER_CONNECT, &m, MSG_BROKER_CONNECTED, answer,
	    e);
}

int
broker_destroy(struct request *r, broker_answer_fn *answer, struct error *e)
{
	struct msg_broker_destroy m = { .handle = client_handle(r->client),
	    .id = view_of(r->id) };

	return ask(r, MSG_BROKER_DESTROY, &m, MSG_BROKER_DESTROYED, answer,
	    e);
}

int
broker_offer(struct request *r, broker_answer_fn *answer, struct error *e)
{
	struct msg_broker_offer m = { .handle = client_handle(r->client) };

	return ask(r, MSG_BROKER_OFFER, &m, MSG_BROKER_OFFERED, answer, e);
}

int
broker_check(struct request *r, bool is_fresh, broker_answer_fn *answer,
    struct error *e)
{
	struct msg_broker_check m = { .handle = client_handle(r->client),
	    .is_fresh = is_fresh };

	return ask(r, MSG_BROKER_CHECK, &m, MSG_BROKER_CHECKED, answer, e);
}
