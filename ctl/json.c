/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Values as JSON, one object per line.  JSON has no bytes: those that are no
 * UTF-8 are written with \u00XX for each byte above 127.
 */

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"

/* Times are in microseconds at best. */
#define JSON_FLAGS	\
	(JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(16))

static json_t *json_of(struct sandbox_value);

static json_t *
json_of_bytes(const unsigned char *p, size_t n)
{
	json_t *json;
	char *wide;
	size_t i, at = 0;

	if ((json = json_stringn((const char *)p, n)) != NULL)
		return json;
	if ((wide = malloc(2 * n + 1)) == NULL)
		return NULL;
	for (i = 0; i < n; i++) {
		if (p[i] < 0x80)
			wide[at++] = (char)p[i];
		else {
			wide[at++] = (char)(0xc0 | p[i] >> 6);
			wide[at++] = (char)(0x80 | (p[i] & 0x3f));
		}
	}
	json = json_stringn(wide, at);
	free(wide);
	return json;
}

static json_t *
json_of_map(struct sandbox_value map)
{
	struct sandbox_iter it;
	struct sandbox_value key, v;
	json_t *json = json_object();
	char name[512];

	sandbox_iter_init(&it, map);
	while (sandbox_iter_next(&it, &key, &v))
		if (sandbox_value_text(key, name, sizeof(name)) == 0)
			json_object_set_new_nocheck(json, name, json_of(v));
	return json;
}

static json_t *
json_of_array(struct sandbox_value array)
{
	struct sandbox_iter it;
	struct sandbox_value v;
	json_t *json = json_array();

	sandbox_iter_init(&it, array);
	while (sandbox_iter_next(&it, NULL, &v))
		json_array_append_new(json, json_of(v));
	return json;
}

/* JSON's whole numbers have 63 bits here. */
static json_t *
json_of_number(struct sandbox_value v)
{
	int64_t n;
	double d;

	if (sandbox_value_int(v, &n) == 0)
		return json_integer(n);
	if (sandbox_value_double(v, &d) == 0)
		return json_real(d);
	return json_null();
}

static json_t *
json_of(struct sandbox_value v)
{
	const void *p;
	size_t n;
	bool b;

	if (sandbox_value_bool(v, &b) == 0)
		return json_boolean(b);
	if (sandbox_value_bytes(v, &p, &n) == 0)
		return json_of_bytes(p, n);
	if (sandbox_value_kind(v) == SANDBOX_MAP)
		return json_of_map(v);
	if (sandbox_value_kind(v) == SANDBOX_ARRAY)
		return json_of_array(v);
	return json_of_number(v);
}

void
json_print(struct sandbox_value v)
{
	json_t *json = json_of(v);

	json_dumpf(json, stdout, JSON_FLAGS);
	putchar('\n');
	json_decref(json);
}

void
json_print_to(int fd, struct sandbox_value v)
{
	json_t *json = json_of(v);

	json_dumpfd(json, fd, JSON_FLAGS);
	while (write(fd, "\n", 1) == -1 && errno == EINTR)
		;
	json_decref(json);
}
