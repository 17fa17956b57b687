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

#define NAME_LEN	(ID_LEN + 96)
#define TEXT_LEN	65536
#define DEPTH_MAX	5
#define LIMITED		(CG_PIDS | CG_MEMORY | CG_CPU)
#define DIR_FLAGS	(O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static const struct {
	const char	*name;		/* what the kernel calls it */
	const char	*limit;		/* and the user */
	unsigned int	 bit;
} controllers[] = {
	{ "pids", "pids", CG_PIDS },
	{ "memory", "memory", CG_MEMORY },
	{ "cpu", "cpus", CG_CPU },
};

static struct tree {
	int		 version;
	unsigned int	 bits;		/* controllers */
	int		 own_fd;	/* the daemon's group */
	int		 fd;		/* ours: sandboxd-INSTANCE */
} trees[CG_TREES];
static int ntrees;
static struct tree *groups;		/* the tree with CG_GROUPS, or NULL */
static char top[NAME_LEN];

/*** Files ***/

static const char *
name_in(const char *dir, const char *file)
{
	static char path[2 * NAME_LEN];

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	return path;
}

static int
file_write(int at, const char *dir, const char *file, const char *text)
{
	ssize_t n;
	int fd;

	fd = openat(at, name_in(dir, file), O_WRONLY | O_CLOEXEC);
	if (fd == -1)
		return -1;
	n = write(fd, text, strlen(text));
	fd_close(&fd);
	return n == (ssize_t)strlen(text) ? 0 : -1;
}

/* As text; empty when it cannot be read. */
static size_t
file_read(int at, const char *dir, const char *file, char *buf, size_t cap)
{
	ssize_t got;
	size_t n = 0;
	int fd;

	fd = openat(at, name_in(dir, file), O_RDONLY | O_CLOEXEC);
	while (fd != -1 && n < cap - 1 &&
	    (got = read(fd, buf + n, cap - 1 - n)) > 0)
		n += (size_t)got;
	fd_close(&fd);
	buf[n] = '\0';
	return n;
}

bool
cgroup_has(unsigned int bit)
{
	int i;

	for (i = 0; i < ntrees && !(trees[i].bits & bit); i++)
		;
	return i < ntrees;
}

const char *
cgroup_layout(void)
{
	return ntrees == 0 ? "none" : trees[0].version == 2 ? "v2" :
	    trees[ntrees - 1].version == 2 ? "hybrid" : "v1";
}

/*** Walks ***/

enum walk { WALK_COUNT, WALK_KILL, WALK_REMOVE };

/* A group and those below it; how many processes were seen. */
static size_t
group_walk(int at, const char *dir, enum walk what, int depth)
{
	static char text[TEXT_LEN];
	char *p, *end;
	struct dirent *d;
	DIR *stream;
	size_t n = 0;
	long pid;
	int fd;

	if (what == WALK_REMOVE && unlinkat(at, dir, AT_REMOVEDIR) == 0)
		return 0;
	/* What cannot be looked into is not empty. */
	if (depth == DEPTH_MAX || (fd = openat(at, dir, DIR_FLAGS)) == -1 ||
	    (stream = fdopendir(fd)) == NULL)
		return errno != ENOENT;
	file_read(fd, ".", "cgroup.procs", text, TEXT_LEN);
	for (p = text; (pid = strtol(p, &end, 10)), end != p; p = end) {
		n++;
		/* Frozen, so it is still the one that we read. */
		if (what == WALK_KILL && pid > 1 && pid != getpid())
			kill((pid_t)pid, SIGKILL);
	}
	while ((d = readdir(stream)) != NULL)
		if (d->d_type == DT_DIR && d->d_name[0] != '.')
			n += group_walk(fd, d->d_name, what, depth + 1);
	closedir(stream);
	if (what == WALK_REMOVE)
		unlinkat(at, dir, AT_REMOVEDIR);
	return n;
}

/* A frozen v1 task does not die before it thaws; new ones are born frozen. */
static void
group_kill_at(int version, int at, const char *dir)
{
	if (version == 1) {
		file_write(at, dir, "freezer.state", "FROZEN");
		group_walk(at, dir, WALK_KILL, 0);
		file_write(at, dir, "freezer.state", "THAWED");
	} else if (file_write(at, dir, "cgroup.kill", "1") == -1) {
		file_write(at, dir, "cgroup.freeze", "1");
		group_walk(at, dir, WALK_KILL, 0);
		file_write(at, dir, "cgroup.freeze", "0");
	}
}

void
cgroup_kill(const char *name)
{
	if (groups != NULL)
		group_kill_at(groups->version, groups->fd, name);
}

bool
cgroup_is_empty(const char *name)
{
	char text[256];

	if (groups == NULL || groups->version == 1)
		return groups == NULL ||
		    group_walk(groups->fd, name, WALK_COUNT, 0) == 0;
	file_read(groups->fd, name, "cgroup.events", text, sizeof(text));
	return strstr(text, "populated 0") != NULL ||
	    (faccessat(groups->fd, name, F_OK, 0) == -1 && errno == ENOENT);
}

int
cgroup_remove(const char *name)
{
	int i, rv = 0;

	for (i = 0; i < ntrees; i++) {
		if (strchr(name, '/') != NULL && &trees[i] != groups)
			continue;	/* an exec's is in that tree alone */
		group_walk(trees[i].fd, name, WALK_REMOVE, 0);
		if (faccessat(trees[i].fd, name, F_OK, 0) == 0)
			rv = -1;
	}
	return rv;
}

/* Of a life that is over: what is in there has no worker any more. */
static void
tree_sweep(const struct tree *t, const char *dir)
{
	const struct timespec pause = { .tv_nsec = 5000000 };
	int i;

	for (i = 0; i < 100 && group_walk(t->own_fd, dir, WALK_COUNT, 0); i++) {
		if (t->version == 2 || (t->bits & CG_GROUPS))
			group_kill_at(t->version, t->own_fd, dir);
		nanosleep(&pause, NULL);
	}
	group_walk(t->own_fd, dir, WALK_REMOVE, 0);
}

void
cgroup_sweep(const char *instance)
{
	char dir[NAME_LEN];
	int i;

	snprintf(dir, sizeof(dir), "sandboxd-%s", instance);
	for (i = 0; i < ntrees; i++)
		tree_sweep(&trees[i], dir);
}

/*** Start ***/

/* Which of these controllers are on below a v2 group, now that we ask. */
static unsigned int
v2_enable(int at, const char *dir, unsigned int want)
{
	char text[512];
	unsigned int got = 0;
	size_t i, n;

	for (i = 0; i < NITEMS(controllers); i++)
		if (want & controllers[i].bit) {
			text[0] = '+';
			strcpy(text + 1, controllers[i].name);
			file_write(at, dir, "cgroup.subtree_control", text);
		}
	n = file_read(at, dir, "cgroup.subtree_control", text, sizeof(text));
	for (i = 0; i < NITEMS(controllers); i++)
		if (cgroup_list_has(text, text + n, controllers[i].name))
			got |= controllers[i].bit;
	return got & want;
}

/*
 * That works only if no process is in the group itself: ours move to a leaf
 * if they are alone there.
 */
static void
v2_make_room(const struct tree *t)
{
	char text[256], *p, *end;
	long pid;

	file_read(t->own_fd, ".", "cgroup.procs", text, sizeof(text));
	for (p = text; (pid = strtol(p, &end, 10)), end != p; p = end)
		if (pid != getpid() && pid != getppid())
			return;
	mkdirat(t->own_fd, "daemon", 0755);
	snprintf(text, sizeof(text), "%d", getppid());
	file_write(t->own_fd, "daemon", "cgroup.procs", text);
	file_write(t->own_fd, "daemon", "cgroup.procs", "0");
}

static unsigned int
v2_take(struct tree *t, unsigned int taken)
{
	unsigned int bits, want = LIMITED & ~taken;

	if ((bits = v2_enable(t->own_fd, ".", want)) != want) {
		v2_make_room(t);
		bits = v2_enable(t->own_fd, ".", want);
	}
	bits = v2_enable(t->fd, ".", bits);
	if (faccessat(t->fd, "cgroup.procs", W_OK, 0) == 0)
		bits |= CG_GROUPS & ~taken;
	return bits;
}

void
cgroup_init(const char *instance)
{
	struct cgroup_place *places = xcalloc(CG_TREES, sizeof(*places));
	char *self = xcalloc(1, TEXT_LEN), *mounts = xcalloc(16, TEXT_LEN);
	unsigned int taken = 0;
	struct tree *t;
	int i, n;

	snprintf(top, sizeof(top), "sandboxd-%s", instance);
	file_read(AT_FDCWD, "/proc/self", "cgroup", self, TEXT_LEN);
	file_read(AT_FDCWD, "/proc/self", "mountinfo", mounts, 16 * TEXT_LEN);
	n = cgroup_find(self, mounts, places);
	for (i = 0; i < n; i++) {
		t = &trees[ntrees];
		t->version = places[i].version;
		if ((t->own_fd = open(places[i].path, DIR_FLAGS)) == -1)
			continue;
		t->bits = places[i].bits;
		tree_sweep(t, top);
		mkdirat(t->own_fd, top, 0755);
		if ((t->fd = openat(t->own_fd, top, DIR_FLAGS)) == -1)
			t->bits = 0;
		else if (t->version == 2)
			t->bits = v2_take(t, taken);
		if (t->bits == 0) {
			fd_close(&t->fd);
			unlinkat(t->own_fd, top, AT_REMOVEDIR);
			close(t->own_fd);
			continue;
		}
		taken |= t->bits;
		if (t->bits & CG_GROUPS)
			groups = t;
		ntrees++;
	}
	free(mounts);
	free(self);
	free(places);
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

static int
dir_make(const struct tree *t, const char *id, const char *below,
    struct error *e)
{
	char dir[NAME_LEN];

	snprintf(dir, sizeof(dir), "%s%s", id, below);
	if (mkdirat(t->fd, dir, 0755) == -1)
		return error_sys(e, ERR_BACKEND, errno, "cgroup %s/%s", top,
		    dir);
	return 0;
}

int
cgroup_make(const char *id, struct error *e)
{
	const struct tree *t;

	for (t = trees; t < trees + ntrees; t++) {
		if (dir_make(t, id, "", e) == -1)
			return -1;
		if (t->version == 2)
			v2_enable(t->fd, id, t->bits & LIMITED);
		if ((t->version == 2 || t == groups) &&
		    (dir_make(t, id, "/agent", e) == -1 ||
		    dir_make(t, id, "/x", e) == -1))
			return -1;
	}
	return 0;
}

/* Write, and read back what the kernel made of it: no more than that. */
static int
limit_set(const struct tree *t, const char *id, const char *file,
    uint64_t value, const char *rest, struct error *e)
{
	char dir[NAME_LEN], text[64], back[64];

	snprintf(text, sizeof(text), "%llu%s", (unsigned long long)value, rest);
	snprintf(dir, sizeof(dir), "%s%s", id, t->version == 2 ? "/x" : "");
	if (file_write(t->fd, dir, file, text) == -1)
		return error_sys(e, ERR_BACKEND, errno, "cannot set %s to %s",
		    file, text);
	file_read(t->fd, dir, file, back, sizeof(back));
	if (back[0] < '0' || back[0] > '9' || strtoull(back, NULL, 10) > value)
		return error_set(e, ERR_BACKEND, "%s was set to %s and is %s",
		    file, text, back);
	return 0;
}

static int
limit_apply(const struct tree *t, const char *id, unsigned int bit,
    uint64_t v, struct error *e)
{
	bool is_v2 = t->version == 2;
	struct error none;

	if (bit == CG_PIDS)
		return limit_set(t, id, "pids.max", v, "", e);
	if (bit == CG_MEMORY) {
		if (limit_set(t, id, is_v2 ? "memory.max" :
		    "memory.limit_in_bytes", v, "", e) == -1)
			return -1;
		/* Without swap accounting there is nothing to limit. */
		(void)limit_set(t, id, is_v2 ? "memory.swap.max" :
		    "memory.memsw.limit_in_bytes", is_v2 ? 0 : v, "", &none);
		return 0;
	}
	/* The kernel takes no quota below a millisecond. */
	if (v < 10 || v > 1000000)
		return error_key(e, ERR_INVALID, "cpus",
		    "cpus must be from 0.01 to 1000");
	if (is_v2)
		return limit_set(t, id, "cpu.max", v * 100, " 100000", e);
	if (limit_set(t, id, "cpu.cfs_period_us", 100000, "", e) == -1)
		return -1;
	return limit_set(t, id, "cpu.cfs_quota_us", v * 100, "", e);
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
	const struct tree *t;
	uint64_t *value;
	size_t i, k;

	for (i = 0; i < NITEMS(controllers); i++) {
		for (k = 0; strcmp(spec_limits[k].name, controllers[i].limit);
		    k++)
			;
		value = spec_value(s, k);
		if (*value == SPEC_ABSENT)
			continue;
		for (t = trees; t < trees + ntrees &&
		    !(t->bits & controllers[i].bit); t++)
			;
		if (t < trees + ntrees) {
			if (limit_apply(t, id, controllers[i].bit, *value,
			    e) == -1)
				return -1;
		} else if ((asked & 1u << k) && !s->best_effort) {
			error_key(e, ERR_UNSUPPORTED, controllers[i].limit,
			    "%s cannot be limited: no cgroup controller %s "
			    "can be used here", controllers[i].limit,
			    controllers[i].name);
			error_fix(e, "leave it out, or set best_effort");
			return -1;
		} else
			*value = SPEC_ABSENT;
	}
	return 0;
}

/* "tasks" moves one thread and waits for nobody; v2 has nothing like it. */
int
cgroup_join_fds(const char *id, int fds[CG_TREES], int *clone_fd,
    struct error *e)
{
	char path[NAME_LEN];
	const struct tree *t;
	int n = 0, fd;

	*clone_fd = -1;
	for (t = trees; t < trees + ntrees; t++) {
		snprintf(path, sizeof(path), "%s%s%s", id, t->version == 2 ||
		    t == groups ? "/agent" : "", t->version == 2 ? "" :
		    "/tasks");
		fd = openat(t->fd, path, O_CLOEXEC | (t->version == 2 ?
		    O_RDONLY : O_WRONLY));
		if (fd == -1) {
			error_sys(e, ERR_BACKEND, errno, "cgroup %s", path);
			while (n > 0)
				close(fds[--n]);
			return -1;
		}
		if (t->version == 2)	/* the last one */
			*clone_fd = fd;
		else
			fds[n++] = fd;
	}
	return n;
}

int
cgroup_exec_make(const char *id, uint32_t number)
{
	char dir[NAME_LEN];

	snprintf(dir, sizeof(dir), "%s/x/%u", id, number);
	if (mkdirat(groups->fd, dir, 0755) == -1)
		return -1;
	return openat(groups->fd, name_in(dir, groups->version == 2 ?
	    "cgroup.procs" : "tasks"), O_WRONLY | O_CLOEXEC);
}

/* Is the process where it should be, in every tree?  From the host's side. */
bool
cgroup_holds(const char *id, pid_t pid)
{
	char dir[16], text[8192], want[2 * NAME_LEN];
	const char *p;
	int n = 0;

	snprintf(dir, sizeof(dir), "%d", pid);
	file_read(priv_proc_fd(), dir, "cgroup", text, sizeof(text));
	snprintf(want, sizeof(want), "/%s/%s", top, id);
	for (p = text; (p = strstr(p, want)) != NULL; p += strlen(want))
		n++;
	return n >= ntrees;
}
