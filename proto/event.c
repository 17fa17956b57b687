/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * libevent glue: reads frames or messages from a chan or rpc as they come
 * and writes what waits.  Runs in front and worker, with their rights.  A
 * wake-up handles a bounded number of messages, so that one busy peer cannot
 * keep the others waiting.  The close callback comes once, after everything
 * that arrived before the end was given out.
 */

#include <event2/event.h>
#include <stdlib.h>

#include "event.h"

#define MESSAGES_MAX	16		/* per wake-up */

struct watch {
	struct chan	*chan;		/* one of the two */
	struct rpc	*rpc;
	struct event	*readable;
	struct event	*writable;
	struct event	*again;		/* messages are left in the buffer */
	chan_frame_fn	*frame_fn;
	rpc_msg_fn	*msg_fn;
	watch_close_fn	*close_fn;
	void		*arg;
	unsigned int	 depth;		/* callbacks running */
	bool		 is_reading;
	bool		 is_closed;	/* close_fn was called */
	bool		 is_freed;	/* by a callback; freed after it */
};

static void
watch_destroy(struct watch *w)
{
	if (w->readable != NULL)
		event_free(w->readable);
	if (w->writable != NULL)
		event_free(w->writable);
	if (w->again != NULL)
		event_free(w->again);
	chan_free(w->chan);
	rpc_free(w->rpc);
	free(w);
}

static void
watch_stop(struct watch *w)
{
	event_del(w->readable);
	event_del(w->writable);
	event_del(w->again);
}

static void
watch_closed(struct watch *w, const struct error *e)
{
	w->is_closed = true;
	watch_stop(w);
	w->close_fn(e, w->arg);
}

/* Hands out one message; as chan_recv. */
static int
watch_one(struct watch *w, struct error *e)
{
	struct frame frame;
	struct rpc_msg msg;
	int r;

	if (w->chan != NULL) {
		if ((r = chan_recv(w->chan, &frame, e)) == 1)
			w->frame_fn(w->chan, &frame, w->arg);
	} else {
		if ((r = rpc_recv(w->rpc, &msg, e)) == 1)
			w->msg_fn(w->rpc, &msg, w->arg);
	}
	return r;
}

static void
read_cb(evutil_socket_t fd, short what, void *arg)
{
	static const struct timeval soon = { 0, 0 };
	struct watch *w = arg;
	struct error e;
	int i, r = 1;

	(void)fd;
	(void)what;
	w->depth++;
	for (i = 0; i < MESSAGES_MAX && r == 1; i++) {
		if (w->is_freed || w->is_closed || !w->is_reading)
			break;
		r = watch_one(w, &e);
	}
	if (!w->is_freed && r == -1)
		watch_closed(w, &e);
	if (!w->is_freed && !w->is_closed) {
		watch_kick(w);
		/*
		 * A timer, not event_active(): the others' descriptors are
		 * looked at first.
		 */
		if (i == MESSAGES_MAX && r == 1 && w->is_reading)
			event_add(w->again, &soon);
	}
	if (--w->depth == 0 && w->is_freed)
		watch_destroy(w);
}

static void
write_cb(evutil_socket_t fd, short what, void *arg)
{
	struct watch *w = arg;

	(void)fd;
	(void)what;
	/*
	 * When sending fails for good nothing is pending any more; what the
	 * peer sent before it went is still read, and its end is found there.
	 */
	if (w->chan != NULL)
		chan_flush(w->chan, NULL);
	else
		rpc_flush(w->rpc, NULL);
	watch_kick(w);
}

static struct watch *
watch_new(struct event_base *base, int fd, watch_close_fn *close_fn,
    void *arg)
{
	struct watch *w;

	if ((w = calloc(1, sizeof(*w))) == NULL)
		return NULL;
	w->close_fn = close_fn;
	w->arg = arg;
	w->is_reading = true;
	w->readable = event_new(base, fd, EV_READ | EV_PERSIST, read_cb, w);
	w->writable = event_new(base, fd, EV_WRITE | EV_PERSIST, write_cb,
	    w);
	w->again = event_new(base, -1, 0, read_cb, w);
	if (w->readable == NULL || w->writable == NULL || w->again == NULL ||
	    event_add(w->readable, NULL) == -1) {
		watch_destroy(w);
		return NULL;
	}
	return w;
}

struct watch *
watch_chan(struct event_base *base, struct chan *chan, chan_frame_fn *fn,
    watch_close_fn *close_fn, void *arg)
{
	struct watch *w;

	if ((w = watch_new(base, chan_fd(chan), close_fn, arg)) == NULL) {
		chan_free(chan);
		return NULL;
	}
	w->chan = chan;
	w->frame_fn = fn;
	watch_kick(w);
	return w;
}

struct watch *
watch_rpc(struct event_base *base, struct rpc *rpc, rpc_msg_fn *fn,
    watch_close_fn *close_fn, void *arg)
{
	struct watch *w;

	if ((w = watch_new(base, rpc_fd(rpc), close_fn, arg)) == NULL) {
		rpc_free(rpc);
		return NULL;
	}
	w->rpc = rpc;
	w->msg_fn = fn;
	watch_kick(w);
	return w;
}

void
watch_kick(struct watch *w)
{
	size_t n;

	if (w->is_closed || w->is_freed)
		return;
	n = w->chan != NULL ? chan_pending(w->chan) : rpc_pending(w->rpc);
	if (n > 0)
		event_add(w->writable, NULL);
	else if (event_pending(w->writable, EV_WRITE, NULL))
		event_del(w->writable);
}

void
watch_read(struct watch *w, bool is_reading)
{
	static const struct timeval soon = { 0, 0 };

	if (w->is_closed || w->is_freed || w->is_reading == is_reading)
		return;
	w->is_reading = is_reading;
	if (!is_reading) {
		event_del(w->readable);
		event_del(w->again);
		return;
	}
	event_add(w->readable, NULL);
	/* Whole messages may wait in the buffer. */
	event_add(w->again, &soon);
}

struct chan *
watch_get_chan(struct watch *w)
{
	return w->chan;
}

struct rpc *
watch_get_rpc(struct watch *w)
{
	return w->rpc;
}

struct rpc *
watch_detach_rpc(struct watch *w)
{
	struct rpc *rpc = w->rpc;

	w->rpc = NULL;
	watch_free(w);
	return rpc;
}

void
watch_free(struct watch *w)
{
	if (w == NULL || w->is_freed)
		return;
	watch_stop(w);
	w->is_freed = true;
	/* The running callback may still look at its message. */
	if (w->depth == 0)
		watch_destroy(w);
}
