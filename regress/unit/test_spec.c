/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * spec: the vectors, what is absent, what is packed for the broker, cut and
 * changed maps.
 */

#include <stdlib.h>
#include <string.h>

#include "regress/wire/wire.h"

static struct view
view_buf(const struct buf *b)
{
	return (struct view){ b->p, b->n };
}

/* What one side takes, the other takes from it, and it stays the same. */
static void
check_passed_on(const struct spec *s)
{
	struct buf b = { 0 }, again = { 0 };
	struct spec copy;
	struct error e;

	spec_pack(s, &b);
	assert_true(scan_is_one(view_buf(&b)));
	if (spec_unpack(view_buf(&b), &copy, &e) == -1)
		fail_msg("packed spec refused: %s", e.message);
	assert_null(copy.name.p);
	assert_null(copy.labels.p);
	assert_null(copy.token.p);
	assert_true(copy.ttl == s->ttl);
	assert_true(copy.timeout == s->timeout);
	assert_true(copy.cpus == s->cpus);
	assert_true(copy.memory == s->memory);
	spec_pack(&copy, &again);
	assert_int_equal(b.n, again.n);
	assert_memory_equal(b.p, again.p, b.n);
	buf_free(&b);
	buf_free(&again);
}

static void
check_good(const struct vector *v, void *arg)
{
	unsigned char *p;
	struct spec s;
	struct error e;
	size_t n;

	(void)arg;
	if (spec_unpack(v->data, &s, &e) == -1)
		fail_msg("%s: %s", v->name, e.message);
	check_passed_on(&s);
	for (n = 0; n < v->data.n; n++) {
		p = wire_copy(v->data, n);
		if (spec_unpack((struct view){ p, n }, &s, &e) == 0)
			fail_msg("%s cut at %zu accepted", v->name, n);
		free(p);
	}
}

static void
spec_vectors_accepted_and_passed_on(void **state)
{
	(void)state;
	wire_each("spec", check_good, NULL);
}

static void
check_bad(const struct vector *v, void *arg)
{
	struct spec s;
	struct error e = { 0 };

	(void)arg;
	if (spec_unpack(v->data, &s, &e) == 0)
		fail_msg("%s accepted", v->name);
	assert_int_equal(e.code, ERR_INVALID);
	/* Most are named after the key that is wrong. */
	if (strncmp(v->name, "memory-", 7) == 0)
		assert_string_equal(e.key, "memory");
	if (strncmp(v->name, "env-", 4) == 0)
		assert_string_equal(e.key, "env");
	if (strncmp(v->name, "name-", 5) == 0)
		assert_string_equal(e.key, "name");
}

static void
spec_bad_vectors_refused(void **state)
{
	(void)state;
	wire_each("bad-spec", check_bad, NULL);
}

static void
check_changed(const struct vector *v, void *arg)
{
	unsigned char *p;
	struct spec s;
	struct error e;
	unsigned int x;
	size_t i;

	(void)arg;
	p = wire_copy(v->data, v->data.n);
	for (i = 0; i < v->data.n && i < 600; i++) {
		for (x = 1; x < 256; x++) {
			p[i] ^= (unsigned char)x;
			if (spec_unpack((struct view){ p, v->data.n }, &s,
			    &e) == 0)
				check_passed_on(&s);
			p[i] ^= (unsigned char)x;
		}
	}
	free(p);
}

static void
spec_changed_anywhere_exact(void **state)
{
	(void)state;
	wire_each("spec", check_changed, NULL);
	wire_each("bad-spec", check_changed, NULL);
}

static void
spec_values_in_their_units(void **state)
{
	struct view v = wire_read("spec", "full");
	struct spec s;
	struct error e;

	(void)state;
	assert_int_equal(spec_unpack(v, &s, &e), 0);
	assert_int_equal(s.memory, 1 << 30);
	assert_int_equal(s.cpus, 1500);
	assert_int_equal(s.ttl, 3600 * 1000);
	assert_int_equal(s.timeout, 250);
	assert_int_equal(s.offer, 3);
	assert_true(view_is(s.name, "box.1"));
	assert_true(s.connect && s.die_with_client && !s.best_effort);
	free((void *)(uintptr_t)v.p);
}

static void
spec_empty_is_all_absent(void **state)
{
	const struct spec_limit *l;
	struct buf b = { 0 };
	struct spec s;
	struct error e;

	(void)state;
	assert_int_equal(spec_unpack(view_of("\x80"), &s, &e), 0);
	assert_null(s.profile.p);
	assert_true(s.offer == SPEC_ABSENT);
	for (l = spec_limits; l->name != NULL; l++)
		assert_true(*(uint64_t *)(void *)((char *)&s + l->offset) ==
		    SPEC_ABSENT);
	spec_pack(&s, &b);
	assert_int_equal(b.n, 1);
	buf_free(&b);
}

static void
spec_limits_are_keys(void **state)
{
	const struct spec_limit *l;
	struct buf b = { 0 };
	struct spec s;
	struct error e;

	(void)state;
	for (l = spec_limits; l->name != NULL; l++) {
		b.n = 0;
		put_map(&b, 1);
		put_str(&b, l->name);
		put_uint(&b, 2);
		assert_int_equal(spec_unpack(view_buf(&b), &s, &e), 0);
		assert_int_equal(*(uint64_t *)(void *)((char *)&s +
		    l->offset), l->kind == F_MILLI ? 2000 : 2);
	}
	buf_free(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spec_vectors_accepted_and_passed_on),
		cmocka_unit_test(spec_bad_vectors_refused),
		cmocka_unit_test(spec_changed_anywhere_exact),
		cmocka_unit_test(spec_values_in_their_units),
		cmocka_unit_test(spec_empty_is_all_absent),
		cmocka_unit_test(spec_limits_are_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
