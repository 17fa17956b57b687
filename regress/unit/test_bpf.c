/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * bpf: what is compiled decides as the tables say, for small tables, for
 * random ones, and where jumps are too far for one instruction.
 */

#include <linux/audit.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "backends/child.h"
#include "bpf_machine.h"
#include "proto/proto.h"

#define OTHER	(SECCOMP_RET_ERRNO | 38)
#define ALLOW	SECCOMP_RET_ALLOW
#define DENY	(SECCOMP_RET_ERRNO | 1)
#define ONE	AUDIT_ARCH_X86_64
#define TWO	AUDIT_ARCH_I386

static int64_t
run(const struct sock_fprog *p, uint32_t arch, uint32_t nr, uint64_t a0,
    uint64_t a1)
{
	struct seccomp_data data = { .nr = (int)nr, .arch = arch,
	    .args = { a0, a1 } };

	return bpf_machine_run(p, &data);
}

static void
compile(struct bpf_arch *archs, size_t n, struct sock_fprog *out)
{
	struct error e = { .code = ERR_NONE };

	assert_int_equal(bpf_compile(archs, n, OTHER, out, &e), 0);
}

static void
compile_empty_gives_other(void **state)
{
	struct bpf_arch arch = { ONE, NULL, 0 };
	struct sock_fprog p;

	(void)state;
	compile(&arch, 1, &p);
	assert_int_equal(run(&p, ONE, 0, 0, 0), OTHER);
	assert_int_equal(run(&p, ONE, UINT32_MAX, 0, 0), OTHER);
	assert_int_equal(run(&p, TWO, 0, 0, 0), SECCOMP_RET_KILL_PROCESS);
	free(p.filter);
}

static void
compile_two_architectures_kept_apart(void **state)
{
	struct bpf_call one[] = { { 7, ALLOW, NULL, 0 }, { 3, DENY, NULL, 0 } };
	struct bpf_call two[] = { { 3, ALLOW, NULL, 0 } };
	struct bpf_arch archs[] = { { ONE, one, 2 }, { TWO, two, 1 } };
	struct sock_fprog p;

	(void)state;
	compile(archs, 2, &p);
	assert_int_equal(run(&p, ONE, 3, 0, 0), DENY);
	assert_int_equal(run(&p, ONE, 7, 0, 0), ALLOW);
	assert_int_equal(run(&p, ONE, 5, 0, 0), OTHER);
	assert_int_equal(run(&p, ONE, 8, 0, 0), OTHER);
	assert_int_equal(run(&p, TWO, 3, 0, 0), ALLOW);
	assert_int_equal(run(&p, TWO, 7, 0, 0), OTHER);
	assert_int_equal(run(&p, AUDIT_ARCH_ARM, 3, 0, 0),
	    SECCOMP_RET_KILL_PROCESS);
	free(p.filter);
}

static void
compile_rules_first_match_decides(void **state)
{
	static const struct bpf_rule rules[] = {
		{ "x", DENY, { { TEST_IS, 0, 0xff00, 0x1200 },
		    { TEST_IS_NOT, 1, UINT32_MAX, 0 } } },
		{ "x", ALLOW, { { TEST_IS, 0, UINT32_MAX, 5 } } },
		{ "x", DENY, { { TEST_IS, 0, UINT32_MAX, 6 } } },
		{ "x", ALLOW, { { TEST_NULL, 1, 0, 0 } } },
	};
	struct bpf_call call = { 9, 0, rules, 4 };
	struct bpf_arch arch = { ONE, &call, 1 };
	const uint64_t high = 1ull << 32;
	struct sock_fprog p;

	(void)state;
	compile(&arch, 1, &p);
	assert_int_equal(run(&p, ONE, 9, 0x1234, 1), DENY);
	/* Only the low half counts for an int. */
	assert_int_equal(run(&p, ONE, 9, high | 0x1234, 1), DENY);
	assert_int_equal(run(&p, ONE, 9, 0x1234, 0), ALLOW);
	assert_int_equal(run(&p, ONE, 9, 5, 1), ALLOW);
	assert_int_equal(run(&p, ONE, 9, 6, 0), DENY);
	assert_int_equal(run(&p, ONE, 9, 7, 0), ALLOW);
	/* Both halves count for a pointer. */
	assert_int_equal(run(&p, ONE, 9, 7, high), OTHER);
	assert_int_equal(run(&p, ONE, 9, 7, 1), OTHER);
	assert_int_equal(run(&p, ONE, 8, 0, 0), OTHER);
	assert_int_equal(run(&p, ONE, 10, 0, 0), OTHER);
	free(p.filter);
}

/* A fixed sequence: the same tables in every run. */
static uint32_t
next_random(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

#define NCALLS	600
#define NRULES	3

struct table {
	struct bpf_call	 calls[NCALLS];
	struct bpf_call	 sorted[NCALLS];
	struct bpf_rule	 rules[NCALLS][NRULES];
	size_t		 n;
};

static void
fill_rules(struct bpf_rule *rules, uint32_t *seed)
{
	static const uint32_t masks[] = { UINT32_MAX, 0xff, 0xf0 };
	size_t i, j;

	for (i = 0; i < NRULES; i++) {
		rules[i].name = "x";
		rules[i].action = SECCOMP_RET_ERRNO | next_random(seed) % 60;
		for (j = 0; j < next_random(seed) % (TESTS_MAX + 1); j++) {
			struct bpf_test *test = &rules[i].tests[j];

			test->op = TEST_IS + next_random(seed) % 3;
			test->arg = next_random(seed) % 2;
			test->mask = masks[next_random(seed) % 3];
			test->value = next_random(seed) % 4 & test->mask;
		}
	}
}

static void
fill_table(struct table *t, uint32_t *seed)
{
	uint32_t number = 0;

	for (t->n = 0; t->n < NCALLS; t->n++) {
		struct bpf_call *call = &t->calls[t->n];

		number += 1 + next_random(seed) % 3;
		call->number = number;
		call->action = next_random(seed) % 2 ? ALLOW : DENY;
		call->rules = NULL;
		call->nrules = 0;
		if (next_random(seed) % 5 == 0) {
			fill_rules(t->rules[t->n], seed);
			call->rules = t->rules[t->n];
			call->nrules = NRULES;
		}
		t->sorted[t->n] = *call;
	}
}

static bool
is_match(const struct bpf_rule *rule, const uint64_t *args)
{
	size_t i;

	for (i = 0; i < TESTS_MAX && rule->tests[i].op != TEST_NONE; i++) {
		const struct bpf_test *t = &rule->tests[i];
		bool is_same = ((uint32_t)args[t->arg] & t->mask) == t->value;

		if (t->op == TEST_NULL ? args[t->arg] != 0 :
		    is_same != (t->op == TEST_IS))
			return false;
	}
	return true;
}

static uint32_t
model(const struct table *t, uint32_t number, const uint64_t *args)
{
	size_t i, j;

	for (i = 0; i < t->n; i++) {
		const struct bpf_call *call = &t->calls[i];

		if (call->number != number)
			continue;
		if (call->nrules == 0)
			return call->action;
		for (j = 0; j < call->nrules; j++)
			if (is_match(&call->rules[j], args))
				return call->rules[j].action;
	}
	return OTHER;
}

static void
compile_random_agrees_with_model(void **state)
{
	struct table *t = calloc(1, sizeof(*t));
	struct bpf_arch arch = { ONE, NULL, 0 };
	uint32_t seed = 1, number;
	struct sock_fprog p;
	int round, i;

	(void)state;
	assert_non_null(t);
	for (round = 0; round < 20; round++) {
		fill_table(t, &seed);
		arch.calls = t->sorted;
		arch.ncalls = t->n;
		compile(&arch, 1, &p);
		for (number = 0; number < 3 * NCALLS; number++)
			for (i = 0; i < 4; i++) {
				uint64_t args[2] = { next_random(&seed) % 5,
				    next_random(&seed) % 3 };

				if (next_random(&seed) % 4 == 0)
					args[i % 2] |= 1ull << 40;
				assert_int_equal(run(&p, ONE, number, args[0],
				    args[1]), model(t, number, args));
			}
		free(p.filter);
	}
	free(t);
}

static void
compile_too_big_refused(void **state)
{
	static struct bpf_call calls[4000];
	struct bpf_arch arch = { ONE, calls, 4000 };
	struct error e = { .code = ERR_NONE };
	struct sock_fprog p;
	uint32_t i;

	(void)state;
	/* All actions differ, so nothing can be shared. */
	for (i = 0; i < 4000; i++) {
		calls[i].number = 2 * i;
		calls[i].action = SECCOMP_RET_ERRNO | i;
	}
	assert_int_equal(bpf_compile(&arch, 1, OTHER, &p, &e), -1);
	assert_int_equal(e.code, ERR_INTERNAL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(compile_empty_gives_other),
		cmocka_unit_test(compile_two_architectures_kept_apart),
		cmocka_unit_test(compile_rules_first_match_decides),
		cmocka_unit_test(compile_random_agrees_with_model),
		cmocka_unit_test(compile_too_big_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
