/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Broker and client, played in one process with blocking calls.  Run in
 * tests only, with the rights of sandboxd-broker; what it reads is from the
 * front under test, and any surprise ends the test.
 */

#include "config.h"

#include <sys/socket.h>

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "regress/front/play.h"

#define PATIENCE_MS	30000

struct chan		*channel;
static struct frame	 frame;

void
wrong(const char *file, int line, const char *what)
{
	fprintf(stderr, "%s:%d: wrong: %s\n", file, line, what);
	_exit(9);
}

static void
readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	CHECK(poll(&p, 1, PATIENCE_MS) == 1);
}

/*** The broker's side ***/

void
play_start(void)
{
	channel = chan_new(PEER_CHANNEL_FD, 0, 1u << DIR_FB);
	CHECK(channel != NULL);
}

struct frame *
play_recv(enum msg_type type, void *m)
{
	struct error e;
	int rc;

	while ((rc = chan_recv(channel, &frame, &e)) == 0)
		readable(chan_fd(channel));
	CHECK(rc == 1);
	if (frame.type != type)
		wrong(msg_name(type), __LINE__, msg_name(frame.type));
	CHECK(msg_unpack(&frame, m, &e) == 0);
	return &frame;
}

void
play_send(enum msg_type type, uint32_t id, const void *m, int fd, int fd2)
{
	const int fds[] = { fd, fd2 };
	struct error e;

	CHECK(chan_send(channel, type, id, m, fds, (fd != -1) + (fd2 != -1),
	    &e) == 0);
	CHECK(chan_pending(channel) == 0);
}

void
play_fail(uint32_t id, enum err_code code, const char *text)
{
	struct msg_broker_failed m;
	struct error e = { 0 };

	error_set(&e, code, "%s", text);
	msg_from_error(&e, &m);
	play_send(MSG_BROKER_FAILED, id, &m, -1, -1);
}

/*** A client's side ***/

void
client_open(struct client *c, uint64_t uid, bool is_admin)
{
	static uint64_t handle = 1000;
	struct msg_broker_client m = { .uid = uid, .gid = uid, .pid = 77,
	    .is_admin = is_admin };
	int pair[2];

	memset(c, 0, sizeof(*c));
	m.handle = c->handle = ++handle;
	CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
	CHECK((c->rpc = rpc_new(pair[0])) != NULL);
	play_send(MSG_BROKER_CLIENT, 0, &m, pair[1], -1);
}

void
client_close(struct client *c)
{
	struct msg_broker_drop m;

	rpc_free(c->rpc);
	c->rpc = NULL;
	play_recv(MSG_BROKER_DROP, &m);
	CHECK(m.handle == c->handle);
}

static void
put_argument(struct buf *b, char kind, va_list *ap)
{
	switch (kind) {
	case 's':
		put_str(b, va_arg(*ap, const char *));
		break;
	case 'u':
		put_uint(b, va_arg(*ap, uint64_t));
		break;
	case 'b':
		put_bool(b, va_arg(*ap, int) != 0);
		break;
	default:
		CHECK(0 && "kind of argument");
	}
}

uint32_t
client_ask(struct client *c, const char *method, const char *keys, ...)
{
	struct buf b = { 0 }, pairs = { 0 };
	struct error e;
	va_list ap;
	size_t n;
	uint32_t count = 0;

	va_start(ap, keys);
	for (; *keys != '\0'; keys += n + 2 + (keys[n + 2] == ',')) {
		n = strcspn(keys, "=");
		put_str_view(&pairs, (struct view){
		    (const unsigned char *)keys, n });
		put_argument(&pairs, keys[n + 1], &ap);
		count++;
	}
	va_end(ap);
	put_map(&b, count);
	buf_add(&b, pairs.p, pairs.n);
	CHECK(rpc_request(c->rpc, ++c->last_id, method, &b, NULL, 0,
	    &e) == 0);
	CHECK(rpc_pending(c->rpc) == 0);
	buf_free(&b);
	buf_free(&pairs);
	return c->last_id;
}

/* 0: the connection has ended. */
static int
next_message(struct client *c)
{
	int rc;

	while ((rc = rpc_recv(c->rpc, &c->msg, &c->error)) == 0)
		readable(rpc_fd(c->rpc));
	if (rc == -1) {
		CHECK(c->error.code == ERR_UNAVAILABLE);
		return 0;
	}
	return 1;
}

static void
response(struct client *c, uint32_t id)
{
	do {
		CHECK(next_message(c) == 1);
	} while (c->msg.kind != RPC_RESPONSE);
	CHECK(c->msg.id == id);
}

bool
client_next(struct client *c)
{
	CHECK(next_message(c) == 1);
	return c->msg.kind == RPC_RESPONSE;
}

static bool
has_error(const struct client *c)
{
	struct cursor cursor;

	cursor_init(&cursor, c->msg.error);
	return cursor_kind(&cursor) == V_MAP;
}

struct view
client_result(struct client *c, uint32_t id)
{
	response(c, id);
	if (has_error(c)) {
		rpc_error_unpack(c->msg.error, &c->error);
		wrong(error_name(c->error.code), __LINE__, c->error.message);
	}
	return c->msg.result;
}

void
client_error(struct client *c, uint32_t id, enum err_code code)
{
	response(c, id);
	CHECK(has_error(c));
	rpc_error_unpack(c->msg.error, &c->error);
	if (c->error.code != code)
		wrong(error_name(code), __LINE__, c->error.message);
}

struct view
client_event(struct client *c, const char *kind)
{
	do {
		CHECK(next_message(c) == 1);
	} while (c->msg.kind != RPC_NOTIFY);
	CHECK(view_is(c->msg.method, "event"));
	if (strcmp(text_of(c->msg.params, "kind"), kind) != 0)
		wrong(kind, __LINE__, text_of(c->msg.params, "kind"));
	return c->msg.params;
}

bool
client_is_served(struct client *c)
{
	rpc_request(c->rpc, ++c->last_id, "hello", NULL, NULL, 0, NULL);
	return next_message(c) == 1;
}

void
client_is_closed(struct client *c)
{
	while (next_message(c) == 1)
		;
	client_close(c);
}

int
client_fd(struct client *c, uint32_t id)
{
	struct view result = client_result(c, id);

	CHECK(number_of(result, "fds") == 1);
	CHECK(c->msg.nfds == 1);
	return rpc_take_fd(&c->msg, 0);
}

const char *
text_of(struct view map, const char *key)
{
	static char text[512];

	if (map_text(map, key, text, sizeof(text)) == -1)
		return "";
	return text;
}

uint64_t
number_of(struct view map, const char *key)
{
	uint64_t value = UINT64_MAX;

	map_uint(map, key, &value);
	return value;
}
