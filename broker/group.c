/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Exec groups: made in a stock ahead of the execs that use them, killed when
 * the worker says so, removed when empty.  The worker is not trusted to name
 * a group that is not its own sandbox's, and cannot: it knows only numbers.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker.h"

#define GROUPS_MAX	(2 * EXECS_MAX)
#define KILL_MS		1000	/* then the worker hears that some live on */
#define LOOK_MS		1	/* and then twice as long each time */
#define KILL_LOOK_MS	20	/* but no longer than this while killing */
#define LOOKS_MS	200	/* no longer: the next request looks again */

static struct exec_group *
group_find(struct groups *g, uint32_t number)
{
	size_t i;

	for (i = 0; i < g->n && g->table[i].number != number; i++)
		;
	return i < g->n ? &g->table[i] : NULL;
}

/* A round of killing, or a try to remove; true when it is no more. */
static bool
group_look(struct sandbox *sb, struct exec_group *g)
{
	struct msg_worker_killed msg = { .group = g->number };
	char name[ID_LEN + 32];

	snprintf(name, sizeof(name), "%s/x/%u", sb->id, g->number);
	if (g->deadline != 0) {
		msg.is_empty = cgroup_is_empty(name);
		if (msg.is_empty || now_ms() >= g->deadline) {
			g->deadline = 0;
			worker_send(sb->worker, MSG_WORKER_KILLED, &msg, -1);
		} else
			cgroup_kill(name);
	}
	return g->deadline == 0 && g->is_done && cgroup_remove(name) == 0;
}

/*
 * Killing is looked after until it is over; a group in which background
 * children live is looked at for a while, then when the worker next asks
 * for something, so that an idle sandbox wakes nobody.
 */
static void
groups_look(void *arg)
{
	struct sandbox *sb = arg;
	struct groups *g = &sb->groups;
	bool is_killing = false, has_done = false;
	size_t i = 0;

	while (i < g->n) {
		if (group_look(sb, &g->table[i])) {
			g->table[i] = g->table[--g->n];
			continue;
		}
		is_killing |= g->table[i].deadline != 0;
		has_done |= g->table[i].is_done;
		i++;
	}
	g->pause *= 2;
	if (is_killing && g->pause > KILL_LOOK_MS)
		g->pause = KILL_LOOK_MS;
	if (is_killing || (has_done && g->pause <= LOOKS_MS))
		timer_set(&g->timer, g->pause, groups_look, sb);
}

static void
groups_look_now(struct sandbox *sb)
{
	sb->groups.pause = LOOK_MS;
	groups_look(sb);
}

void
group_make(struct sandbox *sb, uint64_t count)
{
	struct groups *g = &sb->groups;
	struct msg_worker_group msg;
	int fd;

	while (count-- > 0 && cgroup_has(CG_GROUPS)) {
		if (g->n == g->cap) {
			g->cap = g->cap == 0 ? 8 : g->cap * 2;
			g->table = xrealloc(g->table,
			    g->cap * sizeof(*g->table));
		}
		if (g->n == GROUPS_MAX ||
		    (fd = cgroup_exec_make(sb->id, ++g->last)) == -1) {
			sandbox_end(sb, false, "lost", "group of an exec: %s",
			    g->n == GROUPS_MAX ? "too many" : strerror(errno));
			return;
		}
		g->table[g->n++] = (struct exec_group){ .number = g->last };
		msg.group = g->last;
		worker_send(sb->worker, MSG_WORKER_GROUP, &msg, fd);
	}
	groups_look_now(sb);
}

void
group_kill(struct sandbox *sb, uint32_t number)
{
	struct msg_worker_killed gone = { .group = number, .is_empty = true };
	struct exec_group *g = group_find(&sb->groups, number);

	if (g == NULL) {
		worker_send(sb->worker, MSG_WORKER_KILLED, &gone, -1);
		return;
	}
	g->deadline = now_ms() + KILL_MS;
	groups_look_now(sb);
}

void
group_done(struct sandbox *sb, uint32_t number)
{
	struct exec_group *g = group_find(&sb->groups, number);

	if (g != NULL)
		g->is_done = true;
	groups_look_now(sb);
}

/* The groups themselves go with the sandbox's. */
void
group_end(struct sandbox *sb)
{
	timer_clear(&sb->groups.timer);
	free(sb->groups.table);
	memset(&sb->groups, 0, sizeof(sb->groups));
}
