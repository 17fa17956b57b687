/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Walks msgpack bytes without allocating and says whether they are one
 * well-formed value within the bounds of limits.h.  Runs in every process
 * before anything is decoded; the bytes come from anybody.  Depth, number of
 * elements and declared counts are bounded; extension types and the unused
 * byte 0xc1 are refused.  Integers and lengths need not be in their shortest
 * form.  Text is not checked to be UTF-8: it is bytes.
 */

#include "proto.h"

/*
 * The first byte says it all: a fixed part of head bytes, a length or count
 * of width bytes (big endian) behind the first, and what the length counts.
 */
enum shape { SHAPE_BAD, SHAPE_FIXED, SHAPE_BYTES, SHAPE_ARRAY, SHAPE_MAP };

struct head {
	uint8_t	shape;
	uint8_t	width;		/* bytes behind the first: value or length */
};

/* 0xc0 to 0xdf; what is not named is bad. */
static const struct head heads[32] = {
	[0xc0 - 0xc0] = { SHAPE_FIXED, 0 },	/* nil */
	[0xc2 - 0xc0] = { SHAPE_FIXED, 0 },	/* false */
	[0xc3 - 0xc0] = { SHAPE_FIXED, 0 },	/* true */
	[0xc4 - 0xc0] = { SHAPE_BYTES, 1 },	/* bin */
	[0xc5 - 0xc0] = { SHAPE_BYTES, 2 },
	[0xc6 - 0xc0] = { SHAPE_BYTES, 4 },
	[0xca - 0xc0] = { SHAPE_FIXED, 4 },	/* float */
	[0xcb - 0xc0] = { SHAPE_FIXED, 8 },
	[0xcc - 0xc0] = { SHAPE_FIXED, 1 },	/* unsigned */
	[0xcd - 0xc0] = { SHAPE_FIXED, 2 },
	[0xce - 0xc0] = { SHAPE_FIXED, 4 },
	[0xcf - 0xc0] = { SHAPE_FIXED, 8 },
	[0xd0 - 0xc0] = { SHAPE_FIXED, 1 },	/* signed */
	[0xd1 - 0xc0] = { SHAPE_FIXED, 2 },
	[0xd2 - 0xc0] = { SHAPE_FIXED, 4 },
	[0xd3 - 0xc0] = { SHAPE_FIXED, 8 },
	[0xd9 - 0xc0] = { SHAPE_BYTES, 1 },	/* str */
	[0xda - 0xc0] = { SHAPE_BYTES, 2 },
	[0xdb - 0xc0] = { SHAPE_BYTES, 4 },
	[0xdc - 0xc0] = { SHAPE_ARRAY, 2 },
	[0xdd - 0xc0] = { SHAPE_ARRAY, 4 },
	[0xde - 0xc0] = { SHAPE_MAP, 2 },
	[0xdf - 0xc0] = { SHAPE_MAP, 4 },
};

/*
 * The head at p of at most left bytes.  SCAN_DONE: size is the whole head,
 * count its length or number of children.
 */
static enum scan_result
head_read(const unsigned char *p, size_t left, enum shape *shape,
    size_t *size, uint32_t *count)
{
	const struct head *h;
	unsigned int i;

	*size = 1;
	*count = 0;
	if (*p <= 0x7f || *p >= 0xe0) {
		*shape = SHAPE_FIXED;
		return SCAN_DONE;
	}
	if (*p < 0xc0) {
		*shape = *p >= 0xa0 ? SHAPE_BYTES : *p >= 0x90 ? SHAPE_ARRAY :
		    SHAPE_MAP;
		*count = *p & (*p >= 0xa0 ? 0x1fu : 0x0fu);
		return SCAN_DONE;
	}
	h = &heads[*p - 0xc0];
	*shape = (enum shape)h->shape;
	if (*shape == SHAPE_BAD)
		return SCAN_BAD;
	if (left < 1u + h->width)
		return SCAN_MORE;
	*size = 1u + h->width;
	if (*shape != SHAPE_FIXED)
		for (i = 1; i <= h->width; i++)
			*count = *count << 8 | p[i];
	return SCAN_DONE;
}

/* Opens an array or map of count children. */
static enum scan_result
scan_open(struct scan *s, enum shape shape, uint32_t count)
{
	if (count > SCAN_ELEMENTS_MAX)
		return SCAN_BAD;
	if (shape == SHAPE_MAP)
		count *= 2;
	if (count > SCAN_ELEMENTS_MAX - s->elements ||
	    s->depth == SCAN_DEPTH_MAX)
		return SCAN_BAD;
	s->left[s->depth++] = count;
	return SCAN_DONE;
}

enum scan_result
scan_run(struct scan *s, struct view v)
{
	enum scan_result result;
	enum shape shape;
	uint32_t count;
	size_t size;

	/* Walked to its end by an earlier call. */
	if (s->pos > 0 && s->depth == 0)
		return SCAN_DONE;
	while (s->pos < v.n) {
		result = head_read(v.p + s->pos, v.n - s->pos, &shape, &size,
		    &count);
		if (result != SCAN_DONE)
			return result;
		if (shape == SHAPE_BYTES) {
			if (v.n - s->pos - size < count)
				return SCAN_MORE;
			size += count;
		}
		if (++s->elements > SCAN_ELEMENTS_MAX)
			return SCAN_BAD;
		s->pos += size;
		if ((shape == SHAPE_ARRAY || shape == SHAPE_MAP) &&
		    count > 0) {
			if (scan_open(s, shape, count) == SCAN_BAD)
				return SCAN_BAD;
			continue;
		}
		while (s->depth > 0 && --s->left[s->depth - 1] == 0)
			s->depth--;
		if (s->depth == 0)
			return SCAN_DONE;
	}
	return SCAN_MORE;
}

bool
scan_is_one(struct view v)
{
	struct scan s = { 0 };

	return scan_run(&s, v) == SCAN_DONE && s.pos == v.n;
}
