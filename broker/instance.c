/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The run directory: one daemon in each, by a lock; what a dead private
 * instance left is cleared away by the next root broker.  Runs with the
 * broker's rights; the directory has to be its own, and nobody else's to
 * write to.  The broker's working directory is here.
 */

#include <sys/file.h>
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "broker.h"

#define RUN_MAIN	"/run/sandboxd"
#define RUN_PRIVATE	"/run/sandboxd-private"
#define NAME_MAX_LEN	48
#define DEAD_AFTER	5		/* seconds: not one being born */

static const struct {
	const char	*name;
	mode_t		 mode;
} subdirs[] = {
	{ "claims", 0700 },
	{ "meet", 0700 },		/* rendezvous sockets */
	{ "empty", 0555 },		/* root directory of workers */
	{ "front", 0755 },		/* and of the front, which owns it */
};

static char name[NAME_MAX_LEN];
static char path[PATH_LEN_MAX + 1];
static int dir_fd = -1;
static int empty_fd = -1;

const char *
instance_name(void)
{
	return name;
}

int
instance_dir(void)
{
	return dir_fd;
}

int
instance_empty_dir(void)
{
	return empty_fd;
}

/* The last part of the path, and a number of the whole path. */
static void
name_of(const char *full, char out[NAME_MAX_LEN])
{
	const char *last = strrchr(full, '/');
	uint32_t hash = 2166136261u;
	const char *p;
	int n;

	if (strcmp(full, RUN_MAIN) == 0) {
		strcpy(out, "main");
		return;
	}
	for (p = full; *p != '\0'; p++)
		hash = (hash ^ (unsigned char)*p) * 16777619u;
	n = snprintf(out, NAME_MAX_LEN, "%.32s-%08x",
	    last == NULL ? full : last + 1, hash);
	while (n-- > 0)
		if (strchr("/\n\\", out[n]) != NULL)
			out[n] = '_';
}

static int
dir_open(int at, const char *which, mode_t mode)
{
	struct stat st;
	int fd;

	if (mkdirat(at, which, mode) == -1 && errno != EEXIST)
		return -1;
	fd = openat(at, which, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC);
	if (fd == -1)
		return -1;
	if (fstat(fd, &st) == -1 || st.st_uid != geteuid() ||
	    (st.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
		close(fd);
		errno = EPERM;
		return -1;
	}
	return fd;
}

static void
dir_lock(void)
{
	int fd;

	fd = openat(dir_fd, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
	    0600);
	if (fd == -1)
		fatal("%s/lock: %s", path, strerror(errno));
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return;			/* held until the end */
	if (errno != EWOULDBLOCK)
		fatal("%s/lock: %s", path, strerror(errno));
	fatal("another daemon runs in %s; stop it, or give this one a "
	    "directory of its own with -r", path);
}

static void
dir_path(const char *given)
{
	char link[32];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", dir_fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n == -1)
		fatal("%s: %s", given, strerror(errno));
	path[n] = '\0';
}

void
instance_init(const char *given)
{
	const char *slash = strrchr(given, '/');
	mode_t mode = geteuid() == 0 ? 0711 : 0700;
	char *parent;
	size_t i;
	int fd;

	if ((dir_fd = dir_open(AT_FDCWD, given, mode)) == -1 &&
	    errno == ENOENT && slash != NULL && slash != given) {
		parent = xstrdup(given);
		parent[slash - given] = '\0';
		mkdir(parent, mode);
		chmod(parent, mode);
		free(parent);
		dir_fd = dir_open(AT_FDCWD, given, mode);
	}
	if (dir_fd == -1)
		fatal("run directory %s: %s", given, strerror(errno));
	if (fchmod(dir_fd, mode) == -1 || fchdir(dir_fd) == -1)
		fatal("run directory %s: %s", given, strerror(errno));
	dir_path(given);
	name_of(path, name);
	dir_lock();
	for (i = 0; i < sizeof(subdirs) / sizeof(subdirs[0]); i++) {
		if (mkdirat(dir_fd, subdirs[i].name, subdirs[i].mode) == -1) {
			if (errno == EEXIST)
				continue;
			fatal("%s/%s: %s", path, subdirs[i].name,
			    strerror(errno));
		}
		/* In spite of the umask. */
		if (fchmodat(dir_fd, subdirs[i].name, subdirs[i].mode, 0) ==
		    -1)
			fatal("%s/%s: %s", path, subdirs[i].name,
			    strerror(errno));
	}
	fd = openat(dir_fd, "empty", O_PATH | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC);
	if ((empty_fd = fd) == -1)
		fatal("%s/empty: %s", path, strerror(errno));
}

/*** The end, of ours and of dead ones ***/

static void
dir_empty(int at, const char *which)
{
	struct dirent *d;
	DIR *dir;
	int fd;

	fd = openat(at, which, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC);
	if (fd == -1 || (dir = fdopendir(fd)) == NULL) {
		fd_close(&fd);
		return;
	}
	while ((d = readdir(dir)) != NULL)
		unlinkat(fd, d->d_name, 0);	/* no directories */
	closedir(dir);
}

static void
dir_clear(int fd, bool has_gone)
{
	size_t i;

	for (i = 0; i < sizeof(subdirs) / sizeof(subdirs[0]); i++) {
		dir_empty(fd, subdirs[i].name);
		if (has_gone)
			unlinkat(fd, subdirs[i].name, AT_REMOVEDIR);
	}
	if (has_gone)
		unlinkat(fd, "lock", 0);
}

void
instance_remove(bool is_private)
{
	dir_clear(dir_fd, is_private);
	if (is_private && rmdir(path) == -1)
		log_warn("%s: %s", path, strerror(errno));
}

static void
private_sweep(int at, const char *which)
{
	char full[sizeof(RUN_PRIVATE) + 256], cgroup[NAME_MAX_LEN];
	struct stat st;
	int fd, lock = -1;

	fd = openat(at, which, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC);
	if (fd == -1)
		return;
	lock = openat(fd, "lock", O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (lock == -1 || fstat(lock, &st) == -1 ||
	    st.st_mtime + DEAD_AFTER > time(NULL) ||
	    flock(lock, LOCK_EX | LOCK_NB) == -1)
		goto out;
	snprintf(full, sizeof(full), "%s/%s", RUN_PRIVATE, which);
	name_of(full, cgroup);
	log_info("clearing away %s, whose daemon is dead", full);
	cgroup_sweep(cgroup);
	dir_clear(fd, true);
	unlinkat(at, which, AT_REMOVEDIR);
out:
	fd_close(&lock);
	close(fd);
}

/* What is left of this instance's last life, and of dead private ones. */
void
instance_sweep(void)
{
	struct dirent *d;
	DIR *dir;

	dir_empty(dir_fd, "claims");
	dir_empty(dir_fd, "meet");
	cgroup_sweep(name);
	if (!priv_is_root() || (dir = opendir(RUN_PRIVATE)) == NULL)
		return;
	while ((d = readdir(dir)) != NULL)
		if (d->d_name[0] != '.')
			private_sweep(dirfd(dir), d->d_name);
	closedir(dir);
}
