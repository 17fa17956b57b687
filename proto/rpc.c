/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * MessagePack-RPC on a client's stream socket, both sides of it.  Used by
 * front, worker and libsandboxd; nothing blocks and nothing raises SIGPIPE.
 * The peer may be anybody: a message is scanned within bounds before it is
 * decoded, an unfinished one is bounded by size, descriptors by number.
 *
 * Descriptors: a request (or answer) whose map says `fds: n` takes the n
 * oldest that arrived with its bytes; the sender sends them with the first
 * byte.  The kernel hands descriptors out with a piece of the stream, which
 * ends where they were attached at the latest; what is left when the last
 * byte of its piece is parsed belongs to nobody and is closed.
 *
 * Callers must poll level-triggered: after a short read the socket is not
 * asked again until the next call.
 */

#include <sys/socket.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto.h"

#define IN_FIRST	4096u
#define KEEP_SIZE	(64u * 1024)	/* memory kept while idle */
#define PIECES_MAX	RPC_FDS_QUEUE_MAX

/* A piece of the stream with which descriptors came. */
struct piece {
	uint64_t	 end;		/* stream offset behind it */
	int		 nfds;		/* not yet taken */
	bool		 is_cut;	/* some were lost */
};

/* Descriptors to send with the byte at an offset of the output. */
struct ride {
	struct ride	*next;
	uint64_t	 at;
	int		 nfds;
	int		 fds[RPC_FDS_MAX];
};

struct rpc {
	int		 fd;
	bool		 is_broken;	/* sending failed for good */
	bool		 is_drained;	/* the last read was short */
	bool		 has_no_fds;
	bool		 is_held;	/* queue only */
	/* Received: bytes from head on are not parsed. */
	struct buf	 in;
	size_t		 head;
	uint64_t	 in_offset;	/* stream offset of in.p */
	struct scan	 scan;
	int		 fds[RPC_FDS_QUEUE_MAX];
	int		 nfds;
	struct piece	 pieces[PIECES_MAX];
	int		 npieces;
	int		 owned[RPC_FDS_MAX];	/* of the message given out */
	int		 nowned;
	/* To send: bytes from out_head on. */
	struct buf	 out;
	size_t		 out_head;
	uint64_t	 out_offset;	/* stream offset of out.p */
	struct ride	*rides;
	struct ride	**rides_tail;
};

static void
close_all(int *fds, int n)
{
	int i;

	for (i = 0; i < n; i++)
		fd_close(&fds[i]);
}

struct rpc *
rpc_new(int fd)
{
	struct rpc *r;

	if ((r = calloc(1, sizeof(*r))) == NULL)
		return NULL;
	r->fd = fd;
	r->rides_tail = &r->rides;
	fd_nonblock(fd);
	return r;
}

void
rpc_refuse_fds(struct rpc *r)
{
	fds_refuse(r->fd);
	r->has_no_fds = true;
}

static void
ride_pop(struct rpc *r)
{
	struct ride *ride = r->rides;

	if ((r->rides = ride->next) == NULL)
		r->rides_tail = &r->rides;
	close_all(ride->fds, ride->nfds);
	free(ride);
}

void
rpc_free(struct rpc *r)
{
	if (r == NULL)
		return;
	while (r->rides != NULL)
		ride_pop(r);
	close_all(r->fds, r->nfds);
	close_all(r->owned, r->nowned);
	buf_free(&r->in);
	buf_free(&r->out);
	if (r->fd != -1)
		close(r->fd);
	free(r);
}

int
rpc_fd(const struct rpc *r)
{
	return r->fd;
}

size_t
rpc_pending(const struct rpc *r)
{
	return r->out.n - r->out_head;
}

/* Received and not parsed. */
static struct view
rest_of(const struct rpc *r)
{
	if (r->in.n == r->head)
		return (struct view){ NULL, 0 };
	return (struct view){ r->in.p + r->head, r->in.n - r->head };
}

int
rpc_detach(struct rpc *r, struct buf *rest)
{
	struct view v = rest_of(r);
	int fd = r->fd;

	if (rpc_pending(r) != 0)
		return -1;
	buf_add(rest, v.p, v.n);
	if (rest->has_failed)
		return -1;
	r->fd = -1;
	rpc_free(r);
	return fd;
}

static int
closed(struct error *e, int sys_errno)
{
	if (sys_errno == 0)
		return error_set(e, ERR_UNAVAILABLE,
		    "the connection is closed");
	return error_sys(e, ERR_UNAVAILABLE, sys_errno,
	    "the connection is closed");
}

static int
bad(struct error *e, const char *what)
{
	return error_set(e, ERR_INVALID, "bad message: %s", what);
}

/*** Receiving descriptors ***/

int
rpc_take_fd(struct rpc_msg *m, int i)
{
	int fd;

	if (i < 0 || i >= m->nfds)
		return -1;
	fd = m->fds[i];
	m->fds[i] = -1;
	if (m->owned != NULL)
		m->owned[i] = -1;
	return fd;
}

/* Those that came with the bytes up to end, read just now. */
static int
fds_collect(struct rpc *r, struct msghdr *m, uint64_t end, struct error *e)
{
	struct piece piece = { .end = end };
	int got[RPC_FDS_MAX];

	piece.nfds = rights_get(m, got, RPC_FDS_MAX);
	piece.is_cut = (m->msg_flags & MSG_CTRUNC) != 0;
	if (piece.nfds == 0 && !piece.is_cut)
		return 0;
	if (piece.is_cut || r->npieces == PIECES_MAX ||
	    r->nfds + piece.nfds > RPC_FDS_QUEUE_MAX) {
		close_all(got, piece.nfds);
		piece.nfds = 0;
	}
	if (!piece.is_cut && piece.nfds == 0)
		return bad(e, "too many descriptors");
	if (r->npieces == PIECES_MAX)
		return bad(e, "too many descriptors");
	memcpy(r->fds + r->nfds, got, (size_t)piece.nfds * sizeof(int));
	r->nfds += piece.nfds;
	r->pieces[r->npieces++] = piece;
	return 0;
}

static void
fds_shift(struct rpc *r, int n)
{
	r->nfds -= n;
	memmove(r->fds, r->fds + n, (size_t)r->nfds * sizeof(int));
}

/* Closes what nobody took of the pieces that end at or before the offset. */
static void
pieces_drop(struct rpc *r, uint64_t offset)
{
	int i, n = 0;

	for (i = 0; i < r->npieces && r->pieces[i].end <= offset; i++)
		n += r->pieces[i].nfds;
	if (i == 0)
		return;
	close_all(r->fds, n);
	fds_shift(r, n);
	r->npieces -= i;
	memmove(r->pieces, r->pieces + i,
	    (size_t)r->npieces * sizeof(r->pieces[0]));
}

/*
 * Gives the n oldest to the message.  All pieces here began before the end
 * of the message, since it was looked for after each read.
 */
static int
fds_claim(struct rpc *r, struct rpc_msg *m, uint64_t n, struct error *e)
{
	int i, left, take;
	bool is_cut = false;

	for (i = 0; i < r->npieces; i++)
		is_cut |= r->pieces[i].is_cut;
	if (n > RPC_FDS_MAX || n > (uint64_t)r->nfds) {
		if (r->has_no_fds)
			error_key(e, ERR_INVALID, "fds",
			    "no descriptors pass on this connection");
		else if (is_cut)
			error_key(e, ERR_LIMIT, "fds", "descriptors were "
			    "lost: too many, or none free here");
		else
			error_key(e, ERR_INVALID, "fds", "%llu descriptors "
			    "declared, %d came", (unsigned long long)n,
			    r->nfds);
		return -1;
	}
	memcpy(r->owned, r->fds, (size_t)n * sizeof(int));
	memcpy(m->fds, r->fds, (size_t)n * sizeof(int));
	r->nowned = m->nfds = (int)n;
	fds_shift(r, (int)n);
	for (i = 0, left = (int)n; left > 0; i++) {
		take = left < r->pieces[i].nfds ? left : r->pieces[i].nfds;
		r->pieces[i].nfds -= take;
		left -= take;
	}
	return 0;
}

/*** Receiving messages ***/

/* The map of a request; an error for the sender if it is none. */
static int
params_get(struct cursor *c, struct view *params, struct error *e)
{
	static const unsigned char empty[] = { 0x80 };
	uint32_t n;

	if (get_array(c, &n) == -1 || n > 1)
		return error_key(e, ERR_INVALID, "params",
		    "params must be an array of one map");
	if (n == 0) {
		*params = (struct view){ empty, sizeof(empty) };
		return 0;
	}
	if (cursor_kind(c) != V_MAP || get_raw(c, params) == -1)
		return error_key(e, ERR_INVALID, "params",
		    "params must be an array of one map");
	return 0;
}

static int
envelope(struct cursor *c, struct rpc_msg *m, struct error *e)
{
	static const uint32_t arity[] = { 4, 4, 3 };
	uint64_t kind, id = 0;
	uint32_t n;

	memset(m, 0, sizeof(*m));
	if (get_array(c, &n) == -1 || get_uint(c, &kind, 2) == -1 ||
	    n != arity[kind])
		return bad(e, "not a request, response or notification");
	if (kind != 2 && get_uint(c, &id, UINT32_MAX) == -1)
		return bad(e, "its id is not a number of 32 bits");
	m->kind = (enum rpc_kind)kind;
	m->id = (uint32_t)id;
	if (m->kind == RPC_RESPONSE) {
		if (get_raw(c, &m->error) == -1 ||
		    get_raw(c, &m->result) == -1)
			return bad(e, "no result");
		return 0;
	}
	if (get_str(c, &m->method, NAME_LEN_MAX) == -1)
		return bad(e, "its method is not a name");
	return 0;
}

/*
 * One whole message at head.  1: given out; 0: answered here; -1: bad.
 */
static int
message_take(struct rpc *r, struct view v, struct rpc_msg *m,
    struct error *e)
{
	struct error refused;
	struct cursor c;
	uint64_t n = 0;
	int ok = 0;

	cursor_init(&c, v);
	if (envelope(&c, m, e) == -1)
		return -1;
	if (m->kind != RPC_RESPONSE)
		ok = params_get(&c, &m->params, &refused);
	if (ok == 0) {
		map_uint(m->kind == RPC_RESPONSE ? m->result : m->params,
		    "fds", &n);
		if (n > 0)
			ok = fds_claim(r, m, n, &refused);
	}
	m->owned = r->owned;
	pieces_drop(r, r->in_offset + r->head + v.n);
	if (ok == 0 || m->kind == RPC_RESPONSE)
		return 1;
	if (m->kind == RPC_NOTIFY) {
		if (e != NULL)
			*e = refused;
		return -1;
	}
	return rpc_reply_error(r, m->id, &refused, e);
}

/* Room to read into, at least a quarter of the buffer. */
static int
in_room(struct rpc *r, struct error *e)
{
	unsigned char *p;
	size_t cap;

	if (r->head > 0) {
		r->in.n -= r->head;
		memmove(r->in.p, r->in.p + r->head, r->in.n);
		r->in_offset += r->head;
		r->head = 0;
	}
	if (r->in.n == 0 && r->in.cap > KEEP_SIZE)
		buf_free(&r->in);
	if (r->in.cap - r->in.n > r->in.cap / 4)
		return 0;
	cap = r->in.cap == 0 ? IN_FIRST : r->in.cap * 2;
	if ((p = realloc(r->in.p, cap)) == NULL)
		return error_set(e, ERR_INTERNAL, "out of memory");
	r->in.p = p;
	r->in.cap = cap;
	return 0;
}

/* 1: bytes came, 0: none now, -1: closed or too many descriptors. */
static int
in_read(struct rpc *r, struct error *e)
{
	union rights control;
	struct msghdr m = { 0 };
	struct iovec iov;
	ssize_t n;

	if (in_room(r, e) == -1)
		return -1;
	iov.iov_base = r->in.p + r->in.n;
	iov.iov_len = r->in.cap - r->in.n;
	m.msg_iov = &iov;
	m.msg_iovlen = 1;
	if (!r->has_no_fds) {
		m.msg_control = &control;
		m.msg_controllen = sizeof(control);
	}
	do {
		n = recvmsg(r->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	} while (n == -1 && errno == EINTR);
	if (n == -1 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return 0;
	if (n <= 0)
		return closed(e, n == 0 ? 0 : errno);
	r->in.n += (size_t)n;
	r->is_drained = (size_t)n < iov.iov_len;
	if (r->has_no_fds)
		return 1;
	if (fds_collect(r, &m, r->in_offset + r->in.n, e) == -1)
		return -1;
	return 1;
}

int
rpc_recv(struct rpc *r, struct rpc_msg *m, struct error *e)
{
	enum scan_result result;
	struct view v;
	int done;

	close_all(r->owned, r->nowned);
	r->nowned = 0;
	for (;;) {
		v = rest_of(r);
		result = v.n == 0 ? SCAN_MORE : scan_run(&r->scan, v);
		if (result == SCAN_BAD)
			return bad(e, "not msgpack, or beyond its bounds");
		if (result == SCAN_DONE) {
			v.n = r->scan.pos;
			memset(&r->scan, 0, sizeof(r->scan));
		}
		if (v.n > RPC_MESSAGE_MAX)
			return error_set(e, ERR_TOO_LARGE, "bad message: "
			    "more than %d bytes", RPC_MESSAGE_MAX);
		if (result == SCAN_DONE) {
			done = message_take(r, v, m, e);
			r->head += v.n;
			if (done != 0)
				return done;
			continue;
		}
		if (r->is_drained) {
			r->is_drained = false;
			return 0;
		}
		if ((done = in_read(r, e)) != 1)
			return done;
	}
}

/*** Sending ***/

static int
broken(struct rpc *r, struct error *e, int sys_errno)
{
	r->is_broken = true;
	while (r->rides != NULL)
		ride_pop(r);
	buf_free(&r->out);
	r->out_head = 0;
	return closed(e, sys_errno);
}

/* One attempt at n bytes, with the descriptors of the ride or none. */
static ssize_t
try_send(const struct rpc *r, size_t n, const struct ride *ride)
{
	union rights control;
	struct iovec iov = { r->out.p + r->out_head, n };
	struct msghdr m = { 0 };
	ssize_t done;

	m.msg_iov = &iov;
	m.msg_iovlen = 1;
	if (ride != NULL)
		rights_put(&m, &control, ride->fds, ride->nfds);
	do {
		done = sendmsg(r->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
	} while (done == -1 && errno == EINTR);
	return done;
}

int
rpc_flush(struct rpc *r, struct error *e)
{
	struct ride *ride;
	uint64_t here;
	ssize_t done;
	size_t n;

	if (r->is_broken)
		return closed(e, 0);
	while ((n = rpc_pending(r)) > 0) {
		/* Up to the next byte that descriptors ride with. */
		here = r->out_offset + r->out_head;
		ride = r->rides;
		if (ride != NULL && ride->at == here)
			ride = ride->next;
		if (ride != NULL && ride->at - here < n)
			n = (size_t)(ride->at - here);
		ride = r->rides;
		if (ride != NULL && ride->at != here)
			ride = NULL;
		done = try_send(r, n, ride);
		if (done == -1 && (errno == EAGAIN || errno == EWOULDBLOCK ||
		    errno == ENOBUFS || errno == ENOMEM))
			return 0;
		if (done == -1)
			return broken(r, e, errno);
		if (ride != NULL)
			ride_pop(r);
		r->out_head += (size_t)done;
	}
	r->out_offset += r->out.n;
	r->out.n = r->out_head = 0;
	if (r->out.cap > KEEP_SIZE)
		buf_free(&r->out);
	return 0;
}

int
rpc_hold(struct rpc *r, bool is_held, struct error *e)
{
	r->is_held = is_held;
	return is_held ? 0 : rpc_flush(r, e);
}

/*
 * The caller packed a message from start on.  Queues its descriptors, which
 * are consumed, and sends what goes; on failure the message is taken back.
 */
static int
out_finish(struct rpc *r, size_t start, const int *fds, int nfds,
    struct error *e)
{
	struct ride *ride = NULL;
	int i, fd;

	if (r->is_broken)
		closed(e, 0);
	else if (r->out.has_failed)
		error_set(e, ERR_INTERNAL, "out of memory");
	else if (r->out.n - start > RPC_MESSAGE_MAX)
		error_set(e, ERR_TOO_LARGE, "a message of %zu bytes, at "
		    "most %d", r->out.n - start, RPC_MESSAGE_MAX);
	else if (r->out.n - r->out_head > RPC_QUEUE_MAX)
		error_set(e, ERR_BUSY, "the other side does not read: "
		    "%zu bytes wait", start - r->out_head);
	else if (nfds < 0 || nfds > RPC_FDS_MAX)
		error_set(e, ERR_TOO_LARGE, "%d descriptors, at most %d",
		    nfds, RPC_FDS_MAX);
	else if (nfds > 0 && (ride = calloc(1, sizeof(*ride))) == NULL)
		error_set(e, ERR_INTERNAL, "out of memory");
	else {
		if (ride != NULL) {
			ride->at = r->out_offset + start;
			ride->nfds = nfds;
			memcpy(ride->fds, fds, (size_t)nfds * sizeof(int));
			*r->rides_tail = ride;
			r->rides_tail = &ride->next;
		}
		return r->is_held ? 0 : rpc_flush(r, e);
	}
	r->out.n = start;
	r->out.has_failed = false;
	for (i = 0; i < nfds; i++) {
		fd = fds[i];
		fd_close(&fd);
	}
	return -1;
}

/* Where the next message starts; sent bytes are given back first. */
static size_t
out_start(struct rpc *r)
{
	if (r->out_head > KEEP_SIZE || r->out_head == r->out.n) {
		r->out.n -= r->out_head;
		if (r->out.n > 0)
			memmove(r->out.p, r->out.p + r->out_head, r->out.n);
		r->out_offset += r->out_head;
		r->out_head = 0;
	}
	return r->out.n;
}

static void
put_value(struct rpc *r, const struct buf *b)
{
	if (b->has_failed)
		r->out.has_failed = true;
	else
		put_raw(&r->out, (struct view){ b->p, b->n });
}

static void
put_params(struct rpc *r, const struct buf *params)
{
	put_array(&r->out, 1);
	if (params == NULL || (params->n == 0 && !params->has_failed))
		put_map(&r->out, 0);
	else
		put_value(r, params);
}

int
rpc_request(struct rpc *r, uint32_t id, const char *method,
    const struct buf *params, const int *fds, int nfds, struct error *e)
{
	size_t start = out_start(r);

	put_array(&r->out, 4);
	put_uint(&r->out, RPC_REQUEST);
	put_uint(&r->out, id);
	put_str(&r->out, method);
	put_params(r, params);
	return out_finish(r, start, fds, nfds, e);
}

int
rpc_reply(struct rpc *r, uint32_t id, const struct buf *result,
    const int *fds, int nfds, struct error *e)
{
	size_t start = out_start(r);

	put_array(&r->out, 4);
	put_uint(&r->out, RPC_RESPONSE);
	put_uint(&r->out, id);
	put_nil(&r->out);
	if (result == NULL)
		put_nil(&r->out);
	else
		put_value(r, result);
	return out_finish(r, start, fds, nfds, e);
}

int
rpc_reply_error(struct rpc *r, uint32_t id, const struct error *error,
    struct error *e)
{
	size_t start = out_start(r);

	put_array(&r->out, 4);
	put_uint(&r->out, RPC_RESPONSE);
	put_uint(&r->out, id);
	put_map(&r->out, 6);
	put_str(&r->out, "code");
	put_str(&r->out, error_name(error->code));
	put_str(&r->out, "message");
	put_str(&r->out, error->message);
	put_str(&r->out, "key");
	put_str(&r->out, error->key);
	put_str(&r->out, "errno");
	put_int(&r->out, error->sys_errno);
	put_str(&r->out, "path");
	put_str(&r->out, error->path);
	put_str(&r->out, "fix");
	put_str(&r->out, error_advice(error));
	put_nil(&r->out);
	return out_finish(r, start, NULL, 0, e);
}

int
rpc_notify(struct rpc *r, const char *method, const struct buf *params,
    struct error *e)
{
	size_t start = out_start(r);

	put_array(&r->out, 3);
	put_uint(&r->out, RPC_NOTIFY);
	put_str(&r->out, method);
	put_params(r, params);
	return out_finish(r, start, NULL, 0, e);
}

/* A text that does not fit is not taken. */
static void
text_member(struct view map, const char *name, char *out, size_t cap)
{
	if (map_text(map, name, out, cap) == -1)
		out[0] = '\0';
}

void
rpc_error_unpack(struct view map, struct error *e)
{
	char name[32];
	uint64_t n;

	memset(e, 0, sizeof(*e));
	e->code = ERR_INTERNAL;
	text_member(map, "code", name, sizeof(name));
	e->code = error_code(view_of(name));
	text_member(map, "message", e->message, sizeof(e->message));
	text_member(map, "key", e->key, sizeof(e->key));
	text_member(map, "path", e->path, sizeof(e->path));
	text_member(map, "fix", e->fix, sizeof(e->fix));
	if (map_uint(map, "errno", &n) == 0 && n <= 4096)
		e->sys_errno = (int)n;
	if (e->message[0] == '\0')
		memcpy(e->message, "no message", sizeof("no message"));
}
