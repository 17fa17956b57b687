/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The broker's policy: what the front sends is read or refused as a whole,
 * and requests are judged by it: ceilings, defaults, floors, rules.  Backends
 * are made up here; no rights.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "broker/broker.h"

static const struct backend ns = { .name = "ns", .level = LEVEL_NAMESPACE };
static const struct backend host = { .name = "host", .level = LEVEL_NONE };

const struct backend *
backend_find(const char *name)
{
	if (strcmp(name, "ns") == 0)
		return &ns;
	return strcmp(name, "host") == 0 ? &host : NULL;
}

static struct buf made;

static struct view
view(void)
{
	return (struct view){ made.p, made.n };
}

static void
put_rule(bool permit, const char *subject, uint64_t id, const char *profile,
    const char *backend)
{
	put_map(&made, 5);
	put_str(&made, "permit");
	put_bool(&made, permit);
	put_pair(&made, "subject", subject);
	put_str(&made, "id");
	put_uint(&made, id);
	put_pair(&made, "profile", profile);
	put_pair(&made, "backend", backend);
}

/*
 * Order host ns; defaults memory 100, pids 7; profile small: memory 50,
 * backend ns; rules: deny group 5; permit user 1000 backend host; deny user
 * 2000 profile small.
 */
static void
policy_make(const char *override)
{
	buf_free(&made);
	put_map(&made, 6);
	put_pair(&made, "override", override);
	put_str(&made, "order");
	put_array(&made, 2);
	put_str(&made, "host");
	put_str(&made, "ns");
	put_str(&made, "listen");
	put_array(&made, 1);
	put_map(&made, 2);
	put_pair(&made, "path", "/run/x");
	put_str(&made, "mode");
	put_uint(&made, 0600);
	put_str(&made, "defaults");
	put_map(&made, 2);
	put_str(&made, "memory");
	put_uint(&made, 100);
	put_str(&made, "pids");
	put_uint(&made, 7);
	put_str(&made, "profiles");
	put_array(&made, 1);
	put_map(&made, 2);
	put_pair(&made, "name", "small");
	put_str(&made, "spec");
	put_map(&made, 3);
	put_str(&made, "memory");
	put_uint(&made, 50);
	put_pair(&made, "backend", "ns");
	put_pair(&made, "floor", "namespace");
	put_str(&made, "rules");
	put_array(&made, 3);
	put_rule(false, "group", 5, "", "");
	put_rule(true, "user", 1000, "", "host");
	put_rule(false, "user", 2000, "small", "");
}

/* Of a map of one key. */
static int
judge_one(const char *key, const char *word, uint64_t number,
    const char *profile, struct judged *j, struct error *e)
{
	buf_free(&made);
	put_map(&made, 1 + (profile != NULL));
	if (word != NULL)
		put_pair(&made, key, word);
	else {
		put_str(&made, key);
		put_uint(&made, number);
	}
	if (profile != NULL)
		put_pair(&made, "profile", profile);
	memset(e, 0, sizeof(*e));
	return policy_judge(view(), j, e);
}

static void
policy_read_whole(void **state)
{
	const struct policy *p = policy_get();

	(void)state;
	assert_ptr_equal(policy_backend(0), &host);
	assert_ptr_equal(policy_backend(1), &ns);
	assert_null(policy_backend(2));
	assert_int_equal(p->nlisten, 1);
	assert_int_equal(p->listen_rows[0].mode, 0600);
	assert_int_equal(p->listen_rows[0].gid, 0);
	assert_int_equal(p->nrule, 3);
	assert_int_equal(p->default_spec.memory, 100);
}

static void
policy_override_takes_the_orders_place(void **state)
{
	struct policy p;
	struct error e;

	(void)state;
	policy_make("NS");
	assert_int_equal(policy_unpack(view(), &p, &e), 0);
	assert_int_equal(p.norder, 1);
	assert_true(view_is(p.order_rows[0], "NS"));
	policy_free(&p);
	policy_make("auto");
	assert_int_equal(policy_unpack(view(), &p, &e), 0);
	assert_int_equal(p.norder, 2);
	policy_free(&p);
}

/* Cut anywhere it is refused, and nothing reads beyond its end. */
static void
policy_cut_is_refused(void **state)
{
	struct policy p;
	struct error e;
	unsigned char *copy;
	size_t n;

	(void)state;
	policy_make("");
	for (n = 0; n < made.n; n++) {
		copy = xcalloc(1, n + 1);
		memcpy(copy, made.p, n);
		if (scan_is_one((struct view){ copy, n })) {
			assert_int_equal(policy_unpack(
			    (struct view){ copy, n }, &p, &e), -1);
			policy_free(&p);
		}
		free(copy);
	}
}

static void
policy_rule_for_nobody_is_refused(void **state)
{
	struct policy p;
	struct error e;

	(void)state;
	buf_free(&made);
	put_map(&made, 2);
	put_str(&made, "order");
	put_array(&made, 0);
	put_str(&made, "rules");
	put_array(&made, 1);
	put_rule(true, "everybody", 0, "", "");
	assert_int_equal(policy_unpack(view(), &p, &e), -1);
	policy_free(&p);
}

static void
judge_defaults_and_asked(void **state)
{
	struct judged j;
	struct error e;

	(void)state;
	assert_int_equal(judge_one("memory", NULL, 1000, NULL, &j, &e), 0);
	assert_int_equal(j.spec.memory, 1000);	/* no ceiling */
	assert_int_equal(j.spec.pids, 7);
	assert_int_equal(j.asked, 1u);		/* memory is the first */
	assert_true(j.spec.ttl == SPEC_ABSENT);
}

static void
judge_profile_is_default_and_ceiling(void **state)
{
	struct judged j;
	struct error e;

	(void)state;
	assert_int_equal(judge_one("pids", NULL, 3, "small", &j, &e), 0);
	assert_int_equal(j.spec.memory, 50);
	assert_int_equal(j.spec.pids, 3);
	assert_true(view_is(j.spec.backend, "ns"));
	assert_true(view_is(j.spec.floor, "namespace"));
	assert_int_equal(judge_one("memory", NULL, 50, "small", &j, &e), 0);
	assert_int_equal(judge_one("memory", NULL, 51, "small", &j, &e), -1);
	assert_int_equal(e.code, ERR_INVALID);
	assert_string_equal(e.key, "memory");
	assert_int_equal(judge_one("backend", "host", 0, "small", &j, &e),
	    -1);
	assert_string_equal(e.key, "backend");
	assert_int_equal(judge_one("memory", NULL, 1, "other", &j, &e), -1);
	assert_string_equal(e.key, "profile");
}

static void
judge_unknown_words_are_refused(void **state)
{
	struct judged j;
	struct error e;

	(void)state;
	assert_int_equal(judge_one("network", "none", 0, NULL, &j, &e), 0);
	assert_int_equal(judge_one("network", "host", 0, NULL, &j, &e), -1);
	assert_string_equal(e.key, "network");
	assert_int_equal(judge_one("image", "other", 0, NULL, &j, &e), -1);
	assert_string_equal(e.key, "image");
	assert_int_equal(judge_one("magic", "x", 0, NULL, &j, &e), -1);
}

static int
backend_judged(uid_t uid, gid_t group, const struct judged *j,
    const struct backend *b, bool is_root)
{
	const struct subject who = { .uid = uid, .gid = 99,
	    .groups = &group, .ngroups = 1 };
	struct error e = { 0 };

	return policy_judge_backend(&who, j, b, is_root, &e) == 0 ? 0 :
	    (int)e.code;
}

static void
judge_rules_last_match_wins(void **state)
{
	struct judged j;
	struct error e;

	(void)state;
	assert_int_equal(judge_one("pids", NULL, 1, NULL, &j, &e), 0);
	assert_int_equal(backend_judged(1, 1, &j, &ns, true), 0);
	assert_int_equal(backend_judged(1, 5, &j, &ns, true), ERR_DENIED);
	/* A later permit, but only for host. */
	assert_int_equal(backend_judged(1000, 5, &j, &ns, true), ERR_DENIED);
	assert_int_equal(backend_judged(1000, 5, &j, &host, true), 0);
	/* No isolation for root needs a rule that names it. */
	assert_int_equal(backend_judged(1, 1, &j, &host, true), ERR_DENIED);
	assert_int_equal(backend_judged(1, 1, &j, &host, false), 0);
	assert_int_equal(backend_judged(2000, 1, &j, &ns, true), 0);
	assert_int_equal(judge_one("pids", NULL, 1, "small", &j, &e), 0);
	assert_int_equal(backend_judged(2000, 1, &j, &ns, true), ERR_DENIED);
}

static void
judge_floor_keeps_weaker_backends_out(void **state)
{
	struct judged j;
	struct error e;

	(void)state;
	assert_int_equal(judge_one("floor", "namespace", 0, NULL, &j, &e), 0);
	assert_int_equal(backend_judged(1000, 1, &j, &ns, true), 0);
	assert_int_equal(backend_judged(1000, 1, &j, &host, true),
	    ERR_INVALID);
	assert_int_equal(judge_one("floor", "kernel", 0, NULL, &j, &e), 0);
	assert_int_equal(backend_judged(1000, 1, &j, &ns, true), ERR_INVALID);
	/* A request cannot lower its profile's. */
	assert_int_equal(judge_one("floor", "none", 0, "small", &j, &e), 0);
	assert_int_equal(backend_judged(1000, 1, &j, &host, true),
	    ERR_INVALID);
}

static int
set(void **state)
{
	struct error e = { 0 };

	(void)state;
	policy_make("");
	assert_null(policy_get());
	assert_int_equal(policy_set(view(), &e), 0);
	return 0;
}

static int
unset(void **state)
{
	(void)state;
	buf_free(&made);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(policy_read_whole),
		cmocka_unit_test(policy_override_takes_the_orders_place),
		cmocka_unit_test(policy_cut_is_refused),
		cmocka_unit_test(policy_rule_for_nobody_is_refused),
		cmocka_unit_test(judge_defaults_and_asked),
		cmocka_unit_test(judge_profile_is_default_and_ceiling),
		cmocka_unit_test(judge_unknown_words_are_refused),
		cmocka_unit_test(judge_rules_last_match_wins),
		cmocka_unit_test(judge_floor_keeps_weaker_backends_out),
	};

	return cmocka_run_group_tests(tests, set, unset);
}
