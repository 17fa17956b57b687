/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Building the parameters of a request.  Runs in the client's process.  Each
 * level that is open has a buffer of its own, since the head of a map needs
 * the number of its entries first.  Memory that ran out is remembered in the
 * buffers and reported when the request is made.
 */

#include <stdlib.h>

#include "lib.h"

struct sandbox_params *
sandbox_params_new(void)
{
	struct sandbox_params *params;

	if ((params = calloc(1, sizeof(*params))) != NULL)
		params->levels[0].is_map = true;
	return params;
}

void
sandbox_params_free(struct sandbox_params *params)
{
	unsigned int i;

	if (params == NULL)
		return;
	for (i = 0; i < PARAMS_DEPTH; i++)
		buf_free(&params->levels[i].body);
	free(params);
}

/* The buffer of the open level, ready for one value. */
static struct buf *
params_entry(struct sandbox_params *params, const char *key)
{
	struct params_level *level = &params->levels[params->depth];

	if (level->is_map != (key != NULL))
		params->is_bad = true;
	if (key != NULL)
		put_str(&level->body, key);
	level->count++;
	return &level->body;
}

void
sandbox_params_text(struct sandbox_params *params, const char *key,
    const char *text)
{
	put_str(params_entry(params, key), text);
}

void
sandbox_params_bytes(struct sandbox_params *params, const char *key,
    const void *data, size_t len)
{
	put_bin(params_entry(params, key), (struct view){ data, len });
}

void
sandbox_params_uint(struct sandbox_params *params, const char *key, uint64_t n)
{
	put_uint(params_entry(params, key), n);
}

void
sandbox_params_double(struct sandbox_params *params, const char *key, double d)
{
	put_double(params_entry(params, key), d);
}

void
sandbox_params_bool(struct sandbox_params *params, const char *key, bool b)
{
	put_bool(params_entry(params, key), b);
}

static void
params_open(struct sandbox_params *params, const char *key, bool is_map)
{
	struct params_level *level;

	params_entry(params, key);
	if (params->depth + 1 == PARAMS_DEPTH) {
		params->is_bad = true;
		return;
	}
	level = &params->levels[++params->depth];
	buf_free(&level->body);
	level->count = 0;
	level->is_map = is_map;
}

void
sandbox_params_open_map(struct sandbox_params *params, const char *key)
{
	params_open(params, key, true);
}

void
sandbox_params_open_array(struct sandbox_params *params, const char *key)
{
	params_open(params, key, false);
}

static void
params_level_put(const struct params_level *level, struct buf *out)
{
	if (level->is_map)
		put_map(out, level->count);
	else
		put_array(out, level->count);
	/* An absent value would be nil. */
	if (level->body.n != 0)
		put_raw(out, (struct view){ level->body.p, level->body.n });
	if (level->body.has_failed)
		out->has_failed = true;
}

void
sandbox_params_close(struct sandbox_params *params)
{
	struct params_level *level = &params->levels[params->depth];

	if (params->depth == 0) {
		params->is_bad = true;
		return;
	}
	params_level_put(level, &params->levels[--params->depth].body);
	buf_free(&level->body);
}

int
params_pack(const struct sandbox_params *params, int nfds, struct buf *out,
    struct error *e)
{
	static const struct sandbox_params none = {
	    .levels = { { .is_map = true } } };
	struct params_level top;

	if (params == NULL)
		params = &none;
	if (params->depth != 0 || params->is_bad)
		return error_set(e, ERR_INVALID, "libsandboxd: parameters "
		    "were opened, closed or named wrongly");
	top = params->levels[0];
	if (nfds > 0)
		top.count++;
	params_level_put(&top, out);
	if (nfds > 0) {
		put_str(out, "fds");
		put_uint(out, (uint64_t)nfds);
	}
	return out->has_failed ? fault_memory(e) : 0;
}
