/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * For tests that link mock_log.c.
 */

#ifndef REGRESS_MOCK_LOG_H
#define REGRESS_MOCK_LOG_H

/* The line that was logged last. */
extern char	mock_log_last[1024];

#endif
