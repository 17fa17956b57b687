/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Who is connected.  The broker accepts every client itself (own sockets,
 * those of LISTEN_FDS, inetd's client) and asks the kernel who it is; the
 * front gets the socket under a random handle that dies with the connection,
 * and can act for nobody else.  Nothing is read from a client here, and what
 * one passes (offers) is never received or closed: that happens in children,
 * because it may block for ever.
 */

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD	77
#endif
#define OVERFLOW_ID	65534
#define LISTENERS_MAX	32
#define REST_MS		1000
#define RELEASES_MAX	2048	/* offers being closed */
#define HANGING_MAX	16	/* of one user, before he gets no more */

static LIST_HEAD(, client) clients = LIST_HEAD_INITIALIZER(clients);
static size_t nclients;

struct client *
client_find(uint64_t handle)
{
	struct client *c;

	LIST_FOREACH(c, &clients, entry)
		if (c->handle == handle)
			break;
	return c;
}

/* Nobody is an id that the kernel could not say, or one of our own. */
static bool
is_welcome(uid_t uid)
{
	struct client *c;
	bool is_nobody = uid == (uid_t)-1 || uid == OVERFLOW_ID;
	size_t here = 0;

	if (priv_is_root())
		is_nobody |= slot_holds(uid) ||
		    (uid != 0 && uid == policy_get()->uid);
	else
		is_nobody |= uid != 0 && uid != geteuid();
	LIST_FOREACH(c, &clients, entry)
		here += c->who.uid == uid;
	if (!is_nobody && here < CLIENTS_PER_UID_MAX && nclients < CLIENTS_MAX)
		return true;
	log_info("refused a client with uid %u, of whom %zu are here", uid,
	    here);
	return false;
}

/* What else the kernel knows: the process, the groups. */
static int
client_ask(struct client *c, int fd)
{
	socklen_t len = sizeof(c->pidfd);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &c->pidfd, &len) == -1)
		c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	len = 0;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &len) == 0 ||
	    errno != ERANGE)
		return 0;
	c->who.groups = xcalloc(1, len);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, c->who.groups, &len))
		return -1;
	c->who.ngroups = len / sizeof(gid_t);
	return 0;
}

void
client_drop(void *arg)
{
	struct client *c = arg;
	uint64_t handle = c->handle;
	int i;

	for (i = 0; i < OFFERS_MAX; i++)
		offer_release(c->offers[i].fd, c->who.uid);
	LIST_REMOVE(c, entry);
	nclients--;
	loop_del(&c->watcher);
	fd_close(&c->fd);
	fd_close(&c->pidfd);
	free(c->who.groups);
	free(c);
	sandbox_hangup(handle);
}

void
client_new(int fd)
{
	struct msg_broker_client msg = { 0 };
	struct client *c;
	struct ucred cred;
	socklen_t len = sizeof(cred);
	int i;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == -1 ||
	    !is_welcome(cred.uid)) {
		close(fd);
		return;
	}
	c = xcalloc(1, sizeof(*c));
	LIST_INSERT_HEAD(&clients, c, entry);
	nclients++;
	c->pidfd = -1;
	for (i = 0; i < OFFERS_MAX; i++)
		c->offers[i].fd = -1;
	c->pid = cred.pid;
	c->who.uid = cred.uid;
	c->who.gid = cred.gid;
	c->is_admin = cred.uid == 0 || cred.uid == geteuid();
	random_bytes(&c->handle, sizeof(c->handle));
	c->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (c->fd == -1 || client_ask(c, fd) == -1) {
		client_drop(c);
		close(fd);
		return;
	}
	/* Hang-up only: half a close is a client that waits for answers. */
	loop_add(&c->watcher, c->fd, 0, client_drop, c);
	msg.handle = c->handle;
	msg.uid = cred.uid;
	msg.gid = cred.gid;
	msg.pid = (uint64_t)cred.pid;
	msg.is_admin = c->is_admin;
	request_send(MSG_BROKER_CLIENT, 0, &msg, &fd, 1);
}

/*** Offers: sockets full of a client's descriptors ***/

/*
 * Closing the last copy closes what is queued in it; that of a file of the
 * client's own FUSE mount, or of a socket that lingers, takes as long as the
 * client likes.  So a child has the last copy, and hangs in our place.
 */
static struct {
	struct proc		 proc;
	uid_t			 uid;
} releases[RELEASES_MAX];

void
offer_release(int fd, uid_t uid)
{
	int i, fds[3] = { fd, -1, -1 }, rv = -1;
	struct error e = { 0 };

	if (fd == -1)
		return;
	for (i = 0; i < RELEASES_MAX && releases[i].proc.pid != 0; i++)
		;
	if (i < RELEASES_MAX && pipe2(fds + 1, O_CLOEXEC) != -1) {
		releases[i].uid = uid;
		rv = proc_fork(&releases[i].proc, 0, -1, NULL, NULL, &e);
	}
	if (rv == 0) {
		fds_close_others(fds, 2);
		/* Not before the broker has closed its own. */
		_exit((int)read(fds[1], &rv, 1));
	}
	if (rv == 1)
		close(fd);
	else
		log_error("an offer stays open", &e);
	fd_close(&fds[1]);
	fd_close(&fds[2]);
}

int
client_offer(struct client *c, struct offer *out, struct error *e)
{
	int pair[2], i, nhang = 0;

	for (i = 0; i < RELEASES_MAX; i++)
		nhang += releases[i].proc.pid != 0 &&
		    releases[i].uid == c->who.uid;
	if (nhang >= HANGING_MAX)
		return error_set(e, ERR_BUSY, "%d offers do not close", nhang);
	for (i = 0; i < OFFERS_MAX && c->offers[i].fd != -1; i++)
		;
	if (i == OFFERS_MAX)
		return error_set(e, ERR_LIMIT, "%d offers are open already",
		    OFFERS_MAX);
	if (fd_pair(SOCK_STREAM, pair) == -1)
		return error_sys(e, ERR_INTERNAL, errno, "socketpair");
	out->id = c->offers[i].id = ++c->last_offer;
	c->offers[i].fd = pair[0];
	out->fd = pair[1];
	return 0;
}

int
client_take_offer(struct client *c, uint64_t id, struct error *e)
{
	int i, fd;

	for (i = 0; i < OFFERS_MAX; i++)
		if ((fd = c->offers[i].fd) != -1 && c->offers[i].id == id) {
			c->offers[i].fd = -1;
			return fd;
		}
	return error_key(e, ERR_NOT_FOUND, "offer", "there is no such offer "
	    "on this connection");
}

/*** Accepting ***/

/*
 * When descriptors run out, one in reserve serves to turn a client away, and
 * accepting rests for a while.
 */
static struct listener {
	int			 fd;
	struct watcher		 watcher;
	char			 path[sizeof(
				    ((struct sockaddr_un *)0)->sun_path)];
} listeners[LISTENERS_MAX];
static size_t n;
static int inetd_fd = -1, reserve_fd = -1;
static struct timer rest;

static void	 accept_go(void *);

static void
accept_event(void *arg)
{
	struct listener *l = arg;
	size_t i;
	int fd;

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
		if (listeners[i].path[0] != '\0')	/* of our making */
			unlink(listeners[i].path);
		fd_close(&listeners[i].fd);
	}
	n = 0;
}

/*** Start ***/

/* A socket that sandboxd was started with: to listen on, or a client. */
void
accept_adopt(int fd, bool is_client)
{
	if (!fd_is_unix(fd, !is_client))
		fatal("the descriptor that is to be %s is no such unix "
		    "stream socket", is_client ? "a client" : "listened on");
	if (n == LISTENERS_MAX || fcntl(fd, F_SETFD, FD_CLOEXEC) == -1 ||
	    fd_nonblock(fd) == -1)
		fatal("descriptor %d cannot be used", fd);
	fds_refuse(fd);
	if (is_client)
		inetd_fd = fd;
	else
		listeners[n++].fd = fd;
}

int
accept_listen(const struct policy *p, struct error *e)
{
	const struct policy_listen *row = p->listen_rows;
	struct listener *l = &listeners[n];

	for (; row < p->listen_rows + p->nlisten; row++, l++, n++) {
		if (n == LISTENERS_MAX ||
		    text_copy(l->path, sizeof(l->path), row->path) == -1)
			return error_key(e, ERR_INVALID, "listen",
			    "too many sockets, or one with too long a path");
		l->fd = fd_listen(l->path, (mode_t)row->mode,
		    (gid_t)row->gid, e);
		if (l->fd == -1)
			return -1;
	}
	return 0;
}
