/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Backend "ns": namespaces made directly, without another program.  Runs in
 * the child of a create as real root, already in a pid namespace of its own,
 * and ends as the agent: the slot's user in the slot's user namespace, with
 * no capability and under the filter.
 *
 * Mount, pid, network, ipc, uts and cgroup namespaces belong to the initial
 * user namespace, so nobody inside has power over them whatever he becomes.
 * Trusts the broker's struct; the client's directories are only mounted.
 */

#include "config.h"

#include <sys/types.h>
#include <sys/mount.h>
#include <sys/prctl.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "backends/backend.h"
#include "backends/child.h"
#include "proto/proto.h"

static int
ns_probe(bool is_root, struct error *e)
{
	static const int needed[] = { CAP_SYS_ADMIN, CAP_SETUID, CAP_SETGID,
	    CAP_SETPCAP, CAP_CHOWN };
	struct mount_attr attr = { .attr_set = 0 };
	size_t i;

	if (!is_root) {
		error_set(e, ERR_UNAVAILABLE, "ns needs root");
		error_fix(e, "start sandboxd as root, or use backend bwrap");
		return -1;
	}
	for (i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		if (prctl(PR_CAPBSET_READ, needed[i], 0, 0, 0) == 1)
			continue;
		error_set(e, ERR_UNAVAILABLE,
		    "root lacks capability %d here (a container?)", needed[i]);
		error_fix(e, "start sandboxd outside of the container");
		return -1;
	}
	if (namespace_probe(e) == -1)
		return -1;
	/* The newest of the calls that are needed. */
	if (mount_setattr(-1, "", AT_EMPTY_PATH, &attr, sizeof(attr)) == -1 &&
	    errno != EBADF) {
		error_sys(e, ERR_UNAVAILABLE, errno, "mount_setattr");
		error_fix(e, "use Linux 5.12 or newer");
		return -1;
	}
	return 0;
}

/* Namespaces that were made ahead, and one that begins where we are. */
static int
ns_join(const struct backend_create *c, struct error *e)
{
	const struct {
		const char	*name;
		int		 fd;
		int		 kind;
	} ahead[] = {
		{ "network", c->net_ns_fd, CLONE_NEWNET },
		{ "ipc", c->ipc_ns_fd, CLONE_NEWIPC },
		{ "uts", c->uts_ns_fd, CLONE_NEWUTS },
		{ "mount", c->mount_ns_fd, CLONE_NEWNS },
	};
	size_t i;

	for (i = 0; i < sizeof(ahead) / sizeof(ahead[0]); i++)
		if (setns(ahead[i].fd, ahead[i].kind) == -1)
			return error_sys(e, ERR_BACKEND, errno,
			    "joining the %s namespace", ahead[i].name);
	if (unshare(CLONE_NEWCGROUP) == -1)
		return error_sys(e, ERR_BACKEND, errno,
		    "new cgroup namespace");
	return 0;
}

/* The slot's user: in its user namespace from here, as 1000 there. */
static int
ns_become(const struct backend_create *c, struct error *e)
{
	if (setgroups(0, NULL) == -1)
		return error_sys(e, ERR_BACKEND, errno, "setgroups");
	if (setns(c->user_ns_fd, CLONE_NEWUSER) == -1)
		return error_sys(e, ERR_BACKEND, errno,
		    "joining the user namespace");
	return child_ids(SLOT_USER, SLOT_USER, e);
}

static int
ns_enter(const struct backend_create *c, struct error *e)
{
	int agent_fd, fds[MOUNTS_MAX];

	if (c->nmounts > MOUNTS_MAX)
		return error_key(e, ERR_INVALID, "mounts", "too many mounts");
	/* Before we leave the host's mount namespace, as most are there. */
	if (c->nmounts > 0 && ns_mount_clients(c, fds, e) == -1)
		return -1;
	if (ns_join(c, e) == -1 || ns_mount_finish(c, fds, e) == -1 ||
	    child_limits(c->files, e) == -1 || ns_become(c, e) == -1)
		return -1;
	if ((agent_fd = child_descriptors(c, e)) == -1 ||
	    child_stdio(-1, e) == -1 || child_drop(c, e) == -1 ||
	    child_filter(c->filter, e) == -1)
		return -1;
	return child_exec(c, agent_fd, e);
}

static const char *const ns_protections[] = {
	"uid", "user namespace", "mount namespace", "pid namespace",
	"network namespace", "ipc namespace", "uts namespace",
	"cgroup namespace", "no capabilities", "no_new_privs", "seccomp", NULL
};

const struct backend ns_backend = {
	.name = "ns",
	.features = BACKEND_NEEDS_ROOT | BACKEND_USES_SLOT |
	    BACKEND_PASSES_FDS | BACKEND_OWN_NETWORK,
	.level = LEVEL_NAMESPACE,
	.clone_flags = CLONE_NEWPID,
	.probe = ns_probe,
	.enter = ns_enter,
	.protections = ns_protections,
};
