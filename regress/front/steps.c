/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Steps that several parts of the play share.  Run in tests only; see
 * play.h.
 */

#include "config.h"

#include <sys/socket.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "regress/front/play.h"

struct chan *worker;

void
policy(void)
{
	struct msg_broker_policy m;

	play_recv(MSG_BROKER_POLICY, &m);
	CHECK(number_of(m.policy, "base") != UINT64_MAX);
	CHECK(number_of(m.policy, "count") % 65536 == 0);
	CHECK(number_of(m.policy, "uid") != UINT64_MAX);
	CHECK(map_find(m.policy, "defaults").p != NULL);
	CHECK(map_find(m.policy, "rules").p != NULL);
}

void
ready(void)
{
	struct msg_broker_ready m = { .backend = view_of("ns") };

	policy();
	play_send(MSG_BROKER_READY, 0, &m, -1, -1);
}

static void
put_info(struct buf *b)
{
	put_map(b, 4);
	put_str(b, "backend");
	put_str(b, "ns");
	put_str(b, "protections");
	put_array(b, 1);
	put_str(b, "seccomp");
	put_str(b, "limits");
	put_map(b, 0);
	/* Keys of the front's own: it must not take them from here. */
	put_str(b, "state");
	put_str(b, "odd");
}

/* Answers the BROKER_CREATE that is next; its id goes to id. */
void
create_answer(const struct client *c, char *id, bool has_connect,
    int *conn)
{
	struct msg_broker_create m;
	struct msg_broker_created created;
	struct buf b = { 0 };
	uint32_t request;
	int events[2], pair[2] = { -1, -1 };

	request = play_recv(MSG_BROKER_CREATE, &m)->id;
	CHECK(c == NULL || m.handle == c->handle);
	CHECK(text_copy(id, ID_LEN + 1, m.id) == 0);
	CHECK(id_is_valid(id));
	CHECK(map_find(m.spec, "name").p == NULL);
	CHECK(map_find(m.spec, "labels").p == NULL);
	CHECK(map_find(m.spec, "token").p == NULL);
	CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, events) == 0);
	chan_free(worker);
	CHECK((worker = chan_new(events[0], 0, 0)) != NULL);
	if (has_connect)
		CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	put_info(&b);
	created.id = view_of(id);
	created.info = (struct view){ b.p, b.n };
	play_send(MSG_BROKER_CREATED, request, &created, events[1], pair[1]);
	buf_free(&b);
	if (conn != NULL)
		*conn = pair[0];
}

/* A sandbox of this name. */
void
create(struct client *c, const char *name, char *id)
{
	struct view result;
	uint32_t request;

	request = client_ask(c, "sandbox.create", "name=s", name);
	create_answer(c, id, false, NULL);
	result = client_result(c, request);
	CHECK(strcmp(text_of(result, "id"), id) == 0);
	CHECK(strcmp(text_of(result, "name"), name) == 0);
	CHECK(strcmp(text_of(result, "state"), "running") == 0);
	CHECK(strcmp(text_of(result, "backend"), "ns") == 0);
	CHECK(number_of(result, "fds") == 0);
}

void
destroy_answer(const char *id)
{
	struct msg_broker_destroy m;
	uint32_t request;

	request = play_recv(MSG_BROKER_DESTROY, &m)->id;
	CHECK(view_is(m.id, id));
	play_send(MSG_BROKER_DESTROYED, request,
	    &(struct msg_broker_destroyed){ .id = view_of(id) }, -1, -1);
}

void
gone(const char *id, const char *cause)
{
	struct msg_broker_gone m = { .id = view_of(id),
	    .cause = view_of(cause), .text = view_of("because") };

	play_send(MSG_BROKER_GONE, 0, &m, -1, -1);
}

void
worker_event(const char *kind, unsigned int exec)
{
	struct msg_worker_event m = { .kind = view_of(kind), .exec = exec };
	struct buf b = { 0 };
	struct error e;

	put_map(&b, 2);
	put_str(&b, "code");
	put_uint(&b, 7);
	put_str(&b, "id");
	put_str(&b, "sb_0000000000000000");
	m.info = (struct view){ b.p, b.n };
	CHECK(chan_send(worker, MSG_WORKER_EVENT, 0, &m, NULL, 0, &e) == 0);
	buf_free(&b);
}

/* Rows of one page of the list; more says whether there are others. */
uint32_t
rows(struct client *c, bool has_all, const char *after, uint64_t max,
    bool *more)
{
	struct cursor cursor;
	struct view r;
	uint32_t n;

	r = client_result(c, client_ask(c, "sandbox.list",
	    "all=b,after=s,max=u", has_all, after, max));
	cursor_init(&cursor, map_find(r, "more"));
	CHECK(get_bool(&cursor, more) == 0);
	cursor_init(&cursor, map_find(r, "sandboxes"));
	CHECK(get_array(&cursor, &n) == 0);
	return n;
}
