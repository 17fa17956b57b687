/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Children of the broker: made with clone3 and a pidfd, reaped in one place,
 * adopted orphans included (the broker is a child subreaper).  A pid is used
 * only while its process is not reaped, and only here are they reaped.
 */

#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker.h"

static LIST_HEAD(, proc) procs = LIST_HEAD_INITIALIZER(procs);

/* What the broker blocks and ignores must not reach what it starts. */
static void
signals_reset(void)
{
	static const int ignored[] = { SIGINT, SIGHUP, SIGPIPE, SIGQUIT };
	sigset_t none;
	size_t i;

	for (i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

int
proc_fork(struct proc *p, uint64_t flags, int cgroup_fd,
    void (*exited)(void *, int), void *arg, struct error *e)
{
	struct clone_args ca = {
		.flags = flags | CLONE_PIDFD,
		.pidfd = (uintptr_t)&p->pidfd,
		.exit_signal = SIGCHLD,
	};
	long pid;

	if (cgroup_fd != -1) {
		ca.flags |= CLONE_INTO_CGROUP;
		ca.cgroup = (uint64_t)cgroup_fd;
	}
	p->pidfd = -1;
	pid = syscall(SYS_clone3, &ca, sizeof(ca));
	if (pid == -1) {
		p->pid = 0;
		return error_sys(e, ERR_BACKEND, errno, "clone3");
	}
	if (pid == 0) {
		signals_reset();
		return 0;
	}
	p->pid = (pid_t)pid;
	p->exited = exited;
	p->arg = arg;
	LIST_INSERT_HEAD(&procs, p, entry);
	return 1;
}

void
proc_kill(const struct proc *p)
{
	if (p->pid != 0)
		syscall(SYS_pidfd_send_signal, p->pidfd, SIGKILL, NULL, 0);
}

void
proc_forget(struct proc *p)
{
	if (p->pid == 0)
		return;
	LIST_REMOVE(p, entry);
	fd_close(&p->pidfd);
	p->pid = 0;
}

static struct proc *
proc_find(pid_t pid)
{
	struct proc *p;

	LIST_FOREACH(p, &procs, entry)
		if (p->pid == pid)
			return p;
	return NULL;
}

void
proc_reap(void)
{
	struct proc *p;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if ((p = proc_find(pid)) == NULL)
			continue;
		proc_forget(p);
		p->exited(p->arg, status);
	}
}

/*** In a child ***/

static int
compare_fds(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

void
proc_close_others(const int *keep, size_t n)
{
	int sorted[32], next = 3;
	size_t i;

	if (n > 32)
		fatal("too many descriptors to keep");
	memcpy(sorted, keep, n * sizeof(int));
	qsort(sorted, n, sizeof(int), compare_fds);
	for (i = 0; i < n; i++) {
		if (sorted[i] < next)
			continue;
		if (sorted[i] > next)
			close_range((unsigned int)next,
			    (unsigned int)sorted[i] - 1, 0);
		next = sorted[i] + 1;
	}
	close_range((unsigned int)next, ~0u, 0);
}

void
proc_only_channel(int fd)
{
	if (fd != PEER_CHANNEL_FD && dup2(fd, PEER_CHANNEL_FD) == -1)
		_exit(125);
	close_range(PEER_CHANNEL_FD + 1, ~0u, CLOSE_RANGE_CLOEXEC);
}

/*** Descriptors between the broker and its own children ***/

int
fds_send(int fd, const void *data, size_t size, const int *fds, int n)
{
	union {
		struct cmsghdr	 align;
		char		 bytes[CMSG_SPACE(FRAME_FDS_MAX * sizeof(int))];
	} control = { 0 };
	struct iovec iov = { (void *)(uintptr_t)data, size };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *c;

	if (n > 0) {
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE((size_t)n * sizeof(int));
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN((size_t)n * sizeof(int));
		memcpy(CMSG_DATA(c), fds, (size_t)n * sizeof(int));
	}
	return sendmsg(fd, &msg, MSG_NOSIGNAL) == (ssize_t)size ? 0 : -1;
}

ssize_t
fds_recv(int fd, void *data, size_t size, int *fds, int max, int *n)
{
	union {
		struct cmsghdr	 align;
		char		 bytes[CMSG_SPACE(FRAME_FDS_MAX * sizeof(int))];
	} control;
	struct iovec iov = { data, size };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
		.msg_controllen = CMSG_SPACE((size_t)max * sizeof(int)),
	};
	struct cmsghdr *c;
	ssize_t got;

	*n = 0;
	got = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (got == -1)
		return -1;
	for (c = CMSG_FIRSTHDR(&msg); c != NULL; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		*n = (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(fds, CMSG_DATA(c), (size_t)*n * sizeof(int));
	}
	if (msg.msg_flags & (MSG_CTRUNC | MSG_TRUNC)) {
		errno = EMSGSIZE;
		return -1;
	}
	return got;
}
