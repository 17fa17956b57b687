/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Records of sandboxes: what grants nothing (names, labels, who waits) and
 * what the broker said of them.  Run by the front, confined.  A client sees
 * its own sandboxes only, and an id of somebody else is answered as one that
 * never was; workers are not trusted, a bad message ends their channel.
 */

#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parent/parent.h"

#define NONE		-1	/* cannot happen in this state */
#define DRAIN_MAX	EXECS_MAX	/* events, one for each exec */

static struct sandbox	*table[SANDBOXES_MAX];	/* by id */
static size_t		 ntable;
static struct gone	 gone_ring[GONE_KEPT];
static size_t		 gone_next;

static const char *const states[] = {
	[SB_CREATING] = "creating",
	[SB_RUNNING] = "running",
	[SB_DESTROYING] = "destroying",
	[SB_GONE] = "gone"
};

static const signed char steps[][SB_EV_GONE + 1] = {
	/*		    CREATED	CONNECT		DESTROY
			    REFUSED	GONE */
	[SB_CREATING] =   { SB_RUNNING,	NONE,		NONE,
			    NONE,	SB_GONE },
	[SB_RUNNING] =    { NONE,	SB_RUNNING,	SB_DESTROYING,
			    NONE,	SB_GONE },
	[SB_DESTROYING] = { NONE,	NONE,		SB_DESTROYING,
			    SB_RUNNING,	SB_GONE },
	[SB_GONE] =       { NONE,	NONE,		NONE,
			    NONE,	NONE },
};

static const char *const own_keys[] = {
	"id", "name", "labels", "state", "owner", "fds", NULL
};

int
sandbox_step(struct sandbox *s, enum sandbox_event event, struct error *e)
{
	int next = steps[s->state][event];

	if (next == NONE)
		return error_key(e, ERR_CONFLICT, "state",
		    "sandbox %s is %s", s->id, states[s->state]);
	s->state = (enum sandbox_state)next;
	return 0;
}

/*** The table ***/

unsigned int
sandbox_count(void)
{
	return (unsigned int)ntable;
}

/* Where this id is, or would be. */
static size_t
place(const char *id)
{
	size_t lo = 0, hi = ntable, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (strcmp(table[mid]->id, id) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

struct sandbox *
sandbox_find(const char *id)
{
	size_t i = place(id);

	return i < ntable && strcmp(table[i]->id, id) == 0 ? table[i] : NULL;
}

static bool
is_name_taken(uid_t owner, const char *name)
{
	size_t i;

	for (i = 0; i < ntable; i++) {
		if (table[i]->owner == owner &&
		    strcmp(table[i]->name, name) == 0)
			return true;
	}
	return false;
}

static int
name_check(uid_t owner, const char *name, struct error *e)
{
	if (name[0] == '\0')
		return 0;
	if (strncmp(name, "sb_", 3) == 0)
		return error_key(e, ERR_INVALID, "name",
		    "a name cannot begin with sb_, as ids do");
	if (is_name_taken(owner, name))
		return error_key(e, ERR_CONFLICT, "name",
		    "there is a sandbox named \"%s\" already", name);
	return 0;
}

struct sandbox *
sandbox_new(uid_t owner, const struct spec *spec, struct error *e)
{
	struct sandbox *s;
	size_t i;

	if (ntable == SANDBOXES_MAX) {
		error_set(e, ERR_LIMIT, "there are %d sandboxes already",
		    SANDBOXES_MAX);
		return NULL;
	}
	s = xcalloc(1, sizeof(*s));
	s->owner = owner;
	LIST_INIT(&s->waiting);
	LIST_INIT(&s->retries);
	if ((spec->name.p != NULL &&
	    text_copy(s->name, sizeof(s->name), spec->name) == -1) ||
	    (spec->token.p != NULL &&
	    text_copy(s->token, sizeof(s->token), spec->token) == -1)) {
		error_set(e, ERR_INVALID, "name or token is too long");
		goto fail;
	}
	if (name_check(owner, s->name, e) == -1)
		goto fail;
	if (spec->labels.p != NULL)
		put_raw(&s->labels, spec->labels);
	else
		put_map(&s->labels, 0);
	do {
		id_make(s->id, "sb_");
	} while (sandbox_find(s->id) != NULL);
	i = place(s->id);
	memmove(&table[i + 1], &table[i], (ntable - i) * sizeof(table[0]));
	table[i] = s;
	ntable++;
	return s;

fail:
	free(s);
	return NULL;
}

static void
gone_add(const struct sandbox *s, const char *cause)
{
	struct gone *g = &gone_ring[gone_next];

	gone_next = (gone_next + 1) % GONE_KEPT;
	*g = (struct gone){ .owner = s->owner };
	snprintf(g->id, sizeof(g->id), "%s", s->id);
	snprintf(g->name, sizeof(g->name), "%s", s->name);
	snprintf(g->cause, sizeof(g->cause), "%s", cause);
}

void
sandbox_free(struct sandbox *s, const char *cause)
{
	size_t i = place(s->id);

	if (cause != NULL)
		gone_add(s, cause);
	ntable--;
	memmove(&table[i], &table[i + 1], (ntable - i) * sizeof(table[0]));
	watch_free(s->events);
	buf_free(&s->labels);
	buf_free(&s->info);
	free(s);
}

/*** Looking up ***/

struct sandbox *
sandbox_find_token(uid_t owner, const char *token)
{
	size_t i;

	for (i = 0; i < ntable; i++) {
		if (table[i]->owner == owner &&
		    strcmp(table[i]->token, token) == 0)
			return table[i];
	}
	return NULL;
}

static struct sandbox *
find_name(uid_t uid, bool is_admin, const char *name, size_t *found)
{
	struct sandbox *s = NULL;
	size_t i;

	*found = 0;
	for (i = 0; i < ntable; i++) {
		if (strcmp(table[i]->name, name) != 0)
			continue;
		if (table[i]->owner == uid) {
			*found = 1;
			return table[i];
		}
		if (is_admin) {
			s = table[i];
			(*found)++;
		}
	}
	return s;
}

static struct sandbox *
find_prefix(uid_t uid, bool is_admin, const char *text, size_t *found)
{
	struct sandbox *s = NULL;
	size_t i, n = strlen(text);

	*found = 0;
	for (i = 0; i < ntable; i++) {
		if (!is_admin && table[i]->owner != uid)
			continue;
		if (strncmp(table[i]->id, text, n) == 0 ||
		    strncmp(table[i]->name, text, n) == 0) {
			s = table[i];
			(*found)++;
		}
	}
	return s;
}

struct sandbox *
sandbox_lookup(uid_t uid, bool is_admin, struct view v, struct error *e)
{
	char shown[2 * NAME_LEN_MAX], text[NAME_LEN_MAX + 1];
	struct sandbox *s = NULL;
	size_t found = 0;

	if (v.n > 0 && text_copy(text, sizeof(text), v) == 0) {
		if (id_is_valid(text)) {
			s = sandbox_find(text);
			found = s != NULL && (is_admin || s->owner == uid);
		} else {
			s = find_name(uid, is_admin, text, &found);
			if (found == 0)
				s = find_prefix(uid, is_admin, text, &found);
		}
	}
	if (found == 1)
		return s;
	text_escape(shown, sizeof(shown), v);
	if (found == 0)
		error_key(e, ERR_NOT_FOUND, "id", "no sandbox %s", shown);
	else
		error_key(e, ERR_CONFLICT, "id",
		    "%s means any of %zu sandboxes", shown, found);
	return NULL;
}

const struct gone *
sandbox_lookup_gone(uid_t uid, bool is_admin, struct view v)
{
	const struct gone *g;
	size_t i;

	if (v.n == 0)
		return NULL;
	for (i = 1; i <= GONE_KEPT; i++) {
		g = &gone_ring[(gone_next + GONE_KEPT - i) % GONE_KEPT];
		if (g->id[0] == '\0' || (!is_admin && g->owner != uid))
			continue;
		if (view_is(v, g->id) || view_is(v, g->name))
			return g;
	}
	return NULL;
}

struct sandbox *
sandbox_next(const char *after, uid_t uid, bool has_all)
{
	size_t i = place(after);

	if (i < ntable && strcmp(table[i]->id, after) == 0)
		i++;
	for (; i < ntable; i++) {
		if (has_all || table[i]->owner == uid)
			return table[i];
	}
	return NULL;
}

/*** What is said of it ***/

int
sandbox_set_info(struct sandbox *s, struct view map)
{
	s->info.n = 0;
	s->ninfo = 0;
	return pairs_add(&s->info, &s->ninfo, map, own_keys);
}

void
sandbox_pack(const struct sandbox *s, const struct buf *more, uint32_t nmore,
    struct buf *b)
{
	char owner[32];

	snprintf(owner, sizeof(owner), "uid:%u", s->owner);
	put_map(b, 5 + s->ninfo + nmore);
	put_str(b, "id");
	put_str(b, s->id);
	put_str(b, "name");
	put_str(b, s->name);
	put_str(b, "labels");
	put_raw(b, (struct view){ s->labels.p, s->labels.n });
	put_str(b, "state");
	put_str(b, states[s->state]);
	put_str(b, "owner");
	put_str(b, owner);
	buf_add(b, s->info.p, s->info.n);
	if (more != NULL)
		buf_add(b, more->p, more->n);
	if (s->labels.has_failed || s->info.has_failed)
		b->has_failed = true;
}

/*** Events of its worker ***/

static void
events_closed(const struct error *e, void *arg)
{
	struct sandbox *s = arg;

	if (e->code == ERR_INVALID)
		log_warn("%s: worker: %s", s->id, e->message);
	watch_free(s->events);
	s->events = NULL;
}

static void
events_frame(struct chan *chan, struct frame *frame, void *arg)
{
	static const char *const kinds[] = { "exec", "exit", NULL };
	struct sandbox *s = arg;
	struct msg_worker_event m;
	struct error e;
	size_t i;

	(void)chan;
	if (frame->type != MSG_WORKER_EVENT ||
	    msg_unpack(frame, &m, &e) == -1) {
		error_set(&e, ERR_INVALID, "a bad event");
		events_closed(&e, s);
		return;
	}
	for (i = 0; kinds[i] != NULL; i++) {
		if (view_is(m.kind, kinds[i])) {
			event_log_add(kinds[i], s->owner, s->id, m.exec,
			    m.info);
			return;
		}
	}
	/* A newer worker may know more kinds: they are not for us. */
}

void
sandbox_drain(struct sandbox *s)
{
	struct frame frame;
	struct error e;
	unsigned int i;

	for (i = 0; i < DRAIN_MAX && s->events != NULL; i++) {
		if (chan_recv(watch_get_chan(s->events), &frame, &e) != 1)
			return;
		events_frame(watch_get_chan(s->events), &frame, s);
	}
}

void
sandbox_watch(struct sandbox *s, struct event_base *base, int fd)
{
	struct chan *chan;

	if ((chan = chan_new(fd, 0, 1u << DIR_WF)) == NULL)
		fd_close(&fd);
	else
		s->events = watch_chan(base, chan, events_frame,
		    events_closed, s);
	if (s->events == NULL)
		log_warn("%s: no memory for its events", s->id);
}
