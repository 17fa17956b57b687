/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Compiles tables of system calls and rules to a seccomp filter: for each
 * architecture a binary search over ranges of numbers with one answer, that
 * ends in the rules of calls whose arguments matter.  Called by the broker
 * once at its start.  Its input is our own tables; its output is fixed for
 * the life of the daemon.
 *
 * Our own and not libseccomp's generator because that one cannot say "all
 * but these, in the low 32 bits", which is what S-121 and S-132 are about,
 * and drops argument tests from calls that i386 multiplexes.
 *
 * Installing a filter costs by its length (it is translated for every
 * create), so the program is made from its end to its beginning: then the
 * targets of a jump are known, and equal ends and rules are made once.
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
};

#define ENDS_MAX	32
#define BLOCKS_MAX	128

/* An instruction is named by how many come after it. */
struct program {
	struct sock_filter	*insn;		/* the last one first */
	size_t			 n;		/* may pass BPF_MAXINSNS */
	struct {
		uint32_t	 action;
		size_t		 at;
	}			 ends[ENDS_MAX];
	size_t			 nends;
	struct {
		const struct bpf_rule	*rules;
		size_t			 at;
	}			 blocks[BLOCKS_MAX];
	size_t			 nblocks;
};

/* Where a row begins, and where when the accumulator has its argument. */
struct entry {
	size_t			 at;
	size_t			 loaded_at;
	const struct bpf_test	*test;		/* the row's first, or NULL */
};

/* In front of all others. */
static size_t
put(struct program *p, uint16_t code, uint32_t k, uint8_t jt, uint8_t jf)
{
	if (p->n < BPF_MAXINSNS) {
		p->insn[p->n].code = code;
		p->insn[p->n].jt = jt;
		p->insn[p->n].jf = jf;
		p->insn[p->n].k = k;
	}
	return p->n++;
}

/* To there from an instruction that will be the "ahead"th from now. */
static size_t
distance(const struct program *p, size_t to, size_t ahead)
{
	return p->n + ahead - to - 1;
}

static bool
is_far(const struct program *p, size_t to)
{
	/* Two jumps may yet come between. */
	return distance(p, to, 2) > UINT8_MAX;
}

static size_t
put_far(struct program *p, size_t to)
{
	return put(p, BPF_JMP | BPF_JA, (uint32_t)distance(p, to, 0), 0, 0);
}

static size_t
put_jump(struct program *p, uint16_t kind, uint32_t k, size_t yes, size_t no)
{
	if (is_far(p, yes))
		yes = put_far(p, yes);
	if (is_far(p, no))
		no = put_far(p, no);
	return put(p, BPF_JMP | kind | BPF_K, k,
	    (uint8_t)distance(p, yes, 0), (uint8_t)distance(p, no, 0));
}

/* The end with this action, a near one. */
static size_t
put_end(struct program *p, uint32_t action)
{
	size_t i;

	for (i = 0; i < p->nends; i++)
		if (p->ends[i].action == action)
			break;
	if (i < p->nends && !is_far(p, p->ends[i].at))
		return p->ends[i].at;
	if (i == ENDS_MAX)
		return put(p, BPF_RET | BPF_K, action, 0, 0);
	if (i == p->nends)
		p->nends++;
	p->ends[i].action = action;
	p->ends[i].at = put(p, BPF_RET | BPF_K, action, 0, 0);
	return p->ends[i].at;
}

/* Whether a test reads just what another left in the accumulator. */
static bool
is_loaded(const struct bpf_test *test, const struct bpf_test *next)
{
	return next != NULL && test->op != TEST_NULL &&
	    next->op != TEST_NULL && test->mask == UINT32_MAX &&
	    test->arg == next->arg;
}

/* One test: on to yes, or to the next row. */
static struct entry
put_test(struct program *p, const struct bpf_test *test, size_t yes,
    const struct entry *next)
{
	size_t no = is_loaded(test, next->test) ? next->loaded_at : next->at;
	struct entry entry = { .test = test };

	if (test->op == TEST_NULL) {
		yes = put_jump(p, BPF_JEQ, 0, yes, next->at);
		yes = put(p, BPF_LD | BPF_W | BPF_ABS, LOW_OFFSET(test->arg),
		    0, 0);
		put_jump(p, BPF_JEQ, 0, yes, next->at);
		entry.at = put(p, BPF_LD | BPF_W | BPF_ABS,
		    HIGH_OFFSET(test->arg), 0, 0);
		return entry;
	}
	if (test->op == TEST_IS_NOT)
		entry.loaded_at = put_jump(p, BPF_JEQ, test->value, no, yes);
	else
		entry.loaded_at = put_jump(p, BPF_JEQ, test->value, yes, no);
	if (test->mask != UINT32_MAX)
		entry.loaded_at = put(p, BPF_ALU | BPF_AND | BPF_K,
		    test->mask, 0, 0);
	entry.at = put(p, BPF_LD | BPF_W | BPF_ABS, LOW_OFFSET(test->arg),
	    0, 0);
	return entry;
}

static struct entry
put_rule(struct program *p, const struct bpf_rule *rule,
    const struct entry *next)
{
	const struct entry plain = { next->at, 0, NULL };
	struct entry entry = { put_end(p, rule->action), 0, NULL };
	size_t n;

	for (n = 0; n < TESTS_MAX && rule->tests[n].op != TEST_NONE; n++)
		;
	/* A later test leaves something else in the accumulator. */
	while (n-- > 0)
		entry = put_test(p, &rule->tests[n], entry.at,
		    n == 0 ? next : &plain);
	return entry;
}

static size_t
put_rules(struct program *p, const struct bpf_call *call, uint32_t other)
{
	struct entry entry = { 0, 0, NULL };
	size_t i;

	for (i = 0; i < p->nblocks; i++)
		if (p->blocks[i].rules == call->rules)
			return p->blocks[i].at;
	entry.at = put_end(p, other);
	for (i = call->nrules; i-- > 0;)
		entry = put_rule(p, &call->rules[i], &entry);
	if (p->nblocks < BLOCKS_MAX) {
		p->blocks[p->nblocks].rules = call->rules;
		p->blocks[p->nblocks++].at = entry.at;
	}
	return entry.at;
}

/* The search; the number is in the accumulator. */
static size_t
put_search(struct program *p, const struct range *range, size_t n,
    uint32_t other)
{
	size_t high, low, half = n / 2;

	if (n == 1)
		return range->call != NULL ?
		    put_rules(p, range->call, other) :
		    put_end(p, range->action);
	high = put_search(p, range + half, n - half, other);
	low = put_search(p, range, half, other);
	return put_jump(p, BPF_JGE, range[half].first, high, low);
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
			range[n++] = (struct range){ next, other, NULL };
		if (is_end)
			break;
		next = call->number + 1;
		if (call->nrules == 0 && n > 0 && range[n - 1].call == NULL &&
		    range[n - 1].action == call->action)
			continue;
		range[n++] = (struct range){ call->number, call->action,
		    call->nrules != 0 ? call : NULL };
	}
	return n;
}

/* The part of an architecture, before what others come to. */
static size_t
put_arch(struct program *p, struct bpf_arch *arch, uint32_t other,
    size_t others)
{
	struct range *range = xcalloc(2 * arch->ncalls + 1, sizeof(*range));
	size_t at, n;

	if (arch->ncalls > 0)
		qsort(arch->calls, arch->ncalls, sizeof(*arch->calls),
		    compare_calls);
	n = make_ranges(arch, other, range);
	at = put_search(p, range, n, other);
	free(range);
	/* Not a jump: the search begins right behind the load. */
	if (at != p->n - 1)
		put_far(p, at);
	at = put(p, BPF_LD | BPF_W | BPF_ABS, NR_OFFSET, 0, 0);
	return put_jump(p, BPF_JEQ, arch->token, at, others);
}

int
bpf_compile(struct bpf_arch *archs, size_t n, uint32_t other,
    struct sock_fprog *out, struct error *e)
{
	struct program p = { .n = 0 };
	struct sock_filter swap;
	size_t at, i;

	p.insn = xcalloc(BPF_MAXINSNS, sizeof(*p.insn));
	at = put_end(&p, SECCOMP_RET_KILL_PROCESS);
	for (i = n; i-- > 0;)
		at = put_arch(&p, &archs[i], other, at);
	put(&p, BPF_LD | BPF_W | BPF_ABS, ARCH_OFFSET, 0, 0);
	if (p.n > BPF_MAXINSNS) {
		free(p.insn);
		return error_set(e, ERR_INTERNAL,
		    "the seccomp filter has %zu instructions, more than %d",
		    p.n, BPF_MAXINSNS);
	}
	for (i = 0; i < p.n / 2; i++) {
		swap = p.insn[i];
		p.insn[i] = p.insn[p.n - 1 - i];
		p.insn[p.n - 1 - i] = swap;
	}
	out->filter = p.insn;
	out->len = (unsigned short)p.n;
	return 0;
}
