/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Backend "host": no isolation.  The agent runs on the host as the owner
 * himself, for tests and for those who want the interface alone; never
 * chosen unless the configuration names it.  Runs in the child, as real root
 * at first when the broker is that.  Trusts the owner with what he may do
 * anyway; no more than that, so no groups and no set-id programs.
 */

#include "config.h"

#include <sys/types.h>

#include <errno.h>
#include <grp.h>
#include <unistd.h>

#include "backends/backend.h"
#include "backends/child.h"
#include "proto/proto.h"

static int
host_probe(bool is_root, struct error *e)
{
	(void)is_root;
	(void)e;
	return 0;
}

static int
host_enter(const struct backend_create *c, struct error *e)
{
	int agent_fd;

	if (c->nmounts > 0)
		return error_key(e, ERR_UNSUPPORTED, "mounts",
		    "backend host mounts nothing: use the host's own paths");
	if (chdir("/") == -1)
		return error_sys(e, ERR_BACKEND, errno, "chdir to /");
	if (child_limits(c->files, e) == -1 ||
	    (agent_fd = child_descriptors(c, e)) == -1 ||
	    child_stdio(-1, e) == -1)
		return -1;
	if (c->is_root && setgroups(0, NULL) == -1)
		return error_sys(e, ERR_BACKEND, errno, "setgroups");
	if (c->is_root && child_ids(c->owner_uid, c->owner_gid, e) == -1)
		return -1;
	if (child_drop(c, e) == -1)
		return -1;
	return child_exec(c, agent_fd, e);
}

static const char *const host_protections[] = { "no_new_privs", NULL };

const struct backend host_backend = {
	.name = "host",
	.features = BACKEND_PASSES_FDS,
	.level = LEVEL_NONE,
	.probe = host_probe,
	.enter = host_enter,
	.protections = host_protections,
};
