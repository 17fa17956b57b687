/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Control groups below our own, and no others:
 *
 *	sandboxd-INSTANCE/sb_ID/agent	the agent, and a backend's helper
 *	sandboxd-INSTANCE/sb_ID/x	limits; x/N holds what exec N started
 *
 * On v1 that is so in the freezer's tree, which is there to kill and to
 * place; in the trees of pids, memory and cpu a sandbox is one group with the
 * agent in it, because a process joins its exec by one descriptor.  Names are
 * made from valid ids and numbers only.
 */

#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "broker.h"

#define NAME_LEN	(ID_LEN + 64)
#define DEPTH_MAX	5

struct tree {
	int		 version;
	unsigned int	 controllers;
	int		 own_fd;	/* the daemon's group */
	int		 fd;		/* ours: sandboxd-INSTANCE */
};

static struct tree trees[CG_TREES];
static int ntrees;
static struct tree *groups;		/* the tree with CG_GROUPS, or NULL */
static char top[NAME_LEN_MAX + 16];
static bool has_v1, has_v2;

/*** Files ***/

static int
file_write(int at, const char *dir, const char *file, const char *text)
{
	char path[NAME_LEN + 64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	if ((fd = openat(at, path, O_WRONLY | O_CLOEXEC)) == -1)
		return -1;
	n = write(fd, text, strlen(text));
	fd_close(&fd);
	return n == (ssize_t)strlen(text) ? 0 : -1;
}

static ssize_t
file_read(int at, const char *path, char *buf, size_t cap)
{
	size_t n = 0;
	ssize_t got;
	int fd;

	if ((fd = openat(at, path, O_RDONLY | O_CLOEXEC)) == -1)
		return -1;
	while (n < cap - 1 && (got = read(fd, buf + n, cap - 1 - n)) > 0)
		n += (size_t)got;
	buf[n] = '\0';
	close(fd);
	return (ssize_t)n;
}

static bool
text_has(const char *text, const char *word)
{
	const char *p = text;
	size_t n = strlen(word);

	while ((p = strstr(p, word)) != NULL) {
		if ((p == text || p[-1] == ' ') && strchr(" \n", p[n]) != NULL)
			return true;
		p += n;
	}
	return false;
}

/*** Start ***/

static const struct {
	const char	*name;
	unsigned int	 bit;
} v2_names[] = {
	{ "pids", CG_PIDS }, { "memory", CG_MEMORY }, { "cpu", CG_CPU },
};

/*
 * Controllers of v2 are on for the groups below only if no process is in the
 * group itself: ours move to a leaf if they are alone there.
 */
static void
v2_make_room(const struct tree *t)
{
	char text[256], want[32];
	long pid;
	char *p, *end;

	if (file_read(t->own_fd, "cgroup.procs", text, sizeof(text)) <= 0)
		return;
	for (p = text; (pid = strtol(p, &end, 10)), end != p; p = end)
		if (pid != getpid() && pid != getppid())
			return;
	if (mkdirat(t->own_fd, "daemon", 0755) == -1 && errno != EEXIST)
		return;
	snprintf(want, sizeof(want), "%d", getppid());
	file_write(t->own_fd, "daemon", "cgroup.procs", want);
	file_write(t->own_fd, "daemon", "cgroup.procs", "0");
}

static unsigned int
v2_enable(int at, const char *dir, unsigned int want)
{
	char word[32], path[NAME_LEN + 64], text[512];
	unsigned int got = 0;
	size_t i;

	for (i = 0; i < sizeof(v2_names) / sizeof(v2_names[0]); i++)
		if (want & v2_names[i].bit) {
			snprintf(word, sizeof(word), "+%s", v2_names[i].name);
			file_write(at, dir, "cgroup.subtree_control", word);
		}
	snprintf(path, sizeof(path), "%s/cgroup.subtree_control", dir);
	if (file_read(at, path, text, sizeof(text)) == -1)
		return 0;
	for (i = 0; i < sizeof(v2_names) / sizeof(v2_names[0]); i++)
		if (text_has(text, v2_names[i].name))
			got |= v2_names[i].bit;
	return got & want;
}

static int
tree_open(struct tree *t, const char *path)
{
	t->own_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (t->own_fd == -1)
		return -1;
	if ((mkdirat(t->own_fd, top, 0755) == -1 && errno != EEXIST) ||
	    (t->fd = openat(t->own_fd, top, O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC)) == -1) {
		close(t->own_fd);
		return -1;
	}
	return 0;
}

/* All that the v1 trees do not have. */
static void
v2_take(struct tree *t, unsigned int taken)
{
	char text[512];
	unsigned int want;

	want = (CG_PIDS | CG_MEMORY | CG_CPU) & ~taken;
	if (file_read(t->own_fd, "cgroup.controllers", text, sizeof(text)) > 0
	    && want != 0 && strpbrk(text, "mpc") != NULL) {
		if (v2_enable(t->own_fd, ".", want) != want)
			v2_make_room(t);
		t->controllers = v2_enable(t->own_fd, ".", want);
		t->controllers = v2_enable(t->fd, ".", t->controllers);
	}
	if (!(taken & CG_GROUPS) &&
	    faccessat(t->fd, "cgroup.procs", W_OK, 0) == 0)
		t->controllers |= CG_GROUPS;
}

static void
tree_drop(struct tree *t)
{
	close(t->fd);
	unlinkat(t->own_fd, top, AT_REMOVEDIR);
	close(t->own_fd);
}

void
cgroup_init(const char *instance)
{
	struct cgroup_place *places;
	unsigned int taken = 0;
	char *self, *mounts;
	struct tree *t;
	int i, n;

	snprintf(top, sizeof(top), "sandboxd-%s", instance);
	places = xcalloc(CG_TREES, sizeof(*places));
	self = xcalloc(1, 16384);
	mounts = xcalloc(1, 1024 * 1024);
	n = 0;
	if (file_read(AT_FDCWD, "/proc/self/cgroup", self, 16384) > 0 &&
	    file_read(AT_FDCWD, "/proc/self/mountinfo", mounts,
	    1024 * 1024) > 0)
		n = cgroup_find(self, mounts, places);
	for (i = 0; i < n; i++) {
		t = &trees[ntrees];
		t->version = places[i].version;
		t->controllers = places[i].controllers;
		if (tree_open(t, places[i].path) == -1)
			continue;
		if (t->version == 2)
			v2_take(t, taken);
		if (t->controllers == 0) {
			tree_drop(t);
			continue;
		}
		has_v1 |= t->version == 1;
		has_v2 |= t->version == 2;
		taken |= t->controllers;
		if (t->controllers & CG_GROUPS)
			groups = t;
		ntrees++;
	}
	free(mounts);
	free(self);
	free(places);
}

bool
cgroup_has(unsigned int controller)
{
	int i;

	for (i = 0; i < ntrees; i++)
		if (trees[i].controllers & controller)
			return true;
	return false;
}

const char *
cgroup_layout(void)
{
	if (has_v1 && has_v2)
		return "hybrid";
	return has_v2 ? "v2" : has_v1 ? "v1" : "none";
}

/*** Walks ***/

/* A group's own processes, then those below it. */
static int
tree_kill(int at, const char *dir, int depth)
{
	char *text, *p, *end;
	struct dirent *d;
	DIR *stream;
	long pid;
	int fd, n = 0;

	fd = openat(at, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd == -1 || depth == DEPTH_MAX || (stream = fdopendir(fd)) == NULL) {
		fd_close(&fd);
		return 0;
	}
	text = xcalloc(1, 65536);
	if (file_read(fd, "cgroup.procs", text, 65536) > 0)
		for (p = text; (pid = strtol(p, &end, 10)), end != p; p = end) {
			n++;
			/* Frozen, so it is still the one that we read. */
			if (pid > 1 && pid != getpid())
				kill((pid_t)pid, SIGKILL);
		}
	free(text);
	while ((d = readdir(stream)) != NULL)
		if (d->d_type == DT_DIR && d->d_name[0] != '.')
			n += tree_kill(fd, d->d_name, depth + 1);
	closedir(stream);
	return n;
}

static void
tree_remove(int at, const char *dir, int depth)
{
	struct dirent *d;
	DIR *stream;
	int fd;

	if (unlinkat(at, dir, AT_REMOVEDIR) == 0 || depth == DEPTH_MAX)
		return;
	fd = openat(at, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd == -1 || (stream = fdopendir(fd)) == NULL) {
		fd_close(&fd);
		return;
	}
	while ((d = readdir(stream)) != NULL)
		if (d->d_type == DT_DIR && d->d_name[0] != '.')
			tree_remove(fd, d->d_name, depth + 1);
	closedir(stream);
	unlinkat(at, dir, AT_REMOVEDIR);
}

static bool
tree_has_any(int at, const char *dir, int depth)
{
	char text[32];
	struct dirent *d;
	DIR *stream;
	bool has = false;
	int fd;

	fd = openat(at, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd == -1 || depth == DEPTH_MAX || (stream = fdopendir(fd)) == NULL) {
		fd_close(&fd);
		return false;
	}
	has = file_read(fd, "cgroup.procs", text, sizeof(text)) > 0;
	while (!has && (d = readdir(stream)) != NULL)
		if (d->d_type == DT_DIR && d->d_name[0] != '.')
			has = tree_has_any(fd, d->d_name, depth + 1);
	closedir(stream);
	return has;
}

/* A frozen v1 task does not die before it thaws; new ones are born frozen. */
static void
group_kill_at(const struct tree *t, int at, const char *name)
{
	if (t->version == 2 && file_write(at, name, "cgroup.kill", "1") == 0)
		return;
	if (t->version == 2)
		file_write(at, name, "cgroup.freeze", "1");
	else
		file_write(at, name, "freezer.state", "FROZEN");
	tree_kill(at, name, 0);
	if (t->version == 2)
		file_write(at, name, "cgroup.freeze", "0");
	else
		file_write(at, name, "freezer.state", "THAWED");
}

void
cgroup_kill(const char *name)
{
	if (groups != NULL)
		group_kill_at(groups, groups->fd, name);
}

bool
cgroup_is_empty(const char *name)
{
	char path[NAME_LEN + 64], text[256];

	if (groups == NULL)
		return true;
	if (groups->version == 1)
		return !tree_has_any(groups->fd, name, 0);
	snprintf(path, sizeof(path), "%s/cgroup.events", name);
	return file_read(groups->fd, path, text, sizeof(text)) == -1 ||
	    strstr(text, "populated 0") != NULL;
}

int
cgroup_remove(const char *name)
{
	int i, rv = 0;

	for (i = 0; i < ntrees; i++) {
		tree_remove(trees[i].fd, name, 0);
		if (faccessat(trees[i].fd, name, F_OK, 0) == 0)
			rv = -1;
	}
	return rv;
}

/* Another's, or our own of an earlier life: its processes have no worker. */
void
cgroup_sweep(const char *instance)
{
	char dir[sizeof(top)];
	struct timespec pause = { .tv_nsec = 5000000 };
	int i, round;

	snprintf(dir, sizeof(dir), "sandboxd-%s", instance);
	for (i = 0; i < ntrees; i++)
		for (round = 0; round < 100; round++) {
			if (!tree_has_any(trees[i].own_fd, dir, 0))
				break;
			if (trees[i].controllers & CG_GROUPS)
				group_kill_at(&trees[i], trees[i].own_fd,
				    dir);
			nanosleep(&pause, NULL);
		}
	for (i = 0; i < ntrees; i++) {
		tree_remove(trees[i].own_fd, dir, 0);
		if (strcmp(dir, top) == 0) {
			close(trees[i].fd);
			mkdirat(trees[i].own_fd, top, 0755);
			trees[i].fd = openat(trees[i].own_fd, top, O_RDONLY |
			    O_DIRECTORY | O_CLOEXEC);
			if (trees[i].version == 2)
				v2_enable(trees[i].fd, ".",
				    trees[i].controllers & ~CG_GROUPS);
		}
	}
}

void
cgroup_end(void)
{
	int i;

	for (i = 0; i < ntrees; i++)
		if (unlinkat(trees[i].own_fd, top, AT_REMOVEDIR) == -1)
			log_warn("cgroup %s: %s", top, strerror(errno));
}

/*** A sandbox's ***/

int
cgroup_make(const char *id, struct error *e)
{
	static const char *const below[] = { "", "/agent", "/x" };
	char path[NAME_LEN];
	int i, k;

	for (i = 0; i < ntrees; i++)
		for (k = 0; k < 3; k++) {
			if (k > 0 && trees[i].version == 1 &&
			    &trees[i] != groups)
				break;
			snprintf(path, sizeof(path), "%s%s", id, below[k]);
			if (mkdirat(trees[i].fd, path, 0755) == -1)
				return error_sys(e, ERR_BACKEND, errno,
				    "cgroup %s/%s", top, path);
			if (k == 0 && trees[i].version == 2)
				v2_enable(trees[i].fd, path,
				    trees[i].controllers & ~CG_GROUPS);
		}
	return 0;
}

/* Write, and read back what the kernel made of it. */
static int
limit_set(const struct tree *t, const char *dir, const char *file,
    const char *text, bool is_exact, struct error *e)
{
	char path[NAME_LEN + 64], back[64];

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	if (file_write(t->fd, dir, file, text) == -1)
		return error_sys(e, ERR_BACKEND, errno, "cannot set %s to %s",
		    file, text);
	if (file_read(t->fd, path, back, sizeof(back)) == -1)
		return error_sys(e, ERR_BACKEND, errno, "%s", file);
	back[strcspn(back, "\n")] = '\0';
	if (is_exact ? strcmp(back, text) != 0 :
	    strtoull(back, NULL, 10) > strtoull(text, NULL, 10))
		return error_set(e, ERR_BACKEND, "%s was set to %s and is %s",
		    file, text, back);
	return 0;
}

static int
memory_set(const struct tree *t, const char *dir, const char *text,
    struct error *e)
{
	if (t->version == 2) {
		/* Without swap accounting there is nothing to turn off. */
		file_write(t->fd, dir, "memory.swap.max", "0");
		return limit_set(t, dir, "memory.max", text, false, e);
	}
	if (limit_set(t, dir, "memory.limit_in_bytes", text, false, e) == -1)
		return -1;
	file_write(t->fd, dir, "memory.memsw.limit_in_bytes", text);
	return 0;
}

static int
cpu_set(const struct tree *t, const char *dir, uint64_t milli,
    struct error *e)
{
	char text[64];

	/* The kernel takes no quota below a millisecond. */
	if (milli < 10 || milli > 1000000)
		return error_key(e, ERR_INVALID, "cpus",
		    "cpus must be from 0.01 to 1000");
	snprintf(text, sizeof(text), "%llu%s", (unsigned long long)milli * 100,
	    t->version == 2 ? " 100000" : "");
	if (t->version == 2)
		return limit_set(t, dir, "cpu.max", text, true, e);
	if (limit_set(t, dir, "cpu.cfs_period_us", "100000", true, e) == -1)
		return -1;
	return limit_set(t, dir, "cpu.cfs_quota_us", text, true, e);
}

static int
one_limit(unsigned int bit, const char *id, uint64_t value, struct error *e)
{
	char dir[NAME_LEN], text[32];
	struct tree *t;
	int i;

	for (i = 0; i < ntrees && !(trees[i].controllers & bit); i++)
		;
	if (i == ntrees)
		return 1;
	t = &trees[i];
	snprintf(dir, sizeof(dir), "%s%s", id, t->version == 2 ? "/x" : "");
	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	if (bit == CG_PIDS)
		return limit_set(t, dir, "pids.max", text, true, e);
	if (bit == CG_MEMORY)
		return memory_set(t, dir, text, e);
	return cpu_set(t, dir, value, e);
}

/*
 * A limit that somebody asked for is an error where there is no controller
 * for it, unless they said best effort; one of the defaults is left out, and
 * then the spec says so.  asked: bits by index of spec_limits.
 */
int
cgroup_limit(const char *id, struct spec *s, unsigned int asked,
    struct error *e)
{
	static const struct {
		const char	*name;
		unsigned int	 bit;
	} limits[] = {
		{ "memory", CG_MEMORY }, { "cpus", CG_CPU },
		{ "pids", CG_PIDS },
	};
	uint64_t *value;
	size_t i, k;
	int rv;

	for (i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		for (k = 0; strcmp(spec_limits[k].name, limits[i].name) != 0;
		    k++)
			;
		value = (uint64_t *)(void *)((char *)s +
		    spec_limits[k].offset);
		if (*value == SPEC_ABSENT)
			continue;
		if ((rv = one_limit(limits[i].bit, id, *value, e)) == -1)
			return -1;
		if (rv == 0)
			continue;
		if ((asked & 1u << k) && !s->best_effort) {
			error_key(e, ERR_UNSUPPORTED, limits[i].name,
			    "%s cannot be limited: no such cgroup controller "
			    "can be used here", limits[i].name);
			error_fix(e, "leave the limit out, or set "
			    "best_effort");
			return -1;
		}
		*value = SPEC_ABSENT;
	}
	return 0;
}

int
cgroup_join_fds(const char *id, int fds[CG_TREES], int *clone_fd,
    struct error *e)
{
	char path[NAME_LEN + 64];
	int i, n = 0, fd;

	*clone_fd = -1;
	for (i = 0; i < ntrees; i++) {
		if (trees[i].version == 2)
			snprintf(path, sizeof(path), "%s/agent", id);
		else
			snprintf(path, sizeof(path), "%s%s/tasks", id,
			    &trees[i] == groups ? "/agent" : "");
		fd = openat(trees[i].fd, path, O_CLOEXEC |
		    (trees[i].version == 2 ? O_RDONLY : O_WRONLY));
		if (fd == -1) {
			error_sys(e, ERR_BACKEND, errno, "cgroup %s", path);
			while (n-- > 0)
				close(fds[n]);
			fd_close(clone_fd);
			return -1;
		}
		if (trees[i].version == 2)
			*clone_fd = fd;
		else
			fds[n++] = fd;
	}
	return n;
}

/* "tasks" moves one thread and waits for nobody; v2 has nothing like it. */
int
cgroup_group_make(const char *id, uint32_t number)
{
	char path[NAME_LEN + 64];
	size_t n;

	n = (size_t)snprintf(path, sizeof(path), "%s/x/%u", id, number);
	if (mkdirat(groups->fd, path, 0755) == -1 && errno != EEXIST)
		return -1;
	snprintf(path + n, sizeof(path) - n, "/%s",
	    groups->version == 2 ? "cgroup.procs" : "tasks");
	return openat(groups->fd, path, O_WRONLY | O_CLOEXEC);
}

/* Is the process where it should be, in every tree?  From the host's side. */
bool
cgroup_holds(const char *id, pid_t pid)
{
	char path[64], text[8192], want[sizeof(top) + NAME_LEN];
	const char *p;
	int n = 0;

	snprintf(path, sizeof(path), "%d/cgroup", pid);
	if (file_read(priv_proc_fd(), path, text, sizeof(text)) <= 0)
		return ntrees == 0;
	snprintf(want, sizeof(want), "/%s/%s", top, id);
	for (p = text; (p = strstr(p, want)) != NULL; p += strlen(want))
		n++;
	return n >= ntrees;
}
