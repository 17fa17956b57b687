/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * event: freeing inside callbacks, fair turns, pausing with messages in the
 * buffer, and the end after all that came before it.
 */

#include <sys/socket.h>

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "event.h"
#include "regress/wire/wire.h"

enum action { COUNT, FREE, PAUSE, DETACH };

struct side {
	struct watch	*watch;
	struct rpc	*detached;
	enum action	 action;
	int		 at;		/* the message at which to act */
	int		 messages;
	int		 closed;
	enum err_code	 code;
	struct side	*other;
	int		 other_seen;	/* of the other's, at our last one */
};

static struct event_base	*base;
static int			 fds_before;

static int
setup(void **state)
{
	(void)state;
	fds_before = fd_count();
	base = event_base_new();
	return base == NULL ? -1 : 0;
}

static int
teardown(void **state)
{
	(void)state;
	event_base_free(base);
	return fd_count() == fds_before ? 0 : -1;
}

static void
side_act(struct side *s)
{
	s->messages++;
	if (s->other != NULL)
		s->other_seen = s->other->messages;
	if (s->messages != s->at)
		return;
	if (s->action == FREE) {
		watch_free(s->watch);
		watch_free(s->watch);
		s->watch = NULL;
	} else if (s->action == PAUSE)
		watch_read(s->watch, false);
	else if (s->action == DETACH) {
		s->detached = watch_detach_rpc(s->watch);
		s->watch = NULL;
	}
}

static void
side_msg(struct rpc *r, struct rpc_msg *m, void *arg)
{
	struct side *s = arg;

	(void)r;
	side_act(s);
	/* Still there, whatever happened. */
	assert_true(view_is(m->method, "m"));
}

static void
side_frame(struct chan *c, struct frame *f, void *arg)
{
	(void)c;
	side_act(arg);
	assert_int_equal(f->type, MSG_AGENT_KILLED);
}

static void
side_close(const struct error *e, void *arg)
{
	struct side *s = arg;

	s->closed++;
	s->code = e->code;
	if (s->action == FREE) {
		watch_free(s->watch);
		s->watch = NULL;
	}
}

static struct rpc *
side_rpc(struct side *s)
{
	int pair[2];

	assert_int_equal(fd_pair(SOCK_STREAM, pair), 0);
	s->watch = watch_rpc(base, rpc_new(pair[0]), side_msg, side_close, s);
	assert_non_null(s->watch);
	return rpc_new(pair[1]);
}

static void
notify(struct rpc *r, int n)
{
	struct error e;

	while (n-- > 0)
		assert_int_equal(rpc_notify(r, "m", NULL, &e), 0);
}

/* Until nothing happens any more. */
static void
settle(void)
{
	int i;

	for (i = 0; i < 50; i++)
		event_base_loop(base, EVLOOP_NONBLOCK);
}

static void
free_inside_message_callback(void **state)
{
	struct side s = { .action = FREE, .at = 3 };
	struct rpc *peer;

	(void)state;
	peer = side_rpc(&s);
	notify(peer, 10);
	settle();
	assert_int_equal(s.messages, 3);
	assert_int_equal(s.closed, 0);
	assert_null(s.watch);
	rpc_free(peer);
}

static void
free_inside_close_callback(void **state)
{
	struct side s = { .action = FREE, .at = -1 };
	struct rpc *peer;

	(void)state;
	peer = side_rpc(&s);
	notify(peer, 40);
	rpc_free(peer);
	settle();
	assert_int_equal(s.messages, 40);
	assert_int_equal(s.closed, 1);
	assert_int_equal(s.code, ERR_UNAVAILABLE);
}

static void
bad_message_closes_once(void **state)
{
	struct side s = { .action = COUNT };
	struct rpc *peer;

	(void)state;
	peer = side_rpc(&s);
	notify(peer, 2);
	assert_int_equal(write(rpc_fd(peer), "\xc1\xc1", 2), 2);
	settle();
	assert_int_equal(s.messages, 2);
	assert_int_equal(s.closed, 1);
	assert_int_equal(s.code, ERR_INVALID);
	/* Calls on a closed one do nothing. */
	watch_kick(s.watch);
	watch_read(s.watch, false);
	watch_read(s.watch, true);
	settle();
	assert_int_equal(s.closed, 1);
	watch_free(s.watch);
	rpc_free(peer);
}

static void
busy_peer_leaves_turns(void **state)
{
	struct side a = { .action = COUNT }, b = { .action = COUNT };
	struct rpc *peer_a, *peer_b;
	int i;

	(void)state;
	peer_a = side_rpc(&a);
	peer_b = side_rpc(&b);
	b.other = &a;
	notify(peer_a, 200);
	notify(peer_b, 1);
	for (i = 0; i < 50 && b.messages == 0; i++)
		event_base_loop(base, EVLOOP_ONCE);
	/* At most one turn of a went first. */
	assert_int_equal(b.messages, 1);
	assert_true(b.other_seen <= 16);
	settle();
	assert_int_equal(a.messages, 200);
	watch_free(a.watch);
	watch_free(b.watch);
	rpc_free(peer_a);
	rpc_free(peer_b);
}

static void
pause_keeps_buffered_messages(void **state)
{
	struct side s = { .action = PAUSE, .at = 5 };
	struct rpc *peer;

	(void)state;
	peer = side_rpc(&s);
	notify(peer, 40);
	settle();
	assert_int_equal(s.messages, 5);
	rpc_free(peer);
	settle();
	assert_int_equal(s.closed, 0);
	watch_read(s.watch, true);
	settle();
	assert_int_equal(s.messages, 40);
	assert_int_equal(s.closed, 1);
	watch_free(s.watch);
}

static void
detach_inside_callback(void **state)
{
	struct side s = { .action = DETACH, .at = 2 };
	struct buf rest = { 0 };
	struct rpc *peer;
	int fd;

	(void)state;
	peer = side_rpc(&s);
	notify(peer, 3);
	settle();
	assert_int_equal(s.messages, 2);
	assert_non_null(s.detached);
	fd = rpc_detach(s.detached, &rest);
	assert_true(fd != -1);
	/* [2, "m", [{}]] */
	assert_int_equal(rest.n, 6);
	buf_free(&rest);
	close(fd);
	rpc_free(peer);
}

static void
write_waits_for_room(void **state)
{
	static unsigned char data[60000];
	struct side s = { .action = COUNT };
	struct buf b = { 0 };
	struct rpc_msg m;
	struct error e;
	struct rpc *peer;
	int i, got = 0;

	(void)state;
	peer = side_rpc(&s);
	put_bin(&b, (struct view){ data, sizeof(data) });
	for (i = 0; i < 30; i++)
		assert_int_equal(rpc_reply(watch_get_rpc(s.watch),
		    (uint32_t)i, &b, NULL, 0, &e), 0);
	assert_true(rpc_pending(watch_get_rpc(s.watch)) > 0);
	watch_kick(s.watch);
	for (i = 0; i < 1000 && got < 30; i++) {
		while (rpc_recv(peer, &m, &e) == 1)
			assert_int_equal(m.id, got++);
		event_base_loop(base, EVLOOP_NONBLOCK);
	}
	assert_int_equal(got, 30);
	assert_int_equal(rpc_pending(watch_get_rpc(s.watch)), 0);
	buf_free(&b);
	watch_free(s.watch);
	rpc_free(peer);
}

static void
frames_before_a_failed_write_are_read(void **state)
{
	struct msg_agent_killed killed = { .exec = 1 };
	struct msg_agent_signal sig = { .exec = 1, .signal = 9 };
	struct side s = { .action = COUNT };
	struct chan *peer;
	struct error e;
	int pair[2], i;

	(void)state;
	assert_int_equal(fd_pair(SOCK_SEQPACKET, pair), 0);
	s.watch = watch_chan(base, chan_new(pair[0], 0, 1u << DIR_AW),
	    side_frame, side_close, &s);
	assert_non_null(s.watch);
	peer = chan_new(pair[1], 0, 1u << DIR_WA);
	/* The peer leaves with our frame unread and 20 of its own sent. */
	assert_int_equal(chan_send(watch_get_chan(s.watch), MSG_AGENT_SIGNAL,
	    0, &sig, NULL, 0, &e), 0);
	for (i = 0; i < 20; i++)
		assert_int_equal(chan_send(peer, MSG_AGENT_KILLED, 0,
		    &killed, NULL, 0, &e), 0);
	chan_free(peer);
	assert_int_equal(chan_send(watch_get_chan(s.watch), MSG_AGENT_SIGNAL,
	    0, &sig, NULL, 0, &e), -1);
	watch_kick(s.watch);
	settle();
	assert_int_equal(s.messages, 20);
	assert_int_equal(s.closed, 1);
	watch_free(s.watch);
}

#define TEST(f)	cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(free_inside_message_callback),
		TEST(free_inside_close_callback),
		TEST(bad_message_closes_once),
		TEST(busy_peer_leaves_turns),
		TEST(pause_keeps_buffered_messages),
		TEST(detach_inside_callback),
		TEST(write_waits_for_room),
		TEST(frames_before_a_failed_write_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
