/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The walk over steps: each row failing in turn, waiting, ending from within;
 * what was begun is undone, once, in reverse, and nothing else.  The steps
 * here write down their names; no rights.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "broker/broker.h"

static struct steps walk;
static char said[256];
static char failing, waiting, undo_waiting, ending;

static int
run(char name, struct error *e)
{
	size_t n = strlen(said);

	said[n] = name;
	said[n + 1] = '\0';
	if (name == ending)
		steps_undo(&walk);
	if (name == failing)
		return error_set(e, ERR_INTERNAL, "%c", name);
	if (name == waiting) {
		waiting = 0;
		return STEP_WAIT;
	}
	return STEP_DONE;
}

static int
undo(char name)
{
	size_t n = strlen(said);

	said[n] = (char)(name - 'a' + 'A');
	said[n + 1] = '\0';
	if (name == undo_waiting) {
		undo_waiting = 0;
		return STEP_WAIT;
	}
	return STEP_DONE;
}

#define RUN(c)								\
	static int run_##c(struct sandbox *sb, struct error *e)		\
	{ (void)sb; return run(#c[0], e); }
#define UNDO(c)								\
	static int undo_##c(struct sandbox *sb)				\
	{ (void)sb; return undo(#c[0]); }

RUN(a) UNDO(a)
RUN(b) UNDO(b)
RUN(c)
RUN(d) UNDO(d)

static const struct step table[] = {
	{ "a", false, run_a, undo_a },
	{ "b", true, run_b, undo_b },
	{ "c", false, run_c, NULL },
	{ "d", true, run_d, undo_d },
};

static int
start(void **state)
{
	(void)state;
	walk = (struct steps){ .table = table, .n = 4 };
	said[0] = failing = waiting = undo_waiting = ending = '\0';
	return 0;
}

static int
go(struct error *e)
{
	memset(e, 0, sizeof(*e));
	return steps_go(&walk, NULL, e);
}

static void
steps_all_done_in_order(void **state)
{
	struct error e;

	(void)state;
	assert_int_equal(go(&e), STEP_DONE);
	assert_string_equal(said, "abcd");
	assert_int_equal(go(&e), STEP_DONE);
	assert_string_equal(said, "abcd");
	steps_undo(&walk);
	assert_int_equal(go(&e), STEP_DONE);
	assert_string_equal(said, "abcdDBA");
}

static void
steps_each_failing_undoes_what_was_begun(void **state)
{
	static const char *const wanted[] = { "aA", "abBA", "abcBA",
	    "abcdDBA" };
	struct error e;
	int i;

	for (i = 0; i < 4; i++) {
		start(state);
		failing = (char)('a' + i);
		assert_int_equal(go(&e), -1);
		assert_int_equal(e.message[0], failing);
		steps_undo(&walk);
		assert_int_equal(go(&e), STEP_DONE);
		assert_string_equal(said, wanted[i]);
	}
}

static void
steps_told_to_fail_undoes_the_finished_step(void **state)
{
	struct error e;

	(void)state;
	walk.fail_at = "b";
	assert_int_equal(go(&e), -1);
	assert_non_null(strstr(e.message, "step b"));
	steps_undo(&walk);
	assert_int_equal(go(&e), STEP_DONE);
	assert_string_equal(said, "abBA");
}

static void
steps_waiting_is_called_again(void **state)
{
	struct error e;

	(void)state;
	waiting = 'b';
	assert_int_equal(go(&e), STEP_WAIT);
	assert_string_equal(said, "ab");
	assert_int_equal(go(&e), STEP_DONE);
	assert_string_equal(said, "abbcd");
	undo_waiting = 'b';
	steps_undo(&walk);
	assert_int_equal(go(&e), STEP_WAIT);
	assert_string_equal(said, "abbcdDB");
	assert_int_equal(go(&e), STEP_DONE);
	assert_string_equal(said, "abbcdDBBA");
}

static void
steps_ended_from_within_go_back(void **state)
{
	struct error e;

	(void)state;
	ending = 'c';
	assert_int_equal(go(&e), STEP_WAIT);
	assert_true(walk.is_undoing);
	assert_int_equal(go(&e), STEP_DONE);
	assert_string_equal(said, "abcBA");
}

static void
steps_probe_takes_its_own_only(void **state)
{
	struct error e;

	(void)state;
	walk.is_probe = true;
	assert_int_equal(go(&e), STEP_DONE);
	assert_string_equal(said, "bd");
	steps_undo(&walk);
	assert_int_equal(go(&e), STEP_DONE);
	assert_string_equal(said, "bdDB");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(steps_all_done_in_order, start),
		cmocka_unit_test_setup(steps_each_failing_undoes_what_was_begun,
		    start),
		cmocka_unit_test_setup(
		    steps_told_to_fail_undoes_the_finished_step, start),
		cmocka_unit_test_setup(steps_waiting_is_called_again, start),
		cmocka_unit_test_setup(steps_ended_from_within_go_back, start),
		cmocka_unit_test_setup(steps_probe_takes_its_own_only, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
