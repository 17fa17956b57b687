/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * rpc: messages whole, byte by byte, cut and changed; descriptors with the
 * first byte, too few, too many, lost, refused; a full socket; an end.  No
 * descriptor may be left over.
 */

#include <sys/resource.h>
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "regress/wire/wire.h"

struct ends {
	struct rpc	*rpc;
	int		 raw;		/* the other end */
};

static void
ends_open(struct ends *ends)
{
	int pair[2];

	assert_int_equal(fd_pair(SOCK_STREAM, pair), 0);
	ends->rpc = rpc_new(pair[0]);
	assert_non_null(ends->rpc);
	ends->raw = pair[1];
}

static void
ends_close(struct ends *ends)
{
	rpc_free(ends->rpc);
	fd_close(&ends->raw);
}

/* Both ends as rpc. */
static struct rpc *
ends_peer(struct ends *ends)
{
	struct rpc *peer = rpc_new(ends->raw);

	assert_non_null(peer);
	ends->raw = -1;
	return peer;
}

static void
raw_send(int fd, const void *p, size_t n, int nfds)
{
	wire_send(fd, p, n, STDERR_FILENO, nfds);
}

/* 1, 0, or minus the error's code. */
static int
recv_code(struct rpc *r, struct rpc_msg *m)
{
	struct error e = { 0 };
	int got;

	got = rpc_recv(r, m, &e);
	return got == -1 ? -(int)e.code : got;
}

/* As recv_code, asking again after short reads. */
static int
recv_next(struct rpc *r, struct rpc_msg *m)
{
	int got = 0, i;

	for (i = 0; i < 3 && got == 0; i++)
		got = recv_code(r, m);
	return got;
}

/* [0, id, "m", [{"fds": n}]] */
static struct view
request(unsigned char p[64], unsigned int id, unsigned int n)
{
	struct buf b = { 0 };
	struct view v;

	put_array(&b, 4);
	put_uint(&b, 0);
	put_uint(&b, id);
	put_str(&b, "m");
	put_array(&b, 1);
	put_map(&b, 1);
	put_str(&b, "fds");
	put_uint(&b, n);
	assert_true(b.n <= 64);
	memcpy(p, b.p, b.n);
	v.p = p;
	v.n = b.n;
	buf_free(&b);
	return v;
}

/* The code of the error response that waits at the raw end. */
static enum err_code
answered(struct ends *ends, uint32_t id)
{
	struct rpc *peer;
	struct rpc_msg m;
	struct error e;

	peer = rpc_new(dup(ends->raw));
	assert_int_equal(recv_code(peer, &m), 1);
	assert_int_equal(m.kind, RPC_RESPONSE);
	assert_int_equal(m.id, id);
	rpc_error_unpack(m.error, &e);
	rpc_free(peer);
	return e.code;
}

/*** Vectors ***/

static void
check_good(const struct vector *v, void *arg)
{
	struct ends ends;
	struct rpc_msg m;
	size_t i;

	(void)arg;
	ends_open(&ends);
	/* Two in one write. */
	raw_send(ends.raw, v->data.p, v->data.n, 0);
	raw_send(ends.raw, v->data.p, v->data.n, 0);
	assert_int_equal(recv_next(ends.rpc, &m), 1);
	assert_int_equal(recv_next(ends.rpc, &m), 1);
	assert_int_equal(recv_next(ends.rpc, &m), 0);
	/* Byte by byte. */
	for (i = 0; i < v->data.n; i++) {
		assert_int_equal(recv_code(ends.rpc, &m), 0);
		raw_send(ends.raw, v->data.p + i, 1, 0);
	}
	assert_int_equal(recv_next(ends.rpc, &m), 1);
	if (m.kind == RPC_RESPONSE) {
		assert_true(scan_is_one(m.error));
		assert_true(scan_is_one(m.result));
	} else {
		assert_true(m.method.n > 0);
		assert_true(scan_is_one(m.params));
	}
	assert_int_equal(m.nfds, 0);
	/* Unfinished at the end. */
	raw_send(ends.raw, v->data.p, v->data.n - 1, 0);
	fd_close(&ends.raw);
	assert_int_equal(recv_next(ends.rpc, &m), -ERR_UNAVAILABLE);
	ends_close(&ends);
}

static void
rpc_vectors_received(void **state)
{
	(void)state;
	wire_each("rpc", check_good, NULL);
}

static void
check_bad(const struct vector *v, void *arg)
{
	struct ends ends;
	struct rpc_msg m;

	(void)arg;
	ends_open(&ends);
	raw_send(ends.raw, v->data.p, v->data.n, 0);
	if (recv_code(ends.rpc, &m) != -ERR_INVALID)
		fail_msg("%s is accepted", v->name);
	ends_close(&ends);
}

static void
rpc_bad_vectors_end_connection(void **state)
{
	(void)state;
	wire_each("bad-rpc", check_bad, NULL);
}

static void
check_refused(const struct vector *v, void *arg)
{
	static const char hello[] = "\x94\0\2\xa5hello\x90";
	struct ends ends;
	struct rpc_msg m;

	(void)arg;
	ends_open(&ends);
	raw_send(ends.raw, v->data.p, v->data.n, 0);
	raw_send(ends.raw, hello, sizeof(hello) - 1, 0);
	/* Answered here; the next one comes. */
	assert_int_equal(recv_next(ends.rpc, &m), 1);
	assert_int_equal(m.id, 2);
	assert_int_equal(m.params.n, 1);
	assert_int_equal(answered(&ends, 1), ERR_INVALID);
	ends_close(&ends);
}

static void
rpc_refused_vectors_answered(void **state)
{
	(void)state;
	wire_each("refused-rpc", check_refused, NULL);
}

static void
check_changed(const struct vector *v, void *arg)
{
	unsigned char *p;
	struct ends ends;
	struct rpc_msg m;
	unsigned int x;
	size_t i;
	int r;

	(void)arg;
	p = wire_copy(v->data, v->data.n);
	for (i = 0; i < v->data.n && i < 100; i++) {
		for (x = 1; x < 256; x += x < 4 ? 1 : 13) {
			p[i] ^= (unsigned char)x;
			ends_open(&ends);
			raw_send(ends.raw, p, v->data.n, 1);
			while ((r = recv_next(ends.rpc, &m)) == 1)
				assert_true(m.nfds <= 1);
			assert_true(r == 0 || r == -ERR_INVALID);
			ends_close(&ends);
			p[i] ^= (unsigned char)x;
		}
	}
	free(p);
}

static void
rpc_changed_anywhere_bounded(void **state)
{
	(void)state;
	wire_each("rpc", check_changed, NULL);
	wire_each("refused-rpc", check_changed, NULL);
}

/*** Both sides ***/

static void
rpc_round_trip(void **state)
{
	struct buf b = { 0 };
	struct ends ends;
	struct rpc *peer;
	struct rpc_msg m;
	struct error e, got;

	(void)state;
	ends_open(&ends);
	peer = ends_peer(&ends);
	put_map(&b, 1);
	put_str(&b, "id");
	put_str(&b, "x");
	assert_int_equal(rpc_request(ends.rpc, 9, "sandbox.info", &b, NULL,
	    0, &e), 0);
	assert_int_equal(rpc_notify(ends.rpc, "event", NULL, &e), 0);
	assert_int_equal(rpc_pending(ends.rpc), 0);
	assert_int_equal(recv_code(peer, &m), 1);
	assert_int_equal(m.kind, RPC_REQUEST);
	assert_int_equal(m.id, 9);
	assert_true(view_is(m.method, "sandbox.info"));
	assert_int_equal(m.params.n, b.n);
	assert_memory_equal(m.params.p, b.p, b.n);
	assert_int_equal(recv_next(peer, &m), 1);
	assert_int_equal(m.kind, RPC_NOTIFY);
	assert_int_equal(m.params.n, 1);
	assert_int_equal(rpc_reply(peer, 9, &b, NULL, 0, &e), 0);
	error_key(&got, ERR_NOT_FOUND, "id", "no sandbox \xff\n here");
	error_path(&got, "/p\xc3\xa9");
	error_fix(&got, "look");
	got.sys_errno = ENOENT;
	assert_int_equal(rpc_reply_error(peer, 10, &got, &e), 0);
	assert_int_equal(recv_next(ends.rpc, &m), 1);
	assert_int_equal(m.kind, RPC_RESPONSE);
	assert_memory_equal(m.error.p, "\xc0", 1);
	assert_memory_equal(m.result.p, b.p, b.n);
	assert_int_equal(recv_next(ends.rpc, &m), 1);
	assert_int_equal(m.id, 10);
	assert_memory_equal(m.result.p, "\xc0", 1);
	rpc_error_unpack(m.error, &got);
	assert_int_equal(got.code, ERR_NOT_FOUND);
	assert_string_equal(got.message, "no sandbox ?? here");
	assert_string_equal(got.key, "id");
	assert_string_equal(got.path, "/p\xc3\xa9");
	assert_string_equal(got.fix, "look");
	assert_int_equal(got.sys_errno, ENOENT);
	rpc_error_unpack((struct view){ NULL, 0 }, &got);
	assert_int_equal(got.code, ERR_INTERNAL);
	buf_free(&b);
	rpc_free(peer);
	ends_close(&ends);
}

/*** Descriptors ***/

static void
fds_come_with_their_request(void **state)
{
	struct ends ends;
	struct rpc *peer;
	struct rpc_msg m;
	struct error e;
	struct buf b = { 0 };
	int fds[3], i, n, taken;

	(void)state;
	ends_open(&ends);
	peer = ends_peer(&ends);
	n = fd_count();
	for (i = 0; i < 3; i++)
		fds[i] = dup(STDERR_FILENO);
	put_map(&b, 1);
	put_str(&b, "fds");
	put_uint(&b, 3);
	/* Between requests without, so that the kernel could glue. */
	assert_int_equal(rpc_request(peer, 1, "m", NULL, NULL, 0, &e), 0);
	assert_int_equal(rpc_request(peer, 2, "m", &b, fds, 3, &e), 0);
	assert_int_equal(rpc_request(peer, 3, "m", NULL, NULL, 0, &e), 0);
	assert_int_equal(fd_count(), n);
	assert_int_equal(recv_next(ends.rpc, &m), 1);
	assert_int_equal(m.nfds, 0);
	assert_int_equal(recv_next(ends.rpc, &m), 1);
	assert_int_equal(m.id, 2);
	assert_int_equal(m.nfds, 3);
	assert_int_equal(fd_count(), n + 3);
	taken = rpc_take_fd(&m, 1);
	assert_true(fcntl(taken, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(rpc_take_fd(&m, 1), -1);
	assert_int_equal(rpc_take_fd(&m, 3), -1);
	assert_int_equal(recv_next(ends.rpc, &m), 1);
	assert_int_equal(m.id, 3);
	assert_int_equal(m.nfds, 0);
	assert_int_equal(fd_count(), n + 1);
	close(taken);
	buf_free(&b);
	rpc_free(peer);
	ends_close(&ends);
}

static void
fds_of_two_requests_stay_apart(void **state)
{
	unsigned char a[64], b[64];
	struct view first = request(a, 1, 1), second = request(b, 2, 2);
	struct ends ends;
	struct rpc_msg m;

	(void)state;
	ends_open(&ends);
	raw_send(ends.raw, first.p, first.n, 1);
	raw_send(ends.raw, second.p, second.n, 2);
	assert_int_equal(recv_next(ends.rpc, &m), 1);
	assert_int_equal(m.nfds, 1);
	assert_int_equal(recv_next(ends.rpc, &m), 1);
	assert_int_equal(m.nfds, 2);
	ends_close(&ends);
}

static void
fds_surplus_closed_at_once(void **state)
{
	unsigned char a[64];
	struct view v = request(a, 1, 1);
	struct ends ends;
	struct rpc_msg m;
	int n;

	(void)state;
	ends_open(&ends);
	n = fd_count();
	raw_send(ends.raw, v.p, v.n, 5);
	assert_int_equal(recv_next(ends.rpc, &m), 1);
	assert_int_equal(m.nfds, 1);
	assert_int_equal(fd_count(), n + 1);
	v = request(a, 2, 0);
	raw_send(ends.raw, v.p, v.n, 3);
	assert_int_equal(recv_next(ends.rpc, &m), 1);
	assert_int_equal(m.nfds, 0);
	assert_int_equal(fd_count(), n);
	/* They never serve a later request. */
	v = request(a, 3, 1);
	raw_send(ends.raw, v.p, v.n, 0);
	assert_int_equal(recv_next(ends.rpc, &m), 0);
	assert_int_equal(answered(&ends, 3), ERR_INVALID);
	ends_close(&ends);
}

static void
fds_split_over_the_bytes_counted(void **state)
{
	unsigned char a[64];
	struct view v = request(a, 1, 3);
	struct ends ends;
	struct rpc_msg m;

	(void)state;
	/* One with each of the first three bytes; read at once or apart. */
	for (int is_apart = 0; is_apart < 2; is_apart++) {
		ends_open(&ends);
		for (int i = 0; i < 3; i++) {
			raw_send(ends.raw, v.p + i, 1, 1);
			if (is_apart)
				assert_int_equal(recv_next(ends.rpc, &m), 0);
		}
		raw_send(ends.raw, v.p + 3, v.n - 3, 0);
		while (recv_code(ends.rpc, &m) == 0)
			;
		assert_int_equal(m.nfds, 3);
		ends_close(&ends);
	}
}

static void
fds_without_end_bounded(void **state)
{
	struct ends ends;
	struct rpc_msg m;
	int i, r = 0;

	(void)state;
	ends_open(&ends);
	/* A request that never ends and brings more with each byte. */
	raw_send(ends.raw, "\x94\0\1\xda\xff\xff", 6, 1);
	for (i = 0; i < 100 && r == 0; i++) {
		raw_send(ends.raw, "x", 1, 3);
		r = recv_next(ends.rpc, &m);
	}
	assert_int_equal(r, -ERR_INVALID);
	assert_true(i <= RPC_FDS_QUEUE_MAX / 3 + 1);
	ends_close(&ends);
}

static void
fds_too_many_in_one_send_answered(void **state)
{
	unsigned char a[64];
	struct view v = request(a, 1, RPC_FDS_MAX);
	struct ends ends;
	struct rpc_msg m;
	int n;

	(void)state;
	ends_open(&ends);
	n = fd_count();
	raw_send(ends.raw, v.p, v.n, RPC_FDS_MAX);
	assert_int_equal(recv_next(ends.rpc, &m), 1);
	assert_int_equal(m.nfds, RPC_FDS_MAX);
	assert_int_equal(fd_count(), n + RPC_FDS_MAX);
	/* Cut off by our buffer: that request's error, nothing kept. */
	raw_send(ends.raw, v.p, v.n, RPC_FDS_MAX + 4);
	assert_int_equal(recv_next(ends.rpc, &m), 0);
	assert_int_equal(answered(&ends, 1), ERR_LIMIT);
	assert_int_equal(fd_count(), n);
	ends_close(&ends);
}

static void
fds_lost_is_that_requests_error(void **state)
{
	struct rlimit old, small;
	unsigned char a[64], b[64];
	struct view v = request(a, 1, 2), next = request(b, 2, 1);
	struct ends ends;
	struct rpc_msg m;
	int fd;

	(void)state;
	ends_open(&ends);
	raw_send(ends.raw, v.p, v.n, 2);
	raw_send(ends.raw, next.p, next.n, 1);
	fd = dup(STDERR_FILENO);
	close(fd);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	small = old;
	small.rlim_cur = (rlim_t)(fd + 1);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &small), 0);
	assert_int_equal(recv_next(ends.rpc, &m), 1);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(m.id, 2);
	assert_int_equal(m.nfds, 1);
	assert_int_equal(answered(&ends, 1), ERR_LIMIT);
	ends_close(&ends);
}

static void
fds_refused_where_none_may_pass(void **state)
{
	unsigned char a[64];
	struct view v = request(a, 1, 1);
	struct ends ends;
	struct rpc_msg m;
	int n;

	(void)state;
	ends_open(&ends);
	n = fd_count();
	/* Sent before: the kernel drops them when the bytes are read. */
	raw_send(ends.raw, v.p, v.n, 1);
	rpc_refuse_fds(ends.rpc);
	assert_int_equal(recv_next(ends.rpc, &m), 0);
	assert_int_equal(answered(&ends, 1), ERR_INVALID);
	assert_int_equal(fd_count(), n);
	ends_close(&ends);
}

static void
fds_lost_from_response_seen(void **state)
{
	struct ends ends;
	struct rpc_msg m;

	(void)state;
	ends_open(&ends);
	/* [1, 5, nil, {"fds": 1}] without one */
	raw_send(ends.raw, "\x94\1\5\xc0\x81\xa3""fds\1", 10, 0);
	assert_int_equal(recv_next(ends.rpc, &m), 1);
	assert_int_equal(m.nfds, 0);
	assert_int_equal(rpc_take_fd(&m, 0), -1);
	ends_close(&ends);
}

/*** Bounds ***/

static void
message_without_end_bounded(void **state)
{
	static unsigned char block[65536];
	struct ends ends;
	struct rpc_msg m;
	size_t sent = 0;
	int r = 0;

	(void)state;
	ends_open(&ends);
	/* A text of 4 GB is announced. */
	raw_send(ends.raw, "\x94\0\1\xdb\xff\xff\xff\xff", 8, 0);
	while (r == 0 && sent < 16 * sizeof(block)) {
		raw_send(ends.raw, block, sizeof(block), 0);
		sent += sizeof(block);
		r = recv_next(ends.rpc, &m);
	}
	assert_int_equal(r, -ERR_TOO_LARGE);
	assert_true(sent <= RPC_MESSAGE_MAX + 2 * sizeof(block));
	ends_close(&ends);
}

static void
message_too_large_not_sent(void **state)
{
	unsigned char *data;
	struct buf b = { 0 };
	struct ends ends;
	struct error e;
	int fd;

	(void)state;
	ends_open(&ends);
	data = calloc(1, RPC_MESSAGE_MAX);
	assert_non_null(data);
	put_bin(&b, (struct view){ data, RPC_MESSAGE_MAX });
	fd = dup(STDERR_FILENO);
	assert_int_equal(rpc_reply(ends.rpc, 1, &b, &fd, 1, &e), -1);
	assert_int_equal(e.code, ERR_TOO_LARGE);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	/* Nothing of it went, and the next one goes. */
	assert_int_equal(rpc_pending(ends.rpc), 0);
	assert_int_equal(rpc_reply(ends.rpc, 1, NULL, NULL, 0, &e), 0);
	assert_int_equal(recv(ends.raw, data, 100, MSG_DONTWAIT), 5);
	b.has_failed = true;
	assert_int_equal(rpc_reply(ends.rpc, 1, &b, NULL, 0, &e), -1);
	assert_int_equal(e.code, ERR_INTERNAL);
	free(data);
	buf_free(&b);
	ends_close(&ends);
}

/* Answers of odd sizes, every third with descriptors, until busy. */
static unsigned int
fill(struct rpc *r, const unsigned char *data, struct error *e)
{
	unsigned int i;
	int fds[2], nfds, rc;
	struct buf b = { 0 };

	for (i = 0; i < 100000; i++) {
		nfds = i % 3 == 0 ? 2 : 0;
		b.n = 0;
		put_map(&b, 2);
		put_str(&b, "fds");
		put_uint(&b, (uint64_t)nfds);
		put_str(&b, "data");
		put_bin(&b, (struct view){ data, i * 7919 % 60000 });
		if (nfds > 0) {
			fds[0] = dup(STDERR_FILENO);
			fds[1] = dup(STDERR_FILENO);
		}
		rc = rpc_reply(r, i, &b, fds, nfds, e);
		if (rc == -1)
			break;
	}
	buf_free(&b);
	return i;
}

static void
queue_keeps_order_and_descriptors(void **state)
{
	unsigned char *data;
	struct error e = { 0 };
	struct ends ends;
	struct rpc *peer;
	struct rpc_msg m;
	unsigned int i, sent;
	int n, r;

	(void)state;
	data = calloc(1, 60000);
	assert_non_null(data);
	ends_open(&ends);
	peer = ends_peer(&ends);
	n = fd_count();
	sent = fill(ends.rpc, data, &e);
	assert_int_equal(e.code, ERR_BUSY);
	assert_true(rpc_pending(ends.rpc) <= RPC_QUEUE_MAX);
	for (i = 0; i < sent;) {
		if ((r = recv_code(peer, &m)) == 0) {
			assert_int_equal(rpc_flush(ends.rpc, &e), 0);
			continue;
		}
		assert_int_equal(r, 1);
		assert_int_equal(m.id, i);
		assert_int_equal(m.nfds, i % 3 == 0 ? 2 : 0);
		i++;
	}
	assert_int_equal(rpc_pending(ends.rpc), 0);
	assert_int_equal(recv_next(peer, &m), 0);
	assert_int_equal(fd_count(), n);
	free(data);
	rpc_free(peer);
	ends_close(&ends);
}

/*** The end ***/

static void
end_drops_the_queue(void **state)
{
	unsigned char *data;
	struct error e = { 0 };
	struct ends ends;

	(void)state;
	data = calloc(1, 60000);
	assert_non_null(data);
	ends_open(&ends);
	fill(ends.rpc, data, &e);
	assert_true(rpc_pending(ends.rpc) > 0);
	fd_close(&ends.raw);
	assert_int_equal(rpc_flush(ends.rpc, &e), -1);
	assert_int_equal(e.code, ERR_UNAVAILABLE);
	assert_int_equal(rpc_pending(ends.rpc), 0);
	assert_int_equal(rpc_reply(ends.rpc, 1, NULL, NULL, 0, &e), -1);
	assert_int_equal(rpc_reply(ends.rpc, 1, NULL, NULL, 0, &e), -1);
	assert_int_equal(e.code, ERR_UNAVAILABLE);
	free(data);
	ends_close(&ends);
}

static void
detach_gives_rest_and_fd(void **state)
{
	static const char bytes[] = "\x94\0\1\xa5hello\x90" "tunnelled";
	struct buf rest = { 0 };
	struct ends ends;
	struct rpc_msg m;
	int fd;

	(void)state;
	ends_open(&ends);
	raw_send(ends.raw, bytes, sizeof(bytes) - 1, 0);
	assert_int_equal(recv_next(ends.rpc, &m), 1);
	fd = rpc_detach(ends.rpc, &rest);
	assert_true(fd != -1);
	assert_int_equal(rest.n, 9);
	assert_memory_equal(rest.p, "tunnelled", 9);
	buf_free(&rest);
	close(fd);
	fd_close(&ends.raw);
}

#define TEST(f)								\
	cmocka_unit_test_setup_teardown(f, fd_count_setup,		\
	    fd_count_check)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rpc_vectors_received),
		TEST(rpc_bad_vectors_end_connection),
		TEST(rpc_refused_vectors_answered),
		TEST(rpc_changed_anywhere_bounded),
		TEST(rpc_round_trip),
		TEST(fds_come_with_their_request),
		TEST(fds_of_two_requests_stay_apart),
		TEST(fds_surplus_closed_at_once),
		TEST(fds_split_over_the_bytes_counted),
		TEST(fds_without_end_bounded),
		TEST(fds_too_many_in_one_send_answered),
		TEST(fds_lost_is_that_requests_error),
		TEST(fds_refused_where_none_may_pass),
		TEST(fds_lost_from_response_seen),
		TEST(message_without_end_bounded),
		TEST(message_too_large_not_sent),
		TEST(queue_keeps_order_and_descriptors),
		TEST(end_drops_the_queue),
		TEST(detach_gives_rest_and_fd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
