/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Builds the root of a sandbox: a tmpfs of our own with the picture of the
 * image "host" on it, from detached mounts that are moved into place by
 * descriptor.  Runs as real root in the sandbox's mount namespace, before
 * anything untrusted runs there: most of it ahead, in a helper of the
 * broker, the rest in the child of the create.  Leaving the old root waits
 * for RCU, milliseconds on a busy machine, and so belongs to the first part.
 *
 * Trusts the host's /, /usr and the few names in /etc that it takes.  Trusts
 * nothing in a client's directory: no symbolic link is followed in one, and
 * nothing is made there.
 */

#include "config.h"

#include <sys/types.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backends/backend.h"
#include "backends/child.h"
#include "proto/proto.h"

#define SAFE		(MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define SKELETON_BYTES	(1024 * 1024)	/* beyond what /tmp may hold */
#define INODE_BYTES	4096		/* one inode for so many bytes */
#define INODES_MIN	4096
#define BYTES_AHEAD	(1024 * 1024)	/* until the limit is known */

/* Our file systems, where a mount may make its destination. */
struct tree {
	uid_t		 base;		/* of the slot */
	int		 image_ns_fd;
	int		 root_fd;
	dev_t		 root_dev;
	dev_t		 work_dev;
};

/*** Detached mounts ***/

static int
set_number(int fd, const char *key, uint64_t n, const char *format)
{
	char text[32];

	snprintf(text, sizeof(text), format[0] == 'o' ? "%llo" : "%llu",
	    (unsigned long long)n);
	return fsconfig(fd, FSCONFIG_SET_STRING, key, text, 0);
}

/* Creates what fd was configured to; always closes fd. */
static int
finish(int fd, const char *type, unsigned int attributes, struct error *e)
{
	int mount_fd = -1;

	if (fsconfig(fd, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == -1 ||
	    (mount_fd = fsmount(fd, FSMOUNT_CLOEXEC, attributes)) == -1)
		error_sys(e, ERR_BACKEND, errno, "new %s", type);
	close(fd);
	return mount_fd;
}

/* How much a tmpfs may hold. */
static int
set_size(int fd, uint64_t bytes)
{
	if (set_number(fd, "size", bytes, "u") == -1)
		return -1;
	return set_number(fd, "nr_inodes", bytes / INODE_BYTES + INODES_MIN,
	    "u");
}

int
ns_mount_tmpfs(uint64_t bytes, uid_t uid, unsigned int attributes,
    struct error *e)
{
	int fd = fsopen("tmpfs", FSOPEN_CLOEXEC);

	if (fd == -1)
		return error_sys(e, ERR_BACKEND, errno, "fsopen of tmpfs");
	if (set_size(fd, bytes) == -1 ||
	    set_number(fd, "uid", uid, "u") == -1 ||
	    set_number(fd, "gid", uid, "u") == -1 ||
	    set_number(fd, "mode", 0755, "o") == -1) {
		error_sys(e, ERR_BACKEND, errno, "options of a tmpfs");
		close(fd);
		return -1;
	}
	return finish(fd, "tmpfs", attributes, e);
}

static int
new_devpts(uid_t user, struct error *e)
{
	int fd = fsopen("devpts", FSOPEN_CLOEXEC);

	if (fd == -1)
		return error_sys(e, ERR_BACKEND, errno, "fsopen of devpts");
	if (set_number(fd, "uid", user, "u") == -1 ||
	    set_number(fd, "gid", user, "u") == -1 ||
	    set_number(fd, "mode", 0620, "o") == -1 ||
	    set_number(fd, "ptmxmode", 0666, "o") == -1 ||
	    set_number(fd, "max", 16, "u") == -1) {
		error_sys(e, ERR_BACKEND, errno, "options of devpts");
		close(fd);
		return -1;
	}
	return finish(fd, "devpts", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, e);
}

static int
new_proc(struct error *e)
{
	int fd = fsopen("proc", FSOPEN_CLOEXEC);

	if (fd == -1)
		return error_sys(e, ERR_BACKEND, errno, "fsopen of proc");
	return finish(fd, "proc", SAFE | MOUNT_ATTR_NOEXEC, e);
}

/* A private copy of a mount with these attributes added; or -1 and errno. */
static int
copy_mount(int dir_fd, const char *path, unsigned int flags,
    unsigned int attributes, int idmap_fd)
{
	struct mount_attr attr = { .attr_set = attributes,
	    .propagation = MS_PRIVATE };
	int fd, saved;

	fd = open_tree(dir_fd, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
	    flags);
	if (fd == -1)
		return -1;
	if (idmap_fd != -1) {
		attr.attr_set |= MOUNT_ATTR_IDMAP;
		attr.userns_fd = (uint64_t)idmap_fd;
	}
	if (mount_setattr(fd, "", AT_EMPTY_PATH | (flags & AT_RECURSIVE),
	    &attr, sizeof(attr)) == 0)
		return fd;
	saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

int
ns_mount_attach(int fd, int dir_fd, const char *path, struct error *e)
{
	if (move_mount(fd, "", dir_fd, path, MOVE_MOUNT_F_EMPTY_PATH) == -1)
		return error_sys(e, ERR_BACKEND, errno, "mount on %s", path);
	return 0;
}

/* As ns_mount_attach, and closes fd. */
static int
attach(int fd, int dir_fd, const char *path, struct error *e)
{
	int status = ns_mount_attach(fd, dir_fd, path, e);

	close(fd);
	return status;
}

/*** The client's directories ***/

static int
copy_client(const struct backend_create *c, int i, int idmap_fd,
    struct error *e)
{
	const struct backend_mount *m = &c->mounts[i];
	unsigned int attributes = SAFE;
	int fd;

	if (!m->is_writable)
		attributes |= MOUNT_ATTR_RDONLY;
	fd = copy_mount(m->fd, "", AT_EMPTY_PATH | AT_RECURSIVE, attributes,
	    idmap_fd);
	if (fd != -1)
		return fd;
	error_key(e, ERR_UNSUPPORTED, "mounts",
	    "the directory for %s cannot be mounted: %s", m->dst,
	    strerror(errno));
	error_path(e, m->dst);
	if (errno == EINVAL)
		error_fix(e, "use a directory of your own mount namespace, "
		    "without file systems in it that cannot map ids "
		    "(proc, sysfs, overlay, FUSE, NFS, tmpfs before "
		    "Linux 6.3)");
	return -1;
}

/* Clones all; the caller is in the mount namespace where they are. */
static int
copy_clients(const struct backend_create *c, int *fds, struct error *e)
{
	char uid_map[64], gid_map[64];
	uid_t user = c->slot_base + SLOT_USER;
	int i, idmap_fd;

	/* Files of the owner are the sandbox's user's, and the reverse. */
	snprintf(uid_map, sizeof(uid_map), "%u %u 1\n", c->owner_uid, user);
	snprintf(gid_map, sizeof(gid_map), "%u %u 1\n", c->owner_gid, user);
	if ((idmap_fd = namespace_user(uid_map, gid_map, e)) == -1)
		return -1;
	for (i = 0; i < c->nmounts; i++)
		if ((fds[i] = copy_client(c, i, idmap_fd, e)) == -1)
			break;
	close(idmap_fd);
	return i == c->nmounts ? 0 : -1;
}

int
ns_mount_clients(const struct backend_create *c, int *fds, struct error *e)
{
	int own_fd, status;

	if (c->client_ns_fd == -1)
		return copy_clients(c, fds, e);
	/*
	 * Cloning needs to be in the namespace of the mount.  We look at
	 * nothing there but the descriptors that the client gave.
	 */
	own_fd = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	if (own_fd == -1 || setns(c->client_ns_fd, CLONE_NEWNS) == -1)
		return error_sys(e, ERR_BACKEND, errno,
		    "joining the client's mount namespace");
	status = copy_clients(c, fds, e);
	if (setns(own_fd, CLONE_NEWNS) == -1)
		return error_sys(e, ERR_BACKEND, errno,
		    "leaving the client's mount namespace");
	close(own_fd);
	return status;
}

/* A directory below dir_fd; made there when the file system is ours. */
static int
open_part(const struct tree *t, int dir_fd, const char *name, struct error *e)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
	    .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
	    RESOLVE_NO_MAGICLINKS };
	struct stat st;
	int fd;

	fd = (int)syscall(SYS_openat2, dir_fd, name, &how, sizeof(how));
	if (fd != -1 || errno != ENOENT)
		goto out;
	if (fstat(dir_fd, &st) == -1 ||
	    (st.st_dev != t->root_dev && st.st_dev != t->work_dev)) {
		errno = ENOENT;
		goto out;
	}
	if (mkdirat(dir_fd, name, 0755) == -1 ||
	    fchownat(dir_fd, name, st.st_uid, st.st_gid,
	    AT_SYMLINK_NOFOLLOW) == -1)
		goto out;
	fd = (int)syscall(SYS_openat2, dir_fd, name, &how, sizeof(how));
out:
	if (fd == -1)
		error_sys(e, ERR_INVALID, errno, "\"%s\"", name);
	return fd;
}

/* Opens dst part by part; the caller's. */
static int
open_destination(const struct tree *t, const char *dst, struct error *e)
{
	struct error why = { .code = ERR_NONE };
	char name[NAME_MAX + 1];
	int dir_fd, fd;
	size_t n;

	if (picture_destination(dst, e) == -1)
		return -1;
	if ((fd = fcntl(t->root_fd, F_DUPFD_CLOEXEC, 0)) == -1)
		return error_sys(e, ERR_INTERNAL, errno, "dup");
	for (; *dst != '\0' && fd != -1; dst += n) {
		dst++;
		n = strcspn(dst, "/");
		dir_fd = fd;
		if (n > NAME_MAX) {
			fd = error_set(&why, ERR_INVALID, "a name is too long");
		} else {
			memcpy(name, dst, n);
			name[n] = '\0';
			fd = open_part(t, dir_fd, name, &why);
		}
		close(dir_fd);
	}
	if (fd == -1) {
		error_key(e, ERR_INVALID, "mounts", "destination: %s",
		    why.message);
		error_fix(e, "name a directory without symbolic links; in "
		    "another mounted directory it has to exist");
	}
	return fd;
}

static int
mount_clients(const struct tree *t, const struct backend_create *c,
    const int *fds, struct error *e)
{
	const char *dst;
	int fd, i, status;

	for (i = 0; i < c->nmounts; i++) {
		dst = c->mounts[i].dst;
		if ((fd = open_destination(t, dst, e)) == -1) {
			error_path(e, dst);
			return -1;
		}
		status = move_mount(fds[i], "", fd, "",
		    MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
		close(fd);
		if (status == -1) {
			error_sys(e, ERR_INVALID, errno, "mount on %s", dst);
			error_path(e, dst);
			return -1;
		}
		close(fds[i]);
	}
	return 0;
}

/*** The skeleton ***/

/* Fails with the path in the error. */
static int
failed(const char *what, const char *path, struct error *e)
{
	error_sys(e, ERR_BACKEND, errno, "%s of /%s", what, path);
	error_path(e, path);
	return -1;
}

static int
make_file(const struct tree *t, const char *path, const char *text,
    struct error *e)
{
	size_t n = strlen(text);
	int fd = openat(t->root_fd, path, O_WRONLY | O_CREAT | O_EXCL |
	    O_NOFOLLOW | O_CLOEXEC, 0444);
	ssize_t done;

	if (fd == -1)
		return failed("making", path, e);
	done = n == 0 ? 0 : write(fd, text, n);
	close(fd);
	return done == (ssize_t)n ? 0 : failed("writing", path, e);
}

static int
make_link(const struct tree *t, const char *path, const char *target,
    struct error *e)
{
	if (symlinkat(target, t->root_fd, path) == -1)
		return failed("linking", path, e);
	return 0;
}

static int
make_skeleton(const struct tree *t, struct error *e)
{
	static const struct {
		const char	*path;
		mode_t		 mode;
	} dirs[] = {
		{ "dev", 0755 }, { "dev/pts", 0755 }, { "dev/shm", 01777 },
		{ "etc", 0755 }, { "proc", 0555 }, { "run", 0755 },
		{ "sys", 0555 }, { "tmp", 01777 }, { "var", 0755 },
		{ "var/tmp", 01777 }, { "workspace", 0755 },
	};
	static const struct picture_text dev_links[] = {
		{ "dev/fd", "/proc/self/fd" },
		{ "dev/stdin", "/proc/self/fd/0" },
		{ "dev/stdout", "/proc/self/fd/1" },
		{ "dev/stderr", "/proc/self/fd/2" },
		{ "dev/ptmx", "pts/ptmx" },
	};
	const struct picture_text *p;
	size_t i;

	for (i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		if (mkdirat(t->root_fd, dirs[i].path, dirs[i].mode) == -1)
			return failed("making", dirs[i].path, e);
	for (p = picture_files; p->path != NULL; p++)
		if (make_file(t, p->path, p->text, e) == -1)
			return -1;
	for (p = picture_links; p->path != NULL; p++)
		if (make_link(t, p->path, p->text, e) == -1)
			return -1;
	for (i = 0; i < sizeof(dev_links) / sizeof(dev_links[0]); i++)
		if (make_link(t, dev_links[i].path, dev_links[i].text,
		    e) == -1)
			return -1;
	return 0;
}

/* A host's node instead of one of ours, where we may not make any. */
static int
bind_device(const struct tree *t, const char *path, dev_t number,
    struct error *e)
{
	char host[64];
	struct stat st;
	int fd;

	snprintf(host, sizeof(host), "/%s", path);
	fd = copy_mount(AT_FDCWD, host, AT_SYMLINK_NOFOLLOW,
	    MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, -1);
	if (fd == -1)
		return failed("mounting", path, e);
	if (fstat(fd, &st) == -1 || !S_ISCHR(st.st_mode) ||
	    st.st_rdev != number) {
		close(fd);
		return error_set(e, ERR_BACKEND,
		    "%s of the host is not what it should be", host);
	}
	if (make_file(t, path, "", e) == -1) {
		close(fd);
		return -1;
	}
	return attach(fd, t->root_fd, path, e);
}

static int
make_devices(const struct tree *t, struct error *e)
{
	uid_t owner = t->base + SLOT_ROOT;
	const struct picture_device *d;
	char path[32];

	for (d = picture_devices; d->name != NULL; d++) {
		dev_t number = makedev(d->major, d->minor);

		snprintf(path, sizeof(path), "dev/%s", d->name);
		if (mknodat(t->root_fd, path, S_IFCHR | 0666, number) == -1) {
			if (errno != EPERM)
				return failed("making", path, e);
			if (bind_device(t, path, number, e) == -1)
				return -1;
		} else if (fchownat(t->root_fd, path, owner, owner,
		    AT_SYMLINK_NOFOLLOW) == -1)
			return failed("chown", path, e);
	}
	return 0;
}

/*** The host's part ***/

/* Makes what path is to be mounted on, parents too. */
static int
make_point(const struct tree *t, const char *path, bool is_dir,
    struct error *e)
{
	char part[PATH_MAX];
	const char *p = path;

	while ((p = strchr(p, '/')) != NULL) {
		snprintf(part, sizeof(part), "%.*s", (int)(p++ - path), path);
		if (mkdirat(t->root_fd, part, 0755) == -1 && errno != EEXIST)
			return failed("making", part, e);
	}
	if (!is_dir)
		return make_file(t, path, "", e);
	if (mkdirat(t->root_fd, path, 0755) == -1)
		return failed("making", path, e);
	return 0;
}

/* A tree of the host, read-only, root's files root's; absent ones are. */
static int
mount_system(const char *path, void *arg, struct error *e)
{
	const unsigned int attributes = SAFE | MOUNT_ATTR_RDONLY;
	const struct tree *t = arg;
	char host[PATH_MAX];
	struct stat st;
	int fd;

	snprintf(host, sizeof(host), "/%s", path);
	fd = copy_mount(AT_FDCWD, host, AT_RECURSIVE, attributes,
	    t->image_ns_fd);
	/* A file system below cannot map ids: its owners are nobody then. */
	if (fd == -1 && (errno == EINVAL || errno == EPERM))
		fd = copy_mount(AT_FDCWD, host, AT_RECURSIVE, attributes, -1);
	if (fd == -1)
		return errno == ENOENT ? 0 : failed("mounting", path, e);
	if (fstat(fd, &st) == -1 ||
	    make_point(t, path, S_ISDIR(st.st_mode), e) == -1) {
		close(fd);
		return -1;
	}
	return attach(fd, t->root_fd, path, e);
}

static int
mount_systems(struct tree *t, struct error *e)
{
	char target[PATH_MAX];
	const char *const *p;
	int n;

	for (p = picture_system; *p != NULL; p++) {
		n = picture_target(*p, target, sizeof(target));
		if ((n > 0 && make_link(t, *p, target, e) == -1) ||
		    (n == 0 && mount_system(*p, t, e) == -1))
			return -1;
	}
	for (p = picture_etc; *p != NULL; p++)
		if (mount_system(*p, t, e) == -1)
			return -1;
	if (picture_java(mount_system, t, e) == -1)
		return -1;
	/* Time zones are in /usr, so the link itself is enough. */
	n = readlink("/etc/localtime", target, sizeof(target) - 1);
	if (n <= 0)
		return mount_system("etc/localtime", t, e);
	target[n] = '\0';
	return make_link(t, "etc/localtime", target, e);
}

/*** Pseudo file systems and scratch space ***/

static int
mount_proc(const struct tree *t, struct error *e)
{
	int fd, mask_fd, proc_fd;
	const char *const *p;
	struct stat st;
	int status = 0;

	if ((proc_fd = new_proc(e)) == -1)
		return -1;
	if (ns_mount_attach(proc_fd, t->root_fd, "proc", e) == -1)
		goto fail;
	for (p = picture_proc_readonly; *p != NULL && status == 0; p++) {
		fd = copy_mount(proc_fd, *p, 0, MOUNT_ATTR_RDONLY, -1);
		if (fd != -1)
			status = attach(fd, proc_fd, *p, e);
		else if (errno != ENOENT)
			status = failed("read-only mount", *p, e);
	}
	/* The masks are our own null device and empty directory. */
	for (p = picture_proc_masked; *p != NULL && status == 0; p++) {
		if (fstatat(proc_fd, *p, &st, AT_SYMLINK_NOFOLLOW) == -1)
			continue;
		mask_fd = copy_mount(t->root_fd, S_ISDIR(st.st_mode) ?
		    "sys" : "dev/null", 0, MOUNT_ATTR_RDONLY |
		    MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, -1);
		if (mask_fd == -1)
			status = failed("mask", *p, e);
		else
			status = attach(mask_fd, proc_fd, *p, e);
	}
	close(proc_fd);
	return status;
fail:
	close(proc_fd);
	return -1;
}

/*
 * The writable directories are windows into the skeleton's own file system,
 * which is read-only otherwise: one file system, one size for all of them.
 */
static int
mount_scratch(const struct tree *t, struct error *e)
{
	static const struct {
		const char	*path;
		unsigned int	 attributes;
	} windows[] = {
		{ "tmp", SAFE }, { "var/tmp", SAFE }, { "run", SAFE },
		{ "dev/shm", SAFE | MOUNT_ATTR_NOEXEC },
	};
	uid_t user = t->base + SLOT_USER;
	size_t i;
	int fd;

	if (fchownat(t->root_fd, "run", user, user, AT_SYMLINK_NOFOLLOW) == -1)
		return failed("chown", "run", e);
	for (i = 0; i < sizeof(windows) / sizeof(windows[0]); i++) {
		fd = copy_mount(t->root_fd, windows[i].path, 0,
		    windows[i].attributes, -1);
		if (fd == -1)
			return failed("mounting", windows[i].path, e);
		if (attach(fd, t->root_fd, windows[i].path, e) == -1)
			return -1;
	}
	if ((fd = new_devpts(user, e)) == -1 ||
	    attach(fd, t->root_fd, "dev/pts", e) == -1)
		return -1;
	if ((fd = ns_mount_tmpfs(BYTES_AHEAD, user, SAFE, e)) == -1)
		return -1;
	return attach(fd, t->root_fd, "workspace", e);
}

/*** The whole ***/

/* The picture but for what a create decides; the root is mounted. */
static int
fill(struct tree *t, struct error *e)
{
	uid_t owner = t->base + SLOT_ROOT;
	int status;

	/*
	 * What is made belongs to the sandbox's root, who never runs.  The
	 * capability to mount stays, those over files come back.
	 */
	setfsgid(owner);
	setfsuid(owner);
	status = make_skeleton(t, e);
	if (status == 0)
		status = mount_systems(t, e);
	setfsuid(0);
	setfsgid(0);
	if (status == -1 || make_devices(t, e) == -1)
		return -1;
	return mount_scratch(t, e);
}

/* The new root becomes ours and the old one goes. */
static int
change_root(const struct tree *t, struct error *e)
{
	struct stat st, root;

	if (fchdir(t->root_fd) == -1 || fstat(t->root_fd, &root) == -1)
		return error_sys(e, ERR_BACKEND, errno, "fchdir to the root");
	/* The old root ends up on top of the new one, and is taken off. */
	if (syscall(SYS_pivot_root, ".", ".") == -1) {
		error_sys(e, ERR_BACKEND, errno, "pivot_root");
		error_fix(e, "do not start sandboxd in a chroot");
		return -1;
	}
	if (umount2(".", MNT_DETACH) == -1 || chdir("/") == -1)
		return error_sys(e, ERR_BACKEND, errno, "leaving the old root");
	if (stat(".", &st) == -1 || st.st_dev != root.st_dev ||
	    st.st_ino != root.st_ino || stat("..", &st) == -1 ||
	    st.st_dev != root.st_dev || st.st_ino != root.st_ino)
		return error_set(e, ERR_BACKEND, "not in the new root");
	return 0;
}

int
ns_mount_prepare(uid_t base, int image_ns_fd, struct error *e)
{
	struct tree t = { .base = base, .image_ns_fd = image_ns_fd };

	umask(0);
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1)
		return error_sys(e, ERR_BACKEND, errno, "private mounts");
	t.root_fd = ns_mount_tmpfs(BYTES_AHEAD, base + SLOT_ROOT,
	    MOUNT_ATTR_NOSUID, e);
	if (t.root_fd == -1)
		return -1;
	/* On top of the old root: reached by the descriptor alone. */
	if (ns_mount_attach(t.root_fd, AT_FDCWD, "/", e) == -1 ||
	    fill(&t, e) == -1 || change_root(&t, e) == -1)
		return -1;
	close(t.root_fd);
	return 0;
}

/* Gives a tmpfs of the prepared picture its size; its device, or 0. */
static int
resize(int dir_fd, const char *path, uint64_t bytes, dev_t *dev,
    struct error *e)
{
	struct stat st;
	int fd, status = -1;

	fd = fspick(dir_fd, path, FSPICK_CLOEXEC);
	if (fd != -1 && set_size(fd, bytes) == 0 &&
	    fsconfig(fd, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0) == 0 &&
	    fstatat(dir_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
		status = 0;
	if (status == -1)
		error_sys(e, ERR_BACKEND, errno, "size of \"%s\"", path);
	else
		*dev = st.st_dev;
	fd_close(&fd);
	return status;
}

int
ns_mount_finish(const struct backend_create *c, int *fds, struct error *e)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };
	struct tree t = { .base = c->slot_base, .image_ns_fd = -1 };

	t.root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (t.root_fd == -1)
		return error_sys(e, ERR_BACKEND, errno, "open of the root");
	if (resize(t.root_fd, ".", c->tmp + SKELETON_BYTES, &t.root_dev,
	    e) == -1 || resize(t.root_fd, "workspace", c->tmp, &t.work_dev,
	    e) == -1)
		return -1;
	if (mount_proc(&t, e) == -1 || mount_clients(&t, c, fds, e) == -1)
		return -1;
	if (mount_setattr(t.root_fd, "", AT_EMPTY_PATH, &attr,
	    sizeof(attr)) == -1)
		return error_sys(e, ERR_BACKEND, errno, "read-only root");
	close(t.root_fd);
	umask(022);
	return 0;
}
