/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The run directory: one daemon in each, by a lock; the claims in it; what a
 * dead private instance left is cleared away by the next root broker.  Runs
 * with the broker's rights; the front made the directory, and it has to be
 * ours and nobody else's to write to.  It is the broker's working directory.
 */

#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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
static char run_path[PATH_LEN_MAX + 1];
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
	    getcwd(run_path, sizeof(run_path)) == NULL)
		fatal("run directory %s: %s", given, strerror(errno));
	if (st.st_uid != geteuid() || (st.st_mode & 022) != 0)
		fatal("run directory %s: is not ours alone", given);
	name_of(run_path, name);
	lock = open("lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (lock == -1 || flock(lock, LOCK_EX | LOCK_NB) == -1) {
		if (errno != EWOULDBLOCK)
			fatal("%s/lock: %s", run_path, strerror(errno));
		fatal("another daemon runs in %s; stop it, or give this one "
		    "a directory of its own with -r", run_path);
	}
	for (i = 0; i < NITEMS(subdirs); i++)
		if ((mkdir(subdirs[i].name, 0700) == -1 ||
		    chmod(subdirs[i].name, subdirs[i].mode) == -1) &&
		    errno != EEXIST)
			fatal("%s/%s: %s", run_path, subdirs[i].name,
			    strerror(errno));
}

/*** Claims ***/

/* A pid means something only with the time at which its process started. */
static unsigned long long
start_time(pid_t pid)
{
	unsigned long long ticks = 0;
	char path[32], text[1024];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "%d/stat", pid);
	fd = openat(priv_proc_fd(), path, O_RDONLY | O_CLOEXEC);
	if (fd != -1)
		n = read(fd, text, sizeof(text) - 1);
	fd_close(&fd);
	text[n < 0 ? 0 : n] = '\0';
	/* Field 22, counted from the end of the name in parentheses. */
	if (strrchr(text, ')') != NULL)
		sscanf(strrchr(text, ')'), ") %*c %*s %*s %*s %*s %*s %*s %*s "
		    "%*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
		    &ticks);
	return ticks;
}

/*
 * What was granted, to whom, until when: written whole, readable by nobody
 * else.  No fsync: the run directory does not outlive the kernel, and neither
 * does a sandbox.
 */
int
instance_claim(const struct sandbox *sb, struct error *e)
{
	char path[64], temp[64], text[1024];
	pid_t worker = sb->worker->proc.pid;
	int fd, n, rv = -1;

	n = snprintf(text, sizeof(text), "version 1\nowner %u\nbackend %s\n"
	    "slot %d\nends %" PRId64 "\ncgroup sandboxd-%s/%s\n"
	    "child %d %llu\nworker %d %llu\n", sb->uid, sb->backend->name,
	    sb->slot == NULL ? -1 : (int)sb->slot->number, sb->ends,
	    instance_name(), sb->id, sb->child.pid, start_time(sb->child.pid),
	    worker, start_time(worker));
	snprintf(path, sizeof(path), "claims/%s", sb->id);
	snprintf(temp, sizeof(temp), "claims/%s.new", sb->id);
	fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
	    0600);
	if (fd != -1)
		rv = fd_write_all(fd, text, (size_t)n);
	fd_close(&fd);
	if (rv == -1 || rename(temp, path) == -1)
		return error_sys(e, ERR_INTERNAL, errno, "claim");
	return 0;
}

/* The rendezvous socket beside it. */
int
instance_meet(struct sandbox *sb, struct error *e)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };

	snprintf(sun.sun_path, sizeof(sun.sun_path), "meet/%s", sb->id);
	sb->meet_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC |
	    SOCK_NONBLOCK, 0);
	if (bind(sb->meet_fd, (struct sockaddr *)&sun, sizeof(sun)) == -1 ||
	    chmod(sun.sun_path, 0600) == -1 || listen(sb->meet_fd, 1) == -1)
		return error_sys(e, ERR_INTERNAL, errno, "rendezvous socket");
	return 0;
}

int
instance_disclaim(struct sandbox *sb)
{
	char path[64];

	fd_close(&sb->meet_fd);
	snprintf(path, sizeof(path), "meet/%s", sb->id);
	unlink(path);
	snprintf(path, sizeof(path), "claims/%s", sb->id);
	unlink(path);
	strcat(path, ".new");
	unlink(path);
	return STEP_DONE;
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
	if (rmdir(run_path) == -1)
		log_warn("%s: %s", run_path, strerror(errno));
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
	if (!priv_is_root() || (dir = opendir(RUN_PRIVATE)) == NULL)
		return;
	while ((d = readdir(dir)) != NULL)
		if (d->d_name[0] != '.')
			private_sweep(dirfd(dir), d->d_name);
	closedir(dir);
}
