/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The broker's record of each sandbox: what it granted, to whom, until when.
 * Written whole (temporary file, rename), readable by nobody else, with a
 * rendezvous socket beside it.  No fsync: the run directory does not outlive
 * the kernel, and neither does a sandbox.  The working directory is ours.
 */

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker.h"

/* A pid means something only with the time at which its process started. */
static unsigned long long
start_time(pid_t pid)
{
	char path[32], text[1024], *p;
	ssize_t n = -1;
	int fd, i;

	snprintf(path, sizeof(path), "%d/stat", pid);
	fd = openat(priv_proc_fd(), path, O_RDONLY | O_CLOEXEC);
	if (fd != -1)
		n = read(fd, text, sizeof(text) - 1);
	fd_close(&fd);
	text[n < 0 ? 0 : n] = '\0';
	/* Field 22, counted from the end of the name in parentheses. */
	p = strrchr(text, ')');
	for (i = 2; i < 22 && p != NULL; i++)
		p = strchr(p + 1, ' ');
	return p == NULL ? 0 : strtoull(p + 1, NULL, 10);
}

int
claim_write(struct sandbox *sb, struct error *e)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	char path[64], temp[64], text[1024];
	pid_t worker = sb->worker->proc.pid;
	int fd, n, rv = -1;

	n = snprintf(text, sizeof(text), "version 1\nowner %u\nbackend %s\n"
	    "slot %d\nends %" PRId64 "\ncgroup sandboxd-%s/%s\n"
	    "agent %d %llu\nworker %d %llu\n", sb->uid, sb->backend->name,
	    sb->slot == NULL ? -1 : (int)sb->slot->number, sb->ends,
	    instance_name(), sb->id, sb->agent_pid,
	    start_time(sb->agent_pid), worker, start_time(worker));
	snprintf(path, sizeof(path), "claims/%s", sb->id);
	snprintf(temp, sizeof(temp), "claims/%s.new", sb->id);
	fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
	    0600);
	if (fd != -1)
		rv = fd_write_all(fd, text, (size_t)n);
	fd_close(&fd);
	if (rv == -1 || rename(temp, path) == -1)
		return error_sys(e, ERR_INTERNAL, errno, "claim");
	snprintf(sun.sun_path, sizeof(sun.sun_path), "meet/%s", sb->id);
	sb->meet_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC |
	    SOCK_NONBLOCK, 0);
	if (bind(sb->meet_fd, (struct sockaddr *)&sun, sizeof(sun)) == -1 ||
	    chmod(sun.sun_path, 0600) == -1 || listen(sb->meet_fd, 1) == -1)
		return error_sys(e, ERR_INTERNAL, errno, "rendezvous socket");
	return 0;
}

void
claim_remove(struct sandbox *sb)
{
	char path[64];

	fd_close(&sb->meet_fd);
	snprintf(path, sizeof(path), "meet/%s", sb->id);
	unlink(path);
	snprintf(path, sizeof(path), "claims/%s", sb->id);
	unlink(path);
	strcat(path, ".new");
	unlink(path);
}
