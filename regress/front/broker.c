/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Stands in for sandboxd-broker beside the real sandboxd and puts it through
 * one part each; regress/sh/l-front.sh and d-front.sh choose it by the last
 * component of the run directory.  Runs in tests only.  It checks the front
 * from both its sides and ends with status 0 when all was as it should be.
 */

#include "config.h"

#include <sys/socket.h>
#include <sys/stat.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "regress/front/play.h"

static const char *rundir;

/*** Parts ***/

/* hello, and what is no method or no parameter. */
static void
part_hello(void)
{
	struct client c;
	struct view r;

	client_open(&c, 1000, false);
	r = client_result(&c, client_ask(&c, "hello", ""));
	CHECK(strcmp(text_of(r, "version"), SANDBOXD_VERSION) == 0);
	CHECK(number_of(r, "protocol") == 1);
	CHECK(strcmp(text_of(r, "backend"), "ns") == 0);
	CHECK(strlen(text_of(r, "boot")) == 16);
	CHECK(number_of(r, "uid") == 1000);
	client_error(&c, client_ask(&c, "sandbox.explode", ""),
	    ERR_UNSUPPORTED);
	client_error(&c, client_ask(&c, "hello", "colour=s", "red"),
	    ERR_INVALID);
	CHECK(strcmp(c.error.key, "colour") == 0);
	client_error(&c, client_ask(&c, "sandbox.info", ""), ERR_INVALID);
	client_error(&c, client_ask(&c, "sandbox.info", "id=u",
	    (uint64_t)3), ERR_INVALID);
	client_error(&c, client_ask(&c, "sandbox.create", "pids=s", "many"),
	    ERR_INVALID);
	client_error(&c, client_ask(&c, "sandbox.create", "name=s",
	    "sb_like"), ERR_INVALID);
	client_error(&c, client_ask(&c, "sandbox.list", "max=u",
	    (uint64_t)100000), ERR_INVALID);
	client_error(&c, client_ask(&c, "event.subscribe", "since=u",
	    (uint64_t)99), ERR_INVALID);
	client_close(&c);
}

/* Looking up, and that others' sandboxes cannot be told from none. */
static void
part_owners(void)
{
	struct client a, admin, b;
	char id[ID_LEN + 1], id2[ID_LEN + 1], text[512];
	struct view r;
	bool more;

	client_open(&a, 1000, false);
	client_open(&b, 1001, false);
	client_open(&admin, 0, true);
	create(&a, "one", id);
	create(&a, "other", id2);
	client_error(&a, client_ask(&a, "sandbox.create", "name=s", "one"),
	    ERR_CONFLICT);
	r = client_result(&a, client_ask(&a, "sandbox.info", "id=s", id));
	CHECK(strcmp(text_of(r, "owner"), "uid:1000") == 0);
	CHECK(strcmp(text_of(r, "state"), "running") == 0);
	r = client_result(&a, client_ask(&a, "sandbox.info", "id=s", "one"));
	CHECK(strcmp(text_of(r, "id"), id) == 0);
	r = client_result(&a, client_ask(&a, "sandbox.info", "id=s", "ot"));
	CHECK(strcmp(text_of(r, "id"), id2) == 0);
	client_error(&a, client_ask(&a, "sandbox.info", "id=s", "o"),
	    ERR_CONFLICT);
	client_error(&b, client_ask(&b, "sandbox.info", "id=s", id),
	    ERR_NOT_FOUND);
	snprintf(text, sizeof(text), "no sandbox %s", id);
	CHECK(strcmp(b.error.message, text) == 0);
	client_error(&b, client_ask(&b, "sandbox.info", "id=s",
	    "sb_0123456789abcdef"), ERR_NOT_FOUND);
	CHECK(strcmp(b.error.message,
	    "no sandbox sb_0123456789abcdef") == 0);
	client_error(&b, client_ask(&b, "sandbox.destroy", "id=s", id),
	    ERR_NOT_FOUND);
	client_error(&b, client_ask(&b, "sandbox.connect", "id=s", "one"),
	    ERR_NOT_FOUND);
	client_error(&b, client_ask(&b, "sandbox.wait", "id=s", "on"),
	    ERR_NOT_FOUND);
	CHECK(rows(&b, true, "", 10, &more) == 0 && !more);
	CHECK(rows(&a, false, "", 1, &more) == 1 && more);
	CHECK(rows(&a, true, "", 10, &more) == 2 && !more);
	CHECK(rows(&a, true, strcmp(id, id2) < 0 ? id : id2, 10,
	    &more) == 1 && !more);
	CHECK(rows(&admin, false, "", 10, &more) == 0);
	CHECK(rows(&admin, true, "", 10, &more) == 2);
	create(&b, "one", id2);
	client_error(&admin, client_ask(&admin, "sandbox.info", "id=s",
	    "one"), ERR_CONFLICT);
	client_close(&a);
	client_close(&b);
	client_close(&admin);
}

/* Bytes from one end arrive at the other. */
static void
passes(int from, int to, const char *text)
{
	struct pollfd p = { .fd = to, .events = POLLIN };
	char got[64];
	size_t n = strlen(text);

	CHECK(send(from, text, n, MSG_NOSIGNAL) == (ssize_t)n);
	CHECK(poll(&p, 1, 30000) == 1);
	CHECK(recv(to, got, sizeof(got), 0) == (ssize_t)n);
	CHECK(memcmp(got, text, n) == 0);
}

/* Sandbox connections: with create, by connect, refused. */
static void
part_connect(void)
{
	struct msg_broker_connect m;
	struct client c;
	char id[ID_LEN + 1];
	uint32_t ask, request;
	int conn, fd, pair[2];

	client_open(&c, 1000, false);
	ask = client_ask(&c, "sandbox.create", "name=s,connect=b", "a", 1);
	create_answer(&c, id, true, &conn);
	fd = client_fd(&c, ask);
	passes(conn, fd, "to the client");
	passes(fd, conn, "to the worker");
	ask = client_ask(&c, "sandbox.connect", "id=s", "a");
	request = play_recv(MSG_BROKER_CONNECT, &m)->id;
	CHECK(view_is(m.id, id) && m.handle == c.handle);
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	play_send(MSG_BROKER_CONNECTED, request,
	    &(struct msg_broker_connected){ .id = view_of(id) }, pair[1], -1);
	fd = client_fd(&c, ask);
	passes(pair[0], fd, "another");
	ask = client_ask(&c, "sandbox.connect", "id=s", id);
	request = play_recv(MSG_BROKER_CONNECT, &m)->id;
	play_fail(request, ERR_LIMIT, "too many");
	client_error(&c, ask, ERR_LIMIT);
	client_close(&c);
}

static void
part_offer(void)
{
	struct msg_broker_offered offered = { .offer = 42 };
	struct msg_broker_offer m;
	struct client c;
	uint32_t ask, request;
	int fd, pair[2];

	client_open(&c, 1000, false);
	ask = client_ask(&c, "sandbox.offer", "");
	request = play_recv(MSG_BROKER_OFFER, &m)->id;
	CHECK(m.handle == c.handle);
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	play_send(MSG_BROKER_OFFERED, request, &offered, pair[1], -1);
	fd = client_fd(&c, ask);
	CHECK(number_of(c.msg.result, "offer") == 42);
	passes(fd, pair[0], "here they come");
	client_close(&c);
}

/* A connection that becomes a tunnel; the rest of its bytes go through. */
static void
part_tunnel(void)
{
	static char big[1024 * 1024], got[sizeof(big)];
	struct msg_broker_connect m;
	struct client c;
	struct buf rest = { 0 };
	char id[ID_LEN + 1];
	uint32_t ask, request;
	int fd, pair[2];
	size_t in, out;
	ssize_t n;

	client_open(&c, 1000, false);
	create(&c, "t", id);
	ask = client_ask(&c, "sandbox.connect", "id=s,tunnel=b", id, 1);
	/* Sent too early, so it is the sandbox's already. */
	CHECK(send(rpc_fd(c.rpc), "early", 5, MSG_NOSIGNAL) == 5);
	request = play_recv(MSG_BROKER_CONNECT, &m)->id;
	CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0);
	play_send(MSG_BROKER_CONNECTED, request,
	    &(struct msg_broker_connected){ .id = view_of(id) }, pair[1], -1);
	client_result(&c, ask);
	fd = rpc_detach(c.rpc, &rest);
	CHECK(fd != -1 && rest.n == 0);
	CHECK(poll(&(struct pollfd){ .fd = pair[0], .events = POLLIN }, 1,
	    30000) == 1);
	CHECK(recv(pair[0], got, sizeof(got), 0) == 5);
	CHECK(memcmp(got, "early", 5) == 0);
	passes(pair[0], fd, "back");

	/* More than any buffer on the way holds, and nobody reads at first. */
	for (in = 0; in < sizeof(big); in++)
		big[in] = (char)(in * 7 + in / 256);
	for (in = out = 0; in < sizeof(big);) {
		n = out == sizeof(big) ? -1 : send(fd, big + out,
		    sizeof(big) - out, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n > 0) {
			out += (size_t)n;
			continue;
		}
		CHECK(poll(&(struct pollfd){ .fd = pair[0],
		    .events = POLLIN }, 1, 30000) == 1);
		n = recv(pair[0], got + in, sizeof(got) - in, 0);
		CHECK(n > 0);
		in += (size_t)n;
	}
	CHECK(memcmp(big, got, sizeof(big)) == 0);

	/* Ends one after the other. */
	CHECK(shutdown(fd, SHUT_WR) == 0);
	CHECK(poll(&(struct pollfd){ .fd = pair[0], .events = POLLIN }, 1,
	    30000) == 1);
	CHECK(recv(pair[0], got, 1, 0) == 0);
	passes(pair[0], fd, "still there");
	close(pair[0]);
	CHECK(poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1,
	    30000) == 1);
	CHECK(recv(fd, got, 1, 0) == 0);
	c.rpc = rpc_new(fd);
	client_close(&c);
}

/* Events: owners see their own, in order, and again from a number. */
static void
part_events(void)
{
	struct client a, admin, b;
	char id[ID_LEN + 1], other[ID_LEN + 1];
	struct view event;
	unsigned int i;
	uint64_t seq;

	client_open(&a, 1000, false);
	client_open(&b, 1001, false);
	client_open(&admin, 0, true);
	client_result(&a, client_ask(&a, "event.subscribe", ""));
	client_result(&b, client_ask(&b, "event.subscribe", ""));
	create(&a, "a", id);
	event = client_event(&a, "created");
	CHECK(strcmp(text_of(event, "id"), id) == 0);
	seq = number_of(event, "seq");
	client_event(&a, "started");
	worker_event("exec", 1);
	event = client_event(&a, "exec");
	CHECK(strcmp(text_of(event, "id"), id) == 0);
	CHECK(number_of(event, "exec") == 1 && number_of(event, "code") == 7);
	worker_event("exit", 1);
	client_event(&a, "exit");
	/* The first that b gets is its own. */
	create(&b, "b", other);
	event = client_event(&b, "created");
	CHECK(strcmp(text_of(event, "id"), other) == 0);
	client_event(&b, "started");
	client_result(&admin, client_ask(&admin, "event.subscribe", "since=u",
	    seq));
	client_event(&admin, "started");
	client_event(&admin, "exec");
	client_event(&admin, "exit");
	event = client_event(&admin, "created");
	CHECK(strcmp(text_of(event, "id"), other) == 0);
	gone(id, "expired");
	event = client_event(&a, "expired");
	CHECK(strcmp(text_of(event, "text"), "because") == 0);
	/* What the worker said first comes first, whatever the way. */
	for (i = 2; i < 100; i++)
		worker_event("exit", i);
	gone(other, "lost");
	for (i = 2; i < 100; i++)
		CHECK(number_of(client_event(&b, "exit"), "exec") == i);
	client_event(&b, "lost");
	client_close(&a);
	client_close(&b);
	client_close(&admin);
}

/* A worker that sends nonsense loses its channel, and nobody else anything. */
static void
part_worker(void)
{
	struct client c;
	char id[ID_LEN + 1];
	struct pollfd p = { .events = POLLIN };

	client_open(&c, 1000, false);
	create(&c, "a", id);
	CHECK(send(chan_fd(worker), "nonsense", 8, 0) == 8);
	p.fd = chan_fd(worker);
	CHECK(poll(&p, 1, 30000) == 1 && (p.revents & POLLHUP) != 0);
	client_result(&c, client_ask(&c, "sandbox.info", "id=s", id));
	client_close(&c);
}

/* The end: destroy twice, waiters, what is remembered. */
static void
part_destroy(void)
{
	struct msg_broker_destroy m;
	struct client a, b;
	char id[ID_LEN + 1];
	uint32_t first, request, second, wait;
	struct view r;

	client_open(&a, 1000, false);
	client_open(&b, 1000, false);
	create(&a, "gone", id);
	wait = client_ask(&b, "sandbox.wait", "id=s", "gone");
	first = client_ask(&a, "sandbox.destroy", "id=s", id);
	request = play_recv(MSG_BROKER_DESTROY, &m)->id;
	r = client_result(&a, client_ask(&a, "sandbox.info", "id=s", id));
	CHECK(strcmp(text_of(r, "state"), "destroying") == 0);
	client_error(&a, client_ask(&a, "sandbox.connect", "id=s", id),
	    ERR_CONFLICT);
	second = client_ask(&a, "sandbox.destroy", "id=s", id);
	client_result(&a, client_ask(&a, "hello", ""));
	/* Refused: both are told, and it lives on. */
	play_fail(request, ERR_INTERNAL, "cannot");
	client_error(&a, second, ERR_INTERNAL);
	client_error(&a, first, ERR_INTERNAL);
	first = client_ask(&a, "sandbox.destroy", "id=s", id);
	destroy_answer(id);
	client_result(&a, first);
	r = client_result(&b, wait);
	CHECK(strcmp(text_of(r, "cause"), "destroyed") == 0);
	client_result(&a, client_ask(&a, "sandbox.destroy", "id=s", id));
	r = client_result(&b, client_ask(&b, "sandbox.wait", "id=s",
	    "gone"));
	CHECK(strcmp(text_of(r, "cause"), "destroyed") == 0);
	client_error(&a, client_ask(&a, "sandbox.info", "id=s", id),
	    ERR_NOT_FOUND);
	client_close(&a);
	client_close(&b);
}

/* A create that fails leaves nothing; a token gives the first answer. */
static void
part_create(void)
{
	struct msg_broker_create m;
	struct client a, b;
	char id[ID_LEN + 1];
	uint32_t first, request, second;
	bool more;

	client_open(&a, 1000, false);
	client_open(&b, 1000, false);
	first = client_ask(&a, "sandbox.create", "name=s", "x");
	request = play_recv(MSG_BROKER_CREATE, &m)->id;
	play_fail(request, ERR_DENIED, "a rule forbids it");
	client_error(&a, first, ERR_DENIED);
	CHECK(rows(&a, true, "", 10, &more) == 0);
	create(&a, "x", id);

	first = client_ask(&a, "sandbox.create", "token=s", "T");
	request = play_recv(MSG_BROKER_CREATE, &m)->id;
	second = client_ask(&b, "sandbox.create", "token=s", "T");
	client_result(&a, client_ask(&a, "hello", ""));
	play_fail(request, ERR_BACKEND, "no");
	client_error(&a, first, ERR_BACKEND);
	client_error(&b, second, ERR_BACKEND);

	first = client_ask(&a, "sandbox.create", "token=s", "T");
	second = client_ask(&b, "sandbox.create", "token=s", "T");
	create_answer(NULL, id, false, NULL);
	CHECK(strcmp(text_of(client_result(&a, first), "id"), id) == 0);
	CHECK(strcmp(text_of(client_result(&b, second), "id"), id) == 0);
	second = client_ask(&b, "sandbox.create", "token=s", "T");
	CHECK(strcmp(text_of(client_result(&b, second), "id"), id) == 0);
	CHECK(rows(&a, true, "", 10, &more) == 2);
	client_close(&a);
	client_close(&b);
}

/* A client that leaves: its requests end where they are. */
static void
part_leave(void)
{
	struct msg_broker_create m;
	struct client a, b;
	char id[ID_LEN + 1], waited[ID_LEN + 1];
	uint32_t request;
	bool more;

	client_open(&a, 1000, false);
	client_open(&b, 1000, false);
	create(&a, "w", waited);
	client_ask(&a, "sandbox.wait", "id=s", waited);
	client_ask(&a, "sandbox.create", "name=s", "left");
	request = play_recv(MSG_BROKER_CREATE, &m)->id;
	CHECK(text_copy(id, sizeof(id), m.id) == 0);
	client_close(&a);
	play_fail(request, ERR_UNAVAILABLE, "its client left");
	client_error(&b, client_ask(&b, "sandbox.info", "id=s", id),
	    ERR_NOT_FOUND);
	gone(waited, "destroyed");
	client_result(&b, client_ask(&b, "hello", ""));
	CHECK(rows(&b, true, "", 10, &more) == 0);
	client_close(&b);
}

/*** Hostile clients ***/

static void
send_bytes(struct client *c, const void *p, size_t n)
{
	CHECK(send(rpc_fd(c->rpc), p, n, MSG_NOSIGNAL) == (ssize_t)n);
}

static void
part_nonsense(void)
{
	static const struct {
		const char	*bytes;
		size_t		 n;
	} bad[] = {
		{ "GET / HTTP/1.0\r\n\r\n", 18 },
		{ "\xc1", 1 },				/* never used */
		{ "\x93\x02\xa5hello\x90", 9 },	/* a notification */
		{ "\x94\x01\x01\xc0\xc0", 5 },	/* a response */
		{ "\x94\x00\x01\x05\x90", 5 },	/* method a number */
		{ "\x94\x00\xff\xa1x\x90", 6 },	/* id negative */
		{ "\xdd\xff\xff\xff\xff", 5 },	/* endless array */
		{ "\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91"
		    "\x91\x91\x91\x91\x91\x91\x91\x91", 20 },
	};
	struct client good, c;
	size_t i;

	client_open(&good, 1000, false);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		client_open(&c, 1001, false);
		send_bytes(&c, bad[i].bytes, bad[i].n);
		client_is_closed(&c);
	}
	/* Descriptors do not get in. */
	client_open(&c, 1001, false);
	client_error(&c, client_ask(&c, "hello", "fds=u", (uint64_t)1),
	    ERR_INVALID);
	client_close(&c);
	client_result(&good, client_ask(&good, "hello", ""));
	client_close(&good);
}

/* One request too many is refused; the others are still open. */
static void
part_many(void)
{
	struct client c;
	char id[ID_LEN + 1];
	unsigned int i;

	client_open(&c, 1000, false);
	create(&c, "w", id);
	for (i = 0; i < RPC_PENDING_MAX; i++)
		client_ask(&c, "sandbox.wait", "id=s", id);
	client_error(&c, client_ask(&c, "sandbox.wait", "id=s", id),
	    ERR_BUSY);
	gone(id, "lost");
	for (i = 0; i < RPC_PENDING_MAX; i++) {
		while (!client_next(&c))
			;
	}
	client_close(&c);
}

/* Who asks and does not read is not read from; others do not notice. */
static void
part_deaf(void)
{
	struct client c, good;
	static const char ask[] = "\x94\x00\x01\xa5hello\x90";
	const size_t size = sizeof(ask) - 1;
	size_t asked = 0, done = 0, part = 0;
	ssize_t n;
	int idle = 0;

	client_open(&c, 1001, false);
	client_open(&good, 1000, false);
	while (idle < 20) {
		n = send(rpc_fd(c.rpc), ask + part, size - part,
		    MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n == -1) {
			CHECK(errno == EAGAIN);
			client_result(&good, client_ask(&good, "hello", ""));
			idle++;
			continue;
		}
		idle = 0;
		part += (size_t)n;
		if (part == size) {
			part = 0;
			asked++;
		}
		CHECK(asked < 10000000);
	}
	/* It gets every answer once it reads. */
	while (done < asked) {
		if (client_next(&c))
			done++;
	}
	client_close(&c);
	client_close(&good);
}

/*** The front itself ***/

/* What holds for process pid, read from outside. */
static void
status_has(pid_t pid, const char *line)
{
	char path[64], text[8192];
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	CHECK((f = fopen(path, "r")) != NULL);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	fclose(f);
	if (strstr(text, line) == NULL)
		wrong(path, __LINE__, line);
}

static void
part_confined(void)
{
	struct stat here, st;
	char path[64];
	pid_t front = getppid();

	status_has(front, "\nNoNewPrivs:\t1\n");
	status_has(front, "\nSeccomp:\t2\n");
	status_has(front, "\nCapEff:\t0000000000000000\n");
	status_has(front, "\nCapPrm:\t0000000000000000\n");
	if (geteuid() != 0)
		return;
	status_has(front, "\nCapBnd:\t0000000000000000\n");
	status_has(front, "\nGroups:\t \n");
	snprintf(path, sizeof(path), "/proc/%d/root", (int)front);
	CHECK(stat(path, &st) == 0);
	snprintf(path, sizeof(path), "%s/front", rundir);
	CHECK(stat(path, &here) == 0);
	CHECK(st.st_ino == here.st_ino && st.st_dev == here.st_dev);
	CHECK(here.st_uid == 0 && (here.st_mode & 022) == 0);
}

/* Clients until the front has no descriptor for more; it stays up. */
static void
part_full(void)
{
	static struct client many[200];
	struct msg_broker_drop m;
	struct client first;
	unsigned int i, n = 0;

	client_open(&first, 1000, false);
	for (i = 0; i < 200; i++) {
		client_open(&many[i], 1001, false);
		if (client_is_served(&many[i])) {
			n++;
			continue;
		}
		play_recv(MSG_BROKER_DROP, &m);
		CHECK(m.handle == many[i].handle);
		rpc_free(many[i].rpc);
		many[i].rpc = NULL;
	}
	CHECK(n > 0 && n < 200);
	client_error(&first, client_ask(&first, "sandbox.create", ""),
	    ERR_LIMIT);
	for (i = 0; i < 200; i++) {
		if (many[i].rpc != NULL)
			client_close(&many[i]);
	}
	/* There is room again. */
	client_open(&many[0], 1001, false);
	client_result(&many[0], client_ask(&many[0], "hello", ""));
	client_close(&many[0]);
	client_close(&first);
}

/*** Ends of the broker ***/

/* Until the front closes the channel. */
static void
linger(void)
{
	struct frame f;
	struct error e;

	while (chan_recv(channel, &f, &e) != -1)
		poll(&(struct pollfd){ .fd = PEER_CHANNEL_FD,
		    .events = POLLIN }, 1, 30000);
}

static void
part_refuse(void)
{
	policy();
	play_fail(0, ERR_CONFLICT, "no such luck");
	linger();
}

static void
part_vanish(void)
{
	ready();
	_exit(3);
}

/* The front goes, and says so by its status. */
static void
part_badframe(void)
{
	ready();
	CHECK(send(PEER_CHANNEL_FD, "nonsense", 8, 0) == 8);
	linger();
}

static void
part_stay(void)
{
	struct client c;

	ready();
	client_open(&c, 1000, false);
	client_result(&c, client_ask(&c, "hello", ""));
	linger();
}

static const struct {
	const char	*name;
	void		(*play)(void);
	bool		 has_own_start;
} parts[] = {
	{ "hello",	part_hello,	false },
	{ "owners",	part_owners,	false },
	{ "connect",	part_connect,	false },
	{ "offer",	part_offer,	false },
	{ "tunnel",	part_tunnel,	false },
	{ "events",	part_events,	false },
	{ "worker",	part_worker,	false },
	{ "destroy",	part_destroy,	false },
	{ "create",	part_create,	false },
	{ "leave",	part_leave,	false },
	{ "nonsense",	part_nonsense,	false },
	{ "many",	part_many,	false },
	{ "deaf",	part_deaf,	false },
	{ "mutate",	part_mutate,	false },
	{ "confined",	part_confined,	false },
	{ "full",	part_full,	false },
	{ "refuse",	part_refuse,	true },
	{ "vanish",	part_vanish,	true },
	{ "badframe",	part_badframe,	true },
	{ "stay",	part_stay,	true },
};

int
main(int argc, char *argv[])
{
	const char *name;
	size_t i;
	int c;

	while ((c = getopt(argc, argv, "r:vil:")) != -1) {
		if (c == 'r')
			rundir = optarg;
	}
	CHECK(rundir != NULL);
	name = strrchr(rundir, '/') + 1;
	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (strcmp(parts[i].name, name) != 0)
			continue;
		play_start();
		if (!parts[i].has_own_start)
			ready();
		parts[i].play();
		chan_free(worker);
		chan_free(channel);
		return 0;
	}
	fprintf(stderr, "no part %s\n", name);
	return 9;
}
