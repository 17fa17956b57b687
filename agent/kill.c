/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Killing all descendants without a control group.  Run by a keeper, and by
 * the agent for what a dead keeper left behind or at its own end.  Whoever
 * calls is a subreaper: when a process dies, its children become the
 * caller's, so rounds of this and of waiting come to an end.  A number of a
 * direct child is safe to signal, since only the caller reaps it; deeper
 * ones are signalled through a pidfd whose parent was looked up after it
 * was opened, so that no stranger is hit.
 */

#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent.h"

#define DEPTH_MAX	16

/* Numbers from a "children" file of /proc. */
struct children {
	int	 fd;
	size_t	 n;
	size_t	 pos;
	char	 buf[256];
};

static int
children_open(struct children *c, const char *path)
{
	c->n = c->pos = 0;
	c->fd = open(path, O_RDONLY | O_CLOEXEC);
	return c->fd == -1 ? -1 : 0;
}

static int
children_char(struct children *c)
{
	ssize_t	n;

	if (c->pos == c->n) {
		if ((n = read(c->fd, c->buf, sizeof(c->buf))) <= 0)
			return -1;
		c->n = (size_t)n;
		c->pos = 0;
	}
	return c->buf[c->pos++];
}

/* 0 at the end. */
static pid_t
children_next(struct children *c)
{
	pid_t	pid = 0;
	int	ch;

	while ((ch = children_char(c)) >= '0' && ch <= '9')
		pid = pid * 10 + (ch - '0');
	return pid;
}

static pid_t
parent_of(pid_t pid)
{
	char	 buf[256], *p;
	ssize_t	 n;
	int	 fd;

	(void)snprintf(buf, sizeof(buf), "/proc/%d/stat", (int)pid);
	if ((fd = open(buf, O_RDONLY | O_CLOEXEC)) == -1)
		return -1;
	n = read(fd, buf, sizeof(buf) - 1);
	(void)close(fd);
	if (n <= 0)
		return -1;
	buf[n] = '\0';
	/* "12 (any name) S 1 ..." */
	if ((p = strrchr(buf, ')')) == NULL || strlen(p) < 5)
		return -1;
	return (pid_t)strtol(p + 4, NULL, 10);
}

static void
pidfd_kill(int fd, int sig)
{
	(void)syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0);
}

/* Stopped first, so that it makes no more while its own are looked for. */
static void
kill_below(pid_t parent, int depth)
{
	struct children	c;
	char		path[64];
	pid_t		pid;
	int		fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children",
	    (int)parent, (int)parent);
	if (depth == DEPTH_MAX || children_open(&c, path) == -1)
		return;
	while ((pid = children_next(&c)) != 0) {
		fd = (int)syscall(SYS_pidfd_open, pid, 0);
		if (fd == -1)
			continue;
		if (parent_of(pid) == parent) {
			pidfd_kill(fd, SIGSTOP);
			kill_below(pid, depth + 1);
			pidfd_kill(fd, SIGKILL);
		}
		(void)close(fd);
	}
	(void)close(c.fd);
}

int
kill_round(bool (*skip)(pid_t))
{
	struct children	c;
	pid_t		pid;
	int		n = 0;

	if (children_open(&c, "/proc/thread-self/children") == -1)
		return -1;
	while ((pid = children_next(&c)) != 0) {
		if (skip != NULL && skip(pid))
			continue;
		n++;
		(void)kill(pid, SIGSTOP);
		kill_below(pid, 0);
		(void)kill(pid, SIGKILL);
	}
	(void)close(c.fd);
	return n;
}
