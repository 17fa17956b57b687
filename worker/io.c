/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * exec.attach, exec.read and exec.write: how clients get at the streams of
 * a relayed exec.  Run by the worker.  What they ask for is checked; how
 * fast they take it is their own business (output.c).
 */

#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "worker.h"

#define READ_REPLY_MAX	(256 * 1024)	/* bytes of one exec.read */
#define WAIT_MS_MAX	(3600 * 1000)

static const char *const stream_names[] = { "stdin", "stdout", "stderr" };

/* The relayed output stream, or NULL with the error. */
static struct output *
io_output(struct exec *x, unsigned int which, const char *key,
    struct error *e)
{
	struct output	*o = x->out[which - 1];

	if (o != NULL && x->mode[which] == MODE_RELAY)
		return o;
	error_key(e, ERR_CONFLICT, key, "%s of exec %u is not relayed but %s",
	    stream_names[which], x->id, result_mode(x->mode[which]));
	return NULL;
}

static struct input *
io_input(struct exec *x, const char *key, struct error *e)
{
	if (x->in == NULL || x->mode[0] != MODE_RELAY) {
		error_key(e, ERR_CONFLICT, key,
		    "stdin of exec %u is not relayed but %s", x->id,
		    result_mode(x->mode[0]));
		return NULL;
	}
	if (!input_is_open(x->in)) {
		error_key(e, ERR_CONFLICT, key,
		    "the input of exec %u is closed", x->id);
		return NULL;
	}
	return x->in;
}

static int
io_stream(struct view name, unsigned int *which)
{
	unsigned int	 i;

	for (i = 0; i < 3; i++) {
		if (view_is(name, stream_names[i])) {
			*which = i;
			return 0;
		}
	}
	return -1;
}

/*** exec.attach ***/

struct attach_params {
	struct view	 exec;
	struct view	 streams;
	uint64_t	 offset;
};

static const struct field attach_fields[] = {
	{ .name = "exec", .kind = F_RAW, .max = TAG_LEN_MAX + 5,
	    .offset = offsetof(struct attach_params, exec) },
	{ .name = "streams", .kind = F_ARRAY, .max = 64,
	    .offset = offsetof(struct attach_params, streams) },
	{ .name = "offset", .kind = F_UINT, .max = INT64_MAX,
	    .offset = offsetof(struct attach_params, offset) },
};

/* What one request attaches, and what the client gets of it. */
struct attach {
	unsigned int	 which[3];
	unsigned int	 n;
	int		 fds[3];
	uint64_t	 offsets[3];
};

static int
attach_streams(struct exec *x, const struct attach_params *p,
    struct attach *a, struct error *e)
{
	struct cursor	 c;
	struct view	 name;
	unsigned int	 i, which;
	uint32_t	 n;

	a->n = 0;
	if (p->streams.p == NULL) {
		for (i = 0; i < 3; i++)
			if (x->mode[i] == MODE_RELAY && (i > 0 ||
			    input_is_open(x->in)))
				a->which[a->n++] = i;
		return a->n > 0 ? 0 : error_key(e, ERR_CONFLICT, "exec",
		    "no stream of exec %u is relayed", x->id);
	}
	cursor_init(&c, p->streams);
	if (get_array(&c, &n) == -1 || n == 0 || n > 3)
		return error_key(e, ERR_INVALID, "streams",
		    "streams must name one to three streams");
	while (n-- > 0) {
		if (get_str(&c, &name, 8) == -1 ||
		    io_stream(name, &which) == -1)
			return error_key(e, ERR_INVALID, "streams",
			    "a stream is stdin, stdout or stderr");
		for (i = 0; i < a->n; i++)
			if (a->which[i] == which)
				return error_key(e, ERR_INVALID, "streams",
				    "%s is named twice", stream_names[which]);
		a->which[a->n++] = which;
	}
	return 0;
}

static int
attach_output(struct call *call, unsigned int which, uint64_t *offset,
    int *client_fd, struct error *e)
{
	struct output	*o = io_output(call->exec, which, "streams", e);
	int		 fds[2];

	if (o == NULL)
		return -1;
	if (*offset > o->ring.end)
		return error_key(e, ERR_INVALID, "offset",
		    "%s has only %llu bytes", stream_names[which],
		    (unsigned long long)o->ring.end);
	if (*offset < o->ring.start)
		*offset = o->ring.start;
	if (pipe2(fds, O_CLOEXEC) == -1)
		return error_sys(e, ERR_LIMIT, errno, "no pipe to attach");
	if (fcntl(fds[1], F_SETFL, O_WRONLY | O_NONBLOCK) == -1)
		fatal("pipe: F_SETFL");
	*client_fd = fds[0];
	return sink_new(o, call->conn, END_OWN, fds[1], *offset, e);
}

/* A socket, so that its two ends of life can be told apart (source.c). */
static int
attach_input(struct call *call, int *client_fd, struct error *e)
{
	struct input	*in = io_input(call->exec, "streams", e);
	int		 fds[2];

	if (in == NULL)
		return -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == -1)
		return error_sys(e, ERR_LIMIT, errno, "no socket to attach");
	if (fcntl(fds[1], F_SETFL, O_RDWR | O_NONBLOCK) == -1)
		fatal("socketpair: F_SETFL");
	*client_fd = fds[0];
	return source_new(in, call->conn, END_OWN, fds[1], e);
}

static void
attach_reply(struct call *call, const struct attach *a)
{
	struct buf	 b = { 0 };
	unsigned int	 i, n;

	for (i = 0, n = 0; i < a->n; i++)
		n += a->which[i] != 0;
	put_map(&b, 2);
	put_str(&b, "fds");
	put_uint(&b, a->n);
	put_str(&b, "offset");
	put_map(&b, n);
	for (i = 0; i < a->n; i++) {
		if (a->which[i] == 0)
			continue;
		put_str(&b, stream_names[a->which[i]]);
		put_uint(&b, a->offsets[i]);
	}
	conn_reply(call->conn, call->id, &b, a->fds, (int)a->n);
	buf_free(&b);
}

int
attach_call(struct call *call, struct error *e)
{
	struct attach_params	 p = { 0 };
	struct attach		 a = { .fds = { -1, -1, -1 } };
	struct exec		*x = call->exec;
	unsigned int		 i;
	int			 r = 0;

	if (field_unpack_map(attach_fields, 3, call->params, &p, e) == -1 ||
	    attach_streams(x, &p, &a, e) == -1)
		return -1;
	for (i = 0; i < a.n && r == 0; i++) {
		a.offsets[i] = p.offset;
		if (a.which[i] != 0)
			r = attach_output(call, a.which[i], &a.offsets[i],
			    &a.fds[i], e);
	}
	/* Input last: its end would end the command's input. */
	for (i = 0; i < a.n && r == 0; i++)
		if (a.which[i] == 0)
			r = attach_input(call, &a.fds[i], e);
	if (r == -1) {
		/* The ends that are ours see the hang-up. */
		for (i = 0; i < a.n; i++)
			fd_close(&a.fds[i]);
		return -1;
	}
	attach_reply(call, &a);
	for (i = 0; i < a.n; i++) {
		if (a.which[i] == 0) {
			input_pump(x->in);
			continue;
		}
		output_moved(x->out[a.which[i] - 1]);
		output_push(x->out[a.which[i] - 1]);
	}
	return 0;
}

/*** exec.read ***/

struct read_params {
	struct view	 exec;
	struct view	 stream;
	uint64_t	 offset;
	uint64_t	 max;
	uint64_t	 wait_ms;
};

static const struct field read_fields[] = {
	{ .name = "exec", .kind = F_RAW, .max = TAG_LEN_MAX + 5,
	    .offset = offsetof(struct read_params, exec) },
	{ .name = "stream", .kind = F_STR, .max = 8,
	    .offset = offsetof(struct read_params, stream) },
	{ .name = "offset", .kind = F_UINT, .max = INT64_MAX,
	    .offset = offsetof(struct read_params, offset) },
	{ .name = "max", .kind = F_UINT, .min = 1, .max = INT64_MAX,
	    .offset = offsetof(struct read_params, max) },
	{ .name = "wait_ms", .kind = F_UINT, .max = WAIT_MS_MAX,
	    .offset = offsetof(struct read_params, wait_ms) },
};

static bool
read_is_eof(const struct output *o, uint64_t next)
{
	return next >= o->ring.end &&
	    (o->is_eof || o->exec->state == EXEC_OVER);
}

/* What is there from the offset on: data offset next eof lost. */
static void
read_pack(struct output *o, uint64_t offset, uint64_t max, struct buf *b)
{
	struct iovec	 iov[2];
	struct view	 data = { (const unsigned char *)"", 0 };
	uint64_t	 from = offset;

	if (from < o->ring.start)
		from = o->ring.start;
	/* One part: the other comes with the next read. */
	if (from < o->ring.end && ring_peek(&o->ring, from,
	    max < READ_REPLY_MAX ? (size_t)max : READ_REPLY_MAX, iov) > 0)
		data = (struct view){ iov[0].iov_base, iov[0].iov_len };
	put_map(b, 5);
	put_str(b, "data");
	put_bin(b, data);
	put_str(b, "offset");
	put_uint(b, from);
	put_str(b, "next");
	put_uint(b, from + data.n);
	put_str(b, "eof");
	put_bool(b, read_is_eof(o, from + data.n));
	put_str(b, "lost");
	put_uint(b, from - offset);
	/* Asking from there on says that what was before is taken. */
	if (offset > o->acked)
		o->acked = offset;
}

static void
read_timeout(evutil_socket_t fd, short what, void *arg)
{
	struct pending	*p = arg;
	struct buf	 b = { 0 };

	(void)fd;
	(void)what;
	read_pack(p->out, p->offset, p->max, &b);
	pending_reply(p, &b);
	buf_free(&b);
}

void
read_moved(struct output *o)
{
	struct pending	*p, *next;
	struct buf	 b = { 0 };

	for (p = TAILQ_FIRST(&o->exec->pendings); p != NULL; p = next) {
		next = TAILQ_NEXT(p, of_exec);
		if (p->kind != PEND_READ || p->out != o ||
		    (p->offset >= o->ring.end && !read_is_eof(o, p->offset)))
			continue;
		read_pack(o, p->offset, p->max, &b);
		pending_reply(p, &b);
		buf_free(&b);
	}
}

static int
read_wait(struct call *call, struct output *o, const struct read_params *r,
    struct error *e)
{
	struct pending	*p;
	struct timeval	 tv;

	p = pending_new(call->conn, call->exec, &call->exec->pendings,
	    PEND_READ, call->id, e);
	if (p == NULL)
		return -1;
	p->out = o;
	p->offset = r->offset;
	p->max = r->max;
	tv.tv_sec = (time_t)(r->wait_ms / 1000);
	tv.tv_usec = (suseconds_t)(r->wait_ms % 1000 * 1000);
	p->timer = evtimer_new(call->conn->worker->base, read_timeout, p);
	if (p->timer == NULL || evtimer_add(p->timer, &tv) == -1)
		fatal("out of memory");
	return 0;
}

int
read_call(struct call *call, struct error *e)
{
	struct read_params	 p = { .max = READ_MAX };
	struct output		*o;
	struct buf		 b = { 0 };
	unsigned int		 which = 1;

	if (field_unpack_map(read_fields, 5, call->params, &p, e) == -1)
		return -1;
	if (p.stream.p != NULL &&
	    (io_stream(p.stream, &which) == -1 || which == 0))
		return error_key(e, ERR_INVALID, "stream",
		    "stream must be stdout or stderr");
	if ((o = io_output(call->exec, which, "stream", e)) == NULL)
		return -1;
	if (p.offset > o->ring.end)
		return error_key(e, ERR_INVALID, "offset",
		    "%s has only %llu bytes", stream_names[which],
		    (unsigned long long)o->ring.end);
	if (p.offset == o->ring.end && p.wait_ms > 0 &&
	    !read_is_eof(o, p.offset)) {
		if (read_wait(call, o, &p, e) == -1)
			return -1;
		if (p.offset > o->acked)
			o->acked = p.offset;
	} else {
		read_pack(o, p.offset, p.max, &b);
		conn_reply(call->conn, call->id, &b, NULL, 0);
		buf_free(&b);
	}
	output_moved(o);
	return 0;
}

/*** exec.write ***/

struct write_params {
	struct view	 exec;
	struct view	 data;
	bool		 eof;
};

static const struct field write_fields[] = {
	{ .name = "exec", .kind = F_RAW, .max = TAG_LEN_MAX + 5,
	    .offset = offsetof(struct write_params, exec) },
	{ .name = "data", .kind = F_BIN, .max = RPC_MESSAGE_MAX,
	    .offset = offsetof(struct write_params, data) },
	{ .name = "eof", .kind = F_BOOL,
	    .offset = offsetof(struct write_params, eof) },
};

int
write_call(struct call *call, struct error *e)
{
	struct write_params	 w = { 0 };
	struct pending		*p;
	struct input		*in;

	if (field_unpack_map(write_fields, 3, call->params, &w, e) == -1 ||
	    (in = io_input(call->exec, "exec", e)) == NULL)
		return -1;
	if (w.data.n > STDIN_QUEUE_MAX - in->queued)
		return error_key(e, ERR_BUSY, "data",
		    "%zu bytes wait to be read by exec %u", in->queued,
		    call->exec->id);
	p = pending_new(call->conn, call->exec, &in->writes, PEND_WRITE,
	    call->id, e);
	if (p == NULL)
		return -1;
	p->eof = w.eof;
	if (pending_hold(p, w.data, e) == -1) {
		pending_free(p);
		return -1;
	}
	in->queued += p->n;
	input_pump(in);
	return 0;
}
