/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Finding the daemon's socket and connecting to it, with errors that say
 * what to do.  Runs in the client's process.  An explicit place, by argument
 * or environment, never falls back to another.
 */

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib.h"

#define OPEN_RETRIES	40	/* of a daemon that is just starting */
#define OPEN_RETRY_NS	50000000
#define OPEN_SYSTEM	"/run/sandboxd.sock"

/* Name of the group; the file alone, without the name service. */
static int
open_group_name(gid_t gid, char *name, size_t size)
{
	struct group *gr, group;
	char line[16384];
	FILE *f;
	int r = -1;

	if ((f = fopen("/etc/group", "re")) == NULL)
		return -1;
	while (fgetgrent_r(f, &group, line, sizeof(line), &gr) == 0)
		if (group.gr_gid == gid) {
			r = text_copy(name, size, view_of(group.gr_name));
			break;
		}
	fclose(f);
	return r;
}

static int
open_explain_access(const char *path, struct error *e)
{
	struct stat st;
	char group[NAME_LEN_MAX + 1];

	error_sys(e, ERR_UNAVAILABLE, EACCES, "cannot connect to %s", path);
	error_path(e, path);
	if (stat(path, &st) == -1 || !(st.st_mode & S_IWGRP))
		error_fix(e, "ask the administrator for access");
	else if (open_group_name(st.st_gid, group, sizeof(group)) == -1)
		error_fix(e, "have yourself added to group %u, then log in "
		    "again", (unsigned int)st.st_gid);
	else
		error_fix(e, "have yourself added to group %s, then log in "
		    "again", group);
	return -1;
}

static int
open_explain(const char *path, int err, struct error *e)
{
	static const char start[] = "start it with 'systemctl start "
	    "sandboxd.service' or 'sandboxd'";

	if (err == EACCES || err == EPERM)
		return open_explain_access(path, e);
	if (err == ENOENT || err == ENOTDIR) {
		error_set(e, ERR_UNAVAILABLE, "no daemon at %s", path);
		error_fix(e, "%s", start);
		e->sys_errno = ENOENT;
	} else if (err == ECONNREFUSED) {
		error_set(e, ERR_UNAVAILABLE,
		    "no daemon answers at %s", path);
		error_fix(e, "%s", start);
		e->sys_errno = err;
	} else
		error_sys(e, ERR_UNAVAILABLE, err, "cannot connect to %s",
		    path);
	error_path(e, path);
	return -1;
}

/* A connected socket, or -1 with errno. */
static int
open_connect(const struct sockaddr_un *sun)
{
	int fd, err;

	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd == -1)
		return -1;
	while (connect(fd, (const struct sockaddr *)sun, sizeof(*sun)) == -1) {
		if (errno == EINTR)
			continue;
		err = errno;
		close(fd);
		errno = err;
		return -1;
	}
	return fd;
}

static int
open_path(const char *path, struct error *e)
{
	const struct timespec pause = { 0, OPEN_RETRY_NS };
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int fd, tries;

	if (text_copy(sun.sun_path, sizeof(sun.sun_path),
	    view_of(path)) == -1) {
		error_set(e, ERR_INVALID, "socket path of %zu bytes, more "
		    "than the %zu that are possible", strlen(path),
		    sizeof(sun.sun_path) - 1);
		error_path(e, path);
		return -1;
	}
	for (tries = 0;; tries++) {
		if ((fd = open_connect(&sun)) != -1)
			return fd;
		if (errno != ECONNREFUSED || tries == OPEN_RETRIES)
			return open_explain(path, errno, e);
		nanosleep(&pause, NULL);
	}
}

/* $XDG_RUNTIME_DIR first, then the system's. */
static int
open_default(struct error *e)
{
	struct error why = { 0 };
	const char *dir;
	char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
	int fd, n;

	dir = getenv("XDG_RUNTIME_DIR");
	if (dir != NULL && dir[0] == '/') {
		n = snprintf(path, sizeof(path), "%s/sandboxd.sock", dir);
		if (n > 0 && (size_t)n < sizeof(path)) {
			if ((fd = open_path(path, &why)) != -1)
				return fd;
			if (why.sys_errno != ENOENT) {
				*e = why;
				return -1;
			}
		}
	}
	return open_path(OPEN_SYSTEM, e);
}

static const char *
open_environment(void)
{
	const char *path = getenv("SANDBOXD_SOCKET");

	return path != NULL && path[0] != '\0' ? path : NULL;
}

bool
sandbox_client_is_default(void)
{
	return open_environment() == NULL;
}

int
sandbox_client_open(const char *path, struct sandbox_client **client,
    struct sandbox_error *error)
{
	struct error e = { 0 };
	struct sandbox_client *c;
	int fd;

	if (path == NULL)
		path = open_environment();
	fd = path != NULL ? open_path(path, &e) : open_default(&e);
	if (fd == -1 || (c = client_new(fd, &e)) == NULL)
		return fault_give(error, &e);
	*client = c;
	return 0;
}
