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

#define KILL_MS		1000	/* then the worker hears that some live on */
#define LOOK_MS		1	/* and then twice as long each time */
#define LOOKS_MS	200	/* no longer: the next request looks again */

static struct exec_group *
group_find(struct groups *g, uint32_t number)
{
	size_t i;

	for (i = 0; i < g->n; i++)
		if (g->table[i].number == number)
			return &g->table[i];
	return NULL;
}

static const char *
group_name(const struct sandbox *sb, const struct exec_group *one)
{
	static char name[ID_LEN + 32];

	snprintf(name, sizeof(name), "%s/x/%u", sb->id, one->number);
	return name;
}

static void
group_answer(struct sandbox *sb, struct exec_group *one, bool is_empty)
{
	struct msg_worker_killed msg = { .group = one->number,
	    .is_empty = is_empty };

	one->state = one->is_done ? GROUP_DONE : GROUP_LIVE;
	worker_send(sb->worker, MSG_WORKER_KILLED, &msg, -1);
}

/* A round of killing, or a try to remove; true when there is no more to do. */
static bool
group_look(struct sandbox *sb, struct exec_group *one)
{
	const char *name = group_name(sb, one);

	if (one->state == GROUP_KILLING) {
		if (cgroup_is_empty(name))
			group_answer(sb, one, true);
		else if (now_ms() >= one->deadline)
			group_answer(sb, one, false);
		else
			cgroup_kill(name);
	}
	return one->state == GROUP_DONE && cgroup_remove(name) == 0;
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
	bool is_killing = false;
	size_t i = 0;

	while (i < g->n) {
		if (group_look(sb, &g->table[i])) {
			g->table[i] = g->table[--g->n];
			continue;
		}
		is_killing |= g->table[i].state == GROUP_KILLING;
		i++;
	}
	g->pause *= 2;
	if (is_killing && g->pause > 20)
		g->pause = 20;
	for (i = 0; i < g->n && g->table[i].state == GROUP_LIVE; i++)
		;
	if (is_killing || (i < g->n && g->pause <= LOOKS_MS))
		timer_set(&g->timer, g->pause, groups_look, sb);
}

static void
groups_look_now(struct sandbox *sb)
{
	sb->groups.pause = LOOK_MS;
	groups_look(sb);
}

static int
group_add(struct sandbox *sb)
{
	struct groups *g = &sb->groups;
	struct msg_worker_group msg = { 0 };
	int fd;

	if (g->n == GROUPS_MAX) {
		sandbox_end(sb, false, "lost", "too many exec groups");
		return -1;
	}
	if (g->n == g->cap) {
		g->cap = g->cap == 0 ? 8 : g->cap * 2;
		g->table = xrealloc(g->table, g->cap * sizeof(*g->table));
	}
	if ((fd = cgroup_group_make(sb->id, ++g->last)) == -1) {
		sandbox_end(sb, false, "lost", "cgroup of an exec: %s",
		    strerror(errno));
		return -1;
	}
	g->table[g->n++] = (struct exec_group){ .number = g->last };
	msg.group = g->last;
	worker_send(sb->worker, MSG_WORKER_GROUP, &msg, fd);
	return 0;
}

void
group_make(struct sandbox *sb, uint64_t count)
{
	if (sb->state == SB_ENDING || !cgroup_has(CG_GROUPS))
		return;
	while (count-- > 0)
		if (group_add(sb) == -1)
			return;
	groups_look_now(sb);
}

void
group_kill(struct sandbox *sb, uint32_t number)
{
	struct msg_worker_killed gone = { .group = number, .is_empty = true };
	struct exec_group *one;

	if (sb->state == SB_ENDING)
		return;
	if ((one = group_find(&sb->groups, number)) == NULL) {
		worker_send(sb->worker, MSG_WORKER_KILLED, &gone, -1);
		return;
	}
	one->state = GROUP_KILLING;
	one->deadline = now_ms() + KILL_MS;
	groups_look_now(sb);
}

void
group_done(struct sandbox *sb, uint32_t number)
{
	struct exec_group *one;

	if (sb->state == SB_ENDING ||
	    (one = group_find(&sb->groups, number)) == NULL)
		return;
	one->is_done = true;
	if (one->state == GROUP_LIVE)
		one->state = GROUP_DONE;
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
