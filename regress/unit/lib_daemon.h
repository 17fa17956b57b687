/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/* The daemon that test_lib.c talks to. */

#ifndef LIB_DAEMON_H
#define LIB_DAEMON_H

#define ID	"sb_0123456789abcdef"	/* of the one sandbox there is */

/* lib_daemon.c */
void	 fake_main(int) __attribute__((noreturn));	/* takes the socket */

#endif
