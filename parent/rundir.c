/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The run directory of this instance.  Run by the front before it gives up
 * its rights: it makes the directory and the empty one inside that becomes
 * its root; all else in there is the broker's.  Its name may be in a
 * directory where others write (/tmp), so what is found there is looked at
 * by descriptor and never followed.
 */

#include "config.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "parent/parent.h"

#define MAIN_DIR	"/run/sandboxd"
#define PRIVATE_DIR	"/run/sandboxd-private"

/* Ours, a directory, and nobody else may write in it; returns it open. */
static int
open_own(int at, const char *name, const char *path, struct error *e)
{
	struct stat st;
	int fd;

	fd = openat(at, name,
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1)
		return error_sys(e, ERR_UNAVAILABLE, errno, "%s", path);
	if (fstat(fd, &st) == -1)
		error_sys(e, ERR_UNAVAILABLE, errno, "%s", path);
	else if (st.st_uid != geteuid() || (st.st_mode & 022) != 0)
		error_set(e, ERR_UNAVAILABLE,
		    "%s: is not ours alone (owner %u, mode %04o)", path,
		    st.st_uid, st.st_mode & 07777);
	else
		return fd;
	fd_close(&fd);
	return -1;
}

/* Others may pass through as far as root's daemon needs it. */
static int
make_own(int at, const char *name, const char *path, struct error *e)
{
	mode_t mode = geteuid() == 0 ? 0711 : 0700;
	bool is_new;
	int fd;

	is_new = mkdirat(at, name, mode) == 0;
	if (!is_new && errno != EEXIST)
		return error_sys(e, ERR_UNAVAILABLE, errno, "%s", path);
	/* The umask took some of it. */
	if ((fd = open_own(at, name, path, e)) != -1 && is_new)
		fchmod(fd, mode);
	return fd;
}

/* The user's directory for such things, if it is one. */
static const char *
runtime_dir(void)
{
	const char *dir;

	dir = getenv("XDG_RUNTIME_DIR");
	return dir != NULL && *dir == '/' ? dir : NULL;
}

static int
path_set(struct rundir *r, struct error *e, const char *dir,
    const char *name, unsigned int uid)
{
	int n;

	if (uid != 0)
		n = snprintf(r->path, sizeof(r->path), "%s%s%u", dir, name,
		    uid);
	else
		n = snprintf(r->path, sizeof(r->path), "%s%s", dir, name);
	if (n < 0 || (size_t)n >= sizeof(r->path))
		return error_set(e, ERR_INVALID,
		    "run directory: %s%s: longer than %d bytes", dir, name,
		    RUNDIR_MAX);
	if (r->path[0] != '/')
		return error_set(e, ERR_INVALID,
		    "run directory: %s: has to begin with \"/\"", r->path);
	return 0;
}

/* A new directory for an instance that ends with its client. */
static int
choose_private(struct rundir *r, struct error *e)
{
	bool is_root = geteuid() == 0;
	const char *xdg = is_root ? NULL : runtime_dir();
	int fd;

	if (is_root) {
		if ((fd = make_own(AT_FDCWD, PRIVATE_DIR, PRIVATE_DIR,
		    e)) == -1)
			return -1;
		fd_close(&fd);
	}
	if (path_set(r, e, is_root ? PRIVATE_DIR : xdg != NULL ? xdg : "/tmp",
	    is_root ? "/XXXXXX" : "/sandboxd-private-XXXXXX", 0) == -1)
		return -1;
	if (mkdtemp(r->path) == NULL || (is_root &&
	    chmod(r->path, 0711) == -1))
		return error_sys(e, ERR_UNAVAILABLE, errno, "%s", r->path);
	return 0;
}

int
rundir_choose(struct rundir *r, const char *given, struct error *e)
{
	const char *xdg;
	size_t n;

	*r = (struct rundir){ .front_fd = -1 };
	snprintf(r->instance, sizeof(r->instance), "main");
	if (given != NULL) {
		if (path_set(r, e, given, "", 0) == -1)
			return -1;
		for (n = strlen(r->path); n > 1 && r->path[n - 1] == '/'; n--)
			r->path[n - 1] = '\0';
		if (strcmp(r->path, MAIN_DIR) != 0)
			snprintf(r->instance, sizeof(r->instance), "%.*s",
			    NAME_LEN_MAX, strrchr(r->path, '/') + 1);
		return 0;
	}
	if (geteuid() == 0)
		return path_set(r, e, MAIN_DIR, "", 0);
	if ((xdg = runtime_dir()) != NULL)
		return path_set(r, e, xdg, "/sandboxd", 0);
	return path_set(r, e, "/tmp", "/sandboxd-", geteuid());
}

int
rundir_open(struct rundir *r, const char *given, bool is_private,
    struct error *e)
{
	int fd;

	if (rundir_choose(r, given, e) == -1)
		return -1;
	if (is_private && given == NULL) {
		if (choose_private(r, e) == -1)
			return -1;
		snprintf(r->instance, sizeof(r->instance), "private");
	}
	if ((fd = make_own(AT_FDCWD, r->path, r->path, e)) == -1)
		return -1;
	r->front_fd = make_own(fd, "front", r->path, e);
	fd_close(&fd);
	return r->front_fd == -1 ? -1 : 0;
}
