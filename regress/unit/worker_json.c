/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Params of requests as tests write them: JSON with 'single' quotes and no
 * escapes, to msgpack.
 */

#include <stdlib.h>
#include <string.h>

#include "worker_driver.h"

static const char *json_value(const char *, struct buf *);

static const char *
json_space(const char *s)
{
	return s + strspn(s, " \n\t,:");
}

static const char *
json_text(const char *s, struct buf *b)
{
	const char	*end = strchr(s + 1, '\'');

	assert_non_null(end);
	put_str_view(b, (struct view){ (const unsigned char *)s + 1,
	    (size_t)(end - s - 1) });
	return end + 1;
}

static const char *
json_list(const char *s, struct buf *b, char close)
{
	struct buf	inner = { 0 };
	uint32_t	n = 0;

	for (s = json_space(s + 1); *s != close; s = json_space(s)) {
		s = json_value(s, &inner);
		n++;
	}
	if (close == '}')
		put_map(b, n / 2);
	else
		put_array(b, n);
	if (n > 0)
		put_raw(b, (struct view){ inner.p, inner.n });
	buf_free(&inner);
	return s + 1;
}

static const char *
json_value(const char *s, struct buf *b)
{
	char	*end;
	double	 d;

	s = json_space(s);
	if (*s == '{' || *s == '[')
		return json_list(s, b, *s == '{' ? '}' : ']');
	if (*s == '\'')
		return json_text(s, b);
	if (strncmp(s, "null", 4) == 0) {
		put_nil(b);
		return s + 4;
	}
	if (strncmp(s, "true", 4) == 0 || strncmp(s, "false", 5) == 0) {
		put_bool(b, *s == 't');
		return s + (*s == 't' ? 4 : 5);
	}
	d = strtod(s, &end);
	if (end == s)
		fail_msg("bad JSON: %s", s);
	if (memchr(s, '.', (size_t)(end - s)) != NULL)
		put_double(b, d);
	else
		put_int(b, (int64_t)d);
	return end;
}

void
json_pack(const char *text, struct buf *b)
{
	(void)json_value(text, b);
}
