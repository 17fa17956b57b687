/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Children of the broker: made with clone3 and a pidfd, reaped in one place,
 * adopted orphans included (the broker is a child subreaper).  A pid is used
 * only while its process is not reaped, and only here are they reaped.
 */

#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <unistd.h>

#include "broker.h"

static LIST_HEAD(, proc) procs = LIST_HEAD_INITIALIZER(procs);

int
proc_fork(struct proc *p, uint64_t flags, int cgroup_fd,
    void (*exited)(void *, int), void *arg, struct error *e)
{
	struct clone_args ca = {
		.flags = flags | CLONE_PIDFD |
		    (cgroup_fd == -1 ? 0 : CLONE_INTO_CGROUP),
		.pidfd = (uintptr_t)&p->pidfd,
		.exit_signal = SIGCHLD,
		.cgroup = cgroup_fd == -1 ? 0 : (uint64_t)cgroup_fd,
	};
	sigset_t none;
	long pid;

	p->pid = 0;
	if ((pid = syscall(SYS_clone3, &ca, sizeof(ca))) == -1)
		return error_sys(e, ERR_BACKEND, errno, "clone3");
	if (pid == 0) {
		/* What the broker blocks must not reach what it starts. */
		signal(SIGINT, SIG_DFL);
		signal(SIGHUP, SIG_DFL);
		signal(SIGQUIT, SIG_DFL);
		signal(SIGPIPE, SIG_DFL);
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
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

void
proc_reap(void)
{
	struct proc *p;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		LIST_FOREACH(p, &procs, entry)
			if (p->pid == pid)
				break;
		if (p == NULL)
			continue;
		proc_forget(p);
		if (p->exited != NULL)
			p->exited(p->arg, status);
	}
}
