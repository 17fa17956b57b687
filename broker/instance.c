/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The run directory: one daemon in each, by a lock; what a dead private
 * instance left is cleared away by the next root broker.  Runs with the
 * broker's rights; the front made the directory, and it has to be ours and
 * nobody else's to write to.  It is the broker's working directory.
 */

#include <sys/file.h>
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "broker.h"

#define RUN_MAIN	"/run/sandboxd"
#define RUN_PRIVATE	"/run/sandboxd-private"
#define NAME_MAX_LEN	48
#define DEAD_AFTER	5		/* seconds: not one being born */
#define DIR_FLAGS	(O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static const struct {
	const char	*name;
	mode_t		 mode;
} subdirs[] = {
	{ "claims", 0700 },
	{ "meet", 0700 },		/* rendezvous sockets */
	{ "empty", 0555 },		/* root directory of workers */
	{ "front", 0711 },		/* and of the front, which makes it */
};

static char name[NAME_MAX_LEN];
static char path[PATH_LEN_MAX + 1];
static int dir_fd = -1;

const char *
instance_name(void)
{
	return name;
}

/* The last part of the path, and a number of the whole path. */
static void
name_of(const char *full, char out[NAME_MAX_LEN])
{
	const char *p, *last = strrchr(full, '/') + 1;
	uint32_t hash = 2166136261u;

	for (p = full; *p != '\0'; p++)
		hash = (hash ^ (unsigned char)*p) * 16777619u;
	if (strcmp(full, RUN_MAIN) == 0)
		snprintf(out, NAME_MAX_LEN, "main");
	else
		snprintf(out, NAME_MAX_LEN, "%.32s-%08x", last, hash);
	while ((last = strpbrk(out, "\n\\")) != NULL)
		out[last - out] = '_';
}

void
instance_init(const char *given)
{
	struct stat st;
	size_t i;
	int lock;

	if ((dir_fd = open(given, DIR_FLAGS)) == -1 ||
	    fstat(dir_fd, &st) == -1 || fchdir(dir_fd) == -1 ||
	    getcwd(path, sizeof(path)) == NULL)
		fatal("run directory %s: %s", given, strerror(errno));
	if (st.st_uid != geteuid() || (st.st_mode & 022) != 0)
		fatal("run directory %s: is not ours alone", given);
	name_of(path, name);
	lock = open("lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (lock == -1 || flock(lock, LOCK_EX | LOCK_NB) == -1) {
		if (errno != EWOULDBLOCK)
			fatal("%s/lock: %s", path, strerror(errno));
		fatal("another daemon runs in %s; stop it, or give this one "
		    "a directory of its own with -r", path);
	}
	for (i = 0; i < NITEMS(subdirs); i++)
		if ((mkdir(subdirs[i].name, 0700) == -1 ||
		    chmod(subdirs[i].name, subdirs[i].mode) == -1) &&
		    errno != EEXIST)
			fatal("%s/%s: %s", path, subdirs[i].name,
			    strerror(errno));
}

/*** The end, of ours and of dead ones ***/

static void
dir_empty(int at, const char *which)
{
	struct dirent *d;
	DIR *dir;
	int fd;

	fd = openat(at, which, DIR_FLAGS);
	if (fd == -1 || (dir = fdopendir(fd)) == NULL) {
		fd_close(&fd);
		return;
	}
	while ((d = readdir(dir)) != NULL)
		unlinkat(fd, d->d_name, 0);	/* no directories */
	closedir(dir);
}

static void
dir_clear(int fd)
{
	size_t i;

	for (i = 0; i < NITEMS(subdirs); i++) {
		dir_empty(fd, subdirs[i].name);
		unlinkat(fd, subdirs[i].name, AT_REMOVEDIR);
	}
	unlinkat(fd, "lock", 0);
}

void
instance_remove(bool is_private)
{
	dir_empty(dir_fd, "claims");
	dir_empty(dir_fd, "meet");
	if (!is_private)
		return;
	dir_clear(dir_fd);
	if (rmdir(path) == -1)
		log_warn("%s: %s", path, strerror(errno));
}

static void
private_sweep(int at, const char *which)
{
	char full[sizeof(RUN_PRIVATE) + 256], cgroup[NAME_MAX_LEN];
	struct stat st;
	int fd, lock = -1;

	if ((fd = openat(at, which, DIR_FLAGS)) != -1)
		lock = openat(fd, "lock", O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (lock != -1 && fstat(lock, &st) == 0 &&
	    st.st_mtime + DEAD_AFTER < time(NULL) &&
	    flock(lock, LOCK_EX | LOCK_NB) == 0) {
		snprintf(full, sizeof(full), "%s/%s", RUN_PRIVATE, which);
		log_info("clearing away %s, whose daemon is dead", full);
		name_of(full, cgroup);
		cgroup_sweep(cgroup);
		dir_clear(fd);
		unlinkat(at, which, AT_REMOVEDIR);
	}
	fd_close(&lock);
	fd_close(&fd);
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
