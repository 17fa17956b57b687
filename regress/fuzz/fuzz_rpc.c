/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * What a client may send: the same messages come out whether the bytes
 * arrive at once or in two pieces, and every view is one value.
 */

#include <sys/socket.h>

#include <unistd.h>

#include "fuzz.h"
#include "proto.h"

static void
check_message(struct rpc_msg *m)
{
	struct error e;

	CHECK(m->nfds >= 0 && m->nfds <= RPC_FDS_MAX);
	if (m->kind == RPC_RESPONSE) {
		CHECK(scan_is_one(m->error) && scan_is_one(m->result));
		rpc_error_unpack(m->error, &e);
		return;
	}
	CHECK(m->method.n <= NAME_LEN_MAX);
	CHECK(scan_is_one(m->params));
	map_find(m->params, "id");
}

/* How many messages come, and the code of the end. */
static unsigned long
receive(const uint8_t *data, size_t n, size_t split)
{
	unsigned long count = 0;
	struct rpc_msg m;
	struct error e = { 0 };
	struct rpc *r;
	int pair[2], got = 0, i;

	if (fd_pair(SOCK_STREAM, pair) == -1)
		return 0;
	r = rpc_new(pair[0]);
	CHECK(split == 0 || write(pair[1], data, split) == (ssize_t)split);
	for (i = 0; i < 2 && got != -1; i++)
		while ((got = rpc_recv(r, &m, &e)) == 1) {
			check_message(&m);
			count++;
		}
	/* Answers may have filled nothing: the peer reads none. */
	if (got != -1)
		CHECK(n == split || write(pair[1], data + split, n - split) ==
		    (ssize_t)(n - split));
	shutdown(pair[1], SHUT_WR);
	while (got != -1)
		while ((got = rpc_recv(r, &m, &e)) == 1) {
			check_message(&m);
			count++;
		}
	rpc_free(r);
	close(pair[1]);
	return count << 8 | e.code;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	if (n > 65536)
		return 0;
	CHECK(receive(data, n, n) == receive(data, n, n / 2));
	return 0;
}
