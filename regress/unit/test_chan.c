/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * chan: every vector over both kinds of channel, whole, cut and changed;
 * descriptors that arrive, are lent, lost, left or too many; a full socket;
 * an end with frames before it.  No descriptor may be left over.
 */

#include <sys/resource.h>
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mock_log.h"
#include "regress/wire/wire.h"

#define ALL_DIRECTIONS	0xffffffffu

struct ends {
	struct chan	*chan;
	int		 raw;		/* the other end */
};

static void
ends_open(struct ends *ends, int type, unsigned int accepts)
{
	int pair[2];

	assert_int_equal(fd_pair(type, pair), 0);
	ends->chan = chan_new(pair[0], type == SOCK_STREAM ? CHAN_STREAM : 0,
	    accepts);
	assert_non_null(ends->chan);
	ends->raw = pair[1];
}

static void
ends_close(struct ends *ends)
{
	chan_free(ends->chan);
	fd_close(&ends->raw);
}

static void
header(unsigned char *p, unsigned int length, unsigned int type, int nfds)
{
	memset(p, 0, HEADER_SIZE);
	p[0] = (unsigned char)length;
	p[1] = (unsigned char)(length >> 8);
	p[2] = (unsigned char)(length >> 16);
	p[4] = (unsigned char)type;
	p[6] = WIRE_VERSION;
	p[12] = (unsigned char)nfds;
}

static int
recv_code(struct chan *c, struct frame *f)
{
	struct error e = { 0 };
	int r;

	r = chan_recv(c, f, &e);
	return r == -1 ? -(int)e.code : r;
}

/*** Vectors ***/

static void
check_record(const struct vector *v, void *arg)
{
	struct ends *ends = arg;
	struct frame f;
	int nfds = frame_nfds(v->data), fd;

	wire_send(ends->raw, v->data.p, v->data.n, STDERR_FILENO, nfds);
	assert_int_equal(recv_code(ends->chan, &f), 1);
	assert_int_equal(f.type, frame_type(v->data));
	assert_int_equal(f.id, 7);
	assert_int_equal(f.body.n, v->data.n - HEADER_SIZE);
	assert_memory_equal(f.body.p, v->data.p + HEADER_SIZE, f.body.n);
	assert_int_equal(f.nfds, nfds);
	/* One is taken, the rest is closed by the next call. */
	fd = frame_take_fd(&f, nfds - 1);
	assert_int_equal(fd != -1, nfds > 0);
	if (fd != -1)
		assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(frame_take_fd(&f, nfds - 1), -1);
	assert_int_equal(frame_take_fd(&f, nfds), -1);
	assert_int_equal(frame_take_fd(&f, -1), -1);
	assert_int_equal(recv_code(ends->chan, &f), 0);
	fd_close(&fd);
}

static void
record_vectors_received(void **state)
{
	struct ends ends;

	(void)state;
	ends_open(&ends, SOCK_SEQPACKET, ALL_DIRECTIONS);
	wire_each("frame", check_record, &ends);
	ends_close(&ends);
}

static void
check_record_cut(const struct vector *v, void *arg)
{
	struct ends ends;
	struct frame f;
	size_t n;

	(void)arg;
	for (n = 1; n < v->data.n; n++) {
		ends_open(&ends, SOCK_SEQPACKET, ALL_DIRECTIONS);
		wire_send(ends.raw, v->data.p, n, STDERR_FILENO,
		    frame_nfds(v->data));
		assert_int_equal(recv_code(ends.chan, &f), -ERR_INVALID);
		ends_close(&ends);
	}
}

static void
record_cut_anywhere_refused(void **state)
{
	(void)state;
	wire_each("frame", check_record_cut, NULL);
}

/* A changed header is refused, or it is still a frame that may be. */
static void
check_header_changed(const struct vector *v, void *arg)
{
	unsigned char *p;
	struct ends ends;
	struct frame f;
	unsigned int x;
	size_t i;
	int r;

	(void)arg;
	p = wire_copy(v->data, v->data.n);
	for (i = 0; i < HEADER_SIZE; i++) {
		for (x = 1; x < 256; x += x < 8 ? 1 : 31) {
			p[i] ^= (unsigned char)x;
			ends_open(&ends, SOCK_SEQPACKET, ALL_DIRECTIONS);
			wire_send(ends.raw, p, v->data.n, STDERR_FILENO,
			    frame_nfds(v->data));
			r = recv_code(ends.chan, &f);
			p[i] ^= (unsigned char)x;
			/* Only other types and request ids pass. */
			if (r == 1)
				assert_true(i == 4 || (i >= 8 && i < 12));
			else
				assert_int_equal(r, -ERR_INVALID);
			ends_close(&ends);
		}
	}
	free(p);
}

static void
record_changed_header_refused(void **state)
{
	(void)state;
	wire_each("frame", check_header_changed, NULL);
}

static void
check_bad(const struct vector *v, void *arg)
{
	union any_msg msg;
	struct ends ends;
	struct frame f;
	int r;

	(void)arg;
	ends_open(&ends, SOCK_SEQPACKET, ALL_DIRECTIONS);
	wire_send(ends.raw, v->data.p, v->data.n, -1, 0);
	r = recv_code(ends.chan, &f);
	if (r == 1)
		r = msg_unpack(&f, &msg, NULL);
	if (r >= 0)
		fail_msg("%s is accepted", v->name);
	ends_close(&ends);
}

static void
record_bad_vectors_refused(void **state)
{
	(void)state;
	wire_each("bad-frame", check_bad, NULL);
}

static void
record_longer_than_any_refused(void **state)
{
	static unsigned char p[HEADER_SIZE + FRAME_BODY_MAX + 1];
	struct ends ends;
	struct frame f;

	(void)state;
	ends_open(&ends, SOCK_SEQPACKET, ALL_DIRECTIONS);
	header(p, FRAME_BODY_MAX, MSG_AGENT_EXEC, 0);
	wire_send(ends.raw, p, sizeof(p), -1, 0);
	assert_int_equal(recv_code(ends.chan, &f), -ERR_INVALID);
	ends_close(&ends);
}

/*** Streams ***/

static void
check_stream(const struct vector *v, void *arg)
{
	struct view data = v->data;
	unsigned char *p;
	struct ends ends;
	struct frame f;
	size_t i;

	(void)arg;
	p = wire_copy(data, data.n);
	ends_open(&ends, SOCK_STREAM, ALL_DIRECTIONS);
	if (frame_nfds(data) > 0) {
		/* Refused as soon as the header is there. */
		wire_send(ends.raw, p, HEADER_SIZE, -1, 0);
		assert_int_equal(recv_code(ends.chan, &f), -ERR_INVALID);
		ends_close(&ends);
		ends_open(&ends, SOCK_STREAM, ALL_DIRECTIONS);
		p[12] = 0;
	}
	for (i = 0; i < data.n; i++) {
		assert_int_equal(recv_code(ends.chan, &f), 0);
		wire_send(ends.raw, p + i, 1, -1, 0);
	}
	assert_int_equal(recv_code(ends.chan, &f), 1);
	assert_int_equal(f.nfds, 0);
	assert_int_equal(f.body.n, data.n - HEADER_SIZE);
	assert_memory_equal(f.body.p, p + HEADER_SIZE, f.body.n);
	assert_int_equal(recv_code(ends.chan, &f), 0);
	/* An end in the middle of a frame is an end. */
	wire_send(ends.raw, p, data.n - 1, -1, 0);
	fd_close(&ends.raw);
	assert_int_equal(recv_code(ends.chan, &f), -ERR_UNAVAILABLE);
	ends_close(&ends);
	free(p);
}

static void
stream_reassembled_by_length(void **state)
{
	(void)state;
	wire_each("frame", check_stream, NULL);
}

static void
stream_many_frames_in_one_read(void **state)
{
	struct msg_agent_data out = { 0 }, in;
	struct ends a;
	struct chan *b;
	struct error e;
	struct frame f;
	static unsigned char data[STREAM_CHUNK_MAX];
	uint64_t i;

	(void)state;
	ends_open(&a, SOCK_STREAM, ALL_DIRECTIONS);
	b = chan_new(a.raw, CHAN_STREAM, 1u << DIR_XA);
	a.raw = -1;
	/* Sizes around the buffer's, so that frames straddle its end. */
	for (i = 0; i < 60; i++) {
		out.exec = i;
		data[0] = (unsigned char)i;
		out.data = (struct view){ data, 1 + i * 7919 %
		    STREAM_CHUNK_MAX };
		assert_int_equal(chan_send(a.chan, MSG_AGENT_DATA, 0, &out,
		    NULL, 0, &e), 0);
	}
	for (i = 0; i < 60;) {
		assert_int_equal(chan_flush(a.chan, &e), 0);
		if (recv_code(b, &f) != 1)
			continue;
		assert_int_equal(msg_unpack(&f, &in, &e), 0);
		assert_int_equal(in.exec, i);
		assert_int_equal(in.data.p[0], i);
		assert_int_equal(in.data.n, 1 + i * 7919 % STREAM_CHUNK_MAX);
		i++;
	}
	assert_int_equal(chan_pending(a.chan), 0);
	chan_free(b);
	ends_close(&a);
}

/* Virtual machines have character devices; a pipe stands for them here. */
static void
stream_over_pipe_without_socket_calls(void **state)
{
	struct msg_agent_hello m = { .version = 1 };
	struct chan *in, *out;
	struct frame f;
	struct error e;
	int p[2];

	(void)state;
	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	in = chan_new(p[0], CHAN_STREAM, 1u << DIR_AW);
	out = chan_new(p[1], CHAN_STREAM, 0);
	assert_int_equal(recv_code(in, &f), 0);
	assert_int_equal(chan_send(out, MSG_AGENT_HELLO, 0, &m, NULL, 0, &e),
	    0);
	assert_int_equal(recv_code(in, &f), 1);
	assert_int_equal(f.type, MSG_AGENT_HELLO);
	chan_free(out);
	assert_int_equal(recv_code(in, &f), -ERR_UNAVAILABLE);
	chan_free(in);
}

/*** Directions ***/

static void
check_direction(const struct vector *v, void *arg)
{
	const struct msg_info *info = msg_info(frame_type(v->data));
	struct ends ends;
	struct frame f;
	unsigned int dir;

	(void)arg;
	for (dir = DIR_FB; dir <= DIR_XA; dir++) {
		ends_open(&ends, SOCK_SEQPACKET, 1u << dir);
		wire_send(ends.raw, v->data.p, v->data.n, STDERR_FILENO,
		    frame_nfds(v->data));
		assert_int_equal(recv_code(ends.chan, &f),
		    dir == info->dir ? 1 : -ERR_INVALID);
		ends_close(&ends);
	}
}

static void
wrong_direction_refused(void **state)
{
	(void)state;
	wire_each("frame", check_direction, NULL);
}

/*** Descriptors ***/

static void
send_created(struct chan *c, int nfds, bool is_lent, int expected)
{
	struct msg_broker_created m = { view_of("sb_1"),
	    view_of("\xc0") };
	int fds[3], i;
	struct error e;

	for (i = 0; i < nfds; i++)
		fds[i] = is_lent ? STDERR_FILENO : dup(STDERR_FILENO);
	assert_int_equal(is_lent ?
	    chan_send_lent(c, MSG_BROKER_CREATED, 3, &m, fds, nfds, &e) :
	    chan_send(c, MSG_BROKER_CREATED, 3, &m, fds, nfds, &e), expected);
}

static void
descriptors_pass_and_are_consumed(void **state)
{
	struct ends ends;
	struct chan *b;
	struct frame f;
	int n;

	(void)state;
	ends_open(&ends, SOCK_SEQPACKET, 0);
	b = chan_new(ends.raw, 0, 1u << DIR_BF);
	ends.raw = -1;
	n = fd_count();
	for (int is_lent = 0; is_lent < 2; is_lent++) {
		send_created(ends.chan, 2, is_lent, 0);
		assert_int_equal(fd_count(), n);
		assert_int_equal(recv_code(b, &f), 1);
		assert_int_equal(f.nfds, 2);
		assert_int_equal(fd_count(), n + 2);
		assert_int_equal(recv_code(b, &f), 0);
		assert_int_equal(fd_count(), n);
	}
	assert_true(fcntl(STDERR_FILENO, F_GETFD) != -1);
	/* More than the message may have. */
	send_created(ends.chan, 3, false, -1);
	assert_int_equal(fd_count(), n);
	/* On the way, or received and not looked at: closed with the ends. */
	send_created(ends.chan, 2, false, 0);
	send_created(ends.chan, 1, false, 0);
	assert_int_equal(recv_code(b, &f), 1);
	chan_free(b);
	ends_close(&ends);
}

static void
descriptors_other_than_declared_refused(void **state)
{
	unsigned char p[HEADER_SIZE + 32];
	struct ends ends;
	struct frame f;
	int says, has, r;

	(void)state;
	for (says = 0; says <= 3; says++) {
		for (has = 0; has <= 12; has++) {
			ends_open(&ends, SOCK_SEQPACKET, ALL_DIRECTIONS);
			header(p, 7, MSG_BROKER_CREATED, says);
			memcpy(p + HEADER_SIZE, "\x92\xa4sb_1\xc0", 7);
			wire_send(ends.raw, p, HEADER_SIZE + 7, STDERR_FILENO,
			    has);
			r = recv_code(ends.chan, &f);
			assert_int_equal(r, says == has && says <= 2 ? 1 :
			    -ERR_INVALID);
			ends_close(&ends);
		}
	}
}

/* Fills the table of descriptors up to n free ones; undone by limit_back. */
static struct rlimit limit_old;

static void
limit_to(int nfree)
{
	struct rlimit limit;
	int fd;

	/* The lowest free number is where the next one would go. */
	fd = dup(STDERR_FILENO);
	assert_true(fd != -1);
	close(fd);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit_old), 0);
	limit = limit_old;
	limit.rlim_cur = (rlim_t)(fd + nfree);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void
limit_back(void)
{
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit_old), 0);
}

static void
descriptors_lost_is_that_frames_error(void **state)
{
	struct ends ends;
	struct chan *b;
	struct frame f;
	int nfree, n;

	(void)state;
	ends_open(&ends, SOCK_SEQPACKET, 0);
	b = chan_new(ends.raw, 0, 1u << DIR_BF);
	ends.raw = -1;
	n = fd_count();
	for (nfree = 0; nfree <= 2; nfree++) {
		send_created(ends.chan, 2, true, 0);
		send_created(ends.chan, 0, true, 0);
		limit_to(nfree);
		assert_int_equal(recv_code(b, &f), 1);
		limit_back();
		assert_int_equal(f.nfds, nfree == 2 ? 2 : 0);
		assert_int_equal(f.body.n, 7);
		if (nfree < 2) {
			assert_int_equal(frame_take_fd(&f, 0), -1);
			assert_non_null(strstr(mock_log_last,
			    "BROKER_CREATED"));
			mock_log_last[0] = '\0';
		}
		/* The channel goes on. */
		assert_int_equal(recv_code(b, &f), 1);
		assert_int_equal(fd_count(), n);
	}
	chan_free(b);
	ends_close(&ends);
}

/*** The queue ***/

static void
queue_keeps_order_and_descriptors(void **state)
{
	struct msg_broker_created m = { view_of("sb_1"), { 0 } };
	unsigned char *info;
	struct ends ends;
	struct chan *b;
	struct error e;
	struct frame f;
	uint32_t i, got = 0;
	int n;

	(void)state;
	ends_open(&ends, SOCK_SEQPACKET, 0);
	b = chan_new(ends.raw, 0, 1u << DIR_BF);
	ends.raw = -1;
	info = calloc(1, 16000);
	assert_non_null(info);
	memcpy(info, "\xc5\x3e\x7d", 3);
	m.info = (struct view){ info, 16000 };
	n = fd_count();
	for (i = 0; i < 100; i++) {
		int fd = dup(STDERR_FILENO);
		int lent = STDERR_FILENO;

		if (i % 3 == 0)
			assert_int_equal(chan_send_lent(ends.chan,
			    MSG_BROKER_CREATED, i, &m, &lent, 1, &e), 0);
		assert_int_equal(i % 3 == 0 ? 0 : chan_send(ends.chan,
		    MSG_BROKER_CREATED, i, &m, &fd, 1, &e), 0);
		if (i % 3 == 0)
			close(fd);
	}
	assert_true(chan_pending(ends.chan) > 0);
	while (got < 100) {
		if (recv_code(b, &f) == 0) {
			assert_int_equal(chan_flush(ends.chan, &e), 0);
			continue;
		}
		assert_int_equal(f.id, got);
		assert_int_equal(f.nfds, 1);
		assert_int_equal(f.body.n, 16006);
		got++;
	}
	assert_int_equal(recv_code(b, &f), 0);
	assert_int_equal(chan_pending(ends.chan), 0);
	assert_int_equal(fd_count(), n);
	free(info);
	chan_free(b);
	ends_close(&ends);
}

static void
queue_full_is_busy(void **state)
{
	struct msg_broker_policy m;
	unsigned char *policy;
	struct ends ends;
	struct error e = { 0 };
	struct frame f;
	int n;

	(void)state;
	ends_open(&ends, SOCK_SEQPACKET, 0);
	policy = calloc(1, 131072);
	assert_non_null(policy);
	memcpy(policy, "\xc6\0\1\xff\xfb", 5);
	m.policy = (struct view){ policy, 131072 };
	for (n = 0; n < 100; n++)
		if (chan_send(ends.chan, MSG_BROKER_POLICY, 0, &m, NULL, 0,
		    &e) == -1)
			break;
	assert_int_equal(e.code, ERR_BUSY);
	assert_true(chan_pending(ends.chan) <= CHAN_QUEUE_MAX);
	assert_true(n >= CHAN_QUEUE_MAX / 131072 - 1);
	/* Busy is not broken. */
	assert_int_equal(chan_flush(ends.chan, &e), 0);
	assert_int_equal(recv_code(ends.chan, &f), 0);
	free(policy);
	ends_close(&ends);
}

static void
send_refuses_what_peer_would(void **state)
{
	struct msg_worker_over m;
	char text[600];
	struct ends ends;
	struct error e;
	struct frame f;

	(void)state;
	memset(text, 'x', sizeof(text));
	ends_open(&ends, SOCK_SEQPACKET, 0);
	m.cause = view_of("lost");
	m.text = (struct view){ (unsigned char *)text, 513 };
	assert_int_equal(chan_send(ends.chan, MSG_WORKER_OVER, 0, &m, NULL,
	    0, &e), -1);
	assert_string_equal(e.key, "text");
	assert_int_equal(recv(ends.raw, text, sizeof(text), MSG_DONTWAIT),
	    -1);
	m.text.n = 512;
	assert_int_equal(chan_send(ends.chan, MSG_WORKER_OVER, 0, &m, NULL,
	    0, &e), 0);
	assert_int_equal(recv_code(ends.chan, &f), 0);
	ends_close(&ends);
}

static void
largest_frame_passes(void **state)
{
	struct msg_agent_exec m = { 0 };
	unsigned char *argv;
	struct ends ends;
	struct error e;
	struct chan *b;
	struct frame f;

	(void)state;
	ends_open(&ends, SOCK_SEQPACKET, 0);
	b = chan_new(ends.raw, 0, 1u << DIR_WA);
	ends.raw = -1;
	argv = calloc(1, ARGS_BYTES_MAX);
	assert_non_null(argv);
	memcpy(argv, "\xc6\0\1\xff\xfb", 5);
	m.argv = (struct view){ argv, ARGS_BYTES_MAX };
	assert_int_equal(chan_send(ends.chan, MSG_AGENT_EXEC, 0, &m, NULL, 0,
	    &e), 0);
	assert_int_equal(chan_pending(ends.chan), 0);
	assert_int_equal(recv_code(b, &f), 1);
	assert_int_equal(msg_unpack(&f, &m, &e), 0);
	assert_int_equal(m.argv.n, ARGS_BYTES_MAX);
	assert_int_equal(recv_code(b, &f), 0);
	/* Together above the frame's bound. */
	m.argv.p = argv;
	m.env = (struct view){ argv, ARGS_BYTES_MAX };
	assert_int_equal(chan_send(ends.chan, MSG_AGENT_EXEC, 0, &m, NULL, 0,
	    &e), -1);
	assert_int_equal(e.code, ERR_TOO_LARGE);
	free(argv);
	chan_free(b);
	ends_close(&ends);
}

/*** The end ***/

static void
frames_before_the_end_are_read(void **state)
{
	struct msg_agent_exec exec = { 0 };
	struct msg_agent_killed m = { .exec = 4 };
	struct ends ends;
	struct error e;
	struct chan *b;
	struct frame f;
	int fd;

	(void)state;
	ends_open(&ends, SOCK_SEQPACKET, 1u << DIR_AW);
	b = chan_new(ends.raw, 0, 0);
	ends.raw = -1;
	/* Unread at b when it closes: a leads to ECONNRESET here. */
	exec.argv = exec.env = view_of("\x90");
	assert_int_equal(chan_send(ends.chan, MSG_AGENT_EXEC, 0, &exec, NULL,
	    0, &e), 0);
	assert_int_equal(chan_send(b, MSG_AGENT_KILLED, 0, &m, NULL, 0, &e),
	    0);
	assert_int_equal(chan_send(b, MSG_AGENT_KILLED, 0, &m, NULL, 0, &e),
	    0);
	chan_free(b);
	assert_int_equal(recv_code(ends.chan, &f), 1);
	assert_int_equal(recv_code(ends.chan, &f), 1);
	assert_int_equal(f.type, MSG_AGENT_KILLED);
	assert_int_equal(recv_code(ends.chan, &f), -ERR_UNAVAILABLE);
	assert_int_equal(recv_code(ends.chan, &f), -ERR_UNAVAILABLE);
	/* No SIGPIPE, and the descriptor is consumed. */
	fd = dup(STDERR_FILENO);
	assert_int_equal(chan_send(ends.chan, MSG_AGENT_EXEC, 0, &exec, &fd,
	    1, &e), -1);
	assert_int_equal(e.code, ERR_UNAVAILABLE);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_int_equal(chan_pending(ends.chan), 0);
	assert_int_equal(chan_flush(ends.chan, &e), -1);
	ends_close(&ends);
}

static void
end_drops_the_queue(void **state)
{
	struct msg_broker_policy m;
	unsigned char *policy;
	struct ends ends;
	struct error e;
	int i;

	(void)state;
	ends_open(&ends, SOCK_SEQPACKET, 0);
	policy = calloc(1, 65536);
	assert_non_null(policy);
	memcpy(policy, "\xc5\xff\xfd", 3);
	m.policy = (struct view){ policy, 65536 };
	for (i = 0; i < 10; i++)
		assert_int_equal(chan_send(ends.chan, MSG_BROKER_POLICY, 0,
		    &m, NULL, 0, &e), 0);
	send_created(ends.chan, 2, false, 0);
	assert_true(chan_pending(ends.chan) > 0);
	fd_close(&ends.raw);
	assert_int_equal(chan_flush(ends.chan, &e), -1);
	assert_int_equal(chan_pending(ends.chan), 0);
	free(policy);
	ends_close(&ends);
}

#define TEST(f)								\
	cmocka_unit_test_setup_teardown(f, fd_count_setup,		\
	    fd_count_check)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(record_vectors_received),
		TEST(record_cut_anywhere_refused),
		TEST(record_changed_header_refused),
		TEST(record_bad_vectors_refused),
		TEST(record_longer_than_any_refused),
		TEST(stream_reassembled_by_length),
		TEST(stream_many_frames_in_one_read),
		TEST(stream_over_pipe_without_socket_calls),
		TEST(wrong_direction_refused),
		TEST(descriptors_pass_and_are_consumed),
		TEST(descriptors_other_than_declared_refused),
		TEST(descriptors_lost_is_that_frames_error),
		TEST(queue_keeps_order_and_descriptors),
		TEST(queue_full_is_busy),
		TEST(send_refuses_what_peer_would),
		TEST(largest_frame_passes),
		TEST(frames_before_the_end_are_read),
		TEST(end_drops_the_queue),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
