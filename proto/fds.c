/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Descriptors in one plain datagram or byte, where there is no channel: a
 * broker and its own children, and what a client offers to mount.  No rights;
 * what comes in is not trusted, and too much of it is an error.
 */

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto.h"

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS	83		/* Linux 6.16 */
#endif

int
fds_send(int fd, const void *data, size_t size, const int *fds, int n)
{
	union rights control;
	struct iovec iov = { (void *)(uintptr_t)data, size };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t done;

	rights_put(&msg, &control, fds, n);
	do {
		done = sendmsg(fd, &msg, MSG_NOSIGNAL);
	} while (done == -1 && errno == EINTR);
	return done == (ssize_t)size ? 0 : -1;
}

ssize_t
fds_recv(int fd, void *data, size_t size, int *fds, int max, int *n)
{
	union rights control;
	struct iovec iov = { data, size };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
		.msg_controllen = CMSG_SPACE((size_t)max * sizeof(int)),
	};
	ssize_t got;

	*n = 0;
	got = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (got == -1)
		return -1;
	*n = rights_get(&msg, fds, max);
	if ((msg.msg_flags & (MSG_CTRUNC | MSG_TRUNC)) != 0) {
		while (*n > 0)
			close(fds[--*n]);
		errno = EMSGSIZE;
		return -1;
	}
	return got;
}

void
fds_refuse(int fd)
{
	int off = 0;

	(void)setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &off, sizeof(off));
}

static int
compare_fds(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

void
fds_close_others(const int *keep, size_t n)
{
	int sorted[FDS_KEEP_MAX], next = 3;
	size_t i;

	if (n > FDS_KEEP_MAX)
		fatal("too many descriptors to keep");
	memcpy(sorted, keep, n * sizeof(int));
	qsort(sorted, n, sizeof(int), compare_fds);
	for (i = 0; i < n; i++) {
		if (sorted[i] > next)
			close_range((unsigned int)next,
			    (unsigned int)sorted[i] - 1, 0);
		if (sorted[i] >= next)
			next = sorted[i] + 1;
	}
	close_range((unsigned int)next, ~0u, 0);
}

/*** Listening ***/

static int
option(int fd, int which)
{
	int value = -1;
	socklen_t len = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, which, &value, &len) == -1 ? -1 :
	    value;
}

bool
fd_is_unix(int fd, bool is_listening)
{
	return option(fd, SO_DOMAIN) == AF_UNIX &&
	    option(fd, SO_TYPE) == SOCK_STREAM &&
	    option(fd, SO_ACCEPTCONN) == is_listening;
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

int
fd_listen(const char *path, mode_t mode, gid_t gid, struct error *e)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	mode_t old;
	int fd, rv;

	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd == -1 || text_copy(sun.sun_path, sizeof(sun.sun_path),
	    view_of(path)) == -1) {
		error_set(e, ERR_INVALID, "cannot make a socket %s", path);
		goto fail;
	}
	fds_refuse(fd);
	if (path_clear(fd, &sun, e) == -1)
		goto fail;
	old = umask(0777 & ~mode);
	rv = bind(fd, (struct sockaddr *)&sun, sizeof(sun));
	umask(old);
	/* Nobody can connect before it listens. */
	if (rv == 0 && (gid == 0 || lchown(path, (uid_t)-1, gid) == 0) &&
	    listen(fd, SOMAXCONN) == 0)
		return fd;
	error_sys(e, ERR_UNAVAILABLE, errno, "cannot listen on %s", path);
fail:
	fd_close(&fd);
	return -1;
}
