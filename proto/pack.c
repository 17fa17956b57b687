/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Appends msgpack to a growing buffer, always in the shortest form.  Used by
 * all processes; no rights.  What is packed is the caller's own, so only
 * memory can fail: then has_failed is set, and the one who sends looks.
 */

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "proto.h"

#define BUF_FIRST	256

void
buf_free(struct buf *b)
{
	free(b->p);
	*b = (struct buf){ 0 };
}

/* Room for n more bytes, which now count; NULL when out of memory. */
static unsigned char *
buf_room(struct buf *b, size_t n)
{
	unsigned char *p;
	size_t cap;

	if (b->has_failed)
		return NULL;
	if (b->cap - b->n < n) {
		cap = b->cap == 0 ? BUF_FIRST : b->cap;
		while (cap - b->n < n && cap <= SIZE_MAX / 2)
			cap *= 2;
		if (cap - b->n < n || (p = realloc(b->p, cap)) == NULL) {
			b->has_failed = true;
			return NULL;
		}
		b->p = p;
		b->cap = cap;
	}
	p = b->p + b->n;
	b->n += n;
	return p;
}

void
buf_add(struct buf *b, const void *data, size_t n)
{
	unsigned char *p;

	if (n > 0 && (p = buf_room(b, n)) != NULL)
		memcpy(p, data, n);
}

/* A first byte and value in width bytes, big endian. */
static void
put_head(struct buf *b, unsigned char first, uint64_t value, size_t width)
{
	unsigned char *p;
	uint64_t big;

	if ((p = buf_room(b, 1 + width)) == NULL)
		return;
	*p = first;
	big = htobe64(value);
	memcpy(p + 1, (const unsigned char *)&big + sizeof(big) - width,
	    width);
}

void
put_nil(struct buf *b)
{
	put_head(b, 0xc0, 0, 0);
}

void
put_bool(struct buf *b, bool value)
{
	put_head(b, value ? 0xc3 : 0xc2, 0, 0);
}

void
put_uint(struct buf *b, uint64_t value)
{
	if (value <= 0x7f)
		put_head(b, (unsigned char)value, 0, 0);
	else if (value <= UINT8_MAX)
		put_head(b, 0xcc, value, 1);
	else if (value <= UINT16_MAX)
		put_head(b, 0xcd, value, 2);
	else if (value <= UINT32_MAX)
		put_head(b, 0xce, value, 4);
	else
		put_head(b, 0xcf, value, 8);
}

void
put_int(struct buf *b, int64_t value)
{
	if (value >= 0)
		put_uint(b, (uint64_t)value);
	else if (value >= -32)
		put_head(b, (unsigned char)(0x100 + value), 0, 0);
	else if (value >= INT8_MIN)
		put_head(b, 0xd0, (uint64_t)value, 1);
	else if (value >= INT16_MIN)
		put_head(b, 0xd1, (uint64_t)value, 2);
	else if (value >= INT32_MIN)
		put_head(b, 0xd2, (uint64_t)value, 4);
	else
		put_head(b, 0xd3, (uint64_t)value, 8);
}

void
put_double(struct buf *b, double value)
{
	uint64_t bits;

	_Static_assert(sizeof(bits) == sizeof(value), "double");
	memcpy(&bits, &value, sizeof(bits));
	put_head(b, 0xcb, bits, 8);
}

void
put_str(struct buf *b, const char *s)
{
	put_str_view(b, view_of(s));
}

void
put_str_view(struct buf *b, struct view v)
{
	if (v.n <= 31)
		put_head(b, (unsigned char)(0xa0 | v.n), 0, 0);
	else if (v.n <= UINT8_MAX)
		put_head(b, 0xd9, v.n, 1);
	else if (v.n <= UINT16_MAX)
		put_head(b, 0xda, v.n, 2);
	else if (v.n <= UINT32_MAX)
		put_head(b, 0xdb, v.n, 4);
	else
		b->has_failed = true;
	buf_add(b, v.p, v.n);
}

void
put_bin(struct buf *b, struct view v)
{
	if (v.n <= UINT8_MAX)
		put_head(b, 0xc4, v.n, 1);
	else if (v.n <= UINT16_MAX)
		put_head(b, 0xc5, v.n, 2);
	else if (v.n <= UINT32_MAX)
		put_head(b, 0xc6, v.n, 4);
	else
		b->has_failed = true;
	buf_add(b, v.p, v.n);
}

void
put_array(struct buf *b, uint32_t count)
{
	if (count <= 15)
		put_head(b, (unsigned char)(0x90 | count), 0, 0);
	else if (count <= UINT16_MAX)
		put_head(b, 0xdc, count, 2);
	else
		put_head(b, 0xdd, count, 4);
}

void
put_map(struct buf *b, uint32_t count)
{
	if (count <= 15)
		put_head(b, (unsigned char)(0x80 | count), 0, 0);
	else if (count <= UINT16_MAX)
		put_head(b, 0xde, count, 2);
	else
		put_head(b, 0xdf, count, 4);
}

/* An absent value is nil, so that what follows stays in its place. */
void
put_raw(struct buf *b, struct view v)
{
	if (v.n == 0)
		put_nil(b);
	else
		buf_add(b, v.p, v.n);
}

void
put_pair(struct buf *b, const char *key, const char *value)
{
	put_str(b, key);
	put_str(b, value);
}
