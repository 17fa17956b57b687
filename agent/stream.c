/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Stdio over a byte channel: frames on one side, pipes or a terminal on the
 * other.  Run by the agent where no descriptor can be passed, as in a
 * virtual machine.  Each stream begins with a credit of STREAM_WINDOW
 * bytes; whoever takes bytes gives credit for as many, so what is held here
 * is bounded whatever the command or the reader does.
 *
 * AGENT_EOF: no more bytes of this stream.  AGENT_CLOSED: nobody takes them;
 * the command then gets SIGPIPE or, from a terminal, SIGHUP.  To throw
 * output away without that, give credit for it.
 */

#include <sys/epoll.h>

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent.h"

/* Frames to the command. */
struct inlet {
	struct source	 to;
	struct buf	 buf;
	size_t		 pos;
	uint64_t	 owed;		/* taken, credit not given yet */
	bool		 is_eof;
	bool		 is_typed;
	unsigned char	 last;
};

/* The command to frames. */
struct outlet {
	struct source	 from;
	struct stream	*stream;
	unsigned int	 number;
	uint64_t	 credit;
};

struct stream {
	struct exec	*exec;
	struct inlet	 in;
	struct outlet	 out[2];
	bool		 has_pty;
	bool		 is_started;
};

/*** Input ***/

static void
inlet_close(struct stream *s, bool is_told)
{
	struct msg_agent_closed	m = { .exec = s->exec->id };

	if (is_told)
		agent_send(MSG_AGENT_CLOSED, 0, &m);
	source_close(&s->in.to);
	buf_free(&s->in.buf);
	s->in.pos = 0;
}

static void
inlet_credit(struct stream *s)
{
	struct msg_agent_credit	m = { .exec = s->exec->id };

	if (s->in.owed < STREAM_WINDOW / 2)
		return;
	m.bytes = s->in.owed;
	s->in.owed = 0;
	agent_send(MSG_AGENT_CREDIT, 0, &m);
}

/* The queue is empty and the end was said. */
static bool
inlet_end(struct stream *s)
{
	struct inlet	*in = &s->in;
	char		 bytes[2];

	if (!s->has_pty || in->is_typed)
		return true;
	in->is_typed = true;
	buf_add(&in->buf, bytes, pty_eof_bytes(in->to.fd, in->last, bytes));
	return in->buf.n == 0;
}

static void
inlet_run(struct stream *s)
{
	struct inlet	*in = &s->in;
	ssize_t		 n;

	while (in->to.fd != -1) {
		if (in->pos == in->buf.n) {
			buf_free(&in->buf);
			in->pos = 0;
			if (!in->is_eof)
				break;
			if (inlet_end(s)) {
				inlet_close(s, false);
				return;
			}
		}
		n = write(in->to.fd, in->buf.p + in->pos,
		    in->buf.n - in->pos);
		if (n == -1 && errno != EAGAIN) {
			inlet_close(s, true);
			return;
		}
		if (n <= 0) {
			(void)source_watch(&in->to, EPOLLOUT);
			break;
		}
		in->pos += (size_t)n;
		in->owed += (uint64_t)n;
	}
	if (in->to.fd == -1)
		return;
	inlet_credit(s);
	/* Of a pipe, that its reader went away; of a master, nothing. */
	if (in->buf.n == 0 && s->has_pty)
		source_forget(&in->to);
	else if (in->buf.n == 0)
		(void)source_watch(&in->to, 0);
}

static void
inlet_event(void *arg, uint32_t events)
{
	struct stream	*s = arg;

	if (events & EPOLLERR && s->in.buf.n == 0)
		inlet_close(s, true);
	else
		inlet_run(s);
	exec_settle(s->exec);
}

void
stream_data(struct stream *s, struct view data)
{
	struct inlet	*in = &s->in;

	if (in->is_eof)
		fatal("exec %u: bytes after the end", s->exec->id);
	if (in->to.fd == -1 || data.n == 0)
		return;
	if (in->buf.n - in->pos + data.n > STREAM_WINDOW)
		fatal("exec %u: bytes without credit", s->exec->id);
	if (in->pos > 0) {
		/* Rare: the pipe was full; keep the queue at its size. */
		struct buf	rest = { 0 };

		buf_add(&rest, in->buf.p + in->pos, in->buf.n - in->pos);
		buf_free(&in->buf);
		in->buf = rest;
		in->pos = 0;
	}
	buf_add(&in->buf, data.p, data.n);
	if (in->buf.has_failed)
		fatal("out of memory");
	in->last = data.p[data.n - 1];
	inlet_run(s);
}

void
stream_eof(struct stream *s)
{
	s->in.is_eof = true;
	inlet_run(s);
}

/*** Output ***/

static void
outlet_end(struct outlet *o, bool is_told)
{
	struct msg_agent_eof	m = { .exec = o->stream->exec->id,
	    .stream = o->number };

	source_close(&o->from);
	if (is_told)
		agent_send(MSG_AGENT_EOF, 0, &m);
	/* The master's other descriptor; then the session is hung up. */
	if (o->stream->has_pty && o->stream->in.to.fd != -1)
		inlet_close(o->stream, true);
}

static void
outlet_wait(struct outlet *o, bool is_quiet)
{
	if (o->credit == 0)
		/* What has hung up would wake the loop for ever. */
		source_forget(&o->from);
	else
		(void)source_watch(&o->from, is_quiet ? EPOLLIN | EPOLLET :
		    EPOLLIN);
}

static void
outlet_run(struct outlet *o)
{
	struct msg_agent_data	m = { .exec = o->stream->exec->id,
	    .stream = o->number };
	unsigned char		bytes[STREAM_CHUNK_MAX];
	ssize_t			n;
	int			i;

	for (i = 0; i < RELAY_ROUNDS && o->credit > 0; i++) {
		if (agent_is_choked())
			break;
		n = read(o->from.fd, bytes, o->credit < sizeof(bytes) ?
		    (size_t)o->credit : sizeof(bytes));
		if (n == -1 && errno == EAGAIN)
			break;
		if (n == -1 && errno == EIO && o->stream->has_pty &&
		    !o->stream->exec->is_ended) {
			outlet_wait(o, true);
			return;
		}
		if (n <= 0) {
			outlet_end(o, true);
			return;
		}
		m.data = (struct view){ bytes, (size_t)n };
		agent_send(MSG_AGENT_DATA, 0, &m);
		o->credit -= (uint64_t)n;
	}
	outlet_wait(o, false);
}

static void
outlet_event(void *arg, uint32_t events)
{
	struct outlet	*o = arg;

	(void)events;
	outlet_run(o);
	exec_settle(o->stream->exec);
}

void
stream_credit(struct stream *s, uint64_t stream, uint64_t bytes)
{
	struct outlet	*o;

	if (stream == STDIN_FILENO)
		return;
	o = &s->out[stream - 1];
	o->credit += bytes;
	if (o->credit > STREAM_WINDOW)
		fatal("exec %u: more credit than the window", s->exec->id);
	if (s->is_started && o->from.fd != -1)
		outlet_wait(o, false);
}

void
stream_closed(struct stream *s, uint64_t stream)
{
	if (stream == STDIN_FILENO || s->out[stream - 1].from.fd == -1)
		return;
	outlet_end(&s->out[stream - 1], false);
	exec_settle(s->exec);
}

/*** Life ***/

struct stream *
stream_new(struct exec *e, const int fds[3], bool has_pty)
{
	struct stream	*s = calloc(1, sizeof(*s));
	unsigned int	 i;

	if (s == NULL)
		return NULL;
	s->exec = e;
	s->has_pty = has_pty;
	s->in.last = '\n';
	s->in.to = (struct source){ .fd = fds[0], .fn = inlet_event,
	    .arg = s };
	(void)fd_nonblock(fds[0]);
	for (i = 0; i < 2; i++) {
		s->out[i].from = (struct source){ .fd = fds[i + 1],
		    .fn = outlet_event, .arg = &s->out[i] };
		s->out[i].stream = s;
		s->out[i].number = i + 1;
		s->out[i].credit = STREAM_WINDOW;
		if (fds[i + 1] != -1)
			(void)fd_nonblock(fds[i + 1]);
	}
	return s;
}

void
stream_free(struct stream *s)
{
	source_close(&s->in.to);
	source_close(&s->out[0].from);
	source_close(&s->out[1].from);
	buf_free(&s->in.buf);
	free(s);
}

void
stream_start(struct stream *s)
{
	unsigned int	i;

	s->is_started = true;
	inlet_run(s);
	for (i = 0; i < 2; i++)
		if (s->out[i].from.fd != -1)
			outlet_wait(&s->out[i], false);
}

void
stream_set_size(struct stream *s, uint64_t rows, uint64_t cols)
{
	if (s->has_pty && s->out[0].from.fd != -1)
		(void)pty_resize(s->out[0].from.fd, rows, cols);
}

void
stream_drain(struct stream *s)
{
	unsigned int	i;

	for (i = 0; i < 2; i++)
		if (s->out[i].from.fd != -1)
			outlet_run(&s->out[i]);
}

bool
stream_is_over(const struct stream *s)
{
	return s->out[0].from.fd == -1 && s->out[1].from.fd == -1;
}
