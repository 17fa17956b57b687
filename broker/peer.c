/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * A channel to the front, a worker or a probe's agent, in the broker's loop.
 * One frame is handled per wake-up, so that a talkative peer has to queue
 * with the others and a handler may free the peer.  None of them is trusted:
 * chan.c checks each frame, the handlers what it says.
 */

#include <sys/epoll.h>
#include <sys/socket.h>

#include "broker.h"

static void
peer_event(void *arg, uint32_t events)
{
	struct peer *p = arg;
	struct error e = { 0 };
	struct frame f;
	int got;

	if (events & EPOLLOUT) {
		if (chan_flush(p->chan, &e) == -1)
			goto lost;
		if (chan_pending(p->chan) == 0) {
			loop_change(&p->watcher, EPOLLIN);
			p->is_writing = false;
		}
	}
	if ((events & ~(uint32_t)EPOLLOUT) == 0)
		return;
	got = chan_recv(p->chan, &f, &e);
	if (got == 1)
		p->frame(p->arg, &f);
	if (got != -1)
		return;
lost:
	loop_del(&p->watcher);
	p->lost(p->arg, &e);
}

void
peer_open(struct peer *p, struct chan *chan, void (*frame)(void *,
    struct frame *), void (*lost)(void *, const struct error *), void *arg)
{
	p->chan = chan;
	p->frame = frame;
	p->lost = lost;
	p->arg = arg;
	p->is_writing = false;
	loop_add(&p->watcher, chan_fd(chan), EPOLLIN, peer_event, p);
}

void
peer_close(struct peer *p)
{
	if (p->chan == NULL)
		return;
	loop_del(&p->watcher);
	chan_free(p->chan);
	p->chan = NULL;
}

void
peer_send(struct peer *p, enum msg_type type, uint32_t id, const void *msg,
    const int *fds, int nfds)
{
	struct error e = { 0 };

	if (chan_send(p->chan, type, id, msg, fds, nfds, &e) == -1) {
		log_error(msg_name(type), &e);
		/* The loop sees the end of it and tells the owner. */
		shutdown(chan_fd(p->chan), SHUT_RDWR);
		return;
	}
	if (chan_pending(p->chan) > 0 && !p->is_writing &&
	    p->watcher.fd != -1) {
		loop_change(&p->watcher, EPOLLIN | EPOLLOUT);
		p->is_writing = true;
	}
}
