/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/* Runs a seccomp filter on a call that nobody makes. */

#ifndef REGRESS_UNIT_BPF_MACHINE_H
#define REGRESS_UNIT_BPF_MACHINE_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>

/* The action, or -1: the program is wrong (a jump or load out of bounds). */
int64_t	 bpf_machine_run(const struct sock_fprog *,
	    const struct seccomp_data *);

#endif
