/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Maps made of parts: what the broker or a worker says of a sandbox goes out
 * among keys of our own, which it must not be able to replace.  Run by the
 * front, confined; the packed maps were scanned but are otherwise anything.
 */

#include "config.h"

#include "parent/parent.h"

static bool
is_listed(struct view key, const char *const *list)
{
	for (; *list != NULL; list++) {
		if (view_is(key, *list))
			return true;
	}
	return false;
}

int
pairs_add(struct buf *b, uint32_t *count, struct view map,
    const char *const *except)
{
	struct cursor c;
	struct view key, value;
	uint32_t i, n;

	cursor_init(&c, map);
	if (get_map(&c, &n) == -1)
		return -1;
	for (i = 0; i < n; i++) {
		if (get_str(&c, &key, NAME_LEN_MAX) == -1 ||
		    get_raw(&c, &value) == -1)
			return -1;
		if (is_listed(key, except))
			continue;
		put_str_view(b, key);
		put_raw(b, value);
		(*count)++;
	}
	return get_end(&c);
}

void
pairs_put_uint(struct buf *b, const char *key, uint64_t value)
{
	put_str(b, key);
	put_uint(b, value);
}

void
pairs_put_str(struct buf *b, const char *key, const char *value)
{
	put_str(b, key);
	put_str(b, value);
}
