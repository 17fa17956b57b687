/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * scan: the vectors whole, cut and changed, the bounds, and agreement with
 * msgpack-c, which is the oracle here and nowhere else.
 */

#include <msgpack.h>
#include <stdlib.h>
#include <string.h>

#include "regress/wire/wire.h"

static enum scan_result
scan_all(const void *p, size_t n)
{
	struct scan s = { 0 };

	return scan_run(&s, (struct view){ p, n });
}

/*** Vectors ***/

static void
check_good(const struct vector *v, void *arg)
{
	struct scan s = { 0 };
	struct view part = v->data;
	unsigned char *p;
	size_t n;

	(void)arg;
	if (!scan_is_one(v->data))
		fail_msg("%s is refused", v->name);
	for (n = 0; n < v->data.n; n++) {
		p = wire_copy(v->data, n);
		if (scan_all(p, n) != SCAN_MORE)
			fail_msg("%s cut at %zu is not SCAN_MORE", v->name,
			    n);
		free(p);
	}
	/* The same growing buffer, a byte more each time. */
	for (part.n = 0; part.n < v->data.n; part.n++)
		assert_int_equal(scan_run(&s, part), SCAN_MORE);
	assert_int_equal(scan_run(&s, v->data), SCAN_DONE);
	assert_int_equal(s.pos, v->data.n);
	/* What comes behind is not looked at. */
	assert_int_equal(scan_run(&s, v->data), SCAN_DONE);
}

static void
scan_vectors_accepted(void **state)
{
	(void)state;
	assert_true(wire_each("value", check_good, NULL) > 20);
	wire_each("rpc", check_good, NULL);
	wire_each("spec", check_good, NULL);
}

static void
check_bad(const struct vector *v, void *arg)
{
	(void)arg;
	if (scan_all(v->data.p, v->data.n) != SCAN_BAD)
		fail_msg("%s is not refused", v->name);
}

static void
scan_bad_vectors_refused(void **state)
{
	(void)state;
	wire_each("bad-value", check_bad, NULL);
}

/* What we take, msgpack-c takes too, and as long. */
static void
agree(const unsigned char *p, size_t n)
{
	struct scan s = { 0 };
	msgpack_unpacked u;
	enum scan_result r;
	size_t off = 0;
	int oracle;

	r = scan_run(&s, (struct view){ p, n });
	assert_true(s.pos <= n);
	if (r == SCAN_BAD)
		return;
	msgpack_unpacked_init(&u);
	oracle = msgpack_unpack_next(&u, (const char *)p, n, &off);
	if (r == SCAN_DONE) {
		assert_int_equal(oracle, MSGPACK_UNPACK_SUCCESS);
		assert_int_equal(off, s.pos);
	} else
		assert_int_equal(oracle, MSGPACK_UNPACK_CONTINUE);
	msgpack_unpacked_destroy(&u);
}

static void
check_changed(const struct vector *v, void *arg)
{
	unsigned char *p;
	unsigned int x;
	size_t i;

	(void)arg;
	p = wire_copy(v->data, v->data.n);
	for (i = 0; i < v->data.n && i < 600; i++) {
		for (x = 1; x < 256; x++) {
			p[i] ^= (unsigned char)x;
			agree(p, v->data.n);
			p[i] ^= (unsigned char)x;
		}
	}
	free(p);
}

static void
scan_changed_bytes_as_oracle(void **state)
{
	(void)state;
	wire_each("value", check_changed, NULL);
	wire_each("rpc", check_changed, NULL);
	wire_each("bad-spec", check_changed, NULL);
}

static void
scan_random_bytes_as_oracle(void **state)
{
	unsigned char p[24];
	uint64_t seed = 1, bits;
	size_t n, i;
	int round;

	(void)state;
	for (round = 0; round < 200000; round++) {
		for (i = 0; i < sizeof(p); i += sizeof(bits)) {
			bits = random_next(&seed);
			memcpy(p + i, &bits, sizeof(bits));
		}
		/* Containers first, or most would end at once. */
		if (round % 2 == 0)
			p[0] = 0x80 | (p[0] & 0x1f);
		n = random_next(&seed) % (sizeof(p) + 1);
		agree(p, n);
	}
}

/*** Bounds ***/

static void
scan_empty_wants_more(void **state)
{
	(void)state;
	assert_int_equal(scan_all("", 0), SCAN_MORE);
	assert_false(scan_is_one((struct view){ NULL, 0 }));
}

static void
scan_trailing_byte_not_one(void **state)
{
	(void)state;
	assert_int_equal(scan_all("\xc0\xc0", 2), SCAN_DONE);
	assert_false(scan_is_one((struct view){
	    (const unsigned char *)"\xc0\xc0", 2 }));
}

static void
scan_depth_bounded(void **state)
{
	unsigned char p[SCAN_DEPTH_MAX + 2];

	(void)state;
	memset(p, 0x91, sizeof(p));
	p[SCAN_DEPTH_MAX] = 0xc0;
	assert_int_equal(scan_all(p, SCAN_DEPTH_MAX + 1), SCAN_DONE);
	p[SCAN_DEPTH_MAX] = 0x91;
	assert_int_equal(scan_all(p, SCAN_DEPTH_MAX + 1), SCAN_BAD);
	/* Empty ones nest nothing. */
	p[SCAN_DEPTH_MAX] = 0x90;
	assert_int_equal(scan_all(p, SCAN_DEPTH_MAX + 1), SCAN_DONE);
}

/* arrays of 256 in an array, n of them, and then one element more. */
static enum scan_result
scan_elements(unsigned int n, unsigned int rest)
{
	unsigned char *p, *q;
	enum scan_result r;
	unsigned int i;

	q = p = malloc(3 + n * (3 + 255) + rest);
	assert_non_null(p);
	*q++ = 0xdc;
	*q++ = (unsigned char)((n + rest) >> 8);
	*q++ = (unsigned char)(n + rest);
	for (i = 0; i < n; i++) {
		memcpy(q, "\xdc\0\xff", 3);
		memset(q + 3, 0xc0, 255);
		q += 3 + 255;
	}
	memset(q, 0xc0, rest);
	r = scan_all(p, (size_t)(q - p) + rest);
	free(p);
	return r;
}

static void
scan_elements_bounded(void **state)
{
	(void)state;
	/* 1 + 255 * 256 + rest */
	assert_int_equal(scan_elements(255, 255), SCAN_DONE);
	assert_int_equal(scan_elements(255, 256), SCAN_BAD);
}

static void
scan_declared_count_bounded(void **state)
{
	(void)state;
	/* Refused before a single element has come. */
	assert_int_equal(scan_all("\xdd\0\1\0\0", 5), SCAN_BAD);
	assert_int_equal(scan_all("\xdd\0\0\xff\xff", 5), SCAN_MORE);
	assert_int_equal(scan_all("\xdf\0\0\x80\0", 5), SCAN_BAD);
	assert_int_equal(scan_all("\xdf\0\0\x7f\xff", 5), SCAN_MORE);
}

static void
scan_declared_bytes_awaited(void **state)
{
	struct scan s = { 0 };

	(void)state;
	assert_int_equal(scan_run(&s, (struct view){
	    (const unsigned char *)"\xc6\xff\xff\xff\xff", 5 }), SCAN_MORE);
	assert_int_equal(s.pos, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scan_vectors_accepted),
		cmocka_unit_test(scan_bad_vectors_refused),
		cmocka_unit_test(scan_changed_bytes_as_oracle),
		cmocka_unit_test(scan_random_bytes_as_oracle),
		cmocka_unit_test(scan_empty_wants_more),
		cmocka_unit_test(scan_trailing_byte_not_one),
		cmocka_unit_test(scan_depth_bounded),
		cmocka_unit_test(scan_elements_bounded),
		cmocka_unit_test(scan_declared_count_bounded),
		cmocka_unit_test(scan_declared_bytes_awaited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
