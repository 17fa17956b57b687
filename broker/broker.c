/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * sandboxd-broker: start and end.  Executed by the front with the channel to
 * it as descriptor 3; lives and dies with it.
 *
 *   sandboxd-broker -r RUNDIR [-v] [-i] [-l N]
 *
 * -i: inetd's client is descriptor 4; -l: so many listening sockets follow.
 *
 * Start: programs are opened and compiled filters made while all rights are
 * there; the run directory is locked and swept; rights shrink to the list in
 * priv.c.  Then the policy comes, the first backend is tried, and the broker
 * is ready.  Everything after that happens in loop_run(): requests of the
 * front (request.c), clients (accept.c, client.c), children (proc.c) and
 * workers (worker.c).  A sandbox is made by the steps of create.c and ends by
 * the same steps backwards.  The broker trusts its configuration, the kernel
 * and its own children up to the moment they give up their rights.
 */

#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker.h"

#define STOP_MS		10000	/* then what does not die is left */

static struct {
	int		 signal_fd;
	struct watcher	 signals;
	bool		 is_ready;
	bool		 is_stopping;
	int		 status;
	struct timer	 deadline;
} broker;

void
broker_ready(const char *backend)
{
	struct msg_broker_ready msg = { .backend = view_of(backend) };

	if (broker.is_ready || broker.is_stopping)
		return;
	broker.is_ready = true;
	request_send(MSG_BROKER_READY, 0, &msg, NULL, 0);
	accept_start();
}

/*** The end ***/

bool
broker_is_stopping(void)
{
	return broker.is_stopping;
}

static void
stop_late(void *arg)
{
	(void)arg;
	log_warn("some sandboxes did not end in time");
	loop_end(1);
}

void
broker_stop_check(void)
{
	if (broker.is_stopping && sandbox_next(NULL) == NULL)
		loop_end(broker.status);
}

void
broker_stop(int status)
{
	struct sandbox *sb, *next;

	if (broker.is_stopping)
		return;
	broker.is_stopping = true;
	broker.status = status;
	timer_set(&broker.deadline, STOP_MS, stop_late, NULL);
	accept_end();
	slot_end();
	for (sb = sandbox_next(NULL); sb != NULL; sb = next) {
		next = sandbox_next(sb);
		sandbox_end(sb, true, "destroyed", "the daemon ends");
	}
	broker_stop_check();
}

/*** Start ***/

static void
signal_event(void *arg)
{
	struct signalfd_siginfo si;

	(void)arg;
	if (read(broker.signal_fd, &si, sizeof(si)) != sizeof(si))
		return;
	if (si.ssi_signo == SIGCHLD)
		proc_reap();
	else
		broker_stop(0);
}

static void
signals_init(void)
{
	sigset_t set;

	/* They go to the terminal's group, and the front speaks for us. */
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	if (sigprocmask(SIG_SETMASK, &set, NULL) == -1 ||
	    (broker.signal_fd = signalfd(-1, &set, SFD_CLOEXEC |
	    SFD_NONBLOCK)) == -1)
		fatal("signals: %s", strerror(errno));
	loop_add(&broker.signals, broker.signal_fd, EPOLLIN, signal_event,
	    NULL);
}

/* 0, 1 and 2 are open, and nothing is inherited but what is ours. */
static void
descriptors_init(int last)
{
	int fd;

	while ((fd = open("/dev/null", O_RDWR)) != -1 && fd < 3)
		;
	if (fd > 2)
		close(fd);
	if (fcntl(PEER_CHANNEL_FD, F_SETFD, FD_CLOEXEC) == -1)
		fatal("descriptor 3 is to be the channel of sandboxd");
	close_range((unsigned int)last + 1, ~0u, 0);
}

int
main(int argc, char *argv[])
{
	bool is_verbose = false, has_client = false;
	const char *dir = NULL;
	int c, i, status, next = PEER_CHANNEL_FD + 1, nlisten = 0;

	while ((c = getopt(argc, argv, "r:vil:")) != -1) {
		if (c == 'r')
			dir = optarg;
		else if (c == 'l')
			nlisten = atoi(optarg);
		is_verbose |= c == 'v';
		has_client |= c == 'i';
	}
	log_init("broker", is_verbose ? LOG_LEVEL_DEBUG : LOG_LEVEL_WARN);
	if (dir == NULL || nlisten < 0 || nlisten > 64)
		fatal("started by sandboxd, not by hand");
	umask(077);
	descriptors_init(PEER_CHANNEL_FD + (has_client ? 1 : 0) + nlisten);
	loop_init();
	signals_init();
	worker_init();
	environment_init();
	instance_init(dir);
	cgroup_init(instance_name());
	priv_init();
	instance_sweep();
	if (has_client)
		accept_adopt(next++, true);
	for (i = 0; i < nlisten; i++)
		accept_adopt(next++, false);
	request_init(PEER_CHANNEL_FD);
	status = loop_run();
	instance_remove(policy_get() == NULL || policy_get()->private);
	cgroup_end();
	return status;
}
