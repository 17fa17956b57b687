/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The last events, in order, each packed once as it goes out to all who may
 * see it.  Run by the front, confined.  Workers are not trusted: what they
 * add cannot replace our own keys, is bounded, and one owner's stream of
 * events cannot push out everybody else's.
 */

#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "parent/parent.h"

/* An owner with more than that makes room by losing his own. */
#define SHARE_MAX	(EVENTS_KEPT / 4)

static struct event_log {
	const char		*boot;
	uint64_t		 last;
	uint64_t		 dropped;
	struct event_entry	 entries[EVENTS_KEPT];	/* by seq */
	size_t			 n;
} event_log;

static const char *const own_keys[] = {
	"boot", "seq", "time", "kind", "id", "exec", NULL
};

void
event_log_init(const char *boot)
{
	event_log.boot = boot;
}

uint64_t
event_log_last(void)
{
	return event_log.last;
}

uint64_t
event_log_dropped(void)
{
	return event_log.dropped;
}

const struct event_entry *
event_log_from(uint64_t seq)
{
	size_t lo = 0, hi = event_log.n, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (event_log.entries[mid].seq < seq)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < event_log.n ? &event_log.entries[lo] : NULL;
}

static void
make_room(uid_t owner)
{
	struct event_entry *entries = event_log.entries;
	size_t i, own = 0, victim = 0;

	if (event_log.n < EVENTS_KEPT)
		return;
	for (i = event_log.n; i-- > 0;) {
		if (entries[i].owner == owner) {
			own++;
			victim = i;
		}
	}
	if (own <= SHARE_MAX)
		victim = 0;
	if (entries[victim].seq > event_log.dropped)
		event_log.dropped = entries[victim].seq;
	buf_free(&entries[victim].params);
	event_log.n--;
	memmove(&entries[victim], &entries[victim + 1],
	    (event_log.n - victim) * sizeof(entries[0]));
}

static void
event_pack(const char *kind, const char *id, uint64_t exec, struct view info,
    struct buf *b)
{
	struct buf more = { 0 };
	uint32_t n = 0;

	if (info.p != NULL && (info.n > EVENT_INFO_MAX ||
	    pairs_add(&more, &n, info, own_keys) == -1)) {
		log_debug("%s: event %s: what it says is left out", id, kind);
		more.n = 0;
		n = 0;
	}
	put_map(b, 5u + (exec != 0) + n);
	put_str(b, "boot");
	put_str(b, event_log.boot);
	put_str(b, "seq");
	put_uint(b, event_log.last);
	put_str(b, "time");
	put_double(b, (double)wall_ms() / 1000);
	put_str(b, "kind");
	put_str(b, kind);
	put_str(b, "id");
	put_str(b, id);
	if (exec != 0) {
		put_str(b, "exec");
		put_uint(b, exec);
	}
	buf_add(b, more.p, more.n);
	buf_free(&more);
}

void
event_log_add(const char *kind, uid_t owner, const char *id, uint64_t exec,
    struct view info)
{
	struct event_entry *entry;

	make_room(owner);
	event_log.last++;
	entry = &event_log.entries[event_log.n];
	*entry = (struct event_entry){ .seq = event_log.last,
	    .owner = owner };
	event_pack(kind, id, exec, info, &entry->params);
	if (entry->params.has_failed) {
		/* Out of memory: a gap in the numbers tells. */
		buf_free(&entry->params);
		event_log.dropped = event_log.last;
		return;
	}
	event_log.n++;
	client_events();
}
