/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The far ends of an output stream: pipes of attached clients, and passed
 * descriptors when the worker has to copy.  Run by the worker.
 *
 * A passed descriptor shares its description with the client, so it is never
 * set to O_NONBLOCK and never trusted not to block: bytes go into a pipe of
 * ours first and from there by splice, which can be told not to wait.  A
 * regular file or /dev/null is just written.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "worker.h"

#define WRITE_MAX	(128 * 1024)

static void	sink_event(evutil_socket_t, short, void *);
static void	sink_gone(evutil_socket_t, short, void *);

static size_t nsinks;

int
sink_new(struct output *o, struct conn *c, enum end_kind kind, int fd,
    uint64_t offset, struct error *e)
{
	struct sink	*s;
	int		 fds[2] = { -1, -1 };

	if (nsinks >= SINKS_MAX) {
		fd_close(&fd);
		return error_set(e, ERR_LIMIT, "%zu streams are attached",
		    nsinks);
	}
	if (kind == END_FIFO && pipe2(fds, O_CLOEXEC | O_NONBLOCK) == -1) {
		fd_close(&fd);
		return error_sys(e, ERR_LIMIT, errno, "no pipe to copy by");
	}
	s = xcalloc(1, sizeof(*s));
	s->out = o;
	s->conn = c;
	s->kind = kind;
	s->fd = fd;
	s->pipe[0] = fds[0];
	s->pipe[1] = fds[1];
	s->offset = offset;
	s->ends_at = o->exec->state == EXEC_OVER ? output_last(o) :
	    UINT64_MAX;
	if (kind != END_FILE)
		event_assign(&s->ev, o->exec->worker->base, fd, EV_WRITE,
		    sink_event, s);
	if (kind == END_OWN) {
		/* Only ever true when the reader has left. */
		event_assign(&s->gone_ev, o->exec->worker->base, fd,
		    EV_READ | EV_PERSIST, sink_gone, s);
		event_add(&s->gone_ev, NULL);
	}
	TAILQ_INSERT_TAIL(&o->sinks, s, entry);
	nsinks++;
	return 0;
}

void
sink_free(struct sink *s)
{
	TAILQ_REMOVE(&s->out->sinks, s, entry);
	nsinks--;
	if (s->kind != END_FILE)
		event_del(&s->ev);
	if (s->kind == END_OWN)
		event_del(&s->gone_ev);
	fd_close(&s->fd);
	fd_close(&s->pipe[0]);
	fd_close(&s->pipe[1]);
	free(s);
}

/* It cannot be written to any more. */
static void
sink_lost(struct sink *s)
{
	struct output	*o = s->out;
	bool		 is_passed = s->conn == NULL;

	sink_free(s);
	if (is_passed)
		output_drop(o);
	else
		output_moved(o);
}

bool
sink_is_flushed(const struct sink *s)
{
	uint64_t	 end = s->out->ring.end;

	return s->in_pipe == 0 &&
	    s->offset >= (end < s->ends_at ? end : s->ends_at);
}

/* From our pipe to the client's; 0, or -1 with errno. */
static int
sink_splice(struct sink *s)
{
	ssize_t	 n;

	while (s->in_pipe > 0) {
		n = splice(s->pipe[0], NULL, s->fd, NULL, s->in_pipe,
		    SPLICE_F_NONBLOCK);
		if (n == -1)
			return -1;
		if (n == 0) {
			errno = EAGAIN;
			return -1;
		}
		s->in_pipe -= (size_t)n;
	}
	return 0;
}

/* Some of what is due; bytes, or -1 with errno. */
static ssize_t
sink_write(struct sink *s, size_t due)
{
	struct iovec	 iov[2];
	ssize_t		 n;
	int		 parts;

	parts = ring_peek(&s->out->ring, s->offset,
	    due < WRITE_MAX ? due : WRITE_MAX, iov);
	n = writev(s->kind == END_FIFO ? s->pipe[1] : s->fd, iov, parts);
	if (n > 0 && s->kind == END_FIFO)
		s->in_pipe += (size_t)n;
	return n;
}

/* True: all that is due was written. */
static bool
sink_run(struct sink *s)
{
	struct output	*o = s->out;
	uint64_t	 end;
	ssize_t		 n;

	for (;;) {
		if (s->in_pipe > 0 && sink_splice(s) == -1)
			return false;
		end = o->ring.end < s->ends_at ? o->ring.end : s->ends_at;
		if (s->offset >= end) {
			errno = 0;
			return true;
		}
		n = sink_write(s, (size_t)(end - s->offset));
		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		s->offset += (uint64_t)n;
		o->exec->moved += (uint64_t)n;
		if (s->offset > o->acked)
			o->acked = s->offset;
	}
}

void
sink_push(struct sink *s)
{
	struct output	*o = s->out;

	if (!sink_run(s)) {
		if (errno == EAGAIN && s->kind != END_FILE)
			event_add(&s->ev, NULL);
		else
			sink_lost(s);
		return;
	}
	if (s->offset >= s->ends_at || (s->offset == o->ring.end &&
	    (o->is_eof || (s->conn != NULL &&
	    o->exec->state == EXEC_OVER && output_is_full(o)))))
		sink_free(s);
}

static void
sink_event(evutil_socket_t fd, short what, void *arg)
{
	struct sink	*s = arg;
	struct output	*o = s->out;

	(void)fd;
	(void)what;
	sink_push(s);
	output_moved(o);
	exec_drain(o->exec);
}

static void
sink_gone(evutil_socket_t fd, short what, void *arg)
{
	struct pollfd	 p = { .fd = (int)fd };

	(void)what;
	if (poll(&p, 1, 0) == 1 && p.revents != 0)
		sink_lost(arg);
}
