/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The far ends of an input stream: sockets of attached clients, and passed
 * descriptors when the worker has to copy.  Run by the worker.  As with
 * sinks, a passed FIFO is only ever touched by a splice that does not wait;
 * its description stays as the client made it.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "worker.h"

static void	source_event(evutil_socket_t, short, void *);

static size_t nsources;

int
source_new(struct input *in, struct conn *c, enum end_kind kind, int fd,
    struct error *e)
{
	struct source		*s;
	struct event_base	*base = in->exec->worker->base;
	int			 fds[2] = { -1, -1 };

	if (nsources >= SOURCES_MAX) {
		fd_close(&fd);
		return error_set(e, ERR_LIMIT, "%zu streams are attached",
		    nsources);
	}
	if (kind == END_FIFO && pipe2(fds, O_CLOEXEC | O_NONBLOCK) == -1) {
		fd_close(&fd);
		return error_sys(e, ERR_LIMIT, errno, "no pipe to copy by");
	}
	s = xcalloc(1, sizeof(*s));
	s->in = in;
	s->conn = c;
	s->kind = kind;
	s->fd = fd;
	s->pipe[0] = fds[0];
	s->pipe[1] = fds[1];
	/* A file is always ready; epoll does not take it. */
	event_assign(&s->ev, base, kind == END_FILE ? -1 : fd,
	    kind == END_FILE ? 0 : EV_READ, source_event, s);
	TAILQ_INSERT_TAIL(&in->sources, s, entry);
	nsources++;
	return 0;
}

void
source_free(struct source *s)
{
	TAILQ_REMOVE(&s->in->sources, s, entry);
	nsources--;
	event_del(&s->ev);
	fd_close(&s->fd);
	fd_close(&s->pipe[0]);
	fd_close(&s->pipe[1]);
	free(s);
}

/* Read on, when the input has taken all. */
void
source_resume(struct source *s)
{
	static const struct timeval	 now = { 0, 0 };

	event_add(&s->ev, s->kind == END_FILE ? &now : NULL);
}

static ssize_t
source_read(struct source *s, unsigned char *p, size_t n)
{
	ssize_t	 got;

	if (s->kind == END_FIFO) {
		got = splice(s->fd, NULL, s->pipe[1], NULL, n,
		    SPLICE_F_NONBLOCK);
		if (got <= 0)
			return got;
		n = (size_t)got;
	}
	return read(s->kind == END_FIFO ? s->pipe[0] : s->fd, p, n);
}

/*
 * The end of a passed descriptor is the end of the input, and so is that of
 * the last attached client; but a client that left a terminal altogether,
 * instead of only shutting down its sending side, has just detached.
 */
static void
source_end(struct source *s)
{
	struct input	*in = s->in;
	struct pollfd	 p = { .fd = s->fd, .events = POLLIN };
	bool		 is_detached;

	is_detached = s->conn != NULL && in->exec->has_pty &&
	    poll(&p, 1, 0) == 1 && (p.revents & (POLLHUP | POLLERR)) != 0;
	source_free(s);
	if (!is_detached && TAILQ_EMPTY(&in->sources))
		in->wants_eof = true;
	input_pump(in);
}

static void
source_event(evutil_socket_t fd, short what, void *arg)
{
	struct source	*s = arg;
	struct input	*in = s->in;
	ssize_t		 n;

	(void)fd;
	(void)what;
	if (input_is_busy(in))
		return;
	if (in->p == NULL && (in->p = malloc(READ_MAX)) == NULL)
		fatal("out of memory");
	n = source_read(s, in->p, READ_MAX);
	if (n == -1 && (errno == EAGAIN || errno == EINTR)) {
		source_resume(s);
		return;
	}
	if (n <= 0) {
		source_end(s);
		return;
	}
	in->off = 0;
	in->n = (size_t)n;
	/* Resumes the sources when all is written. */
	input_pump(in);
}
