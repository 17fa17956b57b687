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
#include <stdlib.h>
#include <unistd.h>

#include "broker.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD	77
#endif
#define OVERFLOW_ID	65534

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

/* Nobody: an id that the kernel could not say, or one of our own. */
static bool
is_nobody(uid_t uid)
{
	if (uid == (uid_t)-1 || uid == OVERFLOW_ID)
		return true;
	if (priv_is_root())
		return slot_holds(uid) || (uid != 0 && uid == policy_get()->uid);
	return uid != 0 && uid != geteuid();
}

static bool
is_welcome(uid_t uid)
{
	struct client *c;
	size_t n = 0;

	LIST_FOREACH(c, &clients, entry)
		n += c->who.uid == uid;
	if (!is_nobody(uid) && n < CLIENTS_PER_UID_MAX &&
	    nclients < CLIENTS_MAX)
		return true;
	log_info("refused a client with uid %u, of whom %zu are here", uid, n);
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
		client_free(c);
		close(fd);
		return;
	}
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
	if ((rv = proc_fork(p, 0, -1, proc_free, p, &e)) == 0) {
		fds_close_others(&fd, 1);
		close(fd);
		_exit(0);
	}
	if (rv == -1) {
		log_error("an offer stays open", &e);
		free(p);
	} else
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
