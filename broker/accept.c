/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Listening and accepting: our own sockets, those of LISTEN_FDS, inetd's
 * client.  Runs with the broker's rights; reads nothing from a client.  When
 * descriptors run out, one in reserve serves to turn a client away, and
 * accepting rests for a while.
 */

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "broker.h"

#define LISTENERS_MAX	32
#define BACKLOG		128
#define REST_MS		1000

static struct listener {
	int			 fd;
	struct watcher		 watcher;
	struct sockaddr_un	 sun;	/* empty path: not ours to remove */
} listeners[LISTENERS_MAX];
static size_t n;
static int inetd_fd = -1, reserve_fd = -1;
static struct timer rest;

static void	 accept_go(void *);

static void
accept_event(void *arg, uint32_t events)
{
	struct listener *l = arg;
	size_t i;
	int fd;

	(void)events;
	fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd != -1) {
		client_new(fd);
		return;
	}
	if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS &&
	    errno != ENOMEM)
		return;
	log_warn("accept: %s; resting", strerror(errno));
	fd_close(&reserve_fd);
	fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC);
	fd_close(&fd);
	for (i = 0; i < n; i++)
		loop_del(&listeners[i].watcher);
	timer_set(&rest, REST_MS, accept_go, NULL);
}

static void
accept_go(void *arg)
{
	size_t i;

	(void)arg;
	if (reserve_fd == -1)
		reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	for (i = 0; i < n; i++)
		loop_add(&listeners[i].watcher, listeners[i].fd, EPOLLIN,
		    accept_event, &listeners[i]);
}

/* Ready: from now on there are clients. */
void
accept_start(void)
{
	accept_go(NULL);
	if (inetd_fd != -1)
		client_new(inetd_fd);
	inetd_fd = -1;
}

void
accept_end(void)
{
	size_t i;

	timer_clear(&rest);
	for (i = 0; i < n; i++) {
		loop_del(&listeners[i].watcher);
		if (listeners[i].sun.sun_path[0] != '\0')
			unlink(listeners[i].sun.sun_path);
		fd_close(&listeners[i].fd);
	}
	n = 0;
}

/*** Start ***/

static int
option(int fd, int which)
{
	int value = -1;
	socklen_t len = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, which, &value, &len) == -1 ? -1 :
	    value;
}

/* A socket that sandboxd was started with: to listen on, or a client. */
void
accept_adopt(int fd, bool is_client)
{
	if (option(fd, SO_DOMAIN) != AF_UNIX ||
	    option(fd, SO_TYPE) != SOCK_STREAM ||
	    option(fd, SO_ACCEPTCONN) != !is_client)
		fatal("the descriptor that is to be %s is no such unix "
		    "stream socket", is_client ? "a client" : "listened on");
	if (n == LISTENERS_MAX || fcntl(fd, F_SETFD, FD_CLOEXEC) == -1 ||
	    fd_nonblock(fd) == -1)
		fatal("descriptor %d cannot be used", fd);
	if (is_client)
		inetd_fd = fd;
	else
		listeners[n++].fd = fd;
}

/* A socket that nobody answers is a dead daemon's; anything else stays. */
static int
path_clear(int fd, const struct sockaddr_un *sun, struct error *e)
{
	struct stat st;

	if (lstat(sun->sun_path, &st) == -1)
		return 0;
	if (!S_ISSOCK(st.st_mode))
		return error_set(e, ERR_CONFLICT, "%s is there and is no "
		    "socket", sun->sun_path);
	if (connect(fd, (const struct sockaddr *)sun, sizeof(*sun)) == 0 ||
	    errno != ECONNREFUSED)
		return error_set(e, ERR_CONFLICT, "somebody listens on %s",
		    sun->sun_path);
	return unlink(sun->sun_path);
}

static int
listener_open(const struct policy_listen *p, struct error *e)
{
	struct listener *l = &listeners[n];
	struct sockaddr_un *sun = &l->sun;
	mode_t old;
	int rv;

	sun->sun_family = AF_UNIX;
	if (n == LISTENERS_MAX ||
	    text_copy(sun->sun_path, sizeof(sun->sun_path), p->path) == -1)
		return error_key(e, ERR_INVALID, "listen",
		    "too many sockets, or one with too long a path");
	l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (path_clear(l->fd, sun, e) == -1) {
		fd_close(&l->fd);
		return -1;
	}
	old = umask(0777 & ~(mode_t)p->mode);
	rv = bind(l->fd, (struct sockaddr *)sun, sizeof(*sun));
	umask(old);
	/* Nobody can connect before it listens. */
	if (rv == -1 || (p->gid != 0 && lchown(sun->sun_path, (uid_t)-1,
	    (gid_t)p->gid) == -1) || listen(l->fd, BACKLOG) == -1) {
		error_sys(e, ERR_UNAVAILABLE, errno, "cannot listen on %s",
		    sun->sun_path);
		fd_close(&l->fd);
		return -1;
	}
	n++;
	return 0;
}

int
accept_listen(const struct policy *p, struct error *e)
{
	uint32_t i;

	for (i = 0; i < p->nlisten; i++)
		if (listener_open(&p->listen_rows[i], e) == -1)
			return -1;
	return 0;
}
