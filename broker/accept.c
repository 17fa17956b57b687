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
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "broker.h"

#define LISTENERS_MAX	32
#define BACKLOG		128
#define REST_MS		1000

static struct listener {
	int		 fd;
	struct watcher	 watcher;
	char		 path[sizeof(((struct sockaddr_un *)0)->sun_path)];
} listeners[LISTENERS_MAX];
static size_t n;
static int inetd_fd = -1;
static int reserve_fd = -1;
static struct timer rest;

static void	 accept_event(void *, uint32_t);

static void
reserve_open(void)
{
	if (reserve_fd == -1)
		reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void
rest_over(void *arg)
{
	size_t i;

	(void)arg;
	reserve_open();
	for (i = 0; i < n; i++)
		loop_add(&listeners[i].watcher, listeners[i].fd, EPOLLIN,
		    accept_event, &listeners[i]);
}

static void
accept_rest(struct listener *l, int why)
{
	size_t i;

	log_warn("accept: %s; resting", strerror(why));
	fd_close(&reserve_fd);
	close(accept4(l->fd, NULL, NULL, SOCK_CLOEXEC));
	for (i = 0; i < n; i++)
		loop_del(&listeners[i].watcher);
	timer_set(&rest, REST_MS, rest_over, NULL);
}

static void
accept_event(void *arg, uint32_t events)
{
	struct listener *l = arg;
	int fd;

	(void)events;
	fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd != -1) {
		client_new(fd);
		return;
	}
	if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
	    errno == ENOMEM)
		accept_rest(l, errno);
}

/*** Start ***/

static bool
is_unix(int fd, int wanted)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	int type = 0, listens = 0;

	if (getsockname(fd, (struct sockaddr *)&ss, &len) == -1 ||
	    ss.ss_family != AF_UNIX)
		return false;
	len = sizeof(int);
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == -1 ||
	    type != SOCK_STREAM)
		return false;
	len = sizeof(int);
	return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) == 0
	    && listens == wanted;
}

static void
fd_prepare(int fd)
{
	if (fcntl(fd, F_SETFD, FD_CLOEXEC) == -1 || fd_nonblock(fd) == -1)
		fatal("descriptor %d: %s", fd, strerror(errno));
}

void
accept_adopt(int fd)
{
	if (!is_unix(fd, 1))
		fatal("descriptor %d is no listening unix socket", fd);
	if (n == LISTENERS_MAX)
		fatal("too many sockets to listen on");
	fd_prepare(fd);
	listeners[n].watcher.fd = -1;
	listeners[n++].fd = fd;
}

void
accept_client_later(int fd)
{
	if (!is_unix(fd, 0))
		fatal("the client's descriptor is no unix stream socket");
	fd_prepare(fd);
	inetd_fd = fd;
}

/* A socket that nobody answers is a dead daemon's; anything else stays. */
static int
path_clear(const struct sockaddr_un *sun, struct error *e)
{
	struct stat st;
	int fd, rv;

	if (lstat(sun->sun_path, &st) == -1)
		return 0;
	if (!S_ISSOCK(st.st_mode))
		return error_set(e, ERR_CONFLICT, "%s is there and is no "
		    "socket", sun->sun_path);
	if ((fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC |
	    SOCK_NONBLOCK, 0)) == -1)
		return error_sys(e, ERR_INTERNAL, errno, "socket");
	rv = connect(fd, (const struct sockaddr *)sun, sizeof(*sun));
	if (rv == -1 && errno == ECONNREFUSED)
		rv = unlink(sun->sun_path);
	else
		rv = error_set(e, ERR_CONFLICT, "somebody listens on %s",
		    sun->sun_path);
	close(fd);
	return rv;
}

static int
listener_open(const struct policy_listen *p, struct error *e)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	struct listener *l = &listeners[n];
	mode_t old;
	int fd, rv;

	if (n == LISTENERS_MAX)
		return error_set(e, ERR_LIMIT, "too many sockets");
	if (text_copy(sun.sun_path, sizeof(sun.sun_path), p->path) == -1)
		return error_key(e, ERR_INVALID, "listen",
		    "the path of a socket is too long");
	if (path_clear(&sun, e) == -1)
		return -1;
	if ((fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC |
	    SOCK_NONBLOCK, 0)) == -1)
		return error_sys(e, ERR_INTERNAL, errno, "socket");
	old = umask(0777 & ~(mode_t)p->mode);
	rv = bind(fd, (struct sockaddr *)&sun, sizeof(sun));
	umask(old);
	/* Nobody can connect before it listens. */
	if (rv == -1 || (p->gid != UINT32_MAX && lchown(sun.sun_path,
	    (uid_t)-1, (gid_t)p->gid) == -1) || listen(fd, BACKLOG) == -1) {
		error_sys(e, ERR_UNAVAILABLE, errno, "cannot listen on %s",
		    sun.sun_path);
		close(fd);
		return -1;
	}
	memcpy(l->path, sun.sun_path, sizeof(l->path));
	l->watcher.fd = -1;
	l->fd = fd;
	n++;
	return 0;
}

/* After the policy came; accepting begins when ready. */
int
accept_listen(struct error *e)
{
	const struct policy *p = policy_get();
	uint32_t i;

	for (i = 0; i < p->nlistens; i++)
		if (listener_open(&p->listens[i], e) == -1)
			return -1;
	return 0;
}

void
accept_start(void)
{
	rest_over(NULL);
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
		if (listeners[i].path[0] != '\0')
			unlink(listeners[i].path);
		fd_close(&listeners[i].fd);
	}
	n = 0;
	fd_close(&reserve_fd);
}
