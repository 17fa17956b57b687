/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Structs from packed arrays and maps, and back, by tables of fields.  Used
 * by all processes; no rights, no allocation when unpacking.  The bytes are
 * scanned but not trusted: arity, kinds, ranges, sizes and keys are exact,
 * and the error names the key.
 */

#include <string.h>

#include "proto.h"

#define KEY_LEN_MAX	64

/* A number times 1000, as an integer; 0, or -1 when it is none or too big. */
static int
get_milli(struct cursor *c, uint64_t *value, uint64_t max)
{
	uint64_t whole;
	double d;

	if (get_uint(c, &whole, max / 1000) == 0) {
		*value = whole * 1000;
		return 0;
	}
	/* Not a number compares false. */
	if (cursor_kind(c) != V_DOUBLE || get_double(c, &d) == -1 ||
	    !(d >= 0.0 && d * 1000.0 + 0.5 < 9e15))
		return -1;
	*value = (uint64_t)(d * 1000.0 + 0.5);
	return *value <= max ? 0 : -1;
}

static void
put_milli(struct buf *b, uint64_t value)
{
	if (value % 1000 == 0)
		put_uint(b, value / 1000);
	else
		put_double(b, (double)value / 1000.0);
}

static int
get_raw_kind(struct cursor *c, enum value_kind kind, struct view *value,
    uint64_t max)
{
	struct view v;

	if (kind != V_NONE && cursor_kind(c) != kind)
		return -1;
	if (get_raw(c, &v) == -1 || v.n > max)
		return -1;
	*value = v;
	return 0;
}

/* One value into its member; -1 when kind or range are wrong. */
static int
field_get(const struct field *f, struct cursor *c, void *base)
{
	void *at = (char *)base + f->offset;
	uint64_t value = 0;
	int r = -1;

	switch (f->kind) {
	case F_UINT:
	case F_MILLI:
		r = f->kind == F_UINT ? get_uint(c, &value, f->max) :
		    get_milli(c, &value, f->max);
		if (r == 0 && value < f->min)
			r = -1;
		if (r == 0)
			*(uint64_t *)at = value;
		break;
	case F_INT:
		r = get_int(c, at);
		break;
	case F_BOOL:
		r = get_bool(c, at);
		break;
	case F_STR:
		r = get_str(c, at, f->max);
		break;
	case F_BIN:
		r = get_bin(c, at, f->max);
		break;
	case F_MAP:
		r = get_raw_kind(c, V_MAP, at, f->max);
		break;
	case F_ARRAY:
		r = get_raw_kind(c, V_ARRAY, at, f->max);
		break;
	case F_RAW:
		r = get_raw_kind(c, V_NONE, at, f->max);
		break;
	}
	return r;
}

void
field_pack(const struct field *f, const void *base, struct buf *b)
{
	const void *at = (const char *)base + f->offset;

	switch (f->kind) {
	case F_UINT:
		put_uint(b, *(const uint64_t *)at);
		break;
	case F_INT:
		put_int(b, *(const int64_t *)at);
		break;
	case F_BOOL:
		put_bool(b, *(const bool *)at);
		break;
	case F_MILLI:
		put_milli(b, *(const uint64_t *)at);
		break;
	case F_STR:
		put_str_view(b, *(const struct view *)at);
		break;
	case F_BIN:
		put_bin(b, *(const struct view *)at);
		break;
	case F_MAP:
	case F_ARRAY:
	case F_RAW:
		put_raw(b, *(const struct view *)at);
		break;
	}
}

static const char *
field_wants(const struct field *f)
{
	static const char *const wants[] = {
		[F_UINT] = "a whole number",
		[F_INT] = "a whole number",
		[F_BOOL] = "true or false",
		[F_MILLI] = "a number",
		[F_STR] = "text",
		[F_BIN] = "bytes",
		[F_MAP] = "a map",
		[F_ARRAY] = "an array",
		[F_RAW] = "a value",
	};

	return wants[f->kind];
}

static int
field_error(const struct field *f, struct error *e)
{
	unsigned long long min = f->min, max = f->max;

	if (f->kind == F_MILLI)
		return error_key(e, ERR_INVALID, f->name,
		    "%s must be a number from %llu.%03llu to %llu", f->name,
		    min / 1000, min % 1000, max / 1000);
	if (f->kind == F_UINT)
		return error_key(e, ERR_INVALID, f->name,
		    "%s must be a whole number from %llu to %llu", f->name,
		    min, max);
	if (f->kind == F_INT || f->kind == F_BOOL)
		return error_key(e, ERR_INVALID, f->name, "%s must be %s",
		    f->name, field_wants(f));
	return error_key(e, ERR_INVALID, f->name,
	    "%s must be %s of at most %llu bytes", f->name, field_wants(f),
	    max);
}

/*** Arrays ***/

int
field_unpack_array(const struct field *fields, size_t n, struct view v,
    void *base, struct error *e)
{
	struct cursor c;
	uint32_t count;
	size_t i;

	cursor_init(&c, v);
	if (get_array(&c, &count) == -1 || count != n)
		return error_set(e, ERR_INVALID, "not an array of %zu", n);
	for (i = 0; i < n; i++)
		if (field_get(&fields[i], &c, base) == -1)
			return field_error(&fields[i], e);
	if (get_end(&c) == -1)
		return error_set(e, ERR_INVALID, "bytes behind the array");
	return 0;
}

void
field_pack_array(const struct field *fields, size_t n, const void *base,
    struct buf *b)
{
	size_t i;

	put_array(b, (uint32_t)n);
	for (i = 0; i < n; i++)
		field_pack(&fields[i], base, b);
}

int
field_check(const struct field *fields, size_t n, const void *base,
    struct error *e)
{
	const struct field *f;
	const struct view *v;
	uint64_t value;

	for (f = fields; f < fields + n; f++) {
		if (f->kind == F_INT || f->kind == F_BOOL)
			continue;
		v = (const void *)((const char *)base + f->offset);
		if (f->kind == F_UINT || f->kind == F_MILLI) {
			value = *(const uint64_t *)(const void *)v;
			if (value > f->max || value < f->min)
				return field_error(f, e);
			continue;
		}
		if (v->n > f->max || (f->kind == F_STR && v->n > 0 &&
		    memchr(v->p, '\0', v->n) != NULL))
			return field_error(f, e);
	}
	return 0;
}

/*** Maps ***/

static int
key_error(struct view key, const char *what, struct error *e)
{
	char shown[KEY_LEN_MAX + 8];

	text_escape(shown, sizeof(shown), key);
	return error_key(e, ERR_INVALID, shown, "%s key %s", what, shown);
}

static int
map_member(const struct field *fields, size_t n, struct cursor *c,
    uint64_t *seen, void *base, struct error *e)
{
	struct view key;
	size_t i;

	if (get_str(c, &key, KEY_LEN_MAX) == -1)
		return error_set(e, ERR_INVALID,
		    "a key is not text of at most %d bytes", KEY_LEN_MAX);
	for (i = 0; i < n && !view_is(key, fields[i].name); i++)
		;
	if (i == n)
		return key_error(key, "unknown", e);
	if (*seen & 1ull << i)
		return key_error(key, "duplicate", e);
	*seen |= 1ull << i;
	if (get_nil(c) == 0) {
		if (fields[i].is_required && fields[i].kind != F_RAW)
			return field_error(&fields[i], e);
		return 0;
	}
	if (field_get(&fields[i], c, base) == -1)
		return field_error(&fields[i], e);
	return 0;
}

int
field_unpack_map(const struct field *fields, size_t n, struct view v,
    void *base, struct error *e)
{
	uint64_t seen = 0;
	uint32_t count;
	struct cursor c;
	size_t i;

	if (n > 64)
		return error_set(e, ERR_INTERNAL, "too many fields");
	cursor_init(&c, v);
	if (get_map(&c, &count) == -1)
		return error_set(e, ERR_INVALID, "not a map");
	while (count-- > 0)
		if (map_member(fields, n, &c, &seen, base, e) == -1)
			return -1;
	if (get_end(&c) == -1)
		return error_set(e, ERR_INVALID, "bytes behind the map");
	for (i = 0; i < n; i++)
		if (fields[i].is_required && !(seen & 1ull << i))
			return error_key(e, ERR_INVALID, fields[i].name,
			    "%s is missing", fields[i].name);
	return 0;
}

struct view
map_find(struct view map, const char *name)
{
	struct view key, value, none = { NULL, 0 };
	struct cursor c;
	uint32_t count;
	bool is_it;

	cursor_init(&c, map);
	if (get_map(&c, &count) == -1)
		return none;
	while (count-- > 0) {
		is_it = get_str(&c, &key, KEY_LEN_MAX) == 0;
		if (is_it)
			is_it = view_is(key, name);
		else if (get_raw(&c, &key) == -1)
			return none;
		if (get_raw(&c, &value) == -1)
			return none;
		if (is_it)
			return value;
	}
	return none;
}

int
map_uint(struct view map, const char *name, uint64_t *value)
{
	struct cursor c;

	cursor_init(&c, map_find(map, name));
	return get_uint(&c, value, UINT64_MAX);
}

int
map_text(struct view map, const char *name, char *out, size_t cap)
{
	struct cursor c;
	struct view v;

	cursor_init(&c, map_find(map, name));
	if (cap == 0 || get_str(&c, &v, cap - 1) == -1)
		return -1;
	return text_copy(out, cap, v);
}
