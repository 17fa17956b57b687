/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * A daemon of the client's own: `sandboxd -i -d` with one end of a socket
 * pair as its descriptor 0.  Runs in the client's process; the daemon has
 * that process's user.  It gets nothing else of ours: its output goes to a
 * file in memory, so that it never holds a pipe of the client's open, and it
 * is in a session of its own, so that the terminal's signals are not for it.
 */

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib.h"

extern char **environ;

#define PRIVATE_GRACE_MS	10000	/* for it to clean up */

/* Out of the way of what the daemon gets as 0 to 2. */
static int
private_high(int fd)
{
	int high;

	if (fd == -1 || fd > 2)
		return fd;
	high = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	fd_close(&fd);
	return high;
}

static int
private_pair(int fds[2], struct error *e)
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == -1)
		return error_sys(e, ERR_INTERNAL, errno, "socketpair");
	fds[0] = private_high(fds[0]);
	fds[1] = private_high(fds[1]);
	if (fds[0] != -1 && fds[1] != -1)
		return 0;
	error_sys(e, ERR_INTERNAL, errno, "socketpair");
	fd_close(&fds[0]);
	fd_close(&fds[1]);
	return -1;
}

static int
private_spawn_attr(posix_spawnattr_t *attr)
{
	sigset_t none, all;
	short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
	    POSIX_SPAWN_SETSID;
	int err;

	sigemptyset(&none);
	sigfillset(&all);
	if ((err = posix_spawnattr_setsigmask(attr, &none)) == 0 &&
	    (err = posix_spawnattr_setsigdefault(attr, &all)) == 0)
		err = posix_spawnattr_setflags(attr, flags);
	return err;
}

static int
private_spawn_fds(posix_spawn_file_actions_t *actions, int sock, int log_fd)
{
	int err;

	if ((err = posix_spawn_file_actions_adddup2(actions, sock, 0)) == 0 &&
	    (err = posix_spawn_file_actions_addopen(actions, 1, "/dev/null",
	    O_WRONLY, 0)) == 0 &&
	    (err = posix_spawn_file_actions_adddup2(actions, log_fd, 2)) == 0)
		err = posix_spawn_file_actions_addclosefrom_np(actions, 3);
	return err;
}

static int
private_spawn(const char *program, int sock, int log_fd, pid_t *pid,
    struct error *e)
{
	char *const argv[] = { "sandboxd", "-i", "-d", NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	int err;

	if ((err = posix_spawn_file_actions_init(&actions)) != 0)
		return error_sys(e, ERR_INTERNAL, err, "posix_spawn");
	if ((err = posix_spawnattr_init(&attr)) != 0) {
		posix_spawn_file_actions_destroy(&actions);
		return error_sys(e, ERR_INTERNAL, err, "posix_spawn");
	}
	if ((err = private_spawn_attr(&attr)) == 0 &&
	    (err = private_spawn_fds(&actions, sock, log_fd)) == 0)
		err = posix_spawn(pid, program, &actions, &attr, argv,
		    environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	if (err == 0)
		return 0;
	error_sys(e, ERR_UNAVAILABLE, err, "cannot run %s", program);
	error_path(e, program);
	return -1;
}

/* The last line that the daemon wrote, without its name in front. */
static void
private_last_words(int log_fd, char *text, size_t size)
{
	char tail[600], *line, *colon;
	struct stat st;
	ssize_t n;
	off_t at;

	text[0] = '\0';
	if (log_fd == -1 || fstat(log_fd, &st) == -1)
		return;
	at = st.st_size > (off_t)sizeof(tail) - 1 ?
	    st.st_size - (off_t)sizeof(tail) + 1 : 0;
	if ((n = pread(log_fd, tail, sizeof(tail) - 1, at)) <= 0)
		return;
	while (n > 0 && tail[n - 1] == '\n')
		n--;
	tail[n] = '\0';
	line = strrchr(tail, '\n');
	line = line == NULL ? tail : line + 1;
	if (strncmp(line, "sandboxd", 8) == 0 &&
	    (colon = strstr(line, ": ")) != NULL)
		line = colon + 2;
	text_escape(text, size, view_of(line));
}

/* The daemon left before it said hello. */
static void
private_explain(const struct sandbox_client *client, struct error *e)
{
	char words[400];

	private_last_words(client->log_fd, words, sizeof(words));
	if (words[0] != '\0')
		error_set(e, ERR_UNAVAILABLE,
		    "a private daemon did not start: %s", words);
	else
		error_set(e, ERR_UNAVAILABLE,
		    "a private daemon did not start: it gave no reason");
}

static int
private_start(struct sandbox_client *client, const char *program, int sock,
    struct error *e)
{
	struct error hello = { 0 };

	client->log_fd = private_high(memfd_create("sandboxd-log",
	    MFD_CLOEXEC));
	if (client->log_fd == -1 ||
	    fcntl(client->log_fd, F_SETFL, O_APPEND) == -1)
		return error_sys(e, ERR_INTERNAL, errno, "memfd_create");
	if (private_spawn(program, sock, client->log_fd, &client->child,
	    e) == -1)
		return -1;
	close(sock);
	if (peer_call(&client->peer, "hello", NULL, NULL, 0, NULL,
	    &hello) == 0)
		return 0;
	if (hello.code == ERR_UNAVAILABLE)
		private_explain(client, e);
	else
		*e = hello;
	return -1;
}

int
sandbox_client_private(struct sandbox_client **client,
    struct sandbox_error *error)
{
	struct error e = { 0 };
	struct sandbox_client *c;
	char program[PATH_LEN_MAX + 1];
	int fds[2];

	if (program_path(program, sizeof(program), "sandboxd", &e) == -1 ||
	    private_pair(fds, &e) == -1)
		return fault_give(error, &e);
	if ((c = client_new(fds[0], &e)) == NULL) {
		close(fds[1]);
		return fault_give(error, &e);
	}
	if (private_start(c, program, fds[1], &e) == -1) {
		if (c->child == 0)
			close(fds[1]);
		sandbox_client_free(c);
		return fault_give(error, &e);
	}
	*client = c;
	return 0;
}

void
sandbox_client_words(const struct sandbox_client *client, char *text,
    size_t size)
{
	private_last_words(client->log_fd, text, size);
}

/* True when it is gone. */
static bool
private_wait(int pidfd, pid_t pid)
{
	struct pollfd pfd = { .fd = pidfd, .events = POLLIN };
	int64_t end = now_ms() + PRIVATE_GRACE_MS, left;

	while (pidfd != -1 && (left = end - now_ms()) > 0)
		if (poll(&pfd, 1, (int)left) == 1)
			return waitpid(pid, NULL, 0) == pid ||
			    errno != EINTR;
	return false;
}

void
private_end(struct sandbox_client *client)
{
	int pidfd, tries;
	const int signals[] = { 0, SIGTERM, SIGKILL };

	fd_close(&client->log_fd);
	if (client->child == 0)
		return;
	pidfd = (int)syscall(SYS_pidfd_open, client->child, 0);
	for (tries = 0; tries < 3; tries++) {
		if (signals[tries] != 0)
			kill(client->child, signals[tries]);
		if (private_wait(pidfd, client->child))
			break;
	}
	fd_close(&pidfd);
	client->child = 0;
}
