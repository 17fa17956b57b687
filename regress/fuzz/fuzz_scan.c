/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * scan and the typed reads on any bytes: the same answer at once and byte by
 * byte, and what scan accepts can be walked to its end.
 */

#include "fuzz.h"
#include "proto.h"

static void
walk(struct cursor *c, int depth)
{
	struct view v;
	uint64_t u;
	uint32_t n, i;
	int64_t s;
	double d;
	bool b;

	CHECK(depth <= SCAN_DEPTH_MAX);
	switch (cursor_kind(c)) {
	case V_NIL:
		CHECK(get_nil(c) == 0);
		break;
	case V_BOOL:
		CHECK(get_bool(c, &b) == 0);
		break;
	case V_INT:
		CHECK(get_int(c, &s) == 0 || get_uint(c, &u, UINT64_MAX) ==
		    0);
		break;
	case V_DOUBLE:
		CHECK(get_double(c, &d) == 0);
		break;
	case V_STR:
		if (get_str(c, &v, SIZE_MAX) == 0)
			break;
		CHECK(get_bin(c, &v, SIZE_MAX) == 0);
		break;
	case V_BIN:
		CHECK(get_bin(c, &v, SIZE_MAX) == 0);
		break;
	case V_ARRAY:
		CHECK(get_array(c, &n) == 0);
		for (i = 0; i < n; i++)
			walk(c, depth + 1);
		break;
	case V_MAP:
		CHECK(get_map(c, &n) == 0);
		for (i = 0; i < 2 * n; i++)
			walk(c, depth + 1);
		break;
	case V_NONE:
		CHECK(0);
		break;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct scan whole = { 0 }, part = { 0 };
	enum scan_result r, step = SCAN_MORE;
	struct view v = { data, n }, grown = { data, 0 };
	struct cursor c;
	struct view raw;

	r = scan_run(&whole, v);
	CHECK(whole.pos <= n);
	while (step == SCAN_MORE && grown.n < n) {
		grown.n++;
		step = scan_run(&part, grown);
	}
	CHECK(step == r);
	CHECK(scan_is_one(v) == (r == SCAN_DONE && whole.pos == n));
	if (r == SCAN_DONE) {
		CHECK(part.pos == whole.pos);
		v.n = whole.pos;
		cursor_init(&c, v);
		walk(&c, 0);
		CHECK(get_end(&c) == 0);
		cursor_init(&c, v);
		CHECK(get_raw(&c, &raw) == 0 && raw.n == v.n);
		map_find(v, "fds");
	}
	return 0;
}
