/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Compiles tables of system calls and rules to a seccomp filter: for each
 * architecture a binary search over ranges of numbers with one answer, then
 * the rules of calls whose arguments matter.  Called by the broker once at
 * its start.  Its input is our own tables; its output is fixed for the life
 * of the daemon.
 *
 * Our own and not libseccomp's generator because that one cannot say "all
 * but these, in the low 32 bits", which is what S-121 and S-132 are about,
 * and drops argument tests from calls that i386 multiplexes.
 */

#include "config.h"

#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>

#include "backends/child.h"
#include "proto/proto.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the halves of seccomp_data's arguments are the other way round"
#endif

#define NR_OFFSET	offsetof(struct seccomp_data, nr)
#define ARCH_OFFSET	offsetof(struct seccomp_data, arch)
#define LOW_OFFSET(n)	(offsetof(struct seccomp_data, args) + 8 * (n))
#define HIGH_OFFSET(n)	(LOW_OFFSET(n) + 4)

/* A range of numbers from first to the next one's first. */
struct range {
	uint32_t		 first;
	uint32_t		 action;
	const struct bpf_call	*call;		/* with rules, or NULL */
	size_t			 leaf;		/* its jump, when with rules */
};

struct program {
	struct sock_filter	*insn;
	size_t			 n;		/* may pass BPF_MAXINSNS */
};

static void
put(struct program *p, uint16_t code, uint32_t k, uint8_t jt, uint8_t jf)
{
	if (p->n < BPF_MAXINSNS) {
		p->insn[p->n].code = code;
		p->insn[p->n].jt = jt;
		p->insn[p->n].jf = jf;
		p->insn[p->n].k = k;
	}
	p->n++;
}

/* Makes the jump at "at" go to what comes next. */
static void
land(struct program *p, size_t at)
{
	if (at < BPF_MAXINSNS)
		p->insn[at].k = (uint32_t)(p->n - at - 1);
}

static int
compare_calls(const void *a, const void *b)
{
	const struct bpf_call *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

/* Into ranges that cover all numbers; returns how many. */
static size_t
make_ranges(const struct bpf_arch *arch, uint32_t other, struct range *range)
{
	uint32_t next = 0;
	size_t i, n = 0;

	for (i = 0; i <= arch->ncalls; i++) {
		const struct bpf_call *call = &arch->calls[i];
		bool is_end = i == arch->ncalls;

		if ((is_end || call->number > next) && (n == 0 ||
		    range[n - 1].call != NULL || range[n - 1].action != other))
			range[n++] = (struct range){ next, other, NULL, 0 };
		if (is_end)
			break;
		next = call->number + 1;
		if (call->nrules == 0 && n > 0 && range[n - 1].call == NULL &&
		    range[n - 1].action == call->action)
			continue;
		range[n++] = (struct range){ call->number, call->action,
		    call->nrules != 0 ? call : NULL, 0 };
	}
	return n;
}

/* The search; the number is in the accumulator. */
static void
put_search(struct program *p, struct range *range, size_t n)
{
	size_t jump, half = n / 2;

	if (n == 1) {
		range->leaf = p->n;
		if (range->call != NULL)
			put(p, BPF_JMP | BPF_JA, 0, 0, 0);
		else
			put(p, BPF_RET | BPF_K, range->action, 0, 0);
		return;
	}
	/* A far jump for the upper half: conditional ones reach 255 only. */
	put(p, BPF_JMP | BPF_JGE | BPF_K, range[half].first, 0, 1);
	jump = p->n;
	put(p, BPF_JMP | BPF_JA, 0, 0, 0);
	put_search(p, range, half);
	land(p, jump);
	put_search(p, range + half, n - half);
}

/* The tests of a row; all failing jumps lead behind its return. */
static void
put_rule(struct program *p, const struct bpf_rule *rule)
{
	size_t fails[2 * TESTS_MAX], nfails = 0, i;

	for (i = 0; i < TESTS_MAX && rule->tests[i].op != TEST_NONE; i++) {
		const struct bpf_test *test = &rule->tests[i];

		if (test->op == TEST_NULL) {
			put(p, BPF_LD | BPF_W | BPF_ABS,
			    HIGH_OFFSET(test->arg), 0, 0);
			fails[nfails++] = p->n;
			put(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 0);
		}
		put(p, BPF_LD | BPF_W | BPF_ABS, LOW_OFFSET(test->arg), 0, 0);
		if (test->op != TEST_NULL && test->mask != UINT32_MAX)
			put(p, BPF_ALU | BPF_AND | BPF_K, test->mask, 0, 0);
		fails[nfails++] = p->n;
		put(p, BPF_JMP | BPF_JEQ | BPF_K,
		    test->op == TEST_NULL ? 0 : test->value,
		    test->op == TEST_IS_NOT, 0);
	}
	put(p, BPF_RET | BPF_K, rule->action, 0, 0);
	for (i = 0; i < nfails; i++) {
		struct sock_filter *insn;

		if (fails[i] >= BPF_MAXINSNS)
			break;
		insn = &p->insn[fails[i]];
		if (insn->jt != 0)
			insn->jt = (uint8_t)(p->n - fails[i] - 1);
		else
			insn->jf = (uint8_t)(p->n - fails[i] - 1);
	}
}

static void
put_arch(struct program *p, struct bpf_arch *arch, uint32_t other,
    struct range *range)
{
	size_t i, j, n, skip;

	qsort(arch->calls, arch->ncalls, sizeof(*arch->calls), compare_calls);
	n = make_ranges(arch, other, range);
	put(p, BPF_JMP | BPF_JEQ | BPF_K, arch->token, 1, 0);
	skip = p->n;
	put(p, BPF_JMP | BPF_JA, 0, 0, 0);
	put(p, BPF_LD | BPF_W | BPF_ABS, NR_OFFSET, 0, 0);
	put_search(p, range, n);
	for (i = 0; i < n; i++) {
		const struct bpf_call *call = range[i].call;

		if (call == NULL)
			continue;
		land(p, range[i].leaf);
		for (j = 0; j < call->nrules; j++)
			put_rule(p, &call->rules[j]);
		put(p, BPF_RET | BPF_K, other, 0, 0);
	}
	land(p, skip);
}

int
bpf_compile(struct bpf_arch *archs, size_t n, uint32_t other,
    struct sock_fprog *out, struct error *e)
{
	struct program p = { NULL, 0 };
	struct range *range;
	size_t i, most = 0;

	for (i = 0; i < n; i++)
		if (archs[i].ncalls > most)
			most = archs[i].ncalls;
	p.insn = xcalloc(BPF_MAXINSNS, sizeof(*p.insn));
	range = xcalloc(2 * most + 1, sizeof(*range));
	put(&p, BPF_LD | BPF_W | BPF_ABS, ARCH_OFFSET, 0, 0);
	for (i = 0; i < n; i++)
		put_arch(&p, &archs[i], other, range);
	put(&p, BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
	free(range);
	if (p.n > BPF_MAXINSNS) {
		free(p.insn);
		return error_set(e, ERR_INTERNAL,
		    "the seccomp filter has %zu instructions, more than %d",
		    p.n, BPF_MAXINSNS);
	}
	out->filter = p.insn;
	out->len = (unsigned short)p.n;
	return 0;
}
