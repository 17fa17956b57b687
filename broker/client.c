/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Who is connected.  The broker accepts every client itself and asks the
 * kernel who it is; the front gets the socket under a random handle that
 * dies with the connection, and can act for nobody else.  What a client
 * passes (offers) is never received, read or closed here: that happens in
 * children, because it may block for ever.
 */

#include <sys/socket.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD	77
#endif
#define GROUPS_OF_PEER	65536		/* NGROUPS_MAX */
#define OVERFLOW_ID	65534

static LIST_HEAD(, client) clients = LIST_HEAD_INITIALIZER(clients);
static size_t nclients;

struct client *
client_find(uint64_t handle)
{
	struct client *c;

	LIST_FOREACH(c, &clients, entry)
		if (c->handle == handle)
			return c;
	return NULL;
}

/* Nobody: an id that the kernel could not say, or one of our own. */
static bool
is_nobody(uid_t uid)
{
	if (uid == (uid_t)-1 || uid == OVERFLOW_ID || slot_holds(uid))
		return true;
	if (priv_is_root())
		return uid == policy_get()->uid && uid != 0;
	return uid != 0 && uid != geteuid();
}

static int
groups_of(int fd, struct subject *who)
{
	socklen_t len = 0;

	who->groups = NULL;
	who->ngroups = 0;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &len) == -1 &&
	    errno != ERANGE)
		return 0;
	if (len == 0)
		return 0;
	if (len > GROUPS_OF_PEER * sizeof(gid_t))
		return -1;
	who->groups = xcalloc(1, len);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, who->groups, &len) == -1)
		return -1;
	who->ngroups = len / sizeof(gid_t);
	return 0;
}

static bool
is_welcome(const struct ucred *cred)
{
	struct client *c;
	size_t n = 0;

	if (is_nobody(cred->uid)) {
		log_warn("refused a client with uid %u", cred->uid);
		return false;
	}
	LIST_FOREACH(c, &clients, entry)
		if (c->who.uid == cred->uid)
			n++;
	if (n < CLIENTS_PER_UID_MAX && nclients < CLIENTS_MAX)
		return true;
	log_info("refused a client of uid %u: %zu are connected", cred->uid,
	    n);
	return false;
}

static void
client_free(struct client *c)
{
	int i;

	for (i = 0; i < OFFERS_MAX; i++)
		offer_release(c->offers[i].fd);
	LIST_REMOVE(c, entry);
	nclients--;
	loop_del(&c->watcher);
	fd_close(&c->fd);
	fd_close(&c->pidfd);
	free(c->who.groups);
	free(c);
}

void
client_drop(struct client *c)
{
	uint64_t handle = c->handle;

	client_free(c);
	sandbox_hangup(handle);
}

static void
client_gone(void *arg, uint32_t events)
{
	(void)events;
	client_drop(arg);
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
	    !is_welcome(&cred)) {
		close(fd);
		return;
	}
	c = xcalloc(1, sizeof(*c));
	c->who.uid = cred.uid;
	c->who.gid = cred.gid;
	c->pid = cred.pid;
	c->pidfd = -1;
	for (i = 0; i < OFFERS_MAX; i++)
		c->offers[i].fd = -1;
	len = sizeof(c->pidfd);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &c->pidfd, &len) == -1)
		c->pidfd = (int)syscall(SYS_pidfd_open, cred.pid, 0);
	c->is_admin = cred.uid == 0 || cred.uid == geteuid();
	c->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (groups_of(fd, &c->who) == -1 || c->fd == -1) {
		fd_close(&c->fd);
		fd_close(&c->pidfd);
		free(c->who.groups);
		free(c);
		close(fd);
		return;
	}
	random_bytes(&c->handle, sizeof(c->handle));
	LIST_INSERT_HEAD(&clients, c, entry);
	nclients++;
	/* Hang-up only: half a close is a client that waits for answers. */
	loop_add(&c->watcher, c->fd, 0, client_gone, c);
	msg.handle = c->handle;
	msg.uid = cred.uid;
	msg.gid = cred.gid;
	msg.pid = (uint64_t)cred.pid;
	msg.is_admin = c->is_admin;
	request_send(MSG_BROKER_CLIENT, 0, &msg, &fd, 1);
}

/*** Offers: sockets full of a client's descriptors ***/

static void
closer_exited(void *arg, int status)
{
	(void)status;
	free(arg);
}

/*
 * Closing the last copy closes what is queued in it, and the close of a file
 * of the client's own FUSE mount blocks for as long as the client likes.  So
 * a child holds it when we let go, and hangs in our place.
 */
void
offer_release(int fd)
{
	struct error e = { 0 };
	struct proc *p;
	int rv;

	if (fd == -1)
		return;
	p = xcalloc(1, sizeof(*p));
	rv = proc_fork(p, 0, -1, closer_exited, p, &e);
	if (rv == 0) {
		proc_close_others(&fd, 1);
		close(fd);
		_exit(0);
	}
	if (rv == -1) {
		log_error("an offer stays open", &e);
		free(p);
		return;
	}
	close(fd);
}

int
client_offer(struct client *c, struct offer *out, struct error *e)
{
	int pair[2], i;

	for (i = 0; i < OFFERS_MAX && c->offers[i].fd != -1; i++)
		;
	if (i == OFFERS_MAX)
		return error_set(e, ERR_LIMIT, "%d offers are open already",
		    OFFERS_MAX);
	if (fd_pair(SOCK_STREAM, pair) == -1)
		return error_sys(e, ERR_INTERNAL, errno, "socketpair");
	c->offers[i].id = ++c->last_offer;
	c->offers[i].fd = pair[0];
	out->id = c->last_offer;
	out->fd = pair[1];
	return 0;
}

int
client_take_offer(struct client *c, uint64_t id, struct error *e)
{
	int i, fd;

	for (i = 0; i < OFFERS_MAX; i++)
		if (c->offers[i].fd != -1 && c->offers[i].id == id) {
			fd = c->offers[i].fd;
			c->offers[i].fd = -1;
			return fd;
		}
	return error_key(e, ERR_NOT_FOUND, "offer", "there is no such offer "
	    "on this connection");
}

/*
 * In a child.  With the client's own ids: a namespace that it could not open
 * itself is none of ours to enter.  -1: stay in our own; a directory of
 * another namespace then cannot be mounted.
 */
int
client_mount_ns(const struct client *c)
{
	struct pollfd ended = { .fd = c->pidfd, .events = POLLIN };
	char path[32];
	int fd;

	if (!priv_is_root() || c->pidfd == -1)
		return -1;
	if (setegid(c->who.gid) == -1 || seteuid(c->who.uid) == -1)
		_exit(125);
	snprintf(path, sizeof(path), "%d/ns/mnt", c->pid);
	fd = openat(priv_proc_fd(), path, O_RDONLY | O_CLOEXEC);
	if (seteuid(0) == -1 || setegid(0) == -1)
		_exit(125);
	/* If it still lives, the pid was its own all the time. */
	if (poll(&ended, 1, 0) != 0)
		fd_close(&fd);
	return fd;
}
