/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * What a fuzzer has: libFuzzer's entry point.  main.c calls it when there is
 * no libFuzzer.
 */

#ifndef REGRESS_FUZZ_H
#define REGRESS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

/* Ends the run as a crash would. */
#define CHECK(claim)	do {						\
	if (!(claim))							\
		__builtin_trap();					\
} while (0)

#endif
