/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The child that becomes an environment, before its backend takes over: it
 * enters its groups and receives what the client offered.  Runs as what the
 * broker is, with its capabilities; everything here that may block for ever
 * blocks only this child, which the broker kills after a while.  The
 * client's descriptors are opaque: they are mounted, never read.
 */

#include "config.h"

#include <sys/types.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/backend.h"
#include "proto/proto.h"

#define HELPER_SECONDS	20
#ifndef MFD_EXEC
#define MFD_EXEC	0x10u
#endif

/*
 * A copy that nobody can change and, by its mode, nobody can read: the kernel
 * then keeps the process from being traced from the start.
 */
int
launch_load_agent(struct error *e)
{
	const unsigned int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	char path[PATH_LEN_MAX + 1];
	struct stat st;
	off_t at = 0;
	int fd, file;

	if (program_path(path, sizeof(path), "sandboxd-agent", e) == -1)
		return -1;
	fd = memfd_create("sandboxd-agent", flags | MFD_EXEC);
	if (fd == -1 && errno == EINVAL)
		fd = memfd_create("sandboxd-agent", flags);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (fd == -1 || file == -1 || fstat(file, &st) == -1 ||
	    sendfile(fd, file, &at, (size_t)st.st_size) != st.st_size ||
	    fchmod(fd, 0111) == -1 || fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL |
	    F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) == -1) {
		error_sys(e, ERR_UNAVAILABLE, errno, "cannot load %s", path);
		fd_close(&fd);
	}
	fd_close(&file);
	return fd;
}

/*** Namespaces made ahead: between the helper and the broker ***/

#define NNAMESPACES	(sizeof(struct slot_namespaces) / sizeof(int))

void
launch_namespaces(uid_t base, int fd)
{
	struct slot_namespaces s;
	struct error e = { 0 };
	int rv;

	alarm(HELPER_SECONDS);
	fds_close_others(&fd, 1);
	rv = namespace_make(base, &s, &e);
	_exit(fds_send(fd, &e, sizeof(e), (const int *)&s,
	    rv == -1 ? 0 : NNAMESPACES) == -1);
}

int
launch_namespaces_recv(int fd, struct slot_namespaces *s, struct error *e)
{
	struct error said;
	int n;

	if (fds_recv(fd, &said, sizeof(said), (int *)s, NNAMESPACES, &n) !=
	    sizeof(said))
		return error_set(e, ERR_BACKEND, "the helper that makes "
		    "namespaces ended without a word");
	if (n == NNAMESPACES)
		return 0;
	*e = said;
	return -1;
}

void
launch_namespaces_lend(const struct slot_namespaces *s,
    struct backend_create *c)
{
	c->user_ns_fd = s->user_ns_fd;
	c->image_ns_fd = s->image_ns_fd;
	c->net_ns_fd = s->net_ns_fd;
	c->ipc_ns_fd = s->ipc_ns_fd;
	c->uts_ns_fd = s->uts_ns_fd;
	c->mount_ns_fd = s->mount_ns_fd;
}

void
launch_namespaces_close(struct slot_namespaces *s)
{
	size_t i;

	for (i = 0; i < NNAMESPACES; i++)
		fd_close((int *)s + i);
}

/*** The child ***/

static int
groups_join(const struct backend_launch *l, struct error *e)
{
	int i;

	for (i = 0; i < l->njoins; i++)
		if (write(l->joins[i], "0", 1) != 1)
			return error_sys(e, ERR_BACKEND, errno,
			    "cannot enter the cgroup");
	return 0;
}

/* Other clients' sockets, the front's channel: none may hang on us. */
static void
keep_needed(const struct backend_launch *l)
{
	const struct backend_create *c = l->create;
	const int keep[] = {
		c->user_ns_fd, c->image_ns_fd, c->net_ns_fd, c->ipc_ns_fd,
		c->uts_ns_fd, c->mount_ns_fd, c->agent_fd, c->channel_fd,
		c->error_fd, c->filter_fd, l->offer_fd, l->proc_fd,
		l->client_pidfd,
	};

	fds_close_others(keep, sizeof(keep) / sizeof(keep[0]));
}

/* One byte and one directory each, already in the socket. */
static int
offer_receive(struct backend_launch *l, struct error *e)
{
	int fds[MOUNTS_MAX], fd, n = 0, nfd, i;
	char byte;

	while (n < MOUNTS_MAX &&
	    fds_recv(l->offer_fd, &byte, 1, &fd, 1, &nfd) == 1) {
		if (nfd != 1)
			return error_key(e, ERR_INVALID, "offer",
			    "a byte came without its descriptor");
		fds[n++] = fd;
	}
	for (i = 0; i < l->create->nmounts; i++) {
		if (l->mounts[i].fd >= n)
			return error_key(e, ERR_INVALID, "mounts",
			    "mounts[%d].fd is %d, and %d descriptors were "
			    "offered", i, l->mounts[i].fd, n);
		l->mounts[i].fd = fds[l->mounts[i].fd];
	}
	return 0;
}

/*
 * With the client's own ids: a namespace that it could not open itself is
 * none of ours to enter.  -1: stay in our own; a directory of another
 * namespace then cannot be mounted.
 */
static int
client_namespace(const struct backend_launch *l)
{
	struct pollfd ended = { .fd = l->client_pidfd, .events = POLLIN };
	char path[32];
	int fd;

	if (!l->create->is_root || l->client_pidfd == -1)
		return -1;
	snprintf(path, sizeof(path), "%d/ns/mnt", l->client_pid);
	if (setegid(l->create->owner_gid) == -1 ||
	    seteuid(l->create->owner_uid) == -1)
		_exit(125);
	fd = openat(l->proc_fd, path, O_RDONLY | O_CLOEXEC);
	if (seteuid(0) == -1 || setegid(0) == -1)
		_exit(125);
	/* If it still lives, the pid was its own all the time. */
	if (poll(&ended, 1, 0) != 0)
		fd_close(&fd);
	return fd;
}

void
launch_child(struct backend_launch *l)
{
	struct backend_create *c = l->create;
	char text[sizeof(LAUNCH_MAGIC) + sizeof(struct error)];
	struct error e = { 0 };

	clearenv();
	umask(022);
	if (groups_join(l, &e) == -1)
		goto fail;
	keep_needed(l);
	if (c->nmounts > 0) {
		if (offer_receive(l, &e) == -1)
			goto fail;
		c->mounts = l->mounts;
		c->client_ns_fd = client_namespace(l);
	}
	l->backend->enter(c, &e);
fail:
	memcpy(text, LAUNCH_MAGIC, sizeof(LAUNCH_MAGIC));
	memcpy(text + sizeof(LAUNCH_MAGIC), &e, sizeof(e));
	fd_write_all(c->error_fd, text, sizeof(text));
	_exit(125);
}

/* In the broker: what the child wrote, and how it ended, as an error. */
int
launch_explain(const struct backend *b, char *text, size_t n, bool is_alive,
    int status, struct error *e)
{
	const size_t head = sizeof(LAUNCH_MAGIC);
	char line[256];
	struct view shown = { (unsigned char *)text, n > 200 ? 200 : n };

	text[n] = '\0';
	if (n == head + sizeof(*e) && memcmp(text, LAUNCH_MAGIC, head) == 0) {
		memcpy(e, text + head, sizeof(*e));
	} else if (n > 0) {
		text_escape(line, sizeof(line), shown);
		error_set(e, ERR_BACKEND, "%s: %s", b->name, line);
		if (b->explain != NULL)
			b->explain(text, e);
	} else if (is_alive)
		error_set(e, ERR_TIMEOUT, "%s: the agent did not say hello",
		    b->name);
	else
		error_set(e, ERR_BACKEND, "%s: ended before the agent said "
		    "hello, wait status %#x", b->name, (unsigned int)status);
	return -1;
}
