/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Requests with bytes changed, cut and doubled, many of them, always the
 * same ones.  The front answers another client in between and lives.  Run in
 * tests only; see play.h.
 */

#include "config.h"

#include <sys/socket.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "regress/front/play.h"

#define ROUNDS		20000u
#define PER_CLIENT	20u		/* messages on one connection */

static uint64_t	 state = 88172645463325252ull;

static uint32_t
number(uint32_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 11) % below;
}

/* One of the methods with parameters that fit it. */
static void
seed(struct buf *b)
{
	static const char *const methods[] = {
		"hello", "server.check", "server.stats", "sandbox.offer",
		"sandbox.create", "sandbox.connect", "sandbox.destroy",
		"sandbox.list", "sandbox.info", "sandbox.wait",
		"event.subscribe",
	};
	static const char *const keys[] = {
		"id", "name", "labels", "token", "tunnel", "fresh", "after",
		"max", "all", "since", "memory", "cpus", "connect", "fds",
	};
	uint32_t i, n = number(4);

	put_array(b, 4);
	put_uint(b, 0);
	put_uint(b, number(1000));
	put_str(b, methods[number(sizeof(methods) / sizeof(methods[0]))]);
	put_array(b, 1);
	put_map(b, n);
	for (i = 0; i < n; i++) {
		put_str(b, keys[number(sizeof(keys) / sizeof(keys[0]))]);
		switch (number(5)) {
		case 0:
			put_str(b, "sb_0123456789abcdef");
			break;
		case 1:
			put_str(b, "x");
			break;
		case 2:
			put_bool(b, number(2) == 1);
			break;
		case 3:
			put_map(b, 0);
			break;
		default:
			put_uint(b, number(300));
		}
	}
}

static void
mutate(struct buf *b)
{
	uint32_t times = number(4);

	while (times-- > 0) {
		if (number(4) != 0)
			b->p[number((uint32_t)b->n)] = (unsigned char)
			    number(256);
		else if (b->n > 1)
			b->n -= number((uint32_t)b->n / 2 + 1);
	}
}

/* Whatever the front asks meanwhile fails. */
static void
refuse_all(void)
{
	struct frame f;
	struct error e;
	int rc;

	while ((rc = chan_recv(channel, &f, &e)) == 1) {
		if (f.id != 0)
			play_fail(f.id, ERR_DENIED, "no");
	}
	CHECK(rc == 0);
}

void
part_mutate(void)
{
	struct client bad, good;
	struct buf b = { 0 };
	unsigned int i;
	bool is_closed = true;

	memset(&bad, 0, sizeof(bad));
	client_open(&good, 1000, false);
	for (i = 0; i < ROUNDS; i++) {
		if (is_closed || i % PER_CLIENT == 0) {
			rpc_free(bad.rpc);
			client_open(&bad, 1001, number(2) == 1);
			client_result(&good, client_ask(&good, "hello", ""));
		}
		b.n = 0;
		seed(&b);
		mutate(&b);
		is_closed = send(rpc_fd(bad.rpc), b.p, b.n, MSG_NOSIGNAL |
		    MSG_DONTWAIT) == -1;
		CHECK(!is_closed || errno == EPIPE || errno == ECONNRESET ||
		    errno == EAGAIN);
		refuse_all();
	}
	buf_free(&b);
	client_result(&good, client_ask(&good, "hello", ""));
	rpc_free(bad.rpc);
	rpc_free(good.rpc);
}
