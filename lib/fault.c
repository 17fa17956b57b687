/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Errors and small conversions: proto's verbs under the library's names.
 * Runs in the client's process; trusts nothing special.
 */

#include <errno.h>
#include <string.h>

#include "config.h"
#include "lib.h"

/* The two structs and lists are the same, under two names. */
#define SAME(member)							\
	_Static_assert(offsetof(struct error, member) ==		\
	    offsetof(struct sandbox_error, member), #member)
SAME(code);
SAME(sys_errno);
SAME(message);
SAME(key);
SAME(path);
SAME(fix);
_Static_assert(sizeof(struct error) == sizeof(struct sandbox_error), "error");
_Static_assert((int)ERR_INTERNAL == (int)SANDBOX_INTERNAL, "codes");
_Static_assert((int)ERR_BACKEND == (int)SANDBOX_BACKEND, "codes");
_Static_assert(SANDBOX_ID_SIZE == ID_LEN + 1, "id");

int
fault_give(struct sandbox_error *error, const struct error *e)
{
	memcpy(error, e, sizeof(*error));
	return -1;
}

int
fault_memory(struct error *e)
{
	return error_sys(e, ERR_INTERNAL, ENOMEM, "libsandboxd");
}

const char *
sandbox_error_name(enum sandbox_code code)
{
	return error_name((enum err_code)code);
}

const char *
sandbox_version(void)
{
	return SANDBOXD_VERSION;
}

int
sandbox_parse_size(const char *text, uint64_t *n, struct sandbox_error *error)
{
	struct error e = { 0 };

	return parse_size(text, n, &e) == -1 ? fault_give(error, &e) : 0;
}

int
sandbox_parse_duration(const char *text, uint64_t *ms,
    struct sandbox_error *error)
{
	struct error e = { 0 };

	return parse_duration(text, ms, &e) == -1 ? fault_give(error, &e) : 0;
}

int
sandbox_parse_milli(const char *text, uint64_t *n, struct sandbox_error *error)
{
	struct error e = { 0 };

	return parse_milli(text, n, &e) == -1 ? fault_give(error, &e) : 0;
}
