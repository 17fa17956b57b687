/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The methods of a control connection, sandboxd-rpc(7): a table, and one
 * function for each; those that ask the broker have a second one for its
 * answer.  Run by the front, confined.  Parameters come from a client and are
 * checked by the table; what they may ask for is judged by the broker.
 */

#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "parent/parent.h"

#define PROTOCOL	1u
#define SPEC_MAX	131072u		/* of BROKER_CREATE */
#define PAGE_BYTES	(256u * 1024)	/* a page of a list ends here too */

/* Those of all methods; each takes what its table names. */
struct params {
	struct view	 raw;		/* the whole map */
	struct view	 id;
	struct view	 name;
	struct view	 after;
	uint64_t	 max;
	uint64_t	 since;
	bool		 all;
	bool		 fresh;
	bool		 tunnel;
	struct sandbox	*sandbox;	/* METHOD_SANDBOX, METHOD_GONE */
	const struct gone *gone;	/* METHOD_GONE, when sandbox is NULL */
};

struct method {
	const char		*name;
	int			(*call)(struct request *, struct params *,
				    struct error *);
	unsigned int		 flags;
	const struct field	*fields;
	size_t			 nfields;
};

/* id names a sandbox that the client may see. */
#define METHOD_SANDBOX	1u
/* As that, or one that is gone already. */
#define METHOD_GONE	2u
/* The handler unpacks the parameters itself. */
#define METHOD_RAW	4u

static struct event_base *base;

static void	 sandbox_end(struct sandbox *, const char *, struct view);

/*** Answers of several methods ***/

static void
reply_id(struct request *r, const char *id, const char *cause)
{
	struct buf b = { 0 };

	put_map(&b, 1u + (cause != NULL));
	put_str(&b, "id");
	put_str(&b, id);
	if (cause != NULL) {
		put_str(&b, "cause");
		put_str(&b, cause);
	}
	request_reply(r, &b, -1);
}

/* With a sandbox connection, or -1. */
static void
reply_sandbox(struct request *r, const struct sandbox *s, int fd)
{
	struct buf b = { 0 }, more = { 0 };

	put_str(&more, "fds");
	put_uint(&more, fd != -1);
	sandbox_pack(s, &more, 1, &b);
	buf_free(&more);
	request_reply(r, &b, fd);
}

/*** hello, server ***/

static int
hello(struct request *r, struct params *p, struct error *e)
{
	struct buf b = { 0 };

	(void)p;
	(void)e;
	put_map(&b, 8);
	pairs_put_str(&b, "version", SANDBOXD_VERSION);
	pairs_put_uint(&b, "protocol", PROTOCOL);
	pairs_put_uint(&b, "pid", (uint64_t)getpid());
	pairs_put_str(&b, "boot", front_boot());
	pairs_put_str(&b, "instance", front_instance());
	pairs_put_str(&b, "backend", front_backend());
	pairs_put_uint(&b, "uid", client_uid(r->client));
	put_str(&b, "admin");
	put_bool(&b, client_is_admin(r->client));
	request_reply(r, &b, -1);
	return 0;
}

static void
server_checked(struct request *r, const void *msg, struct frame *frame,
    const struct error *failed)
{
	const struct msg_broker_checked *m = msg;
	struct buf b = { 0 };

	(void)frame;
	if (failed != NULL) {
		request_fail(r, failed);
		return;
	}
	put_map(&b, 2);
	put_str(&b, "backends");
	put_raw(&b, m->checks);
	put_str(&b, "host");
	put_raw(&b, m->host);
	request_reply(r, &b, -1);
}

static int
server_check(struct request *r, struct params *p, struct error *e)
{
	return broker_check(r, p->fresh, server_checked, e);
}

static int
server_stats(struct request *r, struct params *p, struct error *e)
{
	struct buf b = { 0 };

	(void)p;
	(void)e;
	put_map(&b, 4);
	pairs_put_uint(&b, "sandboxes", sandbox_count());
	pairs_put_uint(&b, "clients", client_count());
	pairs_put_uint(&b, "requests", request_count());
	pairs_put_uint(&b, "events", event_log_last());
	request_reply(r, &b, -1);
	return 0;
}

/*** sandbox.create ***/

/* No descriptor was free when the answer came, and it was lost. */
static void
fail_no_fd(struct request *r)
{
	struct error e;

	error_set(&e, ERR_LIMIT, "the daemon may not open more descriptors");
	request_fail(r, &e);
}

static void
offered(struct request *r, const void *msg, struct frame *frame,
    const struct error *failed)
{
	const struct msg_broker_offered *m = msg;
	struct buf b = { 0 };
	int fd;

	if (failed != NULL) {
		request_fail(r, failed);
		return;
	}
	if ((fd = frame_take_fd(frame, 0)) == -1) {
		fail_no_fd(r);
		return;
	}
	put_map(&b, 2);
	pairs_put_uint(&b, "offer", m->offer);
	pairs_put_uint(&b, "fds", 1);
	request_reply(r, &b, fd);
}

static int
sandbox_offer(struct request *r, struct params *p, struct error *e)
{
	(void)p;
	return broker_offer(r, offered, e);
}

/* The connection that a retried create asked for. */
static void
retry_connected(struct request *r, const void *msg, struct frame *frame,
    const struct error *failed)
{
	struct sandbox *s;
	struct error e;

	(void)msg;
	if (failed != NULL)
		request_fail(r, failed);
	else if ((s = sandbox_find(r->id)) == NULL) {
		error_set(&e, ERR_NOT_FOUND, "no sandbox %s", r->id);
		request_fail(r, &e);
	} else
		reply_sandbox(r, s, frame_take_fd(frame, 0));
}

/* The first create with this token gives the answer, now or later. */
static int
create_again(struct request *r, struct sandbox *s, struct error *e)
{
	snprintf(r->id, sizeof(r->id), "%s", s->id);
	if (s->state == SB_CREATING) {
		request_wait(r, &s->retries);
		return 0;
	}
	if (sandbox_step(s, SB_EV_CONNECT, e) == -1)
		return -1;
	if (r->has_connect)
		return broker_connect(r, retry_connected, e);
	reply_sandbox(r, s, -1);
	return 0;
}

static void
retries_answer(struct sandbox *s, const struct error *failed)
{
	struct request *r;
	struct error e;

	while ((r = LIST_FIRST(&s->retries)) != NULL) {
		LIST_REMOVE(r, of_wait);
		r->is_waiting = false;
		if (failed != NULL)
			request_fail(r, failed);
		else if (create_again(r, s, &e) == -1)
			request_fail(r, &e);
	}
}

static void
create_failed(struct request *r, struct sandbox *s,
    const struct error *failed)
{
	if (s != NULL) {
		retries_answer(s, failed);
		sandbox_end(s, NULL, (struct view){ 0 });
	}
	request_fail(r, failed);
}

static void
created(struct request *r, const void *msg, struct frame *frame,
    const struct error *failed)
{
	const struct msg_broker_created *m = msg;
	struct sandbox *s = sandbox_find(r->id);
	struct view none = { 0 };
	struct error e;
	int events_fd;

	if (failed != NULL) {
		create_failed(r, s, failed);
		return;
	}
	if (s == NULL) {
		error_set(&e, ERR_UNAVAILABLE,
		    "sandbox %s ended as it began", r->id);
		request_fail(r, &e);
		return;
	}
	if (sandbox_set_info(s, m->info) == -1 ||
	    sandbox_step(s, SB_EV_CREATED, &e) == -1) {
		front_lost("a bad BROKER_CREATED");
		return;
	}
	log_info("%s: created", s->id);
	if ((events_fd = frame_take_fd(frame, 0)) != -1)
		sandbox_watch(s, base, events_fd);
	else
		log_warn("%s: no descriptor is free for its events", s->id);
	reply_sandbox(r, s, frame_take_fd(frame, 1));
	event_log_add("created", s->owner, s->id, 0, none);
	event_log_add("started", s->owner, s->id, 0, none);
	retries_answer(s, NULL);
}

static int
sandbox_create(struct request *r, struct params *p, struct error *e)
{
	char token[NAME_LEN_MAX + 1];
	struct buf b = { 0 };
	struct sandbox *s;
	struct spec spec;
	uid_t uid = client_uid(r->client);
	int rc = -1;

	if (spec_unpack(p->raw, &spec, e) == -1)
		return -1;
	r->has_connect = spec.connect;
	if (spec.token.n > 0) {
		if (text_copy(token, sizeof(token), spec.token) == -1)
			return error_key(e, ERR_INVALID, "token",
			    "this token cannot be used");
		if ((s = sandbox_find_token(uid, token)) != NULL)
			return create_again(r, s, e);
	}
	if (!front_has_room())
		return error_set(e, ERR_LIMIT,
		    "the daemon may not open more descriptors");
	if ((s = sandbox_new(uid, &spec, e)) == NULL)
		return -1;
	snprintf(r->id, sizeof(r->id), "%s", s->id);
	spec_pack(&spec, &b);
	if (b.has_failed)
		error_set(e, ERR_INTERNAL, "out of memory");
	else if (b.n > SPEC_MAX)
		error_set(e, ERR_TOO_LARGE,
		    "a sandbox is described in at most %u bytes", SPEC_MAX);
	else
		rc = broker_create(r, (struct view){ b.p, b.n }, created, e);
	buf_free(&b);
	if (rc == -1)
		sandbox_end(s, NULL, (struct view){ 0 });
	return rc;
}

/*** sandbox.connect ***/

static void
connected(struct request *r, const void *msg, struct frame *frame,
    const struct error *failed)
{
	struct client *c = r->client;
	struct buf b = { 0 };
	int fd;

	(void)msg;
	fd = frame_take_fd(frame, 0);
	if (fd == -1) {
		if (r->has_tunnel && c != NULL)
			client_hold(c, false);
		if (failed != NULL)
			request_fail(r, failed);
		else
			fail_no_fd(r);
		return;
	}
	put_map(&b, 2);
	pairs_put_str(&b, "id", r->id);
	if (!r->has_tunnel) {
		pairs_put_uint(&b, "fds", 1);
		request_reply(r, &b, fd);
		return;
	}
	put_str(&b, "tunnel");
	put_bool(&b, true);
	request_reply(r, &b, -1);
	if (c == NULL)
		fd_close(&fd);
	else
		client_tunnel(c, fd);
}

static int
sandbox_connect(struct request *r, struct params *p, struct error *e)
{
	if (sandbox_step(p->sandbox, SB_EV_CONNECT, e) == -1)
		return -1;
	if (p->tunnel && client_requests(r->client) > 1)
		return error_set(e, ERR_CONFLICT, "other requests of this "
		    "connection are not answered yet");
	r->has_tunnel = p->tunnel;
	if (broker_connect(r, connected, e) == -1)
		return -1;
	/* What follows is not for us, once it succeeds. */
	if (p->tunnel)
		client_hold(r->client, true);
	return 0;
}

/*** The end of a sandbox ***/

/*
 * Whoever waits is told.  cause NULL: it never was, so no event and nothing
 * remembered.
 */
static void
sandbox_end(struct sandbox *s, const char *cause, struct view text)
{
	static const char *const kinds[] = { "expired", "lost", NULL };
	const char *kind = "destroyed";
	struct request *r;
	struct buf b = { 0 };
	struct error e;
	size_t i;

	sandbox_drain(s);
	sandbox_step(s, SB_EV_GONE, &e);
	error_set(&e, ERR_UNAVAILABLE, "sandbox %s ended as it began", s->id);
	retries_answer(s, &e);
	while ((r = LIST_FIRST(&s->waiting)) != NULL)
		reply_id(r, s->id, r->is_destroy ? NULL :
		    cause != NULL ? cause : "lost");
	if (cause != NULL) {
		for (i = 0; kinds[i] != NULL; i++) {
			if (strcmp(cause, kinds[i]) == 0)
				kind = kinds[i];
		}
		log_info("%s: %s", s->id, cause);
		put_map(&b, 2);
		pairs_put_str(&b, "cause", cause);
		put_str(&b, "text");
		put_str_view(&b, text);
		event_log_add(kind, s->owner, s->id, 0,
		    (struct view){ b.p, b.n });
		buf_free(&b);
	}
	sandbox_free(s, cause);
}

void
method_gone(const struct msg_broker_gone *m)
{
	char cause[32], id[ID_LEN + 1];
	struct sandbox *s;

	if (text_copy(id, sizeof(id), m->id) == -1 ||
	    (s = sandbox_find(id)) == NULL)
		return;
	if (text_copy(cause, sizeof(cause), m->cause) == -1)
		snprintf(cause, sizeof(cause), "lost");
	sandbox_end(s, cause, m->text);
}

static void
destroy_failed(struct sandbox *s, const struct error *failed)
{
	struct request *next, *r;

	sandbox_step(s, SB_EV_REFUSED, NULL);
	for (r = LIST_FIRST(&s->waiting); r != NULL; r = next) {
		next = LIST_NEXT(r, of_wait);
		if (r->is_destroy)
			request_fail(r, failed);
	}
}

static void
destroyed(struct request *r, const void *msg, struct frame *frame,
    const struct error *failed)
{
	struct sandbox *s = sandbox_find(r->id);

	(void)msg;
	(void)frame;
	if (failed != NULL && s != NULL) {
		destroy_failed(s, failed);
		request_fail(r, failed);
		return;
	}
	/* Without a record it went away by itself in between. */
	if (s != NULL)
		sandbox_end(s, "destroyed", (struct view){ 0 });
	reply_id(r, r->id, NULL);
}

static int
sandbox_destroy(struct request *r, struct params *p, struct error *e)
{
	struct sandbox *s = p->sandbox;

	if (s == NULL) {
		reply_id(r, p->gone->id, NULL);
		return 0;
	}
	r->is_destroy = true;
	if (s->state == SB_DESTROYING) {
		request_wait(r, &s->waiting);
		return 0;
	}
	if (sandbox_step(s, SB_EV_DESTROY, e) == -1)
		return -1;
	if (broker_destroy(r, destroyed, e) == -1) {
		sandbox_step(s, SB_EV_REFUSED, NULL);
		return -1;
	}
	return 0;
}

static int
sandbox_wait(struct request *r, struct params *p, struct error *e)
{
	(void)e;
	if (p->sandbox != NULL)
		request_wait(r, &p->sandbox->waiting);
	else
		reply_id(r, p->gone->id, p->gone->cause);
	return 0;
}

/*** sandbox.list, sandbox.info ***/

static int
sandbox_info(struct request *r, struct params *p, struct error *e)
{
	struct buf b = { 0 };

	(void)e;
	sandbox_pack(p->sandbox, NULL, 0, &b);
	request_reply(r, &b, -1);
	return 0;
}

static int
sandbox_list(struct request *r, struct params *p, struct error *e)
{
	char after[ID_LEN + 1] = "";
	struct buf b = { 0 }, rows = { 0 };
	struct sandbox *s;
	uid_t uid = client_uid(r->client);
	bool has_all = p->all && client_is_admin(r->client);
	uint32_t n = 0;

	if (p->after.n > 0 && (text_copy(after, sizeof(after), p->after) == -1
	    || !id_is_valid(after)))
		return error_key(e, ERR_INVALID, "after",
		    "after must be the id of a sandbox");
	for (s = sandbox_next(after, uid, has_all); s != NULL && n < p->max &&
	    rows.n < PAGE_BYTES; s = sandbox_next(s->id, uid, has_all)) {
		if (p->name.p != NULL && !view_is(p->name, s->name))
			continue;
		sandbox_pack(s, NULL, 0, &rows);
		n++;
	}
	put_map(&b, 2);
	put_str(&b, "sandboxes");
	put_array(&b, n);
	buf_add(&b, rows.p, rows.n);
	put_str(&b, "more");
	put_bool(&b, s != NULL);
	b.has_failed |= rows.has_failed;
	buf_free(&rows);
	request_reply(r, &b, -1);
	return 0;
}

/*** event.subscribe ***/

static int
event_subscribe(struct request *r, struct params *p, struct error *e)
{
	struct client *c = r->client;
	uint64_t last = event_log_last(), since = p->since;
	struct buf b = { 0 };

	if (since == SPEC_ABSENT)
		since = last;
	if (since > last)
		return error_key(e, ERR_INVALID, "since", "the last event is "
		    "%llu; is this number of an earlier life of the daemon?",
		    (unsigned long long)last);
	put_map(&b, 3);
	pairs_put_str(&b, "boot", front_boot());
	pairs_put_uint(&b, "seq", last);
	put_str(&b, "missed");
	put_bool(&b, since < event_log_dropped());
	request_reply(r, &b, -1);
	if (since < event_log_dropped())
		since = event_log_dropped();
	client_subscribe(c, since + 1);
	return 0;
}

/*** The table ***/

#define AT(member)	offsetof(struct params, member)
#define ID_FIELD	{ .name = "id", .kind = F_STR, .offset = AT(id), \
			    .max = NAME_LEN_MAX, .is_required = true }

static const struct field id_fields[] = { ID_FIELD };

static const struct field check_fields[] = {
	{ .name = "fresh", .kind = F_BOOL, .offset = AT(fresh) },
};

static const struct field connect_fields[] = {
	ID_FIELD,
	{ .name = "tunnel", .kind = F_BOOL, .offset = AT(tunnel) },
};

static const struct field list_fields[] = {
	{ .name = "after", .kind = F_STR, .offset = AT(after),
	    .max = ID_LEN },
	{ .name = "max", .kind = F_UINT, .offset = AT(max), .min = 1,
	    .max = PAGE_MAX },
	{ .name = "all", .kind = F_BOOL, .offset = AT(all) },
	{ .name = "name", .kind = F_STR, .offset = AT(name),
	    .max = NAME_LEN_MAX },
};

static const struct field subscribe_fields[] = {
	{ .name = "since", .kind = F_UINT, .offset = AT(since),
	    .max = INT64_MAX },
};

#define FIELDS(table)	table, sizeof(table) / sizeof(table[0])
#define NO_FIELDS	NULL, 0

static const struct method methods[] = {
	{ "hello",		hello,		0,	NO_FIELDS },
	{ "server.check",	server_check,	0,
	    FIELDS(check_fields) },
	{ "server.stats",	server_stats,	0,	NO_FIELDS },
	{ "sandbox.offer",	sandbox_offer,	0,	NO_FIELDS },
	{ "sandbox.create",	sandbox_create,	METHOD_RAW, NO_FIELDS },
	{ "sandbox.connect",	sandbox_connect, METHOD_SANDBOX,
	    FIELDS(connect_fields) },
	{ "sandbox.destroy",	sandbox_destroy, METHOD_GONE,
	    FIELDS(id_fields) },
	{ "sandbox.list",	sandbox_list,	0,
	    FIELDS(list_fields) },
	{ "sandbox.info",	sandbox_info,	METHOD_SANDBOX,
	    FIELDS(id_fields) },
	{ "sandbox.wait",	sandbox_wait,	METHOD_GONE,
	    FIELDS(id_fields) },
	{ "event.subscribe",	event_subscribe, 0,
	    FIELDS(subscribe_fields) },
};

static const struct method *
method_find(struct view name)
{
	size_t i;

	for (i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		if (view_is(name, methods[i].name))
			return &methods[i];
	}
	return NULL;
}

static int
resolve(struct request *r, struct params *p, bool may_be_gone,
    struct error *e)
{
	uid_t uid = client_uid(r->client);
	bool is_admin = client_is_admin(r->client);

	p->sandbox = sandbox_lookup(uid, is_admin, p->id, e);
	if (p->sandbox != NULL) {
		snprintf(r->id, sizeof(r->id), "%s", p->sandbox->id);
		return 0;
	}
	if (may_be_gone)
		p->gone = sandbox_lookup_gone(uid, is_admin, p->id);
	return p->gone != NULL ? 0 : -1;
}

static int
method_run(struct request *r, const struct rpc_msg *msg, struct error *e)
{
	struct params p = { .raw = msg->params, .max = PAGE_MAX,
	    .since = SPEC_ABSENT };
	const struct method *m;
	char shown[2 * NAME_LEN_MAX];

	if ((m = method_find(msg->method)) == NULL) {
		text_escape(shown, sizeof(shown), msg->method);
		return error_key(e, ERR_UNSUPPORTED, "method",
		    "unknown method %s", shown);
	}
	if ((m->flags & METHOD_RAW) == 0 &&
	    field_unpack_map(m->fields, m->nfields, msg->params, &p, e) == -1)
		return -1;
	if ((m->flags & (METHOD_SANDBOX | METHOD_GONE)) != 0 &&
	    resolve(r, &p, (m->flags & METHOD_GONE) != 0, e) == -1)
		return -1;
	return m->call(r, &p, e);
}

void
method_init(struct event_base *b)
{
	base = b;
}

void
method_call(struct request *r, const struct rpc_msg *msg)
{
	struct error e = { 0 };

	if (method_run(r, msg, &e) == -1)
		request_fail(r, &e);
}
