/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The last bytes of a stream in bounded memory, each named by its offset
 * since the stream began.  A ring starts small, grows while it would lose
 * bytes, up to RING_MAX, and all rings of the process share one budget.
 * Run by the worker; the bytes are hostile and never looked at.
 */

#include <stdlib.h>
#include <string.h>

#include "worker.h"

#define RING_FIRST	4096
#define RING_FACTOR	16

static size_t total;

static int	 ring_parts(const struct ring *, uint64_t, size_t,
		    struct iovec [2]);
static int	 ring_resize(struct ring *, size_t);

/* Grow before bytes get lost, and before reads get small; false: cannot. */
static bool
ring_grow(struct ring *r)
{
	size_t	 cap;

	while (r->cap < RING_MAX &&
	    r->cap - (size_t)(r->end - r->start) <= r->cap / 2) {
		cap = r->cap == 0 ? RING_FIRST : r->cap * RING_FACTOR;
		if (cap > RING_MAX)
			cap = RING_MAX;
		if ((r->cap != 0 && total + cap - r->cap > RING_BUDGET) ||
		    ring_resize(r, cap) == -1)
			return false;
	}
	return r->cap < RING_MAX;
}

int
ring_space(struct ring *r, uint64_t hold, size_t max, struct iovec iov[2])
{
	size_t	 room;

	/* As long as it can still grow, nothing is overwritten. */
	if (ring_grow(r))
		hold = r->start;
	if (hold > r->end)
		hold = r->end;
	if (hold < r->start)
		hold = r->start;
	room = r->cap - (size_t)(r->end - hold);
	if (room > max)
		room = max;
	return ring_parts(r, r->end, room, iov);
}

void
ring_commit(struct ring *r, size_t n)
{
	r->end += n;
	if (r->end - r->start > r->cap)
		r->start = r->end - r->cap;
}

int
ring_add(struct ring *r, uint64_t hold, struct view data)
{
	struct iovec	 iov[2];
	size_t		 cap, n;
	int		 i, parts;

	if (hold > r->end)
		hold = r->end;
	if (hold < r->start)
		hold = r->start;
	cap = r->cap == 0 ? RING_FIRST : r->cap;
	while (cap < (size_t)(r->end - hold) + data.n)
		cap *= 2;
	if (cap != r->cap && ring_resize(r, cap) == -1)
		return -1;
	while (data.n > 0) {
		parts = ring_space(r, hold, data.n, iov);
		for (i = 0, n = 0; i < parts; i++) {
			memcpy(iov[i].iov_base, data.p + n, iov[i].iov_len);
			n += iov[i].iov_len;
		}
		ring_commit(r, n);
		data.p += n;
		data.n -= n;
	}
	return 0;
}

int
ring_peek(const struct ring *r, uint64_t offset, size_t max,
    struct iovec iov[2])
{
	uint64_t	 n;

	n = r->end - offset;
	return ring_parts(r, offset, n > max ? max : (size_t)n, iov);
}

void
ring_free(struct ring *r)
{
	free(r->p);
	total -= r->cap;
	r->p = NULL;
	r->cap = 0;
	r->start = r->end;
}

size_t
ring_total(void)
{
	return total;
}

/* The n bytes from offset on as one or two parts of the buffer. */
static int
ring_parts(const struct ring *r, uint64_t offset, size_t n,
    struct iovec iov[2])
{
	size_t	 at;

	if (n == 0)
		return 0;
	at = (size_t)offset & (r->cap - 1);
	iov[0].iov_base = r->p + at;
	if (at + n <= r->cap) {
		iov[0].iov_len = n;
		return 1;
	}
	iov[0].iov_len = r->cap - at;
	iov[1].iov_base = r->p;
	iov[1].iov_len = n - iov[0].iov_len;
	return 2;
}

/* Only ever to a larger size. */
static int
ring_resize(struct ring *r, size_t cap)
{
	struct ring	 next = { .cap = cap, .start = r->start,
			    .end = r->end };
	struct iovec	 from[2];
	uint64_t	 at;
	size_t		 n, used;
	int		 i, j, nfrom, nto;
	struct iovec	 to[2];

	if ((next.p = malloc(cap)) == NULL)
		return -1;
	nfrom = ring_peek(r, r->start, SIZE_MAX, from);
	for (i = 0, at = r->start; i < nfrom; i++) {
		nto = ring_parts(&next, at, from[i].iov_len, to);
		for (j = 0, used = 0; j < nto; j++) {
			n = to[j].iov_len;
			memcpy(to[j].iov_base,
			    (unsigned char *)from[i].iov_base + used, n);
			used += n;
		}
		at += used;
	}
	total += cap - r->cap;
	free(r->p);
	*r = next;
	return 0;
}
