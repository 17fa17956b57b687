/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Execs without a control group: a keeper, a fork of the agent, stands
 * between the agent and the main process.  It is a subreaper, so all that
 * the exec ever started is below it, and it can kill all of that.  Same
 * user and same rights as the command, which may therefore kill it; then
 * what was below it becomes the agent's (keeper_gone).  The agent believes
 * its reports no more than it has to.
 */

#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "agent.h"

#define COMMAND_KILL	0		/* 1 to 64: that signal */
#define ROUND_MS_MAX	64

enum report_kind { REPORT_STARTED, REPORT_FAILED, REPORT_ENDED };

struct report {
	enum report_kind kind;
	pid_t		 pid;
	enum stage	 stage;
	int		 err;
	int		 status;
	struct rusage	 usage;
	char		 path[PATH_LEN_MAX + 1];	/* FAILED */
};

struct keeper {
	int	 fd;		/* to the agent; -1: it is gone */
	int	 signal_fd;
	pid_t	 pid;		/* main process, 0 when it has ended */
	bool	 is_killing;
	int	 round_ms;
};

/*** Keeper ***/

static void
report_send(int fd, const struct report *r)
{
	size_t	n = offsetof(struct report, path);

	if (r->kind == REPORT_FAILED)
		n = sizeof(*r);
	if (fd != -1)
		(void)send(fd, r, n, MSG_NOSIGNAL);
}

static void
keeper_command(struct keeper *k)
{
	unsigned char	c;
	ssize_t		n = recv(k->fd, &c, 1, MSG_DONTWAIT);

	if (n == -1 && errno == EAGAIN)
		return;
	if (n != 1)
		fd_close(&k->fd);
	if (n != 1 || c == COMMAND_KILL)
		k->is_killing = true;
	else if (k->pid != 0)
		(void)kill(-k->pid, c);
}

/* False when no process is left. */
static bool
keeper_reap(struct keeper *k)
{
	struct report	r = { .kind = REPORT_ENDED };
	pid_t		pid;

	signals_drain(k->signal_fd);
	while ((pid = wait4(-1, &r.status, WNOHANG, &r.usage)) > 0)
		if (pid == k->pid) {
			k->pid = 0;
			report_send(k->fd, &r);
		}
	return pid == 0;
}

static void
keeper_round(struct keeper *k)
{
	/* Without /proc at least the process group. */
	if (kill_round(NULL) == -1 && k->pid != 0)
		(void)kill(-k->pid, SIGKILL);
	if (k->round_ms < ROUND_MS_MAX)
		k->round_ms *= 2;
}

static void
keeper_loop(struct keeper *k)
{
	struct pollfd	p[2];

	while (keeper_reap(k)) {
		if (k->is_killing)
			keeper_round(k);
		p[0] = (struct pollfd){ .fd = k->fd, .events = POLLIN };
		p[1] = (struct pollfd){ .fd = k->signal_fd, .events = POLLIN };
		if (poll(p, 2, k->is_killing ? k->round_ms : -1) > 0 &&
		    p[0].revents != 0)
			keeper_command(k);
	}
}

static void __attribute__((noreturn))
keeper_main(int fd, struct spawn *s)
{
	struct keeper	k = { .fd = fd, .round_ms = 1 };
	struct report	r = { .kind = REPORT_STARTED };

	(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	(void)prctl(PR_SET_NAME, "sandboxd-keeper", 0, 0, 0);
	r.pid = k.pid = spawn_run(s);
	/* Of the agent's descriptors nothing may stay open here. */
	if (fd > AGENT_CHANNEL_FD)
		(void)syscall(SYS_close_range, AGENT_CHANNEL_FD, fd - 1, 0);
	(void)syscall(SYS_close_range, fd + 1, ~0U, 0);
	if (k.pid == -1) {
		r.kind = REPORT_FAILED;
		r.stage = s->stage;
		r.err = s->err;
		(void)text_copy(r.path, sizeof(r.path),
		    view_of(spawn_path(s)));
		report_send(fd, &r);
		_exit(0);
	}
	report_send(fd, &r);
	if ((k.signal_fd = signals_open()) == -1)
		_exit(1);
	keeper_loop(&k);
	_exit(0);
}

/*** Agent ***/

static void
keeper_report(struct exec *e, struct report *r)
{
	r->path[PATH_LEN_MAX] = '\0';
	switch (r->kind) {
	case REPORT_STARTED:
		exec_started(e, r->pid);
		break;
	case REPORT_FAILED:
		exec_failed(e, r->stage, r->err, r->path);
		break;
	case REPORT_ENDED:
		exec_ended(e, r->status, &r->usage);
		break;
	}
}

/* What has come; at the end of it the socket is only forgotten. */
static void
keeper_recv(struct exec *e)
{
	struct report	r = { 0 };
	ssize_t		n;

	while (e->keeper.fd != -1) {
		n = recv(e->keeper.fd, &r, sizeof(r), MSG_DONTWAIT);
		if (n == -1 && errno == EAGAIN)
			return;
		if (n < (ssize_t)offsetof(struct report, path)) {
			source_close(&e->keeper);
			return;
		}
		keeper_report(e, &r);
	}
}

static void
keeper_event(void *arg, uint32_t events)
{
	struct exec	*e = arg;

	(void)events;
	keeper_recv(e);
	exec_settle(e);
}

int
keeper_start(struct exec *e, struct spawn *s)
{
	int	fds[2], err;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) == -1)
		return errno;
	e->has_keeper = true;
	e->keeper_pid = fork();
	if (e->keeper_pid == 0)
		keeper_main(fds[1], s);
	err = e->keeper_pid == -1 ? errno : 0;
	(void)close(fds[1]);
	e->keeper = (struct source){ .fd = fds[0], .fn = keeper_event,
	    .arg = e };
	if (err == 0)
		err = source_watch(&e->keeper, EPOLLIN);
	if (err != 0) {
		/* A keeper that is there sees the end of the socket. */
		source_close(&e->keeper);
		if (e->keeper_pid == -1)
			e->keeper_pid = 0;
	}
	return err;
}

static void
keeper_tell(struct exec *e, unsigned char command)
{
	if (e->keeper.fd != -1)
		(void)send(e->keeper.fd, &command, 1,
		    MSG_DONTWAIT | MSG_NOSIGNAL);
}

void
keeper_signal(struct exec *e, int sig)
{
	if (sig > 0)
		keeper_tell(e, (unsigned char)sig);
}

void
keeper_kill(struct exec *e)
{
	keeper_tell(e, COMMAND_KILL);
}

void
keeper_gone(struct exec *e)
{
	static const struct rusage	none;
	siginfo_t			si;

	e->keeper_pid = 0;
	keeper_recv(e);
	source_close(&e->keeper);
	/* Killed before it could say that the command runs: then none may. */
	if (!e->is_answered) {
		exec_failed(e, STAGE_FORK, ECHILD, "");
		exec_purge();
	}
	/*
	 * Killed.  Its main process is a child of the agent now, unless the
	 * keeper took the result along.
	 */
	if (!e->is_ended && waitid(P_PID, (id_t)e->pid, &si,
	    WEXITED | WNOHANG | WNOWAIT) == -1)
		exec_ended(e, SIGKILL, &none);
}
