/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The input of an exec on its way through the worker: from exec.write, from
 * attached clients, or copied from a passed descriptor, to our own pipe or
 * to frames of the agent.  Run by the worker; the bytes are never looked at.
 *
 * One buffer: a source is read only when what came before is written, so
 * each sender feels the command's own pace.  Its end is delivered, once.
 */

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "worker.h"

static void	input_event(evutil_socket_t, short, void *);

/*** Life ***/

struct input *
input_new(struct exec *x)
{
	struct input	*in = xcalloc(1, sizeof(*in));

	in->exec = x;
	in->fd = -1;
	in->credit = x->worker->is_stream ? STREAM_WINDOW : 0;
	TAILQ_INIT(&in->sources);
	TAILQ_INIT(&in->writes);
	return in;
}

int
input_open(struct input *in, int *child_fd, struct error *e)
{
	int	 fds[2];

	if (pipe2(fds, O_CLOEXEC) == -1)
		return error_sys(e, ERR_LIMIT, errno, "no pipe for input");
	/* The two ends are two descriptions: only ours changes. */
	if (fcntl(fds[1], F_SETFL, O_WRONLY | O_NONBLOCK) == -1)
		fatal("pipe: F_SETFL");
	/* The pipe is this user's; /dev/stdin shall open for another. */
	(void)fchmod(fds[0], 0644);
	in->fd = fds[1];
	*child_fd = fds[0];
	return 0;
}

void
input_begin(struct input *in)
{
	if (in->fd != -1) {
		event_assign(&in->ev, in->exec->worker->base, in->fd,
		    EV_WRITE, input_event, in);
		in->has_ev = true;
	}
	input_pump(in);
}

static void
input_shut(struct input *in)
{
	struct source	*s;

	if (in->has_ev)
		event_del(&in->ev);
	in->has_ev = false;
	fd_close(&in->fd);
	free(in->p);
	in->p = NULL;
	in->n = in->off = 0;
	while ((s = TAILQ_FIRST(&in->sources)) != NULL)
		source_free(s);
}

void
input_free(struct input *in)
{
	struct pending	*p;

	if (in == NULL)
		return;
	input_shut(in);
	while ((p = TAILQ_FIRST(&in->writes)) != NULL)
		pending_free(p);
	free(in);
}

/* No byte goes in any more; what waits is told so. */
void
input_close(struct input *in)
{
	struct pending	*p;
	struct error	 e = { 0 };

	if (in->is_closed)
		return;
	in->is_closed = true;
	if (in->exec->worker->is_stream)
		agent_eof(in->exec, 0);
	input_shut(in);
	error_set(&e, ERR_CONFLICT, "the input of exec %u is closed",
	    in->exec->id);
	while ((p = TAILQ_FIRST(&in->writes)) != NULL)
		pending_fail(p, &e);
	in->queued = 0;
}

/*** To the command ***/

/* Bytes taken, or 0: wait, or it is closed now. */
static size_t
input_put(struct input *in, const unsigned char *p, size_t n)
{
	ssize_t	 done;

	if (in->exec->worker->is_stream) {
		if (n > in->credit)
			n = (size_t)in->credit;
		if (n > STREAM_CHUNK_MAX)
			n = STREAM_CHUNK_MAX;
		if (n == 0 ||
		    agent_data(in->exec, (struct view){ p, n }) != 1)
			return 0;
		in->credit -= n;
		return n;
	}
	do {
		done = write(in->fd, p, n);
	} while (done == -1 && errno == EINTR);
	if (done >= 0)
		return (size_t)done;
	if (errno != EAGAIN)
		input_close(in);
	else if (in->has_ev)
		event_add(&in->ev, NULL);
	return 0;
}

/* The oldest exec.write: true when it is through. */
static bool
input_put_write(struct input *in, struct pending *p)
{
	struct buf	 b = { 0 };
	size_t		 n;

	while (p->off < p->n) {
		if ((n = input_put(in, p->p + p->off, p->n - p->off)) == 0)
			return false;
		p->off += n;
		in->queued -= n;
	}
	if (p->eof)
		in->wants_eof = true;
	put_map(&b, 1);
	put_str(&b, "written");
	put_uint(&b, p->n);
	pending_reply(p, &b);
	buf_free(&b);
	return true;
}

void
input_pump(struct input *in)
{
	struct pending	*p;
	struct source	*s;
	size_t		 n;

	while (!in->is_closed) {
		if (in->off < in->n) {
			n = input_put(in, in->p + in->off, in->n - in->off);
			if (n == 0)
				return;
			in->off += n;
			continue;
		}
		in->off = in->n = 0;
		if (in->wants_eof)
			input_close(in);
		else if ((p = TAILQ_FIRST(&in->writes)) == NULL)
			break;
		else if (!input_put_write(in, p))
			return;
	}
	TAILQ_FOREACH(s, &in->sources, entry)
		source_resume(s);
}

static void
input_event(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	input_pump(arg);
}

int
input_credit(struct input *in, uint64_t bytes, struct error *e)
{
	if (bytes > STREAM_WINDOW - in->credit)
		return error_set(e, ERR_INVALID,
		    "exec %u: more credit than the window", in->exec->id);
	in->credit += bytes;
	input_pump(in);
	return 0;
}

/* Takes bytes still. */
bool
input_is_open(const struct input *in)
{
	return !in->is_closed && !in->wants_eof;
}

bool
input_is_busy(const struct input *in)
{
	return in->off < in->n || !TAILQ_EMPTY(&in->writes);
}

void
input_conn_closed(struct input *in, const struct conn *c)
{
	struct source	*s, *next;

	for (s = TAILQ_FIRST(&in->sources); s != NULL; s = next) {
		next = TAILQ_NEXT(s, entry);
		if (s->conn == c)
			source_free(s);
	}
}
