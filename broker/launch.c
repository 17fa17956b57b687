/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The child that becomes an environment: it puts itself in its groups,
 * receives what the client offered, and hands over to the backend.  Runs
 * with the broker's rights until the backend gives them up; everything here
 * that may block for ever blocks only this child, which has a deadline.
 */

#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker.h"

#ifndef MFD_EXEC
#define MFD_EXEC	0x10u
#endif
#define TMP_DEFAULT	(64ull * 1024 * 1024)
#define FILES_DEFAULT	1024
#define KEEP_MAX	(CG_TREES + 16)

static int agent_fd = -1;
static int filter_fd = -1;
static struct sock_fprog filter;

/*
 * A copy of the agent that nobody can change and, by its mode, nobody can
 * read: the kernel then keeps the process from being traced from the start.
 */
static int
agent_load(struct error *e)
{
	char path[PATH_LEN_MAX + 1];
	struct stat st;
	ssize_t n;
	off_t at = 0;
	int fd, file;

	if (program_path(path, sizeof(path), "sandboxd-agent", e) == -1)
		return -1;
	fd = memfd_create("sandboxd-agent", MFD_CLOEXEC | MFD_ALLOW_SEALING |
	    MFD_EXEC);
	if (fd == -1 && errno == EINVAL)
		fd = memfd_create("sandboxd-agent", MFD_CLOEXEC |
		    MFD_ALLOW_SEALING);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (fd == -1 || file == -1 || fstat(file, &st) == -1)
		goto fail;
	while (at < st.st_size) {
		n = sendfile(fd, file, &at, (size_t)(st.st_size - at));
		if (n <= 0)
			goto fail;
	}
	if (fchmod(fd, 0111) == -1 || fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL |
	    F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) == -1)
		goto fail;
	close(file);
	return fd;
fail:
	error_sys(e, ERR_UNAVAILABLE, errno, "cannot load %s", path);
	fd_close(&file);
	fd_close(&fd);
	return -1;
}

void
launch_init(void)
{
	struct error e = { 0 };

	if ((agent_fd = agent_load(&e)) == -1 ||
	    filter_base(&filter, &filter_fd, &e) == -1)
		fatal("%s%s%s", e.message, e.fix[0] == '\0' ? "" : "; ",
		    e.fix);
}

/*** In the child ***/

static void
fail(int error_fd, const struct error *e)
{
	char text[sizeof(LAUNCH_MAGIC) + sizeof(*e)];

	memcpy(text, LAUNCH_MAGIC, sizeof(LAUNCH_MAGIC));
	memcpy(text + sizeof(LAUNCH_MAGIC), e, sizeof(*e));
	fd_write_all(error_fd, text, sizeof(text));
	_exit(125);
}

static int
groups_join(const int *joins, int n, struct error *e)
{
	int i;

	for (i = 0; i < n; i++)
		if (write(joins[i], "0", 1) != 1)
			return error_sys(e, ERR_BACKEND, errno,
			    "cannot enter the cgroup");
	return 0;
}

/* One byte and one directory each, already in the socket. */
static int
offer_receive(struct sandbox *sb, struct error *e)
{
	int fds[MOUNTS_MAX], fd, n = 0, nfd;
	uint32_t i;
	char byte;

	while (n < MOUNTS_MAX &&
	    fds_recv(sb->offer_fd, &byte, 1, &fd, 1, &nfd) == 1) {
		if (nfd != 1)
			return error_key(e, ERR_INVALID, "offer",
			    "a byte came without its descriptor");
		fds[n++] = fd;
	}
	for (i = 0; i < sb->nmounts; i++) {
		if (sb->mount_fds[i] >= (uint32_t)n)
			return error_key(e, ERR_INVALID, "mounts",
			    "mounts[%u].fd is %u, and %d descriptors were "
			    "offered", i, sb->mount_fds[i], n);
		sb->mounts[i].fd = fds[sb->mount_fds[i]];
	}
	return 0;
}

/*
 * Whatever this child might hold open for ever (other clients' sockets, the
 * front's channel) it lets go first.
 */
static void
keep_needed(const struct sandbox *sb, const int *joins, int njoins,
    const struct client *c, int error_fd)
{
	int keep[KEEP_MAX], n = 0, i;

	for (i = 0; i < njoins; i++)
		keep[n++] = joins[i];
	keep[n++] = error_fd;
	keep[n++] = sb->child_fd;
	keep[n++] = sb->offer_fd;
	keep[n++] = agent_fd;
	keep[n++] = filter_fd;
	keep[n++] = priv_proc_fd();
	keep[n++] = c == NULL ? -1 : c->pidfd;
	if (sb->slot != NULL) {
		keep[n++] = sb->slot->ns.user_ns_fd;
		keep[n++] = sb->slot->ns.image_ns_fd;
		keep[n++] = sb->slot->ns.net_ns_fd;
		keep[n++] = sb->slot->ns.ipc_ns_fd;
		keep[n++] = sb->slot->ns.uts_ns_fd;
	}
	proc_close_others(keep, (size_t)n);
}

void
launch_child(struct sandbox *sb, const int *joins, int njoins, int error_fd)
{
	const struct spec *s = &sb->judged.spec;
	const struct client *c = client_find(sb->handle);
	struct backend_create bc = {
		.id = sb->id,
		.is_root = priv_is_root(),
		.owner_uid = sb->uid,
		.owner_gid = sb->gid,
		.user_ns_fd = -1, .image_ns_fd = -1, .net_ns_fd = -1,
		.ipc_ns_fd = -1, .uts_ns_fd = -1, .client_ns_fd = -1,
		.tmp = s->tmp == SPEC_ABSENT ? TMP_DEFAULT : s->tmp,
		.files = s->files == SPEC_ABSENT ? FILES_DEFAULT : s->files,
		.agent_fd = agent_fd,
		.channel_fd = sb->child_fd,
		.is_stream = sb->is_stream,
		.error_fd = error_fd,
		.filter = &filter,
		.filter_fd = filter_fd,
		.mounts = sb->mounts,
		.nmounts = (int)sb->nmounts,
		.drop = priv_drop,
	};
	struct error e = { 0 };

	clearenv();
	if (groups_join(joins, njoins, &e) == -1)
		fail(error_fd, &e);
	keep_needed(sb, joins, njoins, c, error_fd);
	if (sb->slot != NULL && sb->backend->features & BACKEND_USES_SLOT) {
		bc.slot_base = sb->slot->base;
		bc.user_ns_fd = sb->slot->ns.user_ns_fd;
		bc.image_ns_fd = sb->slot->ns.image_ns_fd;
		bc.net_ns_fd = sb->slot->ns.net_ns_fd;
		bc.ipc_ns_fd = sb->slot->ns.ipc_ns_fd;
		bc.uts_ns_fd = sb->slot->ns.uts_ns_fd;
	}
	if (sb->nmounts > 0) {
		if (offer_receive(sb, &e) == -1)
			fail(error_fd, &e);
		if (c != NULL)
			bc.client_ns_fd = client_mount_ns(c);
	}
	sb->backend->enter(&bc, &e);
	fail(error_fd, &e);
	_exit(125);
}
