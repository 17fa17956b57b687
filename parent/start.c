/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Descriptors at start, and the start of the broker.  Run by the front before
 * it gives up its rights.  What it inherits is checked and anything unnamed
 * closed; the broker gets its channel, its sockets and standard error, and an
 * environment of its own.
 */

#include "config.h"

#include <sys/socket.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "parent/parent.h"

#define LISTEN_FIRST	3		/* of LISTEN_FDS */
#define ROOT_PATH	"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:" \
			    "/usr/bin:/sbin:/bin"

/* What else of our environment the broker may see. */
static const char *const passed[] = {
	"XDG_RUNTIME_DIR",
#ifdef SANDBOXD_TEST_HOOKS
	"SANDBOXD_TEST_STREAM", "SANDBOXD_TEST_FAIL",
#endif
#ifdef SANDBOXD_SANITIZERS
	"ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS",
#endif
	NULL
};

void
start_stdio(void)
{
	int fd;

	do {
		if ((fd = open("/dev/null", O_RDWR)) == -1)
			exit(1);
	} while (fd <= STDERR_FILENO);
	close(fd);
}

static int
socket_option(int fd, int what)
{
	socklen_t n = sizeof(int);
	int value;

	return getsockopt(fd, SOL_SOCKET, what, &value, &n) == -1 ? -1 :
	    value;
}

int
start_listen_fds(struct start *s, struct error *e)
{
	const char *fds, *pid;
	uint64_t n, who;
	int i, rc = 0;

	fds = getenv("LISTEN_FDS");
	pid = getenv("LISTEN_PID");
	if (fds != NULL && pid != NULL) {
		if (parse_uint(pid, 0, INT32_MAX, &who, e) == -1 ||
		    parse_uint(fds, 0, LISTENS_MAX, &n, e) == -1)
			rc = error_set(e, ERR_INVALID,
			    "LISTEN_FDS and LISTEN_PID make no sense");
		else if ((pid_t)who == getpid())
			s->nfds = (int)n;
	}
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDNAMES");
	for (i = 0; rc == 0 && i < s->nfds; i++) {
		s->fds[i] = LISTEN_FIRST + i;
		if (socket_option(s->fds[i], SO_DOMAIN) != AF_UNIX ||
		    socket_option(s->fds[i], SO_TYPE) != SOCK_STREAM ||
		    socket_option(s->fds[i], SO_ACCEPTCONN) != 1)
			rc = error_set(e, ERR_INVALID, "LISTEN_FDS: "
			    "descriptor %d is not a listening unix stream "
			    "socket", s->fds[i]);
		else
			fcntl(s->fds[i], F_SETFD, FD_CLOEXEC);
	}
	return rc;
}

/* A super-server may have put the client on all three. */
static void
stdio_detach(const struct stat *client)
{
	struct stat st;
	int fd, i;

	if ((fd = open("/dev/null", O_RDWR | O_CLOEXEC)) == -1)
		fatal("/dev/null: %s", strerror(errno));
	for (i = STDIN_FILENO; i <= STDERR_FILENO; i++) {
		if (fstat(i, &st) == 0 && st.st_dev == client->st_dev &&
		    st.st_ino == client->st_ino)
			dup2(fd, i);
	}
	close(fd);
}

int
start_inetd(struct start *s, struct error *e)
{
	struct stat st;

	s->is_inetd = true;
	if (socket_option(STDIN_FILENO, SO_DOMAIN) != AF_UNIX ||
	    socket_option(STDIN_FILENO, SO_TYPE) != SOCK_STREAM ||
	    socket_option(STDIN_FILENO, SO_ACCEPTCONN) != 0)
		return error_set(e, ERR_INVALID,
		    "-i: descriptor 0 is not a connected unix stream socket");
	s->fds[0] = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (s->fds[0] == -1 || fstat(STDIN_FILENO, &st) == -1)
		return error_sys(e, ERR_INTERNAL, errno, "descriptor 0");
	s->nfds = 1;
	stdio_detach(&st);
	return 0;
}

void
start_close_rest(const struct start *s)
{
	int first = STDERR_FILENO + 1;
	int i;

	/* They are the lowest ones, in order. */
	for (i = 0; i < s->nfds; i++) {
		if (s->fds[i] > first)
			close_range((unsigned int)first,
			    (unsigned int)s->fds[i] - 1, 0);
		first = s->fds[i] + 1;
	}
	close_range((unsigned int)first, ~0U, 0);
}

/*** The broker ***/

/* In the child: channel and sockets become 3, 4 and so on; all else goes. */
static int
fds_arrange(const struct start *s, int channel)
{
	int fds[LISTENS_MAX + 1];
	int i, n = s->nfds + 1;

	fds[0] = channel;
	memcpy(fds + 1, s->fds, (size_t)s->nfds * sizeof(int));
	for (i = 0; i < n; i++) {
		fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, PEER_CHANNEL_FD + n);
		if (fds[i] == -1)
			return -1;
	}
	for (i = 0; i < n; i++) {
		if (dup2(fds[i], PEER_CHANNEL_FD + i) == -1)
			return -1;
	}
	return close_range((unsigned int)(PEER_CHANNEL_FD + n), ~0U, 0);
}

static char **
environment(void)
{
	static char path[PATH_LEN_MAX + 8];
	static char *env[2 + sizeof(passed) / sizeof(passed[0])];
	const char *value;
	size_t i, n = 0, size;

	if (geteuid() == 0 || (value = getenv("PATH")) == NULL)
		snprintf(path, sizeof(path), "%s", ROOT_PATH);
	else
		snprintf(path, sizeof(path), "PATH=%s", value);
	env[n++] = path;
	for (i = 0; passed[i] != NULL; i++) {
		if ((value = getenv(passed[i])) == NULL)
			continue;
		size = strlen(passed[i]) + strlen(value) + 2;
		env[n] = xcalloc(1, size);
		snprintf(env[n++], size, "%s=%s", passed[i], value);
	}
	return env;
}

static void __attribute__((noreturn))
broker_exec(const struct start *s, const char *program, const char *rundir,
    int channel)
{
	char count[16];
	const char *argv[8];
	sigset_t none;
	size_t n = 0;

	argv[n++] = "sandboxd-broker";
	argv[n++] = "-r";
	argv[n++] = rundir;
	if (s->is_verbose)
		argv[n++] = "-v";
	if (s->is_inetd)
		argv[n++] = "-i";
	else if (s->nfds > 0) {
		snprintf(count, sizeof(count), "%d", s->nfds);
		argv[n++] = "-l";
		argv[n++] = count;
	}
	argv[n] = NULL;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	if (fds_arrange(s, channel) == -1)
		fatal("descriptors of the broker: %s", strerror(errno));
	execve(program, (char *const *)(uintptr_t)argv, environment());
	fatal("%s: %s", program, strerror(errno));
}

pid_t
start_broker(struct start *s, const char *rundir, int *fd, struct error *e)
{
	char program[PATH_LEN_MAX + 1];
	int i, pair[2];
	pid_t pid;

	if (program_path(program, sizeof(program), "sandboxd-broker",
	    e) == -1)
		return -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == -1)
		return error_sys(e, ERR_INTERNAL, errno, "socketpair");
	if ((pid = fork()) == -1) {
		error_sys(e, ERR_INTERNAL, errno, "fork");
		close(pair[0]);
		close(pair[1]);
		return -1;
	}
	if (pid == 0)
		broker_exec(s, program, rundir, pair[1]);
	close(pair[1]);
	for (i = 0; i < s->nfds; i++)
		fd_close(&s->fds[i]);
	*fd = pair[0];
	return pid;
}
