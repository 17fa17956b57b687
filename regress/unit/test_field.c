/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * field: arrays are exact, maps name the key that is wrong, absent keys
 * change nothing.
 */

#include <string.h>

#include "regress/wire/wire.h"

struct sample {
	uint64_t	 count;
	int64_t		 delta;
	bool		 is_on;
	uint64_t	 milli;
	struct view	 text;
	struct view	 bytes;
	struct view	 map;
	struct view	 array;
	struct view	 raw;
};

#define AT(n)	offsetof(struct sample, n)

static const struct field fields[] = {
	{ "count", F_UINT, AT(count), 100, 1, true },
	{ "delta", F_INT, AT(delta), 0, 0, false },
	{ "on", F_BOOL, AT(is_on), 0, 0, false },
	{ "milli", F_MILLI, AT(milli), 5000, 1, false },
	{ "text", F_STR, AT(text), 4, 0, false },
	{ "bytes", F_BIN, AT(bytes), 4, 0, false },
	{ "map", F_MAP, AT(map), 8, 0, false },
	{ "array", F_ARRAY, AT(array), 8, 0, false },
	{ "raw", F_RAW, AT(raw), 8, 0, false },
};

#define NFIELDS		(sizeof(fields) / sizeof(fields[0]))

#define BYTES(s)	((struct view){ (const unsigned char *)(s),	\
	    sizeof(s) - 1 })

static struct view
view_buf(const struct buf *b)
{
	return (struct view){ b->p, b->n };
}

static void
fill(struct sample *s)
{
	memset(s, 0, sizeof(*s));
	s->count = 7;
	s->delta = -9;
	s->is_on = true;
	s->milli = 1500;
	s->text = BYTES("abc");
	s->bytes = BYTES("\0\xff");
	s->map = BYTES("\x81\xa1k\1");
	s->array = BYTES("\x92\1\2");
	s->raw = BYTES("\xa1r");
}

/*** Arrays ***/

static void
array_round_trip(void **state)
{
	struct sample in, out;
	struct buf b = { 0 }, again = { 0 };

	(void)state;
	fill(&in);
	memset(&out, 0, sizeof(out));
	field_pack_array(fields, NFIELDS, &in, &b);
	assert_int_equal(field_unpack_array(fields, NFIELDS, view_buf(&b),
	    &out, NULL), 0);
	assert_int_equal(out.milli, 1500);
	assert_int_equal(out.delta, -9);
	field_pack_array(fields, NFIELDS, &out, &again);
	assert_int_equal(b.n, again.n);
	assert_memory_equal(b.p, again.p, b.n);
	buf_free(&b);
	buf_free(&again);
}

static void
array_arity_exact(void **state)
{
	struct error e;
	struct sample s;

	(void)state;
	assert_int_equal(field_unpack_array(fields, 1, BYTES("\x91\5"), &s,
	    &e), 0);
	assert_int_equal(field_unpack_array(fields, 1, BYTES("\x90"), &s,
	    &e), -1);
	assert_int_equal(e.code, ERR_INVALID);
	assert_int_equal(field_unpack_array(fields, 1, BYTES("\x92\5\5"), &s,
	    &e), -1);
	assert_int_equal(field_unpack_array(fields, 1, BYTES("\x91\5\5"), &s,
	    &e), -1);
	assert_int_equal(field_unpack_array(fields, 1, BYTES("\x81\5\5"), &s,
	    &e), -1);
	assert_int_equal(field_unpack_array(fields, 1, BYTES(""), &s, &e),
	    -1);
}

static void
array_error_names_field(void **state)
{
	struct error e;
	struct sample s;

	(void)state;
	assert_int_equal(field_unpack_array(fields, 1, BYTES("\x91\0"), &s,
	    &e), -1);
	assert_string_equal(e.key, "count");
	assert_string_equal(e.message,
	    "count must be a whole number from 1 to 100");
}

static void
check_names_field_out_of_range(void **state)
{
	struct sample s;
	struct error e;

	(void)state;
	fill(&s);
	assert_int_equal(field_check(fields, NFIELDS, &s, &e), 0);
	s.count = 101;
	assert_int_equal(field_check(fields, NFIELDS, &s, &e), -1);
	assert_string_equal(e.key, "count");
	fill(&s);
	s.text = BYTES("abcde");
	assert_int_equal(field_check(fields, NFIELDS, &s, &e), -1);
	assert_string_equal(e.key, "text");
	s.text = BYTES("a\0b");
	assert_int_equal(field_check(fields, NFIELDS, &s, &e), -1);
}

/*** Maps ***/

static int
unpack_map(struct view v, struct sample *s, struct error *e)
{
	memset(e, 0, sizeof(*e));
	assert_true(scan_is_one(v));
	return field_unpack_map(fields, NFIELDS, v, s, e);
}

static void
map_absent_and_nil_leave_member(void **state)
{
	struct sample s;
	struct error e;

	(void)state;
	fill(&s);
	assert_int_equal(unpack_map(BYTES("\x83\xa5""count\5\xa5""delta\xc0"
	    "\xa4text\xa1z"), &s, &e), 0);
	assert_int_equal(s.count, 5);
	assert_int_equal(s.delta, -9);
	assert_int_equal(s.milli, 1500);
	assert_true(view_is(s.text, "z"));
}

struct bad_map {
	struct view	 map;
	const char	*key;
};

static void
map_wrong_key_named(void **state)
{
	static const struct bad_map bad[] = {
		{ { (const unsigned char *)"\x80", 1 }, "count" },
		{ { (const unsigned char *)"\x81\xa5""count\xc0", 8 },
		    "count" },
		{ { (const unsigned char *)"\x82\xa5""count\5\xa3""cnt\5", 13 },
		    "cnt" },
		{ { (const unsigned char *)"\x82\xa5""count\5\xa5""count\5",
		    15 }, "count" },
		{ { (const unsigned char *)"\x81\xa5""count\xcc\x80", 9 },
		    "count" },
		{ { (const unsigned char *)"\x81\xa2on\1", 5 }, "on" },
		{ { (const unsigned char *)"\x81\xa5""array\x80", 8 },
		    "array" },
		{ { (const unsigned char *)"\x81\xa3map\x90", 6 }, "map" },
		{ { (const unsigned char *)"\x81\xa4text\xa5zzzzz", 12 },
		    "text" },
		{ { (const unsigned char *)"\x81\5\5", 3 }, "" },
		{ { (const unsigned char *)"\x81\xa2\x1b\n\5", 5 },
		    "\\x1b\\n" },
	};
	struct sample s;
	struct error e;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(unpack_map(bad[i].map, &s, &e), -1);
		assert_int_equal(e.code, ERR_INVALID);
		assert_string_equal(e.key, bad[i].key);
	}
}

static uint64_t
milli(struct view value)
{
	struct buf b = { 0 };
	struct sample s;
	struct error e;

	s.milli = 0;
	put_map(&b, 2);
	put_str(&b, "count");
	put_uint(&b, 1);
	put_str(&b, "milli");
	put_raw(&b, value);
	if (unpack_map(view_buf(&b), &s, &e) == -1) {
		assert_string_equal(e.key, "milli");
		s.milli = 0;
	}
	buf_free(&b);
	return s.milli;
}

static void
milli_rounds_and_refuses(void **state)
{
	struct buf b = { 0 };

	(void)state;
	assert_int_equal(milli(BYTES("\5")), 5000);
	assert_int_equal(milli(BYTES("\6")), 0);
	assert_int_equal(milli(BYTES("\xff")), 0);
	assert_int_equal(milli(BYTES("\xca\x3f\xc0\0\0")), 1500);
	assert_int_equal(milli(BYTES("\xca\x7f\xc0\0\0")), 0);	/* nan */
	assert_int_equal(milli(BYTES("\xca\x7f\x80\0\0")), 0);	/* inf */
	assert_int_equal(milli(BYTES("\xa1""5")), 0);
	put_double(&b, 0.0014999);
	assert_int_equal(milli(view_buf(&b)), 1);
	b.n = 0;
	put_double(&b, 5.0011);
	assert_int_equal(milli(view_buf(&b)), 0);
	b.n = 0;
	put_double(&b, -0.001);
	assert_int_equal(milli(view_buf(&b)), 0);
	buf_free(&b);
}

static void
map_find_passes_odd_keys(void **state)
{
	struct view map = BYTES("\x84\5\6\x91\1\xc0\xa1k\x92\1\2\xa1t\xa2ok");
	char text[3];
	uint64_t u;
	struct view v;

	(void)state;
	v = map_find(map, "k");
	assert_int_equal(v.n, 3);
	assert_null(map_find(map, "x").p);
	assert_null(map_find(BYTES("\x90"), "k").p);
	assert_null(map_find((struct view){ NULL, 0 }, "k").p);
	assert_int_equal(map_uint(map, "k", &u), -1);
	assert_int_equal(map_uint(map, "x", &u), -1);
	assert_int_equal(map_text(map, "t", text, sizeof(text)), 0);
	assert_string_equal(text, "ok");
	assert_int_equal(map_text(map, "t", text, 2), -1);
	assert_int_equal(map_text(map, "k", text, 3), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(array_round_trip),
		cmocka_unit_test(array_arity_exact),
		cmocka_unit_test(array_error_names_field),
		cmocka_unit_test(check_names_field_out_of_range),
		cmocka_unit_test(map_absent_and_nil_leave_member),
		cmocka_unit_test(map_wrong_key_named),
		cmocka_unit_test(milli_rounds_and_refuses),
		cmocka_unit_test(map_find_passes_odd_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
