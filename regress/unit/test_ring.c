/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Rings against a plain list of all bytes ever added.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "worker/worker.h"

static unsigned char
byte_at(uint64_t offset)
{
	return (unsigned char)(offset * 2654435761u >> 7);
}

/* Adds n bytes in the way that a read would; how many there was room for. */
static size_t
fill(struct ring *r, uint64_t hold, size_t n)
{
	struct iovec	 iov[2];
	uint64_t	 at = r->end;
	size_t		 i, done = 0;
	int		 j, parts;

	parts = ring_space(r, hold, n, iov);
	for (j = 0; j < parts; j++) {
		for (i = 0; i < iov[j].iov_len; i++)
			((unsigned char *)iov[j].iov_base)[i] = byte_at(at++);
		done += iov[j].iov_len;
	}
	ring_commit(r, done);
	return done;
}

static void
check(const struct ring *r)
{
	struct iovec	 iov[2];
	uint64_t	 at = r->start;
	size_t		 i;
	int		 j, parts;

	assert_true(r->end - r->start <= r->cap);
	parts = ring_peek(r, r->start, SIZE_MAX, iov);
	for (j = 0; j < parts; j++)
		for (i = 0; i < iov[j].iov_len; i++)
			if (((unsigned char *)iov[j].iov_base)[i] !=
			    byte_at(at++))
				fail_msg("byte %llu",
				    (unsigned long long)at - 1);
	assert_int_equal(at, r->end);
}

static void
ring_small_keeps_all(void **state)
{
	struct ring	 r = { 0 };
	size_t		 i;

	(void)state;
	for (i = 0; i < 3000 && r.end < RING_MAX; i++) {
		(void)fill(&r, r.end, i % 700 + 1);
		assert_int_equal(r.start, 0);
	}
	check(&r);
	ring_free(&r);
	assert_int_equal(ring_total(), 0);
}

/* Whatever the sizes: nothing is lost before it is RING_MAX. */
static void
ring_large_reads_keep_all(void **state)
{
	struct ring	 r = { 0 };
	size_t		 n;

	(void)state;
	for (n = 1; r.end < RING_MAX - 65536; n = n * 7 % 65521) {
		assert_true(fill(&r, r.end, n) > 0);
		assert_int_equal(r.start, 0);
	}
	check(&r);
	ring_free(&r);
}

static void
ring_full_overwrites_oldest(void **state)
{
	struct ring	 r = { 0 };
	size_t		 n = 1;

	(void)state;
	while (r.end < 5 * RING_MAX) {
		n = n * 16807 % 65521;
		assert_true(fill(&r, r.end, n) > 0);
	}
	assert_int_equal(r.cap, RING_MAX);
	assert_int_equal(r.end - r.start, RING_MAX);
	check(&r);
	ring_free(&r);
}

static void
ring_hold_is_not_overwritten(void **state)
{
	struct ring	 r = { 0 };

	(void)state;
	while (fill(&r, 10, 50000) > 0)
		;
	assert_true(r.start <= 10);
	assert_int_equal(r.end, 10 + RING_MAX);
	check(&r);
	assert_int_equal(fill(&r, 11, 50000), 1);
	ring_free(&r);
}

static void
ring_add_makes_room(void **state)
{
	static unsigned char	 bytes[200000];
	struct ring		 r = { 0 };
	struct view		 v = { bytes, 0 };
	size_t			 i;

	(void)state;
	while (r.end < 3 * RING_MAX) {
		v.n = (size_t)(r.end * 31 % sizeof(bytes)) + 1;
		for (i = 0; i < v.n; i++)
			bytes[i] = byte_at(r.end + i);
		assert_int_equal(ring_add(&r, r.end, v), 0);
	}
	check(&r);
	/* What is held makes it larger. */
	v.n = 1000;
	for (i = 0; i < v.n; i++)
		bytes[i] = byte_at(r.end + i);
	assert_int_equal(ring_add(&r, r.start, v), 0);
	assert_true(r.end - r.start > RING_MAX);
	check(&r);
	ring_free(&r);
}

static void
ring_budget_is_shared(void **state)
{
	struct ring	 r[100];
	size_t		 i;

	(void)state;
	memset(r, 0, sizeof(r));
	for (i = 0; i < 100; i++)
		while (r[i].end <= RING_MAX)
			assert_true(fill(&r[i], r[i].end, 50000) > 0);
	assert_true(ring_total() <= RING_BUDGET + 100 * 65536);
	for (i = 0; i < 100; i++) {
		check(&r[i]);
		ring_free(&r[i]);
	}
	assert_int_equal(ring_total(), 0);
}

int
main(void)
{
	const struct CMUnitTest	tests[] = {
		cmocka_unit_test(ring_small_keeps_all),
		cmocka_unit_test(ring_large_reads_keep_all),
		cmocka_unit_test(ring_full_overwrites_oldest),
		cmocka_unit_test(ring_hold_is_not_overwritten),
		cmocka_unit_test(ring_add_makes_room),
		cmocka_unit_test(ring_budget_is_shared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
