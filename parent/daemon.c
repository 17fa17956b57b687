/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Going into the background.  The process that was called stays until the
 * daemon listens: it prints what the daemon logs and takes over its exit
 * status.  Run by the front before it gives up its rights.
 *
 * Log lines go to one datagram socket that front and broker share as their
 * standard error.  When all is up the caller connects it to the system log,
 * which the two of them could no longer reach, and leaves.
 */

#include "config.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "parent/parent.h"

#define SYSLOG_SOCKET	"/dev/log"

static int	 ready_fd = -1;

static void
lines_copy(int fd)
{
	char line[2048];
	ssize_t n;

	while ((n = recv(fd, line, sizeof(line), MSG_DONTWAIT)) > 0)
		fd_write_all(STDERR_FILENO, line, (size_t)n);
}

/* The caller: returns when the daemon is ready (true) or has failed. */
static bool
caller_wait(int lines, int ready)
{
	struct pollfd fds[] = {
		{ .fd = lines, .events = POLLIN },
		{ .fd = ready, .events = POLLIN }
	};
	char byte;

	for (;;) {
		if (poll(fds, 2, -1) == -1 && errno != EINTR)
			fatal("poll: %s", strerror(errno));
		lines_copy(lines);
		if (fds[1].revents != 0)
			return read(ready, &byte, 1) == 1;
		fds[0].revents = fds[1].revents = 0;
	}
}

static void
syslog_connect(int fd)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX,
	    .sun_path = SYSLOG_SOCKET };

	/* Without a system log, lines are lost from here on. */
	(void)!connect(fd, (struct sockaddr *)&sun, sizeof(sun));
	fd_nonblock(fd);
}

void
daemon_begin(void)
{
	int lines[2], ready[2];
	bool is_ready;

	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, lines) == -1 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ready) == -1)
		fatal("socketpair: %s", strerror(errno));
	switch (fork()) {
	case -1:
		fatal("fork: %s", strerror(errno));
	case 0:
		break;
	default:
		close(ready[1]);
		is_ready = caller_wait(lines[0], ready[0]);
		if (is_ready)
			syslog_connect(lines[1]);
		lines_copy(lines[0]);
		_exit(is_ready ? 0 : 1);
	}
	if (setsid() == -1 || dup2(lines[1], STDERR_FILENO) == -1 ||
	    dup2(lines[1], STDOUT_FILENO) == -1)
		fatal("setsid: %s", strerror(errno));
	close(lines[0]);
	close(lines[1]);
	close(ready[0]);
	ready_fd = ready[1];
}

void
daemon_ready(void)
{
	if (ready_fd == -1)
		return;
	(void)!write(ready_fd, "", 1);
	fd_close(&ready_fd);
}
