/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/* Unit tests of parent/policy.c: what the broker gets of a configuration. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "parent/parent.h"

/* Never freed, as in the front, but reachable. */
static struct conf *
new_conf(void)
{
	static struct conf *all[8];
	static size_t n;

	assert_true(n < 8);
	return all[n++] = conf_new();
}

static struct view
packed(const struct conf *conf, struct buf *b)
{
	struct view map;

	policy_pack(conf, b);
	map = (struct view){ b->p, b->n };
	assert_false(b->has_failed);
	assert_true(scan_is_one(map));
	return map;
}

/* Element i of the array at a key; p NULL behind the end. */
static struct view
element(struct view map, const char *key, uint32_t i)
{
	struct view none = { 0 }, value = none;
	struct cursor c;
	uint32_t n;

	cursor_init(&c, map_find(map, key));
	assert_int_equal(get_array(&c, &n), 0);
	if (i >= n)
		return none;
	for (; i != UINT32_MAX; i--)
		assert_int_equal(get_raw(&c, &value), 0);
	return value;
}

static void
number_is(struct view map, const char *key, uint64_t wanted)
{
	uint64_t value;

	assert_int_equal(map_uint(map, key, &value), 0);
	assert_int_equal(value, wanted);
}

static void
text_is(struct view map, const char *key, const char *wanted)
{
	char text[128];

	assert_int_equal(map_text(map, key, text, sizeof(text)), 0);
	assert_string_equal(text, wanted);
}

static void
policy_pack_default_is_whole(void **state)
{
	struct conf *conf = new_conf();
	struct buf b = { 0 };
	struct spec spec;
	struct error e;
	struct view map;

	(void)state;
	conf->uid = 7;
	conf->gid = 8;
	map = packed(conf, &b);
	number_is(map, "uid", 7);
	number_is(map, "gid", 8);
	number_is(map, "base", conf->base);
	number_is(map, "count", conf->count);
	assert_null(element(map, "listen", 0).p);
	assert_null(element(map, "profiles", 0).p);
	assert_null(element(map, "rules", 0).p);
	assert_null(map_find(map, "override").p);
	assert_int_equal(spec_unpack(map_find(map, "defaults"), &spec, &e),
	    0);
	assert_int_equal(spec.memory, SPEC_ABSENT);
	buf_free(&b);
}

static void
policy_pack_all_comes_through(void **state)
{
	struct conf *conf = new_conf();
	struct conf_rule rule = { .is_permit = true,
	    .subject = SUBJECT_GROUP, .id = 5 };
	struct buf b = { 0 };
	struct spec spec;
	struct error e = { 0 };
	struct view map, v;

	(void)state;
	assert_int_equal(conf_listen_add(conf, "/run/s", &e), 0);
	assert_int_equal(conf_listen_mode(conf, "0660", &e), 0);
	assert_int_equal(conf_listen_group(conf, "3", &e), 0);
	assert_int_equal(conf_order_add(conf, "HOST", &e), 0);
	assert_int_equal(conf_override(conf, "Host", &e), 0);
	assert_int_equal(conf_spec_set(&conf->defaults, "ttl", "1.5s", &e),
	    0);
	assert_int_equal(conf_profile_add(conf, "p", &e), 0);
	assert_int_equal(conf_spec_set(&conf->profiles[0].spec, "memory",
	    "1G", &e), 0);
	assert_int_equal(conf_spec_set(&conf->profiles[0].spec, "backend",
	    "host", &e), 0);
	assert_int_equal(conf_rule_profile(conf, &rule, "p", &e), 0);
	assert_int_equal(conf_rule_backend(&rule, "host", &e), 0);
	assert_int_equal(conf_rule_add(conf, &rule, &e), 0);
	map = packed(conf, &b);
	v = element(map, "listen", 0);
	text_is(v, "path", "/run/s");
	number_is(v, "mode", 0660);
	number_is(v, "gid", 3);
	text_is(map, "override", "host");
	assert_int_equal(spec_unpack(map_find(map, "defaults"), &spec, &e),
	    0);
	assert_int_equal(spec.ttl, 1500);
	v = element(map, "profiles", 0);
	text_is(v, "name", "p");
	assert_int_equal(spec_unpack(map_find(v, "spec"), &spec, &e), 0);
	assert_int_equal(spec.memory, 1024 * 1024 * 1024);
	assert_true(view_is(spec.backend, "host"));
	v = element(map, "rules", 0);
	text_is(v, "subject", "group");
	text_is(v, "profile", "p");
	text_is(v, "backend", "host");
	number_is(v, "id", 5);
	assert_null(element(map, "rules", 1).p);
	buf_free(&b);
}

static void
conf_front_ids_last_slot_is_ours(void **state)
{
	struct conf *conf = new_conf();
	uint32_t count = conf->count;

	(void)state;
	conf_front_ids(conf);
	assert_int_equal(conf->count, count - SLOT_IDS);
	assert_int_equal(conf->uid, conf->base + conf->count);
	assert_int_equal(conf->gid, conf->uid);
}

static void
conf_finish_taken_range_is_conflict(void **state)
{
	struct conf *conf = new_conf();
	struct error e = { 0 };

	(void)state;
	/* Everybody has nobody, 65534. */
	conf->base = 65536 - SLOT_IDS;
	assert_int_equal(conf_finish(conf, true, &e), -1);
	assert_int_equal(e.code, ERR_CONFLICT);
	conf = new_conf();
	assert_int_equal(conf_finish(conf, false, &e), 0);
	assert_true(conf->norder > 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(policy_pack_default_is_whole),
		cmocka_unit_test(policy_pack_all_comes_through),
		cmocka_unit_test(conf_front_ids_last_slot_is_ours),
		cmocka_unit_test(conf_finish_taken_range_is_conflict),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
