/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The broker's record of each sandbox: what it granted, to whom, until when.
 * Written whole (temporary file, rename), readable by nobody else, and a
 * rendezvous socket beside it.  No fsync: the run directory does not outlive
 * the kernel, and neither does a sandbox.
 */

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "broker.h"

/* A pid means something only with the time at which its process started. */
static unsigned long long
start_time(pid_t pid)
{
	unsigned long long ticks = 0;
	char path[32], text[1024], *p;
	ssize_t n;
	int fd, i;

	snprintf(path, sizeof(path), "%d/stat", pid);
	if (pid == 0 || (fd = openat(priv_proc_fd(), path, O_RDONLY |
	    O_CLOEXEC)) == -1)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n < 0 ? 0 : n] = '\0';
	/* Field 22, counted from the end of the name in parentheses. */
	if ((p = strrchr(text, ')')) == NULL)
		return 0;
	for (i = 2; i < 22 && (p = strchr(p + 1, ' ')) != NULL; i++)
		;
	if (p != NULL)
		sscanf(p + 1, "%llu", &ticks);
	return ticks;
}

static int
claim_format(const struct sandbox *sb, char *text, size_t cap)
{
	pid_t worker = sb->worker == NULL ? 0 : sb->worker->proc.pid;

	return snprintf(text, cap,
	    "version 1\nowner %u\nbackend %s\nslot %d\nends %" PRId64 "\n"
	    "cgroup sandboxd-%s/%s\nagent %d %llu\nworker %d %llu\n",
	    sb->uid, sb->backend->name,
	    sb->slot == NULL ? -1 : (int)sb->slot->number, sb->ends,
	    instance_name(), sb->id, sb->agent_pid,
	    start_time(sb->agent_pid), worker, start_time(worker));
}

int
claim_write(const struct sandbox *sb, struct error *e)
{
	char path[64], temp[64], text[1024];
	int fd, n, rv;

	snprintf(path, sizeof(path), "claims/%s", sb->id);
	snprintf(temp, sizeof(temp), "claims/%s.new", sb->id);
	n = claim_format(sb, text, sizeof(text));
	fd = openat(instance_dir(), temp, O_WRONLY | O_CREAT | O_TRUNC |
	    O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd == -1)
		return error_sys(e, ERR_INTERNAL, errno, "claim");
	rv = fd_write_all(fd, text, (size_t)n);
	if (close(fd) == -1)
		rv = -1;
	if (rv == -1 || renameat(instance_dir(), temp, instance_dir(),
	    path) == -1) {
		error_sys(e, ERR_INTERNAL, errno, "claim");
		unlinkat(instance_dir(), temp, 0);
		return -1;
	}
	return 0;
}

/* Below the working directory, which is the run directory. */
int
claim_meet(const struct sandbox *sb, int *out, struct error *e)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };

	snprintf(sun.sun_path, sizeof(sun.sun_path), "meet/%s", sb->id);
	*out = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK,
	    0);
	if (*out == -1 ||
	    bind(*out, (struct sockaddr *)&sun, sizeof(sun)) == -1 ||
	    chmod(sun.sun_path, 0600) == -1 || listen(*out, 1) == -1) {
		error_sys(e, ERR_INTERNAL, errno, "rendezvous socket");
		fd_close(out);
		return -1;
	}
	return 0;
}

void
claim_remove(const struct sandbox *sb)
{
	char path[64];

	snprintf(path, sizeof(path), "claims/%s", sb->id);
	unlinkat(instance_dir(), path, 0);
	snprintf(path, sizeof(path), "meet/%s", sb->id);
	unlinkat(instance_dir(), path, 0);
}
