/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Slots: ranges of host ids, each for one sandbox at a time, claimed by lock
 * files that all instances share.  A few are made ready ahead, with their
 * namespaces (in a helper child, since that waits for the kernel) and a
 * worker that already runs.  What untrusted code has used is never used
 * again.  Only with root.
 */

#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker.h"

#define SLOTS_DIR	"/run/sandboxd-slots"
#define SLOTS_AHEAD	2

static TAILQ_HEAD(, slot) stock = TAILQ_HEAD_INITIALIZER(stock);
static size_t nstock, nmaking;	/* of the stock, still in the making */
static size_t ahead;
static bool is_private;
static struct timer fill;
static unsigned int count, next;	/* 0: no slots */
static uid_t first;
static int dir_fd = -1;

int
slot_init(const struct policy *p, struct error *e)
{
	char path[sizeof(SLOTS_DIR) + 16];
	struct stat st;

	count = (unsigned int)(p->count / SLOT_SIZE);
	first = (uid_t)p->base;
	ahead = SLOTS_AHEAD;
	is_private = p->private;
	if (count == 0 || p->base == 0 || p->base + p->count > UINT32_MAX)
		return error_key(e, ERR_INVALID, "uids",
		    "uids: not a range of at least %u ids", SLOT_SIZE);
	snprintf(path, sizeof(path), "%s/%u", SLOTS_DIR, first);
	mkdir(SLOTS_DIR, 0700);
	mkdir(path, 0700);
	dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir_fd == -1 || fstat(dir_fd, &st) == -1 || st.st_uid != 0 ||
	    (st.st_mode & 077) != 0)
		return error_set(e, ERR_UNAVAILABLE, "%s is not a directory "
		    "of root alone", path);
	return 0;
}

bool
slot_holds(uid_t uid)
{
	return uid >= first && uid - first < count * SLOT_SIZE;
}

/* Round and round, so that a slot rests before it is used again. */
static struct slot *
slot_lock(struct error *e)
{
	unsigned int i, number;
	struct slot *s;
	char name[16];
	int fd;

	for (i = 0; i < count; i++) {
		number = (next + i) % count;
		snprintf(name, sizeof(name), "%u", number);
		fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_NOFOLLOW |
		    O_CLOEXEC, 0600);
		if (fd == -1) {
			error_sys(e, ERR_UNAVAILABLE, errno, "slot %u",
			    number);
			return NULL;
		}
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			break;
		close(fd);
	}
	if (i == count) {
		error_set(e, ERR_LIMIT, "all %u slots are in use", count);
		error_fix(e, "destroy a sandbox, or give more uids");
		return NULL;
	}
	next = (number + 1) % count;
	s = xcalloc(1, sizeof(*s));
	s->number = number;
	s->base = first + number * SLOT_SIZE;
	s->lock_fd = fd;
	s->helper_fd = -1;
	s->ns = (struct slot_namespaces){ -1, -1, -1, -1, -1, -1 };
	return s;
}

/* What ran in it is gone; it is not used again. */
void
slot_give(struct slot *s)
{
	proc_kill(&s->helper);
	proc_forget(&s->helper);
	loop_del(&s->watcher);
	fd_close(&s->helper_fd);
	if (s->worker != NULL)
		worker_free(s->worker);
	launch_namespaces_close(&s->ns);
	fd_close(&s->lock_fd);
	free(s);
}

/*** Made ahead ***/

static void
helper_answer(void *arg)
{
	struct slot *s = arg;

	launch_namespaces_recv(s->helper_fd, &s->ns, &s->error);
	loop_del(&s->watcher);
	fd_close(&s->helper_fd);
	nmaking--;
	sandbox_wake_all();
}

static int
slot_make(struct error *e)
{
	struct error ignored = { 0 };
	struct slot *s;
	int pair[2], rv;

	if ((s = slot_lock(e)) == NULL)
		return -1;
	if (fd_pair(SOCK_SEQPACKET, pair) == -1) {
		slot_give(s);
		return error_sys(e, ERR_INTERNAL, errno, "socketpair");
	}
	s->helper_fd = pair[0];
	if ((rv = proc_fork(&s->helper, 0, -1, NULL, NULL, e)) == 0)
		launch_namespaces(s->base, pair[1]);
	close(pair[1]);
	if (rv == -1) {
		slot_give(s);
		return -1;
	}
	loop_add(&s->watcher, s->helper_fd, EPOLLIN, helper_answer, s);
	TAILQ_INSERT_TAIL(&stock, s, entry);
	nstock++;
	nmaking++;
	/* If not now, then when it is needed, and then the error counts. */
	if ((s->worker = worker_new(s, &ignored)) != NULL)
		s->worker->slot = s;
	return 0;
}

static void
slot_fill_now(void *arg)
{
	struct error ignored = { 0 };

	(void)arg;
	while (count > 0 && nstock < ahead && slot_make(&ignored) == 0)
		;
}

/* Off every reply path: what a new sandbox asks for at once goes first. */
void
slot_fill(int64_t ms)
{
	if (!fill.is_set || fill.at > now_ms() + ms)
		timer_set(&fill, ms, slot_fill_now, NULL);
}

int
slot_take(bool has_namespaces, struct slot **out, struct error *e)
{
	struct sandbox *sb;
	struct slot *s;
	size_t waiting = 0;

	TAILQ_FOREACH(s, &stock, entry)
		if (s->helper_fd == -1)
			break;
	if (s == NULL) {
		for (sb = sandbox_next(NULL); sb != NULL; sb = sandbox_next(sb))
			waiting += sb->state == SB_CREATING && sb->slot == NULL;
		if (nmaking < waiting && slot_make(e) == -1 && nmaking == 0)
			return -1;
		return STEP_WAIT;
	}
	TAILQ_REMOVE(&stock, s, entry);
	nstock--;
	if (is_private && ahead > 0)	/* one to try, one to run */
		ahead--;
	if (has_namespaces && s->ns.user_ns_fd == -1) {
		*e = s->error;
		slot_give(s);
		return -1;
	}
	*out = s;
	return STEP_DONE;
}

void
slot_end(void)
{
	struct slot *s;

	while ((s = TAILQ_FIRST(&stock)) != NULL) {
		TAILQ_REMOVE(&stock, s, entry);
		slot_give(s);
	}
	nstock = nmaking = ahead = 0;
}
