/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * A machine for the few instructions that our filters consist of; the rest
 * of BPF is refused, as the kernel's cache of allowed calls would.
 */

#include <string.h>

#include "bpf_machine.h"

static int
is_true(uint16_t code, uint32_t a, uint32_t k)
{
	switch (BPF_OP(code)) {
	case BPF_JEQ:
		return a == k;
	case BPF_JGE:
		return a >= k;
	default:
		return -1;
	}
}

int64_t
bpf_machine_run(const struct sock_fprog *program,
    const struct seccomp_data *data)
{
	const struct sock_filter *insn;
	uint32_t a = 0;
	size_t pc = 0;
	int answer;

	while (pc < program->len) {
		insn = &program->filter[pc++];
		switch (insn->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			if (insn->k > sizeof(*data) - 4 || insn->k % 4 != 0)
				return -1;
			memcpy(&a, (const char *)data + insn->k, 4);
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= insn->k;
			break;
		case BPF_JMP | BPF_JA:
			pc += insn->k;
			break;
		case BPF_RET | BPF_K:
			return insn->k;
		default:
			if (BPF_CLASS(insn->code) != BPF_JMP ||
			    (answer = is_true(insn->code, a, insn->k)) == -1)
				return -1;
			pc += answer ? insn->jt : insn->jf;
			break;
		}
	}
	return -1;
}
