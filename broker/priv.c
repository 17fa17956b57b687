/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The broker's rights: which it keeps and why, and how its children give
 * up the rest.  Called once at start, with all rights of whoever started it,
 * and in children just before they become something else.
 */

#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <string.h>
#include <unistd.h>

#include "broker.h"

static const unsigned int kept[] = {
	/* namespaces, mounts, setns, pivot_root: what a backend is made of */
	CAP_SYS_ADMIN,
	/* the empty root of workers; joining a client's mount namespace */
	CAP_SYS_CHROOT,
	/* workers and agents get ids of their slot; the maps of a slot */
	CAP_SETUID,
	CAP_SETGID,
	/* children empty their bounding set and lock securebits */
	CAP_SETPCAP,
	/* ends processes that run as slot ids or as a user */
	CAP_KILL,
	/* making and removing groups: a v1 tree's root is 0555 */
	CAP_DAC_OVERRIDE,
	/* the group of a listening socket; what is made for a slot's user */
	CAP_CHOWN,
	/* the loopback interface of a new network namespace, in a helper */
	CAP_NET_ADMIN,
	/* devices of a sandbox where the host's cannot be bound */
	CAP_MKNOD,
};

#define SECUREBITS	(SECBIT_NOROOT | SECBIT_NOROOT_LOCKED |		\
			    SECBIT_NO_SETUID_FIXUP |			\
			    SECBIT_NO_SETUID_FIXUP_LOCKED |		\
			    SECBIT_KEEP_CAPS_LOCKED |			\
			    SECBIT_NO_CAP_AMBIENT_RAISE |		\
			    SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

static bool is_root;
static int proc_fd = -1;

bool
priv_is_root(void)
{
	return is_root;
}

int
priv_proc_fd(void)
{
	return proc_fd;
}

/* /proc may be mounted with hidepid, and the broker cannot trace. */
static void
proc_open(void)
{
	int fs = is_root ? fsopen("proc", FSOPEN_CLOEXEC) : -1;

	if (fs != -1 && fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		proc_fd = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID |
		    MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	fd_close(&fs);
	if (proc_fd == -1)
		proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (proc_fd == -1)
		fatal("/proc: %s", strerror(errno));
}

/* Those of the list; what we were started without we do without. */
static void
capabilities_keep(void)
{
	uint64_t has = 0;
	size_t i;

	capng_get_caps_process();
	for (i = 0; i < NITEMS(kept); i++)
		if (capng_have_capability(CAPNG_PERMITTED, kept[i]))
			has |= 1ull << i;
	capng_clear(CAPNG_SELECT_BOTH);
	for (i = 0; i < NITEMS(kept); i++)
		if (has & 1ull << i)
			capng_update(CAPNG_ADD, CAPNG_EFFECTIVE |
			    CAPNG_PERMITTED | CAPNG_BOUNDING_SET, kept[i]);
		else
			log_warn("started without capability %s",
			    capng_capability_to_name(kept[i]));
	if (capng_apply(CAPNG_SELECT_BOTH) != 0)
		fatal("cannot give up capabilities");
}

void
priv_init(void)
{
	const struct rlimit none = { 0, 0 };
	struct rlimit files;

	is_root = geteuid() == 0;
	/* A few descriptors for each client and sandbox. */
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	setrlimit(RLIMIT_CORE, &none);
	proc_open();
#ifndef SANDBOXD_SANITIZERS	/* the leak checker traces */
	if (prctl(PR_SET_DUMPABLE, 0) == -1)
		fatal("PR_SET_DUMPABLE: %s", strerror(errno));
#endif
	/* Orphans of a backend's helper are reaped here, and at once. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1 ||
	    prctl(PR_SET_CHILD_SUBREAPER, 1) == -1)
		fatal("prctl: %s", strerror(errno));
	if (is_root)
		capabilities_keep();
}

/*
 * In a child that has its final ids, and maybe capabilities left.  By system
 * calls alone: the library would read a /proc that may not be there any more.
 */
int
priv_drop(struct error *e)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct data[2];
	int cap;

	if (syscall(SYS_capget, &head, data) == -1)
		return error_sys(e, ERR_BACKEND, errno, "capget");
	if (data[0].permitted & 1u << CAP_SETPCAP) {
		data[0].effective = data[0].permitted;
		data[1].effective = data[1].permitted;
		if (syscall(SYS_capset, &head, data) == -1)
			return error_sys(e, ERR_BACKEND, errno, "capset");
		for (cap = 0; prctl(PR_CAPBSET_DROP, cap) == 0; cap++)
			;
		/* EINVAL is the first that the kernel does not know. */
		if (errno != EINVAL ||
		    prctl(PR_SET_SECUREBITS, SECUREBITS) == -1)
			return error_sys(e, ERR_BACKEND, errno,
			    "cannot lock securebits");
	}
	memset(data, 0, sizeof(data));
	if (syscall(SYS_capset, &head, data) == -1 ||
	    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == -1)
		return error_sys(e, ERR_BACKEND, errno,
		    "cannot give up capabilities");
	return 0;
}
