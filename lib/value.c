/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Reading what the daemon answered.  Runs in the client's process.  Values
 * come from messages that proto/ has scanned, so the walk stays inside; a
 * value of another kind than expected is an answer, not a fault.
 */

#include "lib.h"

static struct view
value_view(struct sandbox_value v)
{
	return (struct view){ v.data, v.data == NULL ? 0 : v.len };
}

static struct sandbox_value
value_of(struct view v)
{
	return (struct sandbox_value){ v.p, v.n };
}

static struct cursor
value_cursor(struct sandbox_value v)
{
	struct cursor c;

	cursor_init(&c, value_view(v));
	return c;
}

enum sandbox_kind
sandbox_value_kind(struct sandbox_value v)
{
	static const enum sandbox_kind kinds[] = {
		[V_NIL] = SANDBOX_NIL,
		[V_BOOL] = SANDBOX_BOOL,
		[V_INT] = SANDBOX_INT,
		[V_DOUBLE] = SANDBOX_DOUBLE,
		[V_STR] = SANDBOX_TEXT,
		[V_BIN] = SANDBOX_BYTES,
		[V_ARRAY] = SANDBOX_ARRAY,
		[V_MAP] = SANDBOX_MAP,
		[V_NONE] = SANDBOX_ABSENT
	};
	struct cursor c;

	if (v.data == NULL || v.len == 0)
		return SANDBOX_ABSENT;
	c = value_cursor(v);
	return kinds[cursor_kind(&c)];
}

int
sandbox_value_bool(struct sandbox_value v, bool *b)
{
	struct cursor c = value_cursor(v);

	return get_bool(&c, b);
}

int
sandbox_value_int(struct sandbox_value v, int64_t *n)
{
	struct cursor c = value_cursor(v);

	return get_int(&c, n);
}

int
sandbox_value_uint(struct sandbox_value v, uint64_t *n)
{
	struct cursor c = value_cursor(v);

	return get_uint(&c, n, UINT64_MAX);
}

int
sandbox_value_double(struct sandbox_value v, double *d)
{
	struct cursor c = value_cursor(v);

	return get_double(&c, d);
}

int
sandbox_value_bytes(struct sandbox_value v, const void **p, size_t *n)
{
	struct cursor c = value_cursor(v);
	struct view bytes;

	if (get_bin(&c, &bytes, SIZE_MAX) == -1)
		return -1;
	*p = bytes.p;
	*n = bytes.n;
	return 0;
}

int
sandbox_value_text(struct sandbox_value v, char *text, size_t size)
{
	struct cursor c = value_cursor(v);
	struct view bytes;

	if (get_bin(&c, &bytes, SIZE_MAX) == -1)
		return -1;
	return text_copy(text, size, bytes);
}

size_t
sandbox_value_count(struct sandbox_value v)
{
	struct cursor c = value_cursor(v);
	uint32_t n;

	if (get_map(&c, &n) == 0 || get_array(&c, &n) == 0)
		return n;
	return 0;
}

struct sandbox_value
sandbox_value_get(struct sandbox_value v, const char *key)
{
	if (sandbox_value_kind(v) != SANDBOX_MAP)
		return (struct sandbox_value){ NULL, 0 };
	return value_of(map_find(value_view(v), key));
}

void
sandbox_iter_init(struct sandbox_iter *it, struct sandbox_value v)
{
	struct cursor c = value_cursor(v);
	uint32_t n = 0;

	it->is_map = get_map(&c, &n) == 0;
	if (!it->is_map && get_array(&c, &n) == -1)
		n = 0;
	it->data = c.p;
	it->len = (size_t)(c.end - c.p);
	it->left = n;
}

bool
sandbox_iter_next(struct sandbox_iter *it, struct sandbox_value *key,
    struct sandbox_value *value)
{
	struct cursor c;
	struct view k = { NULL, 0 }, v;

	if (it->left == 0)
		return false;
	cursor_init(&c, (struct view){ it->data, it->len });
	if ((it->is_map && get_raw(&c, &k) == -1) || get_raw(&c, &v) == -1) {
		it->left = 0;
		return false;
	}
	it->data = c.p;
	it->len = (size_t)(c.end - c.p);
	it->left--;
	if (key != NULL)
		*key = value_of(k);
	*value = value_of(v);
	return true;
}
