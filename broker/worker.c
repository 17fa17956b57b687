/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Workers, seen from the broker: started with an id of a slot, no rights and
 * an empty root directory, and what they ask for.  A worker serves one
 * sandbox and is trusted with no other: whatever it says concerns its own (it
 * names groups by number alone), and a bad word from it ends that one.
 */

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker.h"

#define GROUPS_MAX	(2 * EXECS_MAX)
#define KILL_MS		1000	/* then the worker hears that some live on */
#define LOOK_MS		1	/* and then twice as long each time */
#define KILL_LOOK_MS	20	/* but no longer than this while killing */
#define DONE_LOOKS	16	/* of a time, by turns: there may be many */
#define LOOKS_MS	200	/* no longer: the next request looks again */

static int program_fd = -1;

void
worker_init(void)
{
	char path[PATH_LEN_MAX + 1];
	struct error e = { 0 };

	if (program_path(path, sizeof(path), "sandboxd-worker", &e) == -1)
		fatal("%s; %s", e.message, e.fix);
	if ((program_fd = open(path, O_RDONLY | O_CLOEXEC)) == -1)
		fatal("%s: %s", path, strerror(errno));
}

static void
worker_child(const struct slot *slot, int fd)
{
	static char name[] = "sandboxd-worker", verbose[] = "-v";
	char *argv[] = { name, NULL, NULL }, *envp[] = { NULL };
	struct error e = { 0 };
	uid_t id;

	if (log_level() == LOG_LEVEL_DEBUG)
		argv[1] = verbose;
	if (chdir("empty") == -1)
		fatal("worker's directory: %s", strerror(errno));
#ifdef SANDBOXD_WORKER_STATIC	/* others find no loader in there */
	if (priv_is_root() && chroot(".") == -1)
		fatal("worker's root: %s", strerror(errno));
#endif
	if (slot != NULL) {
		id = slot->base + SLOT_WORKER;
		if (prctl(PR_SET_KEEPCAPS, 1) == -1 ||
		    setgroups(0, NULL) == -1 ||
		    setresgid(id, id, id) == -1 ||
		    setresuid(id, id, id) == -1)
			fatal("worker's ids: %s", strerror(errno));
	}
	if (priv_drop(&e) == -1)
		fatal("worker: %s", e.message);
	if (dup2(fd, PEER_CHANNEL_FD) == -1)
		fatal("worker's channel: %s", strerror(errno));
	close_range(PEER_CHANNEL_FD + 1, ~0u, CLOSE_RANGE_CLOEXEC);
	syscall(SYS_execveat, program_fd, "", argv, envp, AT_EMPTY_PATH);
	fatal("worker: exec: %s", strerror(errno));
}

/*** Exec groups: made in a stock ahead, killed, removed when empty ***/

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
	struct exec_group *x;
	bool is_killing = false, has_done = false;
	size_t i, k;
	int looks = DONE_LOOKS;

	for (i = g->at, k = g->n; k > 0; i++, k--) {
		x = &g->table[i % g->n];
		has_done |= x->is_done;
		if (x->deadline == 0) {
			if (!x->is_done || looks-- <= 0)
				continue;
			g->at = i + 1;
		}
		if (group_look(sb, x))
			*x = g->table[--g->n];
		else
			is_killing |= x->deadline != 0;
	}
	g->pause *= 2;
	if (is_killing && g->pause > KILL_LOOK_MS)
		g->pause = KILL_LOOK_MS;
	if (is_killing || (has_done && g->pause <= LOOKS_MS))
		timer_set(&g->timer, g->pause, groups_look, sb);
}

static void
group_look_now(struct sandbox *sb)
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
	group_look_now(sb);
}

static void
group_kill(struct sandbox *sb, uint32_t number)
{
	struct msg_worker_killed gone = { .group = number, .is_empty = true };
	struct exec_group *g = group_find(&sb->groups, number);

	if (g == NULL) {
		worker_send(sb->worker, MSG_WORKER_KILLED, &gone, -1);
		return;
	}
	g->deadline = now_ms() + KILL_MS;
	group_look_now(sb);
}

static void
group_done(struct sandbox *sb, uint32_t number)
{
	struct exec_group *g = group_find(&sb->groups, number);

	if (g != NULL)
		g->is_done = true;
	group_look_now(sb);
}

/* The groups themselves go with the sandbox's. */
void
group_end(struct sandbox *sb)
{
	timer_clear(&sb->groups.timer);
	free(sb->groups.table);
	memset(&sb->groups, 0, sizeof(sb->groups));
}

/*** What a worker says ***/

union worker_msg {
	struct msg_worker_ready		 ready;
	struct msg_worker_groups	 groups;
	struct msg_worker_kill		 kill;
	struct msg_worker_done		 done;
	struct msg_worker_over		 over;
};

static void
over_said(struct sandbox *sb, const struct msg_worker_over *msg)
{
	static const char *const causes[] = { "expired", "timeout", "lost" };
	size_t i;

	/* Why the agent did not come up is better known from the child. */
	if (sb->state == SB_CREATING && sb->child.pid != 0) {
		sb->patience = now_ms() + 500;
		sandbox_wake_in(sb, 500);
		return;
	}
	for (i = 0; i < 2 && !view_is(msg->cause, causes[i]); i++)
		;
	sandbox_end(sb, false, causes[i], "%.*s", (int)msg->text.n,
	    (const char *)msg->text.p);
}

static void
worker_frame(void *arg, struct frame *f)
{
	struct worker *w = arg;
	struct sandbox *sb = w->sandbox;
	struct error e = { 0 };
	union worker_msg m;

	if (sb == NULL || msg_unpack(f, &m, &e) == -1) {
		log_warn("bad %s from a worker", msg_name(f->type));
		proc_kill(&w->proc);
		return;
	}
	log_debug("%s: %s", sb->id, msg_name(f->type));
	if (sb->state == SB_ENDING)
		return;
	switch (f->type) {
	case MSG_WORKER_READY:
		sb->is_ready = true;
		sandbox_wake(sb);
		break;
	case MSG_WORKER_GROUPS:
		group_make(sb, m.groups.count);
		break;
	case MSG_WORKER_KILL:
		group_kill(sb, (uint32_t)m.kill.group);
		break;
	case MSG_WORKER_DONE:
		group_done(sb, (uint32_t)m.done.group);
		break;
	case MSG_WORKER_OVER:
		over_said(sb, &m.over);
		break;
	}
}

/* The channel closes a moment before the process ends, or it is broken. */
static void
worker_closed(void *arg, const struct error *e)
{
	struct worker *w = arg;

	if (e->code == ERR_INVALID)
		log_error("worker", e);
	proc_kill(&w->proc);
}

static void
worker_exited(void *arg, int status)
{
	struct worker *w = arg;

	(void)status;
	if (w->sandbox == NULL) {
		if (w->slot != NULL)
			w->slot->worker = NULL;
		worker_free(w);
	} else if (w->sandbox->state == SB_ENDING)
		sandbox_wake(w->sandbox);
	else
		sandbox_end(w->sandbox, false, "lost", "the worker died");
}

/*** From the broker's side ***/

struct worker *
worker_new(const struct slot *slot, struct error *e)
{
	struct worker *w;
	int pair[2], rv;

	if (fd_pair(SOCK_SEQPACKET, pair) == -1) {
		error_sys(e, ERR_INTERNAL, errno, "socketpair");
		return NULL;
	}
	w = xcalloc(1, sizeof(*w));
	rv = proc_fork(&w->proc, 0, -1, worker_exited, w, e);
	if (rv == 0)
		worker_child(slot, pair[1]);
	close(pair[1]);
	if (rv == -1) {
		close(pair[0]);
		free(w);
		return NULL;
	}
	w->peer.name = "worker";
	peer_open(&w->peer, pair[0], 0, 1u << DIR_WB, worker_frame,
	    worker_closed, w);
	return w;
}

static uint64_t
limit_of(uint64_t value, uint64_t max)
{
	return value == SPEC_ABSENT ? 0 : value > max ? max : value;
}

int
worker_start(struct worker *w, struct sandbox *sb, struct error *e)
{
	const struct spec *s = &sb->judged.spec;
	struct msg_worker_start msg = {
		.id = view_of(sb->id),
		.is_stream = sb->is_stream,
		.has_groups = cgroup_has(CG_GROUPS),
		.ends = (uint64_t)sb->ends,
		.timeout = limit_of(s->timeout, INT64_MAX),
		.cpu_time = limit_of(s->cpu_time, INT64_MAX),
		.output = limit_of(s->output, INT64_MAX),
		.files = limit_of(s->files, UINT32_MAX),
	};
	int fds[2] = { sb->agent_fd, sb->event_fd };
	struct buf env = { 0 };
	int rv;

	w->sandbox = sb;
	w->slot = NULL;
	if ((rv = spec_env_pack(s, &env, e)) == 0) {
		msg.env = (struct view){ env.p, env.n };
		peer_send(&w->peer, MSG_WORKER_START, 0, &msg, fds, 2);
		sb->agent_fd = sb->event_fd = -1;
	}
	buf_free(&env);
	return rv;
}

void
worker_send(struct worker *w, enum msg_type type, const void *msg, int fd)
{
	peer_send(&w->peer, type, 0, msg, &fd, fd == -1 ? 0 : 1);
}

void
worker_free(struct worker *w)
{
	proc_kill(&w->proc);
	proc_forget(&w->proc);
	peer_close(&w->peer);
	free(w);
}
