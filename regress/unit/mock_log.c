/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Stands in for proto/log.c in unit tests: nothing is written, the last line
 * is kept, and fatal is an assertion that expect_assert_failure() catches.
 */

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "mock_log.h"
#include "proto.h"

char	mock_log_last[1024];

static void __attribute__((format(printf, 1, 0)))
keep(const char *fmt, va_list ap)
{
	vsnprintf(mock_log_last, sizeof(mock_log_last), fmt, ap);
}

#define KEEP(fmt)	do {						\
	va_list ap;							\
									\
	va_start(ap, fmt);						\
	keep(fmt, ap);							\
	va_end(ap);							\
} while (0)

void
log_init(const char *name, enum log_level level)
{
	(void)name;
	(void)level;
}

enum log_level
log_level(void)
{
	return LOG_LEVEL_DEBUG;
}

void
log_warn(const char *fmt, ...)
{
	KEEP(fmt);
}

void
log_info(const char *fmt, ...)
{
	KEEP(fmt);
}

void
log_debug(const char *fmt, ...)
{
	KEEP(fmt);
}

void
log_error(const char *what, const struct error *e)
{
	log_warn("%s: %s", what, e->message);
}

void
fatal(const char *fmt, ...)
{
	KEEP(fmt);
	mock_assert(0, mock_log_last, __FILE__, __LINE__);
	abort();
}
