/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * A daemon for test_lib.c: it answers by the method's name, so that each test
 * says what happens.  A child of the test, with its rights; it trusts it.
 */

#include <sys/socket.h>
#include <sys/stat.h>

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib_daemon.h"
#include "proto/proto.h"

static struct {
	struct rpc	*control;
	struct rpc	*sandbox;	/* connection, once created */
	uint32_t	 held;		/* a request to be answered later */
	int		 offer_fd;
} fake;

static void
text_put(struct buf *b, const char *key, const char *value)
{
	put_str(b, key);
	put_str(b, value);
}

static void
uint_put(struct buf *b, const char *key, uint64_t value)
{
	put_str(b, key);
	put_uint(b, value);
}

static void
reply(struct rpc *rpc, struct rpc_msg *msg, struct buf *b, int fd)
{
	rpc_reply(rpc, msg->id, b, &fd, fd == -1 ? 0 : 1, NULL);
	buf_free(b);
}

static void
fake_echo(struct rpc *rpc, struct rpc_msg *msg)
{
	struct buf b = { 0 };

	put_raw(&b, msg->params);
	reply(rpc, msg, &b, -1);
}

static void
fake_fail(struct rpc *rpc, struct rpc_msg *msg)
{
	struct error e = { 0 };

	error_key(&e, ERR_DENIED, "network", "no network for you");
	error_path(&e, "/etc/sandboxd.conf");
	error_fix(&e, "ask somebody");
	e.sys_errno = EPERM;
	rpc_reply_error(rpc, msg->id, &e, NULL);
}

/* Answered after the next one. */
static void
fake_hold(struct rpc *rpc, struct rpc_msg *msg)
{
	(void)rpc;
	fake.held = msg->id;
}

static void
fake_release(struct rpc *rpc, struct rpc_msg *msg)
{
	struct buf b = { 0 };

	fake_echo(rpc, msg);
	put_map(&b, 0);
	rpc_reply(rpc, fake.held, &b, NULL, 0, NULL);
	buf_free(&b);
}

static void
fake_subscribe(struct rpc *rpc, struct rpc_msg *msg)
{
	struct buf b = { 0 };

	put_map(&b, 1);
	uint_put(&b, "seq", 41);
	rpc_notify(rpc, "event", &b, NULL);
	rpc_notify(rpc, "other", &b, NULL);
	reply(rpc, msg, &b, -1);
}

static void
fake_connection(struct rpc *rpc, struct rpc_msg *msg)
{
	struct buf b = { 0 };
	int fds[2] = { -1, -1 };
	bool wanted = view_is(msg->method, "sandbox.connect") ||
	    map_find(msg->params, "connect").p != NULL;

	if (map_find(msg->params, "tunnel").p != NULL)
		wanted = false;
	if (wanted) {
		assert_int_equal(fd_pair(SOCK_STREAM, fds), 0);
		fake.sandbox = rpc_new(fds[0]);
	}
	put_map(&b, wanted ? 2 : 1);
	text_put(&b, "id", ID);
	if (wanted)
		uint_put(&b, "fds", 1);
	reply(rpc, msg, &b, fds[1]);
}

static void
fake_offer(struct rpc *rpc, struct rpc_msg *msg)
{
	struct buf b = { 0 };
	int fds[2];

	assert_int_equal(fd_pair(SOCK_STREAM, fds), 0);
	fake.offer_fd = fds[0];
	put_map(&b, 2);
	uint_put(&b, "offer", 9);
	uint_put(&b, "fds", 1);
	reply(rpc, msg, &b, fds[1]);
}

/* How many directories came over the offer, one with each byte. */
static void
fake_count(struct rpc *rpc, struct rpc_msg *msg)
{
	struct buf b = { 0 };
	char control[CMSG_SPACE(sizeof(int) * 4)], byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct stat st;
	uint64_t n = 0;
	int fd;

	for (;;) {
		m.msg_control = control;
		m.msg_controllen = sizeof(control);
		if (recvmsg(fake.offer_fd, &m, MSG_DONTWAIT) != 1)
			break;
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
		if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
			n++;
		close(fd);
	}
	put_map(&b, 1);
	uint_put(&b, "count", n);
	reply(rpc, msg, &b, -1);
}

/* Writes to the last descriptor, to show that it came. */
static void
fake_start(struct rpc *rpc, struct rpc_msg *msg)
{
	struct buf b = { 0 };
	int fd;

	if (msg->nfds > 0) {
		fd = rpc_take_fd(msg, msg->nfds - 1);
		assert_int_equal(write(fd, "hello", 5), 5);
		close(fd);
	}
	put_map(&b, 3);
	uint_put(&b, "exec", 1);
	uint_put(&b, "pid", 7);
	put_str(&b, "params");
	put_raw(&b, msg->params);
	reply(rpc, msg, &b, -1);
}

static void
fake_wait(struct rpc *rpc, struct rpc_msg *msg)
{
	struct buf b = { 0 };

	put_map(&b, 8);
	uint_put(&b, "exec", 1);
	put_str(&b, "code");
	put_nil(&b);
	uint_put(&b, "signal", 9);
	text_put(&b, "cause", "timeout");
	put_str(&b, "wall");
	put_double(&b, 1.5);
	uint_put(&b, "peak", 4096);
	put_str(&b, "truncated");
	put_map(&b, 2);
	put_str(&b, "stdout");
	put_bool(&b, true);
	put_str(&b, "stderr");
	put_bool(&b, false);
	put_str(&b, "core");
	put_bool(&b, true);
	reply(rpc, msg, &b, -1);
}

static void
fake_read(struct rpc *rpc, struct rpc_msg *msg)
{
	struct buf b = { 0 };

	put_map(&b, 3);
	put_str(&b, "data");
	put_bin(&b, (struct view){ (const unsigned char *)"\0\377", 2 });
	uint_put(&b, "next", 12);
	put_str(&b, "eof");
	put_bool(&b, true);
	reply(rpc, msg, &b, -1);
}

static void
fake_exit(struct rpc *rpc, struct rpc_msg *msg)
{
	(void)rpc;
	(void)msg;
	_exit(0);
}

static const struct {
	const char	*method;
	void		(*run)(struct rpc *, struct rpc_msg *);
} fakes[] = {
	{ "echo", fake_echo },
	{ "fail", fake_fail },
	{ "hold", fake_hold },
	{ "release", fake_release },
	{ "event.subscribe", fake_subscribe },
	{ "sandbox.create", fake_connection },
	{ "sandbox.connect", fake_connection },
	{ "sandbox.destroy", fake_echo },
	{ "sandbox.offer", fake_offer },
	{ "count", fake_count },
	{ "exec.start", fake_start },
	{ "exec.wait", fake_wait },
	{ "exec.read", fake_read },
	{ "exec.kill", fake_echo },
	{ "exit", fake_exit }
};

static int
fake_serve(struct rpc *rpc)
{
	struct rpc_msg msg;
	struct error e;
	size_t i;
	int r;

	while ((r = rpc_recv(rpc, &msg, &e)) == 1)
		for (i = 0; i < sizeof(fakes) / sizeof(fakes[0]); i++)
			if (view_is(msg.method, fakes[i].method))
				fakes[i].run(rpc, &msg);
	return r;
}

void
fake_main(int fd)
{
	struct pollfd pfds[2];

	fake.control = rpc_new(fd);
	for (;;) {
		pfds[0] = (struct pollfd){ fd, POLLIN, 0 };
		pfds[1] = (struct pollfd){ fake.sandbox == NULL ? -1 :
		    rpc_fd(fake.sandbox), POLLIN, 0 };
		if (poll(pfds, 2, 30000) < 1)
			_exit(1);
		if (pfds[0].revents != 0 && fake_serve(fake.control) == -1)
			_exit(0);
		if (pfds[1].revents != 0 && fake_serve(fake.sandbox) == -1) {
			rpc_free(fake.sandbox);
			fake.sandbox = NULL;
		}
	}
}
