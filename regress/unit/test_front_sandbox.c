/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Unit tests of parent/sandbox.c: every cell of the matrix, looking up by id,
 * name and prefix, and what others may see.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "parent/parent.h"

void
event_log_add(const char *kind, uid_t owner, const char *id, uint64_t exec,
    struct view info)
{
	(void)kind;
	(void)owner;
	(void)id;
	(void)exec;
	(void)info;
}

static struct sandbox *
make(uid_t owner, const char *name)
{
	struct sandbox *s;
	struct spec spec;
	struct error e;

	spec_init(&spec);
	if (name != NULL)
		spec.name = view_of(name);
	s = sandbox_new(owner, &spec, &e);
	assert_non_null(s);
	return s;
}

static struct sandbox *
lookup(uid_t uid, bool is_admin, const char *text, enum err_code code)
{
	struct sandbox *s;
	struct error e = { 0 };

	s = sandbox_lookup(uid, is_admin, view_of(text), &e);
	assert_int_equal(s == NULL ? e.code : ERR_NONE, code);
	return s;
}

static void
sandbox_step_every_cell(void **state)
{
	static const int wanted[][SB_EV_GONE + 1] = {
		/* created, connect, destroy, refused, gone; -1: conflict */
		{ SB_RUNNING, -1, -1, -1, SB_GONE },
		{ -1, SB_RUNNING, SB_DESTROYING, -1, SB_GONE },
		{ -1, -1, SB_DESTROYING, SB_RUNNING, SB_GONE },
		{ -1, -1, -1, -1, -1 },
	};
	struct sandbox *s = make(1, NULL);
	struct error e;
	int event, from, rc;

	(void)state;
	for (from = SB_CREATING; from <= SB_GONE; from++) {
		for (event = SB_EV_CREATED; event <= SB_EV_GONE; event++) {
			s->state = (enum sandbox_state)from;
			rc = sandbox_step(s, (enum sandbox_event)event, &e);
			assert_int_equal(rc, wanted[from][event] == -1 ?
			    -1 : 0);
			assert_int_equal(s->state, rc == -1 ? from :
			    wanted[from][event]);
			if (rc == -1)
				assert_int_equal(e.code, ERR_CONFLICT);
		}
	}
	sandbox_free(s, NULL);
	assert_int_equal(sandbox_count(), 0);
}

static void
sandbox_lookup_name_own_first(void **state)
{
	struct sandbox *a = make(1, "one"), *b = make(2, "one");

	(void)state;
	assert_ptr_equal(lookup(1, false, "one", ERR_NONE), a);
	assert_ptr_equal(lookup(2, false, "one", ERR_NONE), b);
	assert_ptr_equal(lookup(1, true, "one", ERR_NONE), a);
	lookup(0, true, "one", ERR_CONFLICT);
	lookup(3, false, "one", ERR_NOT_FOUND);
	sandbox_free(b, NULL);
	assert_ptr_equal(lookup(0, true, "one", ERR_NONE), a);
	sandbox_free(a, NULL);
}

static void
sandbox_lookup_prefix_unique_only(void **state)
{
	struct sandbox *a = make(1, "alpha"), *b = make(1, "alps");
	struct sandbox *c = make(2, "alpine");
	char prefix[ID_LEN + 1];

	(void)state;
	assert_ptr_equal(lookup(1, false, "alph", ERR_NONE), a);
	assert_ptr_equal(lookup(1, false, "alps", ERR_NONE), b);
	lookup(1, false, "alp", ERR_CONFLICT);
	/* Others' names do not make a prefix ambiguous. */
	assert_ptr_equal(lookup(2, false, "al", ERR_NONE), c);
	lookup(1, false, "", ERR_NOT_FOUND);
	lookup(1, false, "sb_", ERR_CONFLICT);
	snprintf(prefix, sizeof(prefix), "%.18s", a->id);
	assert_ptr_equal(lookup(1, false, prefix, ERR_NONE), a);
	lookup(2, false, prefix, ERR_NOT_FOUND);
	sandbox_free(a, NULL);
	sandbox_free(b, NULL);
	sandbox_free(c, NULL);
}

static void
sandbox_lookup_foreign_id_same_text(void **state)
{
	struct sandbox *a = make(1, NULL);
	struct error e, e2;
	char id[ID_LEN + 1];

	(void)state;
	memcpy(id, a->id, sizeof(id));
	assert_null(sandbox_lookup(2, false, view_of(id), &e));
	sandbox_free(a, NULL);
	assert_null(sandbox_lookup(2, false, view_of(id), &e2));
	assert_memory_equal(&e, &e2, sizeof(e));
}

static void
sandbox_new_name_rules(void **state)
{
	struct sandbox *a = make(1, "one");
	struct error e = { 0 };
	struct spec spec;

	(void)state;
	spec_init(&spec);
	spec.name = view_of("one");
	assert_null(sandbox_new(1, &spec, &e));
	assert_int_equal(e.code, ERR_CONFLICT);
	assert_string_equal(e.key, "name");
	spec.name = view_of("sb_x");
	assert_null(sandbox_new(1, &spec, &e));
	assert_int_equal(e.code, ERR_INVALID);
	assert_int_equal(sandbox_count(), 1);
	sandbox_free(a, NULL);
}

static void
sandbox_next_walks_in_order(void **state)
{
	struct sandbox *all[32], *s;
	const char *after = "";
	unsigned int i, n = 0;

	(void)state;
	for (i = 0; i < 32; i++)
		all[i] = make(i % 2, NULL);
	while ((s = sandbox_next(after, 1, false)) != NULL) {
		assert_true(strcmp(s->id, after) > 0);
		assert_int_equal(s->owner, 1);
		after = s->id;
		n++;
	}
	assert_int_equal(n, 16);
	for (after = "", n = 0; (s = sandbox_next(after, 1, true)) != NULL;
	    n++)
		after = s->id;
	assert_int_equal(n, 32);
	for (i = 0; i < 32; i++)
		sandbox_free(all[i], NULL);
}

static void
sandbox_new_full_is_limit(void **state)
{
	static struct sandbox *all[SANDBOXES_MAX];
	struct error e = { 0 };
	struct spec spec;
	unsigned int i;

	(void)state;
	spec_init(&spec);
	for (i = 0; i < SANDBOXES_MAX; i++)
		all[i] = make(1, NULL);
	assert_null(sandbox_new(1, &spec, &e));
	assert_int_equal(e.code, ERR_LIMIT);
	for (i = 0; i < SANDBOXES_MAX; i++)
		sandbox_free(all[i], NULL);
	assert_int_equal(sandbox_count(), 0);
}

static void
sandbox_gone_remembered_for_owner(void **state)
{
	struct sandbox *s = make(1, "was");
	const struct gone *g;
	char id[ID_LEN + 1];
	unsigned int i;

	(void)state;
	memcpy(id, s->id, sizeof(id));
	sandbox_free(s, "expired");
	g = sandbox_lookup_gone(1, false, view_of(id));
	assert_non_null(g);
	assert_string_equal(g->cause, "expired");
	assert_ptr_equal(sandbox_lookup_gone(1, false, view_of("was")), g);
	assert_ptr_equal(sandbox_lookup_gone(0, true, view_of(id)), g);
	assert_null(sandbox_lookup_gone(2, false, view_of(id)));
	assert_null(sandbox_lookup_gone(1, false, view_of("")));
	for (i = 0; i < GONE_KEPT; i++)
		sandbox_free(make(1, NULL), "destroyed");
	assert_null(sandbox_lookup_gone(1, false, view_of(id)));
}

static void
sandbox_pack_own_keys_stand(void **state)
{
	struct sandbox *s = make(1000, "mine");
	struct buf b = { 0 }, info = { 0 };
	struct view map;
	char text[64];

	(void)state;
	put_map(&info, 3);
	put_str(&info, "backend");
	put_str(&info, "ns");
	put_str(&info, "id");
	put_str(&info, "sb_0000000000000000");
	put_str(&info, "owner");
	put_str(&info, "uid:0");
	assert_int_equal(sandbox_set_info(s, (struct view){ info.p,
	    info.n }), 0);
	sandbox_pack(s, NULL, 0, &b);
	map = (struct view){ b.p, b.n };
	assert_true(scan_is_one(map));
	assert_int_equal(map_text(map, "id", text, sizeof(text)), 0);
	assert_string_equal(text, s->id);
	assert_int_equal(map_text(map, "owner", text, sizeof(text)), 0);
	assert_string_equal(text, "uid:1000");
	assert_int_equal(map_text(map, "backend", text, sizeof(text)), 0);
	assert_string_equal(text, "ns");
	assert_int_equal(sandbox_set_info(s, view_of("\x91\x01")), -1);
	buf_free(&b);
	buf_free(&info);
	sandbox_free(s, NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sandbox_step_every_cell),
		cmocka_unit_test(sandbox_lookup_name_own_first),
		cmocka_unit_test(sandbox_lookup_prefix_unique_only),
		cmocka_unit_test(sandbox_lookup_foreign_id_same_text),
		cmocka_unit_test(sandbox_new_name_rules),
		cmocka_unit_test(sandbox_next_walks_in_order),
		cmocka_unit_test(sandbox_new_full_is_limit),
		cmocka_unit_test(sandbox_gone_remembered_for_owner),
		cmocka_unit_test(sandbox_pack_own_keys_stand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
