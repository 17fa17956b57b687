/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The output of an exec on its way through the worker: from our own pipe
 * (whose read end nobody else has) or from frames of the agent, into a ring,
 * and from there to the readers.  Run by the worker; the bytes are never
 * looked at.
 *
 * Readers that are attached hold the stream back, as a pipe would.  Without
 * any, the oldest bytes give way to new ones, except with output_full block,
 * where what nobody has taken stays and the command waits.  On byte channels
 * the same room is given out as credit.
 */

#include <sys/ioctl.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "worker.h"

#define PIPE_SIZE	(256 * 1024)	/* of a stream that is busy */
#define TOSS_SIZE	(16 * 1024)

static void	output_event(evutil_socket_t, short, void *);

/*** Life ***/

struct output *
output_new(struct exec *x, unsigned int which, enum stream_mode mode)
{
	struct output	*o = xcalloc(1, sizeof(*o));

	o->exec = x;
	o->which = which;
	o->mode = mode;
	o->fd = -1;
	o->granted = x->worker->is_stream ? STREAM_WINDOW : 0;
	TAILQ_INIT(&o->sinks);
	return o;
}

int
output_open(struct output *o, int *child_fd, struct error *e)
{
	int	 fds[2];

	if (pipe2(fds, O_CLOEXEC) == -1)
		return error_sys(e, ERR_LIMIT, errno, "no pipe for output");
	/* The two ends are two descriptions: only ours changes. */
	if (fcntl(fds[0], F_SETFL, O_NONBLOCK) == -1)
		fatal("pipe: F_SETFL");
	/* The pipe is this user's; /dev/stdout shall open for another. */
	(void)fchmod(fds[1], 0622);
	o->fd = fds[0];
	*child_fd = fds[1];
	return 0;
}

void
output_begin(struct output *o)
{
	if (o->fd == -1)
		return;
	event_assign(&o->ev, o->exec->worker->base, o->fd,
	    EV_READ | EV_PERSIST, output_event, o);
	o->has_ev = true;
	event_add(&o->ev, NULL);
}

static void
output_shut(struct output *o)
{
	if (o->has_ev)
		event_del(&o->ev);
	o->has_ev = false;
	fd_close(&o->fd);
}

void
output_free(struct output *o)
{
	struct sink	*s;

	if (o == NULL)
		return;
	if (o->exec->worker->is_stream && !o->is_eof &&
	    o->exec->state >= EXEC_RUNNING)
		agent_closed(o->exec, o->which);
	output_shut(o);
	while ((s = TAILQ_FIRST(&o->sinks)) != NULL)
		sink_free(s);
	ring_free(&o->ring);
	free(o);
}

/*** Room ***/

/* The limit of the exec is reached: what comes now is over it. */
bool
output_is_full(const struct output *o)
{
	const struct exec	*x = o->exec;

	return x->output_max != 0 && x->full != FULL_BLOCK &&
	    x->produced >= x->output_max;
}

static bool
output_is_tossing(const struct output *o)
{
	return o->is_dropped || o->mode == MODE_NULL || output_is_full(o);
}

/* The first byte that must not be overwritten. */
static uint64_t
output_hold(const struct output *o)
{
	const struct sink	*s;
	uint64_t		 hold = o->ring.end;

	if (o->exec->full == FULL_BLOCK && o->acked < hold)
		hold = o->acked;
	TAILQ_FOREACH(s, &o->sinks, entry)
		if (s->offset < hold)
			hold = s->offset;
	return hold < o->ring.start ? o->ring.start : hold;
}

/* How many bytes may be added now. */
static size_t
output_room(const struct output *o)
{
	const struct exec	*x = o->exec;
	uint64_t		 bound = RING_MAX, kept;

	if (x->output_max != 0 && x->full == FULL_BLOCK &&
	    x->output_max < bound)
		bound = x->output_max;
	kept = o->ring.end - output_hold(o);
	if (kept >= bound)
		return 0;
	bound -= kept;
	if (x->output_max != 0 && x->full != FULL_BLOCK &&
	    bound > x->output_max - x->produced)
		bound = x->output_max - x->produced;
	return (size_t)bound;
}

/* Bytes that go nowhere. */
static void
output_over(struct output *o)
{
	struct exec	*x = o->exec;

	if (o->is_dropped || o->mode == MODE_NULL)
		return;
	o->is_truncated = true;
	if (x->full == FULL_KILL && x->state == EXEC_RUNNING)
		exec_kill(x, "output");
}

/*
 * New bytes or the end: to whoever waits for them.  A reader that turns out
 * to be lost may come back here, which then waits for its turn.
 */
void
output_push(struct output *o)
{
	struct sink	*s, *next;

	o->wants_push = true;
	if (o->is_pushing)
		return;
	o->is_pushing = true;
	while (o->wants_push) {
		o->wants_push = false;
		for (s = TAILQ_FIRST(&o->sinks); s != NULL; s = next) {
			next = TAILQ_NEXT(s, entry);
			sink_push(s);
		}
	}
	o->is_pushing = false;
	read_moved(o);
}

/* On byte channels: let the agent send as much as there is room. */
static void
output_grant(struct output *o)
{
	uint64_t	 room;

	if (!o->exec->worker->is_stream || o->is_eof || o->is_dropped)
		return;
	room = output_is_tossing(o) ? STREAM_WINDOW : output_room(o);
	if (room > STREAM_WINDOW)
		room = STREAM_WINDOW;
	if (room > o->granted && (o->granted == 0 ||
	    room - o->granted >= STREAM_WINDOW / 4)) {
		agent_credit(o->exec, o->which, room - o->granted);
		o->granted = room;
	}
	o->is_paused = o->granted == 0;
}

void
output_moved(struct output *o)
{
	if (o->exec->worker->is_stream) {
		output_grant(o);
		return;
	}
	if (!o->is_paused || !o->has_ev ||
	    (output_room(o) == 0 && !output_is_tossing(o)))
		return;
	o->is_paused = false;
	event_add(&o->ev, NULL);
}

/*** From the pipe ***/

static ssize_t
output_toss(struct output *o, size_t *asked)
{
	unsigned char	 trash[TOSS_SIZE];
	ssize_t		 n;

	*asked = sizeof(trash);
	n = read(o->fd, trash, sizeof(trash));
	if (n > 0)
		output_over(o);
	return n;
}

/* Bytes read; 0: none can be now, or the end was seen. */
static size_t
output_read(struct output *o, bool *has_more)
{
	struct iovec	 iov[2];
	size_t		 asked, room;
	ssize_t		 n;
	int		 parts;
	bool		 is_tossing = output_is_tossing(o);

	*has_more = false;
	if (is_tossing)
		n = output_toss(o, &asked);
	else {
		room = output_room(o);
		parts = ring_space(&o->ring, output_hold(o),
		    room < READ_MAX ? room : READ_MAX, iov);
		if (parts == 0) {
			o->is_paused = true;
			event_del(&o->ev);
			return 0;
		}
		asked = iov[0].iov_len + (parts > 1 ? iov[1].iov_len : 0);
		n = parts == 1 ? read(o->fd, iov[0].iov_base, asked) :
		    readv(o->fd, iov, parts);
	}
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		output_eof(o);
		return 0;
	}
	*has_more = (size_t)n == asked;
	o->exec->moved += (uint64_t)n;
	if (!is_tossing) {
		ring_commit(&o->ring, (size_t)n);
		o->exec->produced += (uint64_t)n;
	}
	if (n == READ_MAX && !o->is_big) {
		o->is_big = true;
		(void)fcntl(o->fd, F_SETPIPE_SZ, PIPE_SIZE);
	}
	output_push(o);
	return (size_t)n;
}

static void
output_turn(struct output *o, size_t max)
{
	size_t	 done;
	bool	 has_more = true;

	for (done = 0; has_more && done < max && o->fd != -1;)
		done += output_read(o, &has_more);
}

static void
output_event(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	output_turn(arg, READ_TURN);
}

void
output_pull(struct output *o)
{
	if (o->has_ev && !o->is_paused)
		output_turn(o, RING_MAX);
}

/*** From the agent ***/

int
output_data(struct output *o, struct view data, struct error *e)
{
	struct exec	*x = o->exec;
	size_t		 room;

	if (data.n > o->granted || (o->is_eof && !o->is_dropped))
		return error_set(e, ERR_INVALID,
		    "exec %u: bytes without credit", x->id);
	o->granted -= data.n;
	x->moved += data.n;
	if (!output_is_tossing(o)) {
		room = data.n;
		if (x->output_max != 0 && x->full != FULL_BLOCK &&
		    room > x->output_max - x->produced)
			room = (size_t)(x->output_max - x->produced);
		if (ring_add(&o->ring, output_hold(o),
		    (struct view){ data.p, room }) == -1)
			return error_set(e, ERR_INTERNAL, "out of memory");
		x->produced += room;
		data.n -= room;
	}
	if (data.n > 0)
		output_over(o);
	output_push(o);
	output_grant(o);
	return 0;
}

/*** The end ***/

void
output_eof(struct output *o)
{
	if (o->is_eof)
		return;
	o->is_eof = true;
	output_shut(o);
	output_push(o);
	exec_drain(o->exec);
}

/* Whoever was to read it has left: so learns the command. */
void
output_drop(struct output *o)
{
	if (o->is_eof || o->is_dropped)
		return;
	o->is_dropped = true;
	if (o->exec->worker->is_stream)
		agent_closed(o->exec, o->which);
	output_eof(o);
}

bool
output_is_flushed(const struct output *o)
{
	const struct sink	*s;

	TAILQ_FOREACH(s, &o->sinks, entry)
		if (s->conn == NULL && !sink_is_flushed(s))
			return false;
	return true;
}

bool
output_is_drained(const struct output *o)
{
	return o->is_eof && output_is_flushed(o);
}

/*
 * Where readers that are attached while it is over see the end, although
 * background children may still write: behind what is in the pipe now.
 */
uint64_t
output_last(const struct output *o)
{
	const struct exec	*x = o->exec;
	uint64_t		 left;
	int			 n = 0;

	if (o->is_eof || output_is_tossing(o))
		return o->ring.end;
	if (x->worker->is_stream)
		return o->is_paused ? UINT64_MAX : o->ring.end;
	if (ioctl(o->fd, FIONREAD, &n) == -1 || n < 0)
		n = 0;
	left = (uint64_t)n;
	if (x->output_max != 0 && x->full != FULL_BLOCK &&
	    left > x->output_max - x->produced)
		left = x->output_max - x->produced;
	return o->ring.end + left;
}

void
output_end(struct output *o)
{
	struct sink	*s;
	uint64_t	 last = output_last(o);

	TAILQ_FOREACH(s, &o->sinks, entry)
		if (s->conn != NULL)
			s->ends_at = last;
	output_push(o);
}

void
output_conn_closed(struct output *o, const struct conn *c)
{
	struct sink	*s, *next;

	for (s = TAILQ_FIRST(&o->sinks); s != NULL; s = next) {
		next = TAILQ_NEXT(s, entry);
		if (s->conn == c)
			sink_free(s);
	}
	output_moved(o);
}
