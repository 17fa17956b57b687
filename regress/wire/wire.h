/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Wire vectors and what else the tests of proto/ share.
 */

#ifndef REGRESS_WIRE_H
#define REGRESS_WIRE_H

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "proto.h"

struct vector {
	const char	*kind;		/* "frame" */
	const char	*name;		/* "broker_policy" */
	struct view	 data;		/* a heap block of exactly that size */
};

typedef void vector_fn(const struct vector *, void *);

/* Calls fn for each file of regress/wire/KIND, sorted; returns how many. */
size_t	 wire_each(const char *, vector_fn *, void *);
/* Reads one file; free(3) the bytes. */
struct view wire_read(const char *, const char *);
/* A heap copy of exactly the first n bytes, so that ASan sees overruns. */
unsigned char *wire_copy(struct view, size_t);
/* Open descriptors of this process. */
int	 fd_count(void);
/* Set-up and tear-down: the test leaves as many as there were. */
int	 fd_count_setup(void **);
int	 fd_count_check(void **);
/* Sends bytes in one piece, with n copies (up to 64) of a descriptor. */
void	 wire_send(int, const void *, size_t, int, int);
/* Repeatable pseudo-random numbers. */
uint64_t random_next(uint64_t *);

#define HEADER_SIZE	16u

/* Little endian fields of a frame's header. */
unsigned int frame_type(struct view);
int	 frame_nfds(struct view);

/* The struct of any message. */
#define WIRE_MEMBER(NAME, name, dir, num, fds)	struct msg_##name name;
union any_msg { MSG_LIST(WIRE_MEMBER) };
#undef WIRE_MEMBER

#endif
