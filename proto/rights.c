/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Descriptors of one message, as SCM_RIGHTS (unix(7)): the only code that
 * packs and unpacks them.  Run by all processes, with whatever rights they
 * have; who sent them is not trusted.
 */

#include <sys/socket.h>

#include <string.h>
#include <unistd.h>

#include "proto.h"

void
rights_put(struct msghdr *m, union rights *control, const int *fds, int n)
{
	struct cmsghdr *cm;

	if (n == 0)
		return;
	memset(control, 0, sizeof(*control));
	m->msg_control = control;
	m->msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)n);
	cm = CMSG_FIRSTHDR(m);
	cm->cmsg_level = SOL_SOCKET;
	cm->cmsg_type = SCM_RIGHTS;
	cm->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)n);
	memcpy(CMSG_DATA(cm), fds, sizeof(int) * (size_t)n);
}

int
rights_get(struct msghdr *m, int *fds, int max)
{
	struct cmsghdr *cm;
	size_t i, n;
	int fd, got = 0;

	for (cm = CMSG_FIRSTHDR(m); cm != NULL; cm = CMSG_NXTHDR(m, cm)) {
		if (cm->cmsg_level != SOL_SOCKET ||
		    cm->cmsg_type != SCM_RIGHTS)
			continue;
		n = (cm->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (i = 0; i < n; i++) {
			memcpy(&fd, CMSG_DATA(cm) + i * sizeof(int),
			    sizeof(int));
			if (got < max)
				fds[got++] = fd;
			else {
				/* Alignment leaves room for one more. */
				close(fd);
				m->msg_flags |= MSG_CTRUNC;
			}
		}
	}
	return got;
}
