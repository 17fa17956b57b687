/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Descriptors in one plain datagram or byte, where there is no channel: a
 * broker and its own children, and what a client offers to mount.  No rights;
 * what comes in is not trusted, and too much of it is an error.
 */

#include <sys/socket.h>
#include <sys/uio.h>

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto.h"

union control {
	struct cmsghdr	 align;
	char		 bytes[CMSG_SPACE(FRAME_FDS_MAX * sizeof(int))];
};

int
fds_send(int fd, const void *data, size_t size, const int *fds, int n)
{
	union control control = { 0 };
	struct iovec iov = { (void *)(uintptr_t)data, size };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *c;

	if (n > 0) {
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE((size_t)n * sizeof(int));
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN((size_t)n * sizeof(int));
		memcpy(CMSG_DATA(c), fds, (size_t)n * sizeof(int));
	}
	return sendmsg(fd, &msg, MSG_NOSIGNAL) == (ssize_t)size ? 0 : -1;
}

ssize_t
fds_recv(int fd, void *data, size_t size, int *fds, int max, int *n)
{
	union control control;
	struct iovec iov = { data, size };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
		.msg_controllen = CMSG_SPACE((size_t)max * sizeof(int)),
	};
	struct cmsghdr *c;
	ssize_t got;
	int all[FRAME_FDS_MAX];

	*n = 0;
	got = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (got == -1)
		return -1;
	for (c = CMSG_FIRSTHDR(&msg); c != NULL; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		*n = (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(all, CMSG_DATA(c), (size_t)*n * sizeof(int));
	}
	/* Alignment leaves room for one more than asked for. */
	if (*n > max || (msg.msg_flags & (MSG_CTRUNC | MSG_TRUNC)) != 0) {
		while (*n > 0)
			close(all[--*n]);
		errno = EMSGSIZE;
		return -1;
	}
	memcpy(fds, all, (size_t)*n * sizeof(int));
	return got;
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
