/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The parameters of sandbox.create, of a profile and of the defaults: one
 * table of keys, ranges and kinds.  Used by front, broker and the config
 * grammar; no rights.  The map comes from a client, or from the front, which
 * the broker does not trust: all of it is checked here, on both sides, and
 * what it may ask for is judged by the broker.
 */

#include <stdint.h>
#include <string.h>

#include "proto.h"

#define MILLI_MAX	1000000000000000ull	/* 31,000 years in ms */
#define MAP_MAX		ARGS_BYTES_MAX
#define MOUNTS_BYTES	(MOUNTS_MAX * (PATH_LEN_MAX + 64))
#define AT(name)	offsetof(struct spec, name)
#define TEXT(n)		{ .name = #n, .kind = F_STR, .offset = AT(n),	\
			    .max = NAME_LEN_MAX }
#define FLAG(n)		{ .name = #n, .kind = F_BOOL, .offset = AT(n) }
/* 0 is refused everywhere: it must never come to mean "no limit". */
#define COUNT(n)	{ .name = #n, .kind = F_UINT, .offset = AT(n),	\
			    .max = INT64_MAX, .min = 1 }
#define MILLI(n)	{ .name = #n, .kind = F_MILLI, .offset = AT(n),	\
			    .max = MILLI_MAX, .min = 1 }

static const struct field fields[] = {
	TEXT(name),
	{ .name = "labels", .kind = F_MAP, .offset = AT(labels),
	    .max = MAP_MAX },
	TEXT(token),
	TEXT(profile),
	TEXT(backend),
	TEXT(floor),
	TEXT(image),
	TEXT(network),
	{ .name = "env", .kind = F_MAP, .offset = AT(env), .max = MAP_MAX },
	{ .name = "mounts", .kind = F_ARRAY, .offset = AT(mounts),
	    .max = MOUNTS_BYTES },
	{ .name = "offer", .kind = F_UINT, .offset = AT(offer),
	    .max = UINT32_MAX },
	COUNT(memory),
	MILLI(cpus),
	COUNT(pids),
	COUNT(tmp),
	COUNT(files),
	MILLI(ttl),
	MILLI(timeout),
	MILLI(cpu_time),
	COUNT(output),
	FLAG(connect),
	FLAG(best_effort),
	FLAG(die_with_client),
};

#define NFIELDS		(sizeof(fields) / sizeof(fields[0]))
#define NFRONT		3u	/* name, labels, token stay in the front */

const struct spec_limit spec_limits[] = {
	{ "memory", F_UINT, AT(memory), true },
	{ "cpus", F_MILLI, AT(cpus), false },
	{ "pids", F_UINT, AT(pids), false },
	{ "tmp", F_UINT, AT(tmp), true },
	{ "files", F_UINT, AT(files), false },
	{ "ttl", F_MILLI, AT(ttl), false },
	{ "timeout", F_MILLI, AT(timeout), false },
	{ "cpu_time", F_MILLI, AT(cpu_time), false },
	{ "output", F_UINT, AT(output), true },
	{ NULL, F_UINT, 0, false }
};

/* For F_UINT and F_MILLI. */
static uint64_t *
spec_number(struct spec *s, const struct field *f)
{
	return (uint64_t *)(void *)((char *)s + f->offset);
}

void
spec_init(struct spec *s)
{
	size_t i;

	memset(s, 0, sizeof(*s));
	for (i = 0; i < NFIELDS; i++)
		if (fields[i].kind == F_UINT || fields[i].kind == F_MILLI)
			*spec_number(s, &fields[i]) = SPEC_ABSENT;
}

/*** What is inside the maps and arrays ***/

static int
labels_check(struct view map, struct error *e)
{
	struct view key, value;
	struct cursor c;
	uint32_t n;

	cursor_init(&c, map);
	if (get_map(&c, &n) == -1 || n > LABELS_MAX)
		return error_key(e, ERR_INVALID, "labels",
		    "labels: at most %d", LABELS_MAX);
	while (n-- > 0)
		if (get_str(&c, &key, NAME_LEN_MAX) == -1 || key.n == 0 ||
		    get_str(&c, &value, LABEL_LEN_MAX) == -1)
			return error_key(e, ERR_INVALID, "labels", "labels: "
			    "a name of 1 to %d bytes and a text of at most "
			    "%d each", NAME_LEN_MAX, LABEL_LEN_MAX);
	return 0;
}

static int
env_check(struct view map, struct error *e)
{
	struct view key, value;
	struct cursor c;
	uint32_t n;

	cursor_init(&c, map);
	if (get_map(&c, &n) == -1 || n > ARGS_MAX)
		return error_key(e, ERR_INVALID, "env",
		    "env: at most %d variables", ARGS_MAX);
	while (n-- > 0) {
		if (get_bin(&c, &key, MAP_MAX) == -1 || key.n == 0 ||
		    memchr(key.p, '=', key.n) != NULL ||
		    memchr(key.p, '\0', key.n) != NULL)
			return error_key(e, ERR_INVALID, "env",
			    "env: a name is empty or has a = or NUL in it");
		if (get_bin(&c, &value, MAP_MAX) == -1 ||
		    memchr(value.p, '\0', value.n) != NULL)
			return error_key(e, ERR_INVALID, "env",
			    "env: a value is not bytes without NUL");
	}
	return 0;
}

static const struct field mount_fields[] = {
	{ .name = "dst", .kind = F_STR, .max = PATH_LEN_MAX,
	    .offset = offsetof(struct spec_mount, dst), .is_required = true },
	{ .name = "fd", .kind = F_UINT, .max = MOUNTS_MAX - 1,
	    .offset = offsetof(struct spec_mount, fd), .is_required = true },
	{ .name = "writable", .kind = F_BOOL,
	    .offset = offsetof(struct spec_mount, writable) },
};

/* Absolute, below /, and without empty, "." or ".." parts. */
static bool
destination_is_plain(const char *dst)
{
	const char *p;
	size_t n;

	for (p = dst; *p == '/'; p += n) {
		n = strcspn(++p, "/");
		if (n == 0 || (n == 1 && p[0] == '.') ||
		    (n == 2 && p[0] == '.' && p[1] == '.'))
			return false;
	}
	return p != dst && *p == '\0';
}

int
spec_mounts(const struct spec *s, struct spec_mount *mounts, struct error *e)
{
	char dst[PATH_LEN_MAX + 1];
	struct cursor c;
	struct view map;
	uint32_t i, n = 0;

	cursor_init(&c, s->mounts);
	if (s->mounts.p != NULL && (get_array(&c, &n) == -1 || n > MOUNTS_MAX))
		return error_key(e, ERR_INVALID, "mounts",
		    "mounts: at most %d", MOUNTS_MAX);
	for (i = 0; i < n; i++) {
		memset(&mounts[i], 0, sizeof(mounts[i]));
		if (get_raw(&c, &map) == -1)
			return error_key(e, ERR_INVALID, "mounts",
			    "mounts: not an array");
		if (field_unpack_map(mount_fields, 3, map, &mounts[i], e) ==
		    -1)
			return -1;
		if (text_copy(dst, sizeof(dst), mounts[i].dst) == -1 ||
		    !destination_is_plain(dst))
			return error_key(e, ERR_INVALID, "dst", "a mount's "
			    "dst must be an absolute path below / without "
			    "empty, . or .. parts");
	}
	return (int)n;
}

static int
words_check(const struct spec *s, struct error *e)
{
	char name[NAME_LEN_MAX + 1];

	if (s->name.p != NULL && (text_copy(name, sizeof(name), s->name) ==
	    -1 || !name_is_valid(name))) {
		error_key(e, ERR_INVALID, "name", "this name cannot be used");
		error_fix(e, "use 1 to %d letters, digits, . _ -, not "
		    "beginning with . or -", NAME_LEN_MAX);
		return -1;
	}
	if (s->floor.p != NULL && !view_is(s->floor, "none") &&
	    !view_is(s->floor, "namespace") && !view_is(s->floor, "kernel"))
		return error_key(e, ERR_INVALID, "floor",
		    "floor must be none, namespace or kernel");
	return 0;
}

int
spec_unpack(struct view map, struct spec *s, struct error *e)
{
	struct spec_mount mounts[MOUNTS_MAX];

	spec_init(s);
	if (field_unpack_map(fields, NFIELDS, map, s, e) == -1 ||
	    words_check(s, e) == -1)
		return -1;
	if (s->labels.p != NULL && labels_check(s->labels, e) == -1)
		return -1;
	if (s->env.p != NULL && env_check(s->env, e) == -1)
		return -1;
	return spec_mounts(s, mounts, e) == -1 ? -1 : 0;
}

static bool
is_present(const struct spec *s, const struct field *f)
{
	const void *at = (const char *)s + f->offset;

	if (f->kind == F_UINT || f->kind == F_MILLI)
		return *(const uint64_t *)at != SPEC_ABSENT;
	if (f->kind == F_BOOL)
		return *(const bool *)at;
	return ((const struct view *)at)->p != NULL;
}

void
spec_pack(const struct spec *s, struct buf *b)
{
	uint32_t n = 0;
	size_t i;

	for (i = NFRONT; i < NFIELDS; i++)
		n += is_present(s, &fields[i]);
	put_map(b, n);
	for (i = NFRONT; i < NFIELDS; i++) {
		if (!is_present(s, &fields[i]))
			continue;
		put_str(b, fields[i].name);
		field_pack(&fields[i], s, b);
	}
}

/*** For those who grant it ***/

uint64_t *
spec_value(const struct spec *s, size_t i)
{
	return (uint64_t *)((uintptr_t)s + spec_limits[i].offset);
}

void
spec_limits_pack(const struct spec *s, struct buf *b)
{
	uint32_t n = 0;
	size_t i;

	for (i = 0; spec_limits[i].name != NULL; i++)
		n += *spec_value(s, i) != SPEC_ABSENT;
	put_map(b, n);
	for (i = 0; spec_limits[i].name != NULL; i++) {
		if (*spec_value(s, i) == SPEC_ABSENT)
			continue;
		put_str(b, spec_limits[i].name);
		if (spec_limits[i].kind == F_MILLI)
			put_double(b, (double)*spec_value(s, i) / 1000);
		else
			put_uint(b, *spec_value(s, i));
	}
}

int
spec_env_pack(const struct spec *s, struct buf *b, struct error *e)
{
	struct view key, value, word;
	struct buf text = { 0 };
	struct cursor c;
	uint32_t n = 0;

	cursor_init(&c, s->env);
	if (s->env.p != NULL)
		get_map(&c, &n);
	put_array(b, n);
	while (n > 0 && get_bin(&c, &key, MAP_MAX) == 0 &&
	    get_bin(&c, &value, MAP_MAX) == 0) {
		text.n = 0;
		buf_add(&text, key.p, key.n);
		buf_add(&text, "=", 1);
		buf_add(&text, value.p, value.n);
		word = (struct view){ text.p, text.n };
		put_bin(b, word);
		n--;
	}
	buf_free(&text);
	if (n > 0 || b->has_failed || b->n > ARGS_BYTES_MAX)
		return error_key(e, ERR_INVALID, "env",
		    "env: more than %d bytes", ARGS_BYTES_MAX);
	return 0;
}
