/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Backend "bwrap": the picture of the image "host", made by bubblewrap.
 * Runs in the child of a create.  Under a root broker the child becomes the
 * slot's user before bwrap runs, with no capability: bwrap as root would keep
 * them all.  Without root it is the user himself.  The agent is the first
 * process inside (--as-pid-1); bwrap's own process waits outside for it.
 *
 * bwrap gets the descriptors named here and no others.  What it says goes
 * to the error pipe and is explained by the broker; it is text, not trusted.
 */

#include "config.h"

#include <sys/types.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/backend.h"
#include "backends/child.h"
#include "proto/proto.h"

#define ARGS_MAX_HERE	320
#define TEXT_MAX	(MOUNTS_MAX * (PATH_LEN_MAX + 64) + 8192)
#define FD_FIRST	10
#define KEPT_MAX	(MOUNTS_MAX + 16)
/* Where mapped copies of the client's directories wait for bwrap. */
#define STAGE		"/tmp"
#define STAGE_BYTES	65536

static const char *const bwrap_paths[] = {
	"/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap"
};

struct args {
	const char	*argv[ARGS_MAX_HERE];
	size_t		 n;
	char		 text[TEXT_MAX];
	size_t		 used;
	bool		 is_full;
	int		 kept[KEPT_MAX];	/* descriptors for bwrap */
	size_t		 nkept;
};

/*** Whether it can work ***/

static const char *
find_bwrap(void)
{
	size_t i;

	for (i = 0; i < sizeof(bwrap_paths) / sizeof(bwrap_paths[0]); i++)
		if (access(bwrap_paths[i], X_OK) == 0)
			return bwrap_paths[i];
	return NULL;
}

/* The first number in a file of /proc, or the other one. */
static long
read_number(const char *path, long other)
{
	char text[32] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd == -1)
		return other;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	return n > 0 ? strtol(text, NULL, 10) : other;
}

static int
no_bwrap(struct error *e)
{
	error_set(e, ERR_UNAVAILABLE, "bubblewrap is not installed");
	error_fix(e, "apt-get install bubblewrap");
	return -1;
}

/* Says so if a setting of the kernel forbids user namespaces. */
static bool
are_namespaces_off(struct error *e)
{
	static const struct {
		const char	*path;
		const char	*name;
	} settings[] = {
		{ "/proc/sys/user/max_user_namespaces",
		    "user.max_user_namespaces=15000" },
		{ "/proc/sys/kernel/unprivileged_userns_clone",
		    "kernel.unprivileged_userns_clone=1" },
	};
	size_t i;

	for (i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		if (read_number(settings[i].path, 1) != 0)
			continue;
		error_set(e, ERR_UNAVAILABLE, "user namespaces are disabled");
		error_path(e, settings[i].path);
		error_fix(e, "as root: sysctl -w %s", settings[i].name);
		return true;
	}
	return false;
}

static int
bwrap_probe(bool is_root, struct error *e)
{
	const char *path = find_bwrap();
	struct stat st;

	if (path == NULL)
		return no_bwrap(e);
	if (stat(path, &st) == -1)
		return error_sys(e, ERR_UNAVAILABLE, errno, "%s", path);
	if (is_root && (st.st_uid != 0 || (st.st_mode & 022) != 0)) {
		error_set(e, ERR_UNAVAILABLE,
		    "%s may be changed by others than root", path);
		error_fix(e, "chown root %s; chmod 755 %s", path, path);
		return -1;
	}
	if ((st.st_mode & S_ISUID) != 0) {
		error_set(e, ERR_UNAVAILABLE, "%s is set-user-id", path);
		error_fix(e, "as root: chmod u-s %s", path);
		return -1;
	}
	return namespace_probe(e) == -1 || are_namespaces_off(e) ? -1 : 0;
}

/*** The command line ***/

static void
add(struct args *a, const char *word)
{
	if (a->n == ARGS_MAX_HERE - 1) {
		a->is_full = true;
		return;
	}
	a->argv[a->n++] = word;
	a->argv[a->n] = NULL;
}

static void add_text(struct args *, const char *, ...)
    __attribute__((format(printf, 2, 3)));

static void
add_text(struct args *a, const char *fmt, ...)
{
	size_t room = sizeof(a->text) - a->used;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(a->text + a->used, room, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= room) {
		a->is_full = true;
		return;
	}
	add(a, a->text + a->used);
	a->used += (size_t)n + 1;
}

static void
add_words(struct args *a, const char *one, const char *two, const char *three)
{
	add(a, one);
	if (two != NULL)
		add(a, two);
	if (three != NULL)
		add(a, three);
}

static void
add_tmpfs(struct args *a, uint64_t bytes, const char *mode, const char *path)
{
	add(a, "--size");
	add_text(a, "%llu", (unsigned long long)bytes);
	add_words(a, "--perms", mode, NULL);
	add_words(a, "--tmpfs", path, NULL);
}

static int
add_etc(const char *path, void *arg, struct error *e)
{
	struct args *a = arg;

	(void)e;
	add(a, "--ro-bind-try");
	add_text(a, "/%s", path);
	add_text(a, "/%s", path);
	return 0;
}

/* A copy for bwrap alone, above the agent's channel. */
static int
keep(struct args *a, int fd, struct error *e)
{
	int kept = fcntl(fd, F_DUPFD_CLOEXEC, FD_FIRST);

	if (kept == -1 || a->nkept == KEPT_MAX)
		return error_sys(e, ERR_INTERNAL, errno, "dup for bwrap");
	a->kept[a->nkept++] = kept;
	return kept;
}

/* A file of our text, by a descriptor that bwrap reads. */
static int
add_file(struct args *a, const struct picture_text *file, struct error *e)
{
	size_t n = strlen(file->text);
	int fd = memfd_create(file->path, MFD_CLOEXEC), kept;

	if (fd == -1)
		return error_sys(e, ERR_INTERNAL, errno, "memfd_create");
	kept = keep(a, fd, e);
	close(fd);
	if (kept == -1)
		return -1;
	if (write(kept, file->text, n) != (ssize_t)n ||
	    lseek(kept, 0, SEEK_SET) == -1)
		return error_sys(e, ERR_INTERNAL, errno, "%s", file->path);
	add_words(a, "--perms", "0444", "--ro-bind-data");
	add_text(a, "%d", kept);
	add_text(a, "/%s", file->path);
	return 0;
}

static int
add_systems(struct args *a, struct error *e)
{
	char host[32], target[4096];
	const char *const *p;
	int n;

	for (p = picture_system; *p != NULL; p++) {
		n = picture_target(*p, target, sizeof(target));
		if (n == -1)
			continue;
		snprintf(host, sizeof(host), "/%s", *p);
		add(a, n > 0 ? "--symlink" : "--ro-bind");
		add_text(a, "%s", n > 0 ? target : host);
		add_text(a, "%s", host);
	}
	for (p = picture_etc; *p != NULL; p++)
		add_etc(*p, a, e);
	picture_java(add_etc, a, e);
	n = readlink("/etc/localtime", target, sizeof(target) - 1);
	if (n > 0) {
		target[n] = '\0';
		add(a, "--symlink");
		add_text(a, "%s", target);
		add(a, "/etc/localtime");
	} else
		add_etc("etc/localtime", a, e);
	return 0;
}

static int
add_picture(struct args *a, const struct backend_create *c, struct error *e)
{
	const struct picture_text *t;
	const char *const *p;
	char path[64];

	add_words(a, "--proc", "/proc", NULL);
	/* bwrap itself sees to those that are to be read-only. */
	for (p = picture_proc_masked; *p != NULL; p++) {
		struct stat st;

		snprintf(path, sizeof(path), "/proc/%s", *p);
		if (stat(path, &st) == -1)
			continue;
		if (S_ISDIR(st.st_mode)) {
			add_words(a, "--perms", "0555", "--tmpfs");
			add_text(a, "%s", path);
			add(a, "--remount-ro");
		} else
			add_words(a, "--ro-bind", "/dev/null", NULL);
		add_text(a, "%s", path);
	}
	add_words(a, "--dev", "/dev", NULL);
	add_tmpfs(a, c->tmp, "1777", "/dev/shm");
	add_words(a, "--remount-ro", "/dev", NULL);
	add_words(a, "--perms", "0555", "--dir");
	add(a, "/sys");
	add_tmpfs(a, c->tmp, "1777", "/tmp");
	add_tmpfs(a, c->tmp, "1777", "/var/tmp");
	add_tmpfs(a, c->tmp, "0755", "/run");
	add_tmpfs(a, c->tmp, "0755", "/workspace");
	for (t = picture_files; t->path != NULL; t++)
		if (add_file(a, t, e) == -1)
			return -1;
	for (t = picture_links; t->path != NULL; t++) {
		add_words(a, "--symlink", t->text, NULL);
		add_text(a, "/%s", t->path);
	}
	return add_systems(a, e);
}

static int
add_mounts(struct args *a, const struct backend_create *c, struct error *e)
{
	const struct backend_mount *m;
	int fd, i;

	for (i = 0; i < c->nmounts; i++) {
		m = &c->mounts[i];
		if (picture_destination(m->dst, e) == -1)
			return -1;
		if (c->is_root) {
			add(a, m->is_writable ? "--bind" : "--ro-bind");
			add_text(a, STAGE "/%d", i);
		} else {
			if ((fd = keep(a, m->fd, e)) == -1)
				return -1;
			add(a, m->is_writable ? "--bind-fd" : "--ro-bind-fd");
			add_text(a, "%d", fd);
		}
		add(a, m->dst);
	}
	return 0;
}

/* The filter at its beginning: the offset of ours is everybody's. */
static int
add_filter(struct args *a, const struct backend_create *c, struct error *e)
{
	char path[64];
	int fd, kept;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", c->filter_fd);
	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) == -1)
		return error_sys(e, ERR_BACKEND, errno,
		    "opening the filter again");
	kept = keep(a, fd, e);
	close(fd);
	if (kept == -1)
		return -1;
	add(a, "--seccomp");
	add_text(a, "%d", kept);
	return 0;
}

static int
make_args(struct args *a, const struct backend_create *c, struct error *e)
{
	static const char *const head[] = { "bwrap", "--unshare-all",
	    "--unshare-user", "--disable-userns", "--as-pid-1", "--uid", "1000",
	    "--gid", "1000", "--hostname", "sandbox", "--cap-drop", "ALL",
	    "--clearenv" };
	int agent_fd;
	size_t i;

	for (i = 0; i < sizeof(head) / sizeof(head[0]); i++)
		add(a, head[i]);
	if (add_picture(a, c, e) == -1 || add_mounts(a, c, e) == -1)
		return -1;
	add_words(a, "--remount-ro", "/", NULL);
	add_words(a, "--chdir", "/", NULL);
	if (add_filter(a, c, e) == -1 ||
	    (agent_fd = keep(a, c->agent_fd, e)) == -1)
		return -1;
	add(a, "--");
	add_text(a, "/proc/self/fd/%d", agent_fd);
	if (c->is_stream)
		add(a, "-s");
	if (a->is_full)
		return error_set(e, ERR_TOO_LARGE, "too much for bwrap");
	return 0;
}

/*** Becoming bwrap ***/

/*
 * Under root: mapped copies of the client's directories, in a mount
 * namespace that only this child and bwrap see.
 */
static int
stage_mounts(const struct backend_create *c, struct error *e)
{
	int fds[MOUNTS_MAX], i, stage_fd;
	char name[16];

	if (c->nmounts > MOUNTS_MAX)
		return error_key(e, ERR_INVALID, "mounts", "too many mounts");
	if (ns_mount_clients(c, fds, e) == -1)
		return -1;
	if (unshare(CLONE_NEWNS) == -1 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1)
		return error_sys(e, ERR_BACKEND, errno, "private mounts");
	stage_fd = ns_mount_tmpfs(STAGE_BYTES, 0, MOUNT_ATTR_NOSUID |
	    MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, e);
	if (stage_fd == -1 ||
	    ns_mount_attach(stage_fd, AT_FDCWD, STAGE, e) == -1)
		return -1;
	umask(022);
	for (i = 0; i < c->nmounts; i++) {
		snprintf(name, sizeof(name), "%d", i);
		if (mkdirat(stage_fd, name, 0755) == -1)
			return error_sys(e, ERR_BACKEND, errno, "mkdir");
		if (ns_mount_attach(fds[i], stage_fd, name, e) == -1)
			return -1;
		close(fds[i]);
	}
	close(stage_fd);
	return 0;
}

static int
bwrap_enter(const struct backend_create *c, struct error *e)
{
	const char *path = find_bwrap();
	uid_t user = c->slot_base + SLOT_USER;
	char *envp[] = { NULL };
	struct args *a;
	size_t i;

	if (path == NULL)
		return no_bwrap(e);
	if (c->is_root && c->nmounts > 0 && stage_mounts(c, e) == -1)
		return -1;
	umask(022);
	if (chdir("/") == -1)
		return error_sys(e, ERR_BACKEND, errno, "chdir to /");
	a = xcalloc(1, sizeof(*a));
	if (make_args(a, c, e) == -1 || child_limits(c->files, e) == -1 ||
	    child_descriptors(c, e) == -1 ||
	    child_stdio(c->error_fd, e) == -1)
		return -1;
	for (i = 0; i < a->nkept; i++)
		if (fcntl(a->kept[i], F_SETFD, 0) == -1)
			return error_sys(e, ERR_INTERNAL, errno, "F_SETFD");
	if (c->is_root && setgroups(0, NULL) == -1)
		return error_sys(e, ERR_BACKEND, errno, "setgroups");
	if ((c->is_root && child_ids(user, user, e) == -1) ||
	    child_drop(c, e) == -1)
		return -1;
	execve(path, (char *const *)a->argv, envp);
	return error_sys(e, ERR_BACKEND, errno, "exec of %s", path);
}

static pid_t
bwrap_agent_pid(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid,
	    (int)pid);
	return (pid_t)read_number(path, -1);
}

/*** What went wrong ***/

#define APPARMOR	0	/* row of causes */

static const struct {
	const char	*text;		/* part of what bwrap says */
	const char	*cause;
	const char	*fix;
	bool		 is_vague;	/* AppArmor, where that restricts */
} causes[] = {
	[APPARMOR] = { "RTM_NEWADDR: Operation not permitted",
	    "AppArmor restricts user namespaces",
	    "as root: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
	    ", or an AppArmor profile for bwrap with \"userns,\"", false },
	{ "Unknown option", "this bubblewrap is too old",
	    "install bubblewrap 0.8 or newer", false },
	{ "Can't mkdir", "a directory cannot be mounted there",
	    "name another place; its parents may not be links or files",
	    false },
	{ "Can't bind mount", "a directory cannot be mounted",
	    "name a directory that you may look into", false },
	{ "setting up uid map: Permission denied",
	    "AppArmor restricts user namespaces",
	    "as root: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
	    ", or an AppArmor profile for bwrap with \"userns,\"", false },
	{ "No space left on device",
	    "no further user namespace is allowed",
	    "as root: sysctl -w user.max_user_namespaces=15000", false },
	{ "Can't mount proc",
	    "/proc is partly hidden here (a container?)",
	    "start sandboxd outside of the container, or give the container "
	    "an unmasked /proc", false },
	{ "Unexpected capabilities",
	    "the capabilities of the process are in bwrap's way",
	    "start sandboxd without ambient capabilities", false },
	{ "No permissions to create",
	    "a missing capability or a seccomp filter forbids namespaces",
	    "start sandboxd outside of the container, or allow the container "
	    "to unshare", true },
	{ "Operation not permitted",
	    "a missing capability or a security module forbids it",
	    "start sandboxd outside of the container; look at dmesg", true },
};

static void
bwrap_explain(const char *text, struct error *e)
{
	char line[200] = "";
	size_t i, n;

	/* The first line is the cause, others follow from it. */
	n = strcspn(text, "\n");
	snprintf(line, sizeof(line), "%.*s", n < 180 ? (int)n : 180, text);
	if (are_namespaces_off(e))
		return;
	for (i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
		if (strstr(text, causes[i].text) == NULL)
			continue;
		if (causes[i].is_vague && read_number("/proc/sys/kernel/"
		    "apparmor_restrict_unprivileged_userns", 0) == 1)
			i = APPARMOR;
		error_set(e, ERR_UNAVAILABLE, "%s (%s)", causes[i].cause,
		    line);
		error_fix(e, "%s", causes[i].fix);
		return;
	}
	error_set(e, ERR_BACKEND, "bwrap failed: %s", line[0] != '\0' ? line :
	    "it said nothing");
	error_fix(e, "run bwrap --unshare-all --ro-bind / / true");
}

static const char *const bwrap_protections[] = {
	"user namespace", "mount namespace", "pid namespace",
	"network namespace", "ipc namespace", "uts namespace",
	"cgroup namespace", "no capabilities", "no_new_privs", "seccomp", NULL
};

const struct backend bwrap_backend = {
	.name = "bwrap",
	.features = BACKEND_USES_SLOT | BACKEND_PASSES_FDS,
	.level = LEVEL_NAMESPACE,
	.probe = bwrap_probe,
	.enter = bwrap_enter,
	.agent_pid = bwrap_agent_pid,
	.explain = bwrap_explain,
	.protections = bwrap_protections,
};
