/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Frames on both kinds of channel: what comes out is within its ranges and
 * packs into the same again.
 */

#include <sys/socket.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "proto.h"

#define MEMBER(NAME, name, dir, num, fds)	struct msg_##name name;
union any_msg { MSG_LIST(MEMBER) };

static void
check_frame(const struct frame *f)
{
	const struct msg_info *info = msg_info(f->type);
	struct buf b = { 0 }, again = { 0 };
	union any_msg msg;
	struct frame g = *f;

	CHECK(info != NULL && f->body.n <= info->body_max);
	if (msg_unpack(f, &msg, NULL) == -1)
		return;
	CHECK(field_check(info->fields(), info->nfields, &msg, NULL) == 0);
	msg_pack(f->type, &msg, &b);
	g.body = (struct view){ b.p, b.n };
	CHECK(msg_unpack(&g, &msg, NULL) == 0);
	msg_pack(f->type, &msg, &again);
	CHECK(b.n == again.n && memcmp(b.p, again.p, b.n) == 0);
	buf_free(&b);
	buf_free(&again);
}

static void
receive(int type, const uint8_t *data, size_t n)
{
	struct chan *c;
	struct frame f;
	int pair[2];

	if (fd_pair(type, pair) == -1)
		return;
	c = chan_new(pair[0], type == SOCK_STREAM ? CHAN_STREAM : 0, ~0u);
	if (send(pair[1], data, n, MSG_NOSIGNAL) == (ssize_t)n) {
		close(pair[1]);
		while (chan_recv(c, &f, NULL) == 1)
			check_frame(&f);
	} else
		close(pair[1]);
	chan_free(c);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct frame f = { 0 };

	/* As a bare body of the type that the first byte says. */
	if (n > 0 && msg_info(data[0]) != NULL) {
		f.type = data[0];
		f.body = (struct view){ data + 1, n - 1 };
		if (f.body.n <= msg_info(f.type)->body_max)
			check_frame(&f);
	}
	if (n > 0) {
		receive(SOCK_SEQPACKET, data, n);
		receive(SOCK_STREAM, data, n);
	}
	return 0;
}
