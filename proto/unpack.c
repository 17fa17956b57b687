/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Typed reads of msgpack bytes that scan found well-formed.  Used by all
 * processes; no rights.  The bytes are well-formed but not trusted: each
 * verb checks kind and range, and the end of the bytes too, so that a caller
 * who forgot to scan gets an error and no overrun.
 */

#include <endian.h>
#include <string.h>

#include "proto.h"

void
cursor_init(struct cursor *c, struct view v)
{
	c->p = v.p;
	c->end = v.p == NULL ? NULL : v.p + v.n;
}

enum value_kind
cursor_kind(const struct cursor *c)
{
	/* 0xc0 to 0xdf. */
	static const uint8_t kinds[32] = {
		V_NIL, V_NONE, V_BOOL, V_BOOL, V_BIN, V_BIN, V_BIN, V_NONE,
		V_NONE, V_NONE, V_DOUBLE, V_DOUBLE, V_INT, V_INT, V_INT,
		V_INT, V_INT, V_INT, V_INT, V_INT, V_NONE, V_NONE, V_NONE,
		V_NONE, V_NONE, V_STR, V_STR, V_STR, V_ARRAY, V_ARRAY, V_MAP,
		V_MAP
	};

	if (c->p == c->end)
		return V_NONE;
	if (*c->p <= 0x7f || *c->p >= 0xe0)
		return V_INT;
	if (*c->p >= 0xc0)
		return (enum value_kind)kinds[*c->p - 0xc0];
	return *c->p >= 0xa0 ? V_STR : *c->p >= 0x90 ? V_ARRAY : V_MAP;
}

/* The width bytes behind the first, big endian; -1 at the end. */
static int
peek(const struct cursor *c, size_t width, uint64_t *value)
{
	uint64_t big = 0;

	if ((size_t)(c->end - c->p) < 1 + width)
		return -1;
	memcpy((unsigned char *)&big + sizeof(big) - width, c->p + 1, width);
	*value = be64toh(big);
	return 0;
}

int
get_nil(struct cursor *c)
{
	if (cursor_kind(c) != V_NIL)
		return -1;
	c->p++;
	return 0;
}

int
get_bool(struct cursor *c, bool *value)
{
	if (cursor_kind(c) != V_BOOL)
		return -1;
	*value = *c->p++ == 0xc3;
	return 0;
}

/*
 * Any integer: its 64 bits, and whether it is negative.  Returns the size or
 * 0; does not move.
 */
static size_t
integer(const struct cursor *c, uint64_t *bits, bool *is_negative)
{
	unsigned int shift;
	size_t width;

	if (cursor_kind(c) != V_INT)
		return 0;
	*is_negative = false;
	if (*c->p <= 0x7f) {
		*bits = *c->p;
		return 1;
	}
	if (*c->p >= 0xe0) {
		*bits = (uint64_t)(int64_t)(int8_t)*c->p;
		*is_negative = true;
		return 1;
	}
	width = (size_t)1 << (*c->p & 3);	/* cc..cf, d0..d3 */
	if (peek(c, width, bits) == -1)
		return 0;
	if (*c->p >= 0xd0) {
		shift = (unsigned int)(64 - 8 * width);
		*bits = (uint64_t)((int64_t)(*bits << shift) >> shift);
		*is_negative = (int64_t)*bits < 0;
	}
	return 1 + width;
}

int
get_uint(struct cursor *c, uint64_t *value, uint64_t max)
{
	bool is_negative;
	uint64_t bits;
	size_t n;

	if ((n = integer(c, &bits, &is_negative)) == 0 || is_negative ||
	    bits > max)
		return -1;
	*value = bits;
	c->p += n;
	return 0;
}

int
get_int(struct cursor *c, int64_t *value)
{
	bool is_negative;
	uint64_t bits;
	size_t n;

	if ((n = integer(c, &bits, &is_negative)) == 0 ||
	    (!is_negative && bits > INT64_MAX))
		return -1;
	*value = (int64_t)bits;
	c->p += n;
	return 0;
}

int
get_double(struct cursor *c, double *value)
{
	uint64_t bits;
	bool is_negative;
	uint32_t low;
	float f;
	size_t n;

	if ((n = integer(c, &bits, &is_negative)) != 0) {
		*value = is_negative ? (double)(int64_t)bits : (double)bits;
		c->p += n;
		return 0;
	}
	if (cursor_kind(c) != V_DOUBLE)
		return -1;
	n = *c->p == 0xca ? 4 : 8;
	if (peek(c, n, &bits) == -1)
		return -1;
	if (n == 4) {
		low = (uint32_t)bits;
		memcpy(&f, &low, sizeof(f));
		*value = (double)f;
	} else
		memcpy(value, &bits, sizeof(*value));
	c->p += 1 + n;
	return 0;
}

/* The bytes of a str or bin; 0 if it is neither.  Does not move. */
static size_t
bytes(const struct cursor *c, struct view *v)
{
	uint64_t n;
	size_t head;

	if (*c->p < 0xc0) {
		n = *c->p & 0x1f;
		head = 1;
	} else {
		/* c4..c6 and d9..db: 1, 2, 4 bytes of length */
		head = (size_t)1 << (*c->p - (*c->p >= 0xd9 ? 0xd9 : 0xc4));
		if (peek(c, head, &n) == -1)
			return 0;
		head++;
	}
	if ((size_t)(c->end - c->p) - head < n)
		return 0;
	v->p = c->p + head;
	v->n = (size_t)n;
	return head + v->n;
}

int
get_str(struct cursor *c, struct view *value, size_t max)
{
	struct view v;
	size_t n;

	if (cursor_kind(c) != V_STR || (n = bytes(c, &v)) == 0 || v.n > max ||
	    memchr(v.p, '\0', v.n) != NULL)
		return -1;
	*value = v;
	c->p += n;
	return 0;
}

int
get_bin(struct cursor *c, struct view *value, size_t max)
{
	enum value_kind kind = cursor_kind(c);
	struct view v;
	size_t n;

	if ((kind != V_BIN && kind != V_STR) || (n = bytes(c, &v)) == 0 ||
	    v.n > max)
		return -1;
	*value = v;
	c->p += n;
	return 0;
}

static int
get_count(struct cursor *c, enum value_kind kind, uint32_t *count)
{
	uint64_t n;
	size_t width;

	if (cursor_kind(c) != kind)
		return -1;
	if (*c->p < 0xc0) {
		*count = *c->p++ & 0x0f;
		return 0;
	}
	width = *c->p & 1 ? 4 : 2;	/* dc and de are two bytes */
	if (peek(c, width, &n) == -1)
		return -1;
	*count = (uint32_t)n;
	c->p += 1 + width;
	return 0;
}

int
get_array(struct cursor *c, uint32_t *count)
{
	return get_count(c, V_ARRAY, count);
}

int
get_map(struct cursor *c, uint32_t *count)
{
	return get_count(c, V_MAP, count);
}

int
get_raw(struct cursor *c, struct view *value)
{
	struct scan s = { 0 };
	struct view v = { c->p, (size_t)(c->end - c->p) };

	if (scan_run(&s, v) != SCAN_DONE)
		return -1;
	v.n = s.pos;
	*value = v;
	c->p += s.pos;
	return 0;
}

int
get_end(const struct cursor *c)
{
	return c->p == c->end ? 0 : -1;
}
