/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Copies bytes between a client that cannot receive descriptors and its
 * sandbox connection, both ways, without looking at them.  Run by the front,
 * confined.  Neither side is trusted: what one does not take is held up to a
 * bound, and then the other is not read.  Descriptors that come along are
 * dropped by the kernel, since read() takes none.
 */

#include "config.h"

#include <sys/socket.h>

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "parent/parent.h"

#define CHUNK		(64 * 1024)

/* One direction. */
struct flow {
	struct tunnel	*tunnel;
	int		 from;
	int		 to;
	struct event	*readable;	/* of from */
	struct event	*writable;	/* of to */
	struct buf	 held;		/* read, not yet written */
	size_t		 written;	/* of held */
	bool		 has_ended;	/* end-of-file was passed on */
};

struct tunnel {
	int		 fds[2];
	struct flow	 flows[2];
	bool		 is_over;
	void		(*done)(void *);
	void		*arg;
};

/* One chunk for all, since nothing stays in it. */
static char	 chunk[CHUNK];

static void
tunnel_over(struct tunnel *t)
{
	int i;

	if (t->is_over)
		return;
	t->is_over = true;
	for (i = 0; i < 2; i++) {
		event_del(t->flows[i].readable);
		event_del(t->flows[i].writable);
	}
	t->done(t->arg);
}

static void
flow_end(struct flow *f)
{
	struct tunnel *t = f->tunnel;

	f->has_ended = true;
	shutdown(f->to, SHUT_WR);
	if (t->flows[0].has_ended && t->flows[1].has_ended)
		tunnel_over(t);
}

static bool
is_later(int error)
{
	return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

/* As much as goes; what is left goes when it can, and nothing is read. */
static void
flow_write(struct flow *f, const char *p, size_t n)
{
	ssize_t done;

	done = send(f->to, p, n, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (done == -1 && !is_later(errno)) {
		tunnel_over(f->tunnel);
		return;
	}
	if (done == -1)
		done = 0;
	if ((size_t)done == n)
		return;
	buf_add(&f->held, p + done, n - (size_t)done);
	if (f->held.has_failed) {
		tunnel_over(f->tunnel);
		return;
	}
	event_del(f->readable);
	event_add(f->writable, NULL);
}

static void
flow_readable(evutil_socket_t fd, short what, void *arg)
{
	struct flow *f = arg;
	ssize_t n;

	(void)what;
	n = read(fd, chunk, sizeof(chunk));
	if (n == -1 && is_later(errno))
		return;
	if (n > 0) {
		flow_write(f, chunk, (size_t)n);
		return;
	}
	event_del(f->readable);
	if (n == -1)
		tunnel_over(f->tunnel);
	else
		flow_end(f);
}

static void
flow_writable(evutil_socket_t fd, short what, void *arg)
{
	struct flow *f = arg;
	ssize_t n;

	(void)what;
	n = send(fd, f->held.p + f->written, f->held.n - f->written,
	    MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n == -1 && !is_later(errno)) {
		tunnel_over(f->tunnel);
		return;
	}
	if (n > 0)
		f->written += (size_t)n;
	if (f->written < f->held.n)
		return;
	buf_free(&f->held);
	f->written = 0;
	event_del(f->writable);
	event_add(f->readable, NULL);
}

static int
flow_init(struct tunnel *t, int i, struct event_base *base)
{
	struct flow *f = &t->flows[i];

	f->tunnel = t;
	f->from = t->fds[i];
	f->to = t->fds[!i];
	f->readable = event_new(base, f->from, EV_READ | EV_PERSIST,
	    flow_readable, f);
	f->writable = event_new(base, f->to, EV_WRITE | EV_PERSIST,
	    flow_writable, f);
	if (f->readable == NULL || f->writable == NULL)
		return -1;
	return event_add(f->readable, NULL);
}

struct tunnel *
tunnel_new(struct event_base *base, int a, int b, struct buf *first,
    void (*done)(void *), void *arg)
{
	struct tunnel *t;
	struct flow *f;

	t = xcalloc(1, sizeof(*t));
	t->fds[0] = a;
	t->fds[1] = b;
	t->done = done;
	t->arg = arg;
	if (fd_nonblock(a) == -1 || fd_nonblock(b) == -1 ||
	    flow_init(t, 0, base) == -1 || flow_init(t, 1, base) == -1) {
		tunnel_free(t);
		return NULL;
	}
	if (first->n > 0) {
		f = &t->flows[0];
		f->held = *first;
		*first = (struct buf){ 0 };
		event_del(f->readable);
		event_add(f->writable, NULL);
	}
	return t;
}

void
tunnel_free(struct tunnel *t)
{
	int i;

	if (t == NULL)
		return;
	for (i = 0; i < 2; i++) {
		if (t->flows[i].readable != NULL)
			event_free(t->flows[i].readable);
		if (t->flows[i].writable != NULL)
			event_free(t->flows[i].writable);
		buf_free(&t->flows[i].held);
		fd_close(&t->fds[i]);
	}
	free(t);
}
