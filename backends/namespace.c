/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Makes namespaces that a sandbox joins later.  Runs in a helper child of
 * the broker, or in the child of a create, as real root with one thread.
 * Each namespace begins in a process of its own that does nothing else and
 * is killed as soon as its descriptors are here; no untrusted code has run
 * in any of them.
 *
 * That process shares our table of descriptors: it opens its own /proc files
 * and tells the numbers.  So this works without CAP_SYS_PTRACE and when the
 * broker is not dumpable, which opening /proc/PID/ns would need.
 */

#include "config.h"

#include <sys/types.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/backend.h"
#include "backends/child.h"
#include "proto/proto.h"

#define LIFETIME_MS	10000	/* of a process whose maker died */
#define NAMESPACES_MAX	4

/* What the process inside says once: descriptors, or what failed. */
struct report {
	char		 pid[16];	/* of itself, as /proc calls it */
	int		 fds[NAMESPACES_MAX];
	struct error	 error;		/* ERR_NONE: all well */
};

/* Kinds of namespaces that one process begins. */
struct kinds {
	unsigned long		 flags;
	const char *const	*names;	/* in /proc/self/ns, up to NULL */
	int			 (*prepare)(uid_t, int, struct error *);
};

struct member {
	pid_t		 pid;		/* ours to wait for */
	struct report	 report;
};

static int
write_file(const char *path, const char *text)
{
	int fd, saved;
	ssize_t n;

	if ((fd = open(path, O_WRONLY | O_CLOEXEC)) == -1)
		return -1;
	n = write(fd, text, strlen(text));
	saved = errno;
	close(fd);
	errno = saved;
	return n == (ssize_t)strlen(text) ? 0 : -1;
}

/*** Inside the new namespace ***/

/* Before there is a map, so before anybody can act in it. */
static int
prepare_user(uid_t base, int image_ns_fd, struct error *e)
{
	static const char path[] = "/proc/sys/user/max_user_namespaces";

	(void)base;
	(void)image_ns_fd;
	if (write_file(path, "0\n") == -1)
		return error_sys(e, ERR_BACKEND, errno, "write of %s", path);
	return 0;
}

static int
prepare_others(uid_t base, int image_ns_fd, struct error *e)
{
	struct ifreq request = { .ifr_name = "lo" };
	int fd;

	if (sethostname("sandbox", 7) == -1 || setdomainname("(none)", 6) == -1)
		return error_sys(e, ERR_BACKEND, errno, "host name");
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd == -1 || ioctl(fd, SIOCGIFFLAGS, &request) == -1)
		return error_sys(e, ERR_BACKEND, errno, "loopback interface");
	request.ifr_flags |= IFF_UP;
	if (ioctl(fd, SIOCSIFFLAGS, &request) == -1)
		return error_sys(e, ERR_BACKEND, errno,
		    "loopback interface up");
	close(fd);
	return ns_mount_prepare(base, image_ns_fd, e);
}

static int
open_self(struct report *report, const char *const *names, struct error *e)
{
	char path[64];
	size_t i;

	for (i = 0; names[i] != NULL; i++) {
		snprintf(path, sizeof(path), "/proc/self/ns/%s", names[i]);
		report->fds[i] = open(path, O_RDONLY | O_CLOEXEC);
		if (report->fds[i] == -1)
			return error_sys(e, ERR_BACKEND, errno, "open of %s",
			    path);
	}
	if (readlink("/proc/self", report->pid, sizeof(report->pid) - 1) == -1)
		return error_sys(e, ERR_BACKEND, errno, "link /proc/self");
	return 0;
}

/* /proc first: the new root may have none. */
static void
member_run(int fd, const struct kinds *k, uid_t base, int image_ns_fd)
{
	struct report report = { .error.code = ERR_NONE };

	if (open_self(&report, k->names, &report.error) == 0)
		k->prepare(base, image_ns_fd, &report.error);
	if (write(fd, &report, sizeof(report)) == sizeof(report))
		poll(NULL, 0, LIFETIME_MS);
	_exit(0);
}

/*** Outside ***/

static void
member_end(struct member *m)
{
	kill(m->pid, SIGKILL);
	while (waitpid(m->pid, NULL, __WALL) == -1 && errno == EINTR)
		;
}

static int
member_start(struct member *m, const struct kinds *k, uid_t base,
    int image_ns_fd, struct error *e)
{
	int fds[2];
	ssize_t n;

	if (pipe2(fds, O_CLOEXEC) == -1)
		return error_sys(e, ERR_INTERNAL, errno, "pipe");
	m->pid = (pid_t)syscall(SYS_clone, k->flags | CLONE_FILES | SIGCHLD,
	    NULL, NULL, NULL, NULL);
	if (m->pid == 0)
		member_run(fds[1], k, base, image_ns_fd);
	if (m->pid == -1) {
		error_sys(e, ERR_BACKEND, errno, "new namespaces");
		if (errno == ENOSPC)
			error_fix(e, "raise the limits in /proc/sys/user");
		close(fds[0]);
		close(fds[1]);
		return -1;
	}
	while ((n = read(fds[0], &m->report, sizeof(m->report))) == -1 &&
	    errno == EINTR)
		;
	close(fds[0]);
	close(fds[1]);
	if (n == sizeof(m->report) && m->report.error.code == ERR_NONE)
		return 0;
	member_end(m);
	if (n != sizeof(m->report))
		return error_set(e, ERR_BACKEND, "namespace process died");
	*e = m->report.error;
	return -1;
}

static int
member_map(const struct member *m, const char *name, const char *text,
    struct error *e)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%s/%s", m->report.pid, name);
	if (write_file(path, text) == -1)
		return error_sys(e, ERR_BACKEND, errno, "write of %s", path);
	return 0;
}

int
namespace_user(const char *uid_map, const char *gid_map, struct error *e)
{
	static const char *const names[] = { "user", NULL };
	static const struct kinds kinds = { CLONE_NEWUSER, names,
	    prepare_user };
	struct member m = { .pid = -1 };
	int fd, status;

	if (member_start(&m, &kinds, 0, -1, e) == -1)
		return -1;
	fd = m.report.fds[0];
	status = member_map(&m, "setgroups", "deny", e);
	if (status == 0)
		status = member_map(&m, "uid_map", uid_map, e);
	if (status == 0)
		status = member_map(&m, "gid_map", gid_map, e);
	member_end(&m);
	if (status == -1) {
		close(fd);
		return -1;
	}
	return fd;
}

int
namespace_probe(struct error *e)
{
	if (access("/proc/self/ns/user", F_OK) == 0)
		return 0;
	error_set(e, ERR_UNAVAILABLE, "no user namespaces, or no /proc");
	error_fix(e, "use a kernel with CONFIG_USER_NS, mount /proc");
	return -1;
}

static void
close_all(struct slot_namespaces *s)
{
	fd_close(&s->user_ns_fd);
	fd_close(&s->image_ns_fd);
	fd_close(&s->net_ns_fd);
	fd_close(&s->ipc_ns_fd);
	fd_close(&s->uts_ns_fd);
	fd_close(&s->mount_ns_fd);
}

int
namespace_make(uid_t base, struct slot_namespaces *s, struct error *e)
{
	static const char *const names[] = { "net", "ipc", "uts", "mnt",
	    NULL };
	static const struct kinds kinds = { CLONE_NEWNET | CLONE_NEWIPC |
	    CLONE_NEWUTS | CLONE_NEWNS, names, prepare_others };
	struct member m = { .pid = -1 };
	char map[64];

	*s = (struct slot_namespaces){ -1, -1, -1, -1, -1, -1 };
	snprintf(map, sizeof(map), "0 %u 1\n%u %u 1\n", base + SLOT_ROOT,
	    SLOT_USER, base + SLOT_USER);
	if ((s->user_ns_fd = namespace_user(map, map, e)) == -1)
		goto fail;
	snprintf(map, sizeof(map), "0 %u 1\n", base + SLOT_ROOT);
	if ((s->image_ns_fd = namespace_user(map, map, e)) == -1)
		goto fail;
	if (member_start(&m, &kinds, base, s->image_ns_fd, e) == -1)
		goto fail;
	s->net_ns_fd = m.report.fds[0];
	s->ipc_ns_fd = m.report.fds[1];
	s->uts_ns_fd = m.report.fds[2];
	s->mount_ns_fd = m.report.fds[3];
	member_end(&m);
	return 0;
fail:
	close_all(s);
	return -1;
}
