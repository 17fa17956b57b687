/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Maps of sandbox.create: what the front accepts and packs, the broker
 * accepts and packs the same.
 */

#include <string.h>

#include "fuzz.h"
#include "proto.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct buf b = { 0 }, again = { 0 };
	struct view v = { data, n };
	struct spec s, copy;
	struct error e = { 0 };

	/* Unscanned bytes are refused without an overrun, too. */
	if (spec_unpack(v, &s, &e) == -1) {
		CHECK(e.code == ERR_INVALID && e.message[0] != '\0');
		return 0;
	}
	spec_pack(&s, &b);
	v = (struct view){ b.p, b.n };
	CHECK(scan_is_one(v));
	CHECK(spec_unpack(v, &copy, NULL) == 0);
	CHECK(copy.name.p == NULL && copy.memory == s.memory &&
	    copy.ttl == s.ttl && copy.cpus == s.cpus);
	spec_pack(&copy, &again);
	CHECK(b.n == again.n && memcmp(b.p, again.p, b.n) == 0);
	buf_free(&b);
	buf_free(&again);
	return 0;
}
