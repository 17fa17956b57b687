/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Frames between our processes, over a SOCK_SEQPACKET pair with descriptors
 * or over a byte stream without.  Used by broker, worker, agent and front,
 * with whatever rights they have; nothing blocks and nothing raises SIGPIPE.
 * The other end is not trusted: a frame's header is checked for length,
 * type, direction, version and descriptors before its body is looked at, and
 * descriptors that nobody takes are closed.
 *
 * Header, little endian: u32 length of the body, u16 type, u16 version,
 * u32 request id, u16 number of descriptors, u16 zero.
 */

#include <sys/mman.h>
#include <sys/socket.h>

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto.h"

#define HEADER_SIZE	16u
#define BUFFER_SIZE	(HEADER_SIZE + FRAME_BODY_MAX)
#define KEEP_SIZE	(32u * 1024)	/* memory kept between frames */

struct header {
	uint32_t	 length;
	uint16_t	 type;
	uint16_t	 version;
	uint32_t	 id;
	uint16_t	 nfds;
	uint16_t	 zero;
};

_Static_assert(sizeof(struct header) == HEADER_SIZE, "header size");

/* A frame, or the rest of one, that did not go at once. */
struct out {
	struct out	*next;
	size_t		 n;
	size_t		 done;
	int		 nfds;
	int		 fds[FRAME_FDS_MAX];
	unsigned char	 bytes[];
};

struct chan {
	int		 fd;
	unsigned int	 accepts;
	bool		 is_stream;
	bool		 is_socket;
	bool		 is_broken;	/* sending failed for good */
	unsigned char	*in;		/* BUFFER_SIZE, mapped */
	size_t		 in_n;		/* bytes received */
	size_t		 in_used;	/* of them, already given out */
	int		 owned_n;
	int		 owned[FRAME_FDS_MAX];
	struct buf	 pack;
	struct out	*head;
	struct out	**tail;
	size_t		 pending;
};

static void
close_all(int *fds, int n)
{
	int i;

	for (i = 0; i < n; i++)
		fd_close(&fds[i]);
}

struct chan *
chan_new(int fd, unsigned int flags, unsigned int accepts)
{
	struct chan *c;
	socklen_t len = sizeof(int);
	int type, size;

	if ((c = calloc(1, sizeof(*c))) == NULL)
		return NULL;
	/* Mapped, since pages that no frame has used cost nothing. */
	c->in = mmap(NULL, BUFFER_SIZE, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (c->in == MAP_FAILED) {
		free(c);
		return NULL;
	}
	c->fd = fd;
	c->accepts = accepts;
	c->is_stream = (flags & CHAN_STREAM) != 0;
	c->is_socket = getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0;
	c->tail = &c->head;
	fd_nonblock(fd);
	/* One frame is one record, so the largest must fit. */
	len = sizeof(size);
	if (!c->is_stream && getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size,
	    &len) == 0 && size < (int)BUFFER_SIZE + 1024) {
		size = BUFFER_SIZE + 1024;
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	}
	return c;
}

static void
out_pop(struct chan *c)
{
	struct out *o = c->head;

	if ((c->head = o->next) == NULL)
		c->tail = &c->head;
	c->pending -= o->n - o->done;
	close_all(o->fds, o->nfds);
	free(o);
}

void
chan_free(struct chan *c)
{
	if (c == NULL)
		return;
	while (c->head != NULL)
		out_pop(c);
	close_all(c->owned, c->owned_n);
	buf_free(&c->pack);
	munmap(c->in, BUFFER_SIZE);
	close(c->fd);
	free(c);
}

int
chan_fd(const struct chan *c)
{
	return c->fd;
}

size_t
chan_pending(const struct chan *c)
{
	return c->pending;
}

/*** Receiving ***/

int
frame_take_fd(struct frame *f, int i)
{
	int fd;

	if (i < 0 || i >= f->nfds)
		return -1;
	fd = f->fds[i];
	f->fds[i] = -1;
	if (f->owned != NULL)
		f->owned[i] = -1;
	return fd;
}

/* Everything that can be said before the body is looked at. */
static int
header_check(const struct chan *c, const unsigned char *p, struct header *h,
    struct error *e)
{
	const struct msg_info *info;

	memcpy(h, p, sizeof(*h));
	h->length = le32toh(h->length);
	h->type = le16toh(h->type);
	h->version = le16toh(h->version);
	h->id = le32toh(h->id);
	h->nfds = le16toh(h->nfds);
	if ((info = msg_info(h->type)) == NULL)
		return error_set(e, ERR_INVALID,
		    "bad frame: no message has type %u", h->type);
	if ((c->accepts & 1u << info->dir) == 0)
		return error_set(e, ERR_INVALID,
		    "bad frame: %s from the wrong side", info->name);
	if (h->version != WIRE_VERSION)
		return error_set(e, ERR_INVALID,
		    "bad frame: %s of version %u, this is version %u",
		    info->name, h->version, WIRE_VERSION);
	if (h->length > info->body_max)
		return error_set(e, ERR_INVALID,
		    "bad frame: %s of %u bytes, at most %zu", info->name,
		    h->length, info->body_max);
	if (h->nfds > (c->is_stream ? 0 : info->fds_max) || h->zero != 0)
		return error_set(e, ERR_INVALID,
		    "bad frame: %s with %u descriptors", info->name, h->nfds);
	return 0;
}

static int
closed(struct error *e, int sys_errno)
{
	if (sys_errno == 0)
		return error_set(e, ERR_UNAVAILABLE, "the channel is closed");
	return error_sys(e, ERR_UNAVAILABLE, sys_errno,
	    "the channel is closed");
}

static bool
is_again(int sys_errno)
{
	return sys_errno == EAGAIN || sys_errno == EWOULDBLOCK;
}

/* Gives out the frame at in_used, of which the header was checked. */
static void
frame_give(struct chan *c, const struct header *h, struct frame *f)
{
	f->type = h->type;
	f->id = h->id;
	f->body.p = c->in + c->in_used + HEADER_SIZE;
	f->body.n = h->length;
	f->nfds = c->owned_n;
	memcpy(f->fds, c->owned, sizeof(f->fds));
	f->owned = c->owned;
	c->in_used += HEADER_SIZE + h->length;
}

static ssize_t
record_read(struct chan *c, struct msghdr *m)
{
	ssize_t n;
	int tries;

	/*
	 * A peer that closed with our frames unread leaves ECONNRESET in
	 * front of what it sent before: read over it once.
	 */
	for (tries = 0;; tries++) {
		n = recvmsg(c->fd, m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
		if (n == -1 && (errno == EINTR || (errno == ECONNRESET &&
		    tries < 2)))
			continue;
		return n;
	}
}

static int
record_recv(struct chan *c, struct frame *f, struct error *e)
{
	union rights control;
	struct iovec iov = { c->in, BUFFER_SIZE };
	struct msghdr m = { 0 };
	struct header h;
	ssize_t n;

	m.msg_iov = &iov;
	m.msg_iovlen = 1;
	m.msg_control = &control;
	m.msg_controllen = CMSG_SPACE(sizeof(int) * FRAME_FDS_MAX);
	c->in_used = 0;
	if ((n = record_read(c, &m)) == -1)
		return is_again(errno) ? 0 : closed(e, errno);
	c->owned_n = rights_get(&m, c->owned, FRAME_FDS_MAX);
	if (n == 0)
		return closed(e, 0);
	c->in_n = (size_t)n;
	if (n < (ssize_t)HEADER_SIZE || (m.msg_flags & MSG_TRUNC) != 0)
		return error_set(e, ERR_INVALID, "bad frame: %zd bytes", n);
	if (header_check(c, c->in, &h, e) == -1)
		return -1;
	if (h.length != (size_t)n - HEADER_SIZE)
		return error_set(e, ERR_INVALID,
		    "bad frame: %s says %u bytes and has %zd",
		    msg_name(h.type), h.length, n - (ssize_t)HEADER_SIZE);
	if ((m.msg_flags & MSG_CTRUNC) != 0 && c->owned_n < h.nfds) {
		log_warn("%s: its descriptors are lost, too many are open",
		    msg_name(h.type));
		close_all(c->owned, c->owned_n);
		c->owned_n = 0;
	} else if ((m.msg_flags & MSG_CTRUNC) != 0 || c->owned_n != h.nfds)
		return error_set(e, ERR_INVALID,
		    "bad frame: %s says %u descriptors and has %s%d",
		    msg_name(h.type), h.nfds, (m.msg_flags & MSG_CTRUNC) ?
		    "more than " : "", c->owned_n);
	frame_give(c, &h, f);
	return 1;
}

/* A stream may hold several frames: one is given out per call. */
static int
stream_recv(struct chan *c, struct frame *f, struct error *e)
{
	struct header h;
	ssize_t n;

	for (;;) {
		if (c->in_n - c->in_used >= HEADER_SIZE) {
			if (header_check(c, c->in + c->in_used, &h, e) == -1)
				return -1;
			if (c->in_n - c->in_used >= HEADER_SIZE + h.length) {
				frame_give(c, &h, f);
				return 1;
			}
		}
		if (c->in_used > 0) {
			c->in_n -= c->in_used;
			memmove(c->in, c->in + c->in_used, c->in_n);
			c->in_used = 0;
		}
		n = c->is_socket ? recv(c->fd, c->in + c->in_n,
		    BUFFER_SIZE - c->in_n, MSG_DONTWAIT) :
		    read(c->fd, c->in + c->in_n, BUFFER_SIZE - c->in_n);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return is_again(errno) ? 0 : closed(e, errno);
		if (n == 0)
			return closed(e, 0);
		c->in_n += (size_t)n;
	}
}

int
chan_recv(struct chan *c, struct frame *f, struct error *e)
{
	int r;

	close_all(c->owned, c->owned_n);
	c->owned_n = 0;
	r = c->is_stream ? stream_recv(c, f, e) : record_recv(c, f, e);
	/* After a burst of big frames give the memory back. */
	if (r == 0 && c->in_n > KEEP_SIZE && !c->is_stream) {
		madvise(c->in, BUFFER_SIZE, MADV_DONTNEED);
		c->in_n = 0;
	}
	return r;
}

/*** Sending ***/

/* One attempt; bytes sent, or -1 with errno. */
static ssize_t
try_send(const struct chan *c, const unsigned char *p, size_t n,
    const int *fds, int nfds)
{
	union rights control;
	struct iovec iov = { (void *)(uintptr_t)p, n };
	struct msghdr m = { 0 };
	ssize_t done;

	m.msg_iov = &iov;
	m.msg_iovlen = 1;
	rights_put(&m, &control, fds, nfds);
	do {
		done = c->is_socket ?
		    sendmsg(c->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL) :
		    write(c->fd, p, n);
	} while (done == -1 && errno == EINTR);
	return done;
}

static bool
is_full(int sys_errno)
{
	return is_again(sys_errno) || sys_errno == ENOBUFS ||
	    sys_errno == ENOMEM;
}

/* Nothing more can be sent: let go of what waits. */
static int
broken(struct chan *c, struct error *e, int sys_errno)
{
	c->is_broken = true;
	while (c->head != NULL)
		out_pop(c);
	return closed(e, sys_errno);
}

int
chan_flush(struct chan *c, struct error *e)
{
	struct out *o;
	ssize_t n;

	if (c->is_broken)
		return closed(e, 0);
	while ((o = c->head) != NULL) {
		n = try_send(c, o->bytes + o->done, o->n - o->done, o->fds,
		    o->nfds);
		if (n == -1 && is_full(errno))
			return 0;
		if (n == -1)
			return broken(c, e, errno);
		close_all(o->fds, o->nfds);
		o->nfds = 0;
		o->done += (size_t)n;
		c->pending -= (size_t)n;
		if (o->done == o->n)
			out_pop(c);
	}
	return 0;
}

/*
 * Puts what is left of the packed frame in the queue.  The descriptors are
 * moved there, or duplicated when they are only lent.
 */
static int
enqueue(struct chan *c, size_t done, int *fds, int nfds, bool is_lent,
    struct error *e)
{
	struct out *o;
	size_t n = c->pack.n - done;
	int i;

	if (c->pending + n > CHAN_QUEUE_MAX)
		return error_set(e, ERR_BUSY,
		    "the other side does not read: %zu bytes wait",
		    c->pending);
	if ((o = malloc(sizeof(*o) + n)) == NULL)
		return error_set(e, ERR_INTERNAL, "out of memory");
	o->next = NULL;
	o->n = n;
	o->done = 0;
	memcpy(o->bytes, c->pack.p + done, n);
	for (o->nfds = 0; o->nfds < nfds; o->nfds++) {
		i = o->nfds;
		o->fds[i] = is_lent ?
		    fcntl(fds[i], F_DUPFD_CLOEXEC, 3) : fds[i];
		if (o->fds[i] == -1) {
			error_sys(e, ERR_LIMIT, errno,
			    "cannot keep a descriptor to be sent");
			close_all(o->fds, o->nfds);
			free(o);
			return -1;
		}
		if (!is_lent)
			fds[i] = -1;
	}
	*c->tail = o;
	c->tail = &o->next;
	c->pending += n;
	return 0;
}

static int
pack_frame(struct chan *c, enum msg_type type, uint32_t id, const void *msg,
    int nfds, struct error *e)
{
	const struct msg_info *info;
	struct header h = { 0 };
	size_t n;

	if ((info = msg_info(type)) == NULL || nfds < 0 ||
	    (unsigned int)nfds > (c->is_stream ? 0 : info->fds_max))
		return error_set(e, ERR_INTERNAL,
		    "%s cannot be sent with %d descriptors", msg_name(type),
		    nfds);
	if (field_check(info->fields(), info->nfields, msg, e) == -1)
		return -1;
	if (c->pack.cap > KEEP_SIZE || c->pack.has_failed)
		buf_free(&c->pack);
	c->pack.n = 0;
	buf_add(&c->pack, &h, sizeof(h));
	msg_pack(type, msg, &c->pack);
	if (c->pack.has_failed)
		return error_set(e, ERR_INTERNAL, "out of memory");
	n = c->pack.n - sizeof(h);
	if (n > info->body_max)
		return error_set(e, ERR_TOO_LARGE,
		    "%s of %zu bytes, at most %zu", info->name, n,
		    info->body_max);
	h.length = htole32((uint32_t)n);
	h.type = htole16((uint16_t)type);
	h.version = htole16(WIRE_VERSION);
	h.id = htole32(id);
	h.nfds = htole16((uint16_t)nfds);
	memcpy(c->pack.p, &h, sizeof(h));
	return 0;
}

/* fds that were sent or queued are -1 afterwards, unless lent. */
static int
send_frame(struct chan *c, enum msg_type type, uint32_t id, const void *msg,
    int *fds, int nfds, bool is_lent, struct error *e)
{
	ssize_t n = 0;

	if (c->is_broken)
		return closed(e, 0);
	if (pack_frame(c, type, id, msg, nfds, e) == -1)
		return -1;
	if (c->head == NULL) {
		n = try_send(c, c->pack.p, c->pack.n, fds, nfds);
		if (n == (ssize_t)c->pack.n)
			return 0;
		if (n == -1 && errno == ETOOMANYREFS)
			return error_sys(e, ERR_LIMIT, errno,
			    "cannot send descriptors");
		if (n == -1 && !is_full(errno))
			return broken(c, e, errno);
		/* The descriptors went with the first byte. */
		if (n > 0)
			nfds = 0;
		else
			n = 0;
		return enqueue(c, (size_t)n, fds, nfds, is_lent, e);
	}
	if (enqueue(c, 0, fds, nfds, is_lent, e) == -1)
		return -1;
	return chan_flush(c, e);
}

int
chan_send(struct chan *c, enum msg_type type, uint32_t id, const void *msg,
    const int *fds, int nfds, struct error *e)
{
	int own[FRAME_FDS_MAX], i, fd, r;

	for (i = 0; i < nfds && i < FRAME_FDS_MAX; i++)
		own[i] = fds[i];
	r = send_frame(c, type, id, msg, own, nfds, false, e);
	for (i = 0; i < nfds; i++) {
		fd = i < FRAME_FDS_MAX ? own[i] : fds[i];
		fd_close(&fd);
	}
	return r;
}

int
chan_send_lent(struct chan *c, enum msg_type type, uint32_t id,
    const void *msg, const int *fds, int nfds, struct error *e)
{
	int lent[FRAME_FDS_MAX];

	if (nfds > 0 && nfds <= FRAME_FDS_MAX)
		memcpy(lent, fds, sizeof(int) * (size_t)nfds);
	return send_frame(c, type, id, msg, lent, nfds, true, e);
}
