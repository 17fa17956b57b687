/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Reads back from outside, before a sandbox is announced, what the kernel
 * says of its agent: ids, capabilities, no_new_privs, seccomp, groups.  No
 * code but ours has run inside by then; this finds our own mistakes and a
 * kernel that did not do what it was asked.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker.h"

/* The rest of the line "Name:\t...", or NULL. */
static const char *
line_find(const char *text, const char *name)
{
	size_t n = strlen(name);
	const char *p;

	for (p = text; p != NULL; p = strchr(p, '\n')) {
		if (*p == '\n')
			p++;
		if (strncmp(p, name, n) == 0 && p[n] == ':')
			return p + n + 1;
	}
	return NULL;
}

/* All numbers of the line are this one. */
static bool
line_is(const char *text, const char *name, unsigned long long want, int base)
{
	const char *p = line_find(text, name);
	unsigned long long got;
	char *end;

	if (p == NULL)
		return false;
	do {
		got = strtoull(p, &end, base);
		if (end == p || got != want)
			return false;
		for (p = end; *p == ' ' || *p == '\t'; p++)
			;
	} while (*p != '\n' && *p != '\0');
	return true;
}

static bool
line_is_empty(const char *text, const char *name)
{
	const char *p = line_find(text, name);

	return p != NULL && p[strspn(p, " \t")] == '\n';
}

static int
ids_verify(const struct sandbox *sb, const char *text, struct error *e)
{
	bool is_slot = sb->slot != NULL &&
	    (sb->backend->features & BACKEND_USES_SLOT) != 0;
	uid_t uid = sb->uid;
	gid_t gid = sb->gid;

	if (is_slot)
		uid = gid = sb->slot->base + SLOT_USER;
	else if (!priv_is_root()) {
		uid = geteuid();
		gid = getegid();
	}
	if (!line_is(text, "Uid", uid, 10) || !line_is(text, "Gid", gid, 10))
		return error_set(e, ERR_BACKEND, "read back: the agent does "
		    "not have the ids %u and %u", uid, gid);
	if (priv_is_root() && !line_is_empty(text, "Groups"))
		return error_set(e, ERR_BACKEND, "read back: the agent has "
		    "supplementary groups");
	return 0;
}

static int
rights_verify(const struct sandbox *sb, const char *text, struct error *e)
{
	static const char *const sets[] = { "CapInh", "CapPrm", "CapEff",
	    "CapAmb", "CapBnd" };
	size_t i, n = sizeof(sets) / sizeof(sets[0]);

	/* Without rights nobody can empty his bounding set. */
	if (!priv_is_root())
		n--;
	for (i = 0; i < n; i++)
		if (!line_is(text, sets[i], 0, 16))
			return error_set(e, ERR_BACKEND, "read back: the "
			    "agent's %s is not empty", sets[i]);
	if (!line_is(text, "NoNewPrivs", 1, 10))
		return error_set(e, ERR_BACKEND,
		    "read back: the agent's no_new_privs is not set");
	if (sb->backend->level != LEVEL_NONE && !line_is(text, "Seccomp", 2,
	    10))
		return error_set(e, ERR_BACKEND,
		    "read back: the agent has no seccomp filter");
	return 0;
}

int
verify_agent(const struct sandbox *sb, struct error *e)
{
	char path[32], text[8192];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%d/status", sb->agent_pid);
	fd = openat(priv_proc_fd(), path, O_RDONLY | O_CLOEXEC);
	n = fd == -1 ? -1 : read(fd, text, sizeof(text) - 1);
	fd_close(&fd);
	if (n <= 0)
		return error_sys(e, ERR_BACKEND, errno, "read back: the "
		    "agent's process");
	text[n] = '\0';
	if (ids_verify(sb, text, e) == -1 || rights_verify(sb, text, e) == -1)
		return -1;
	if (!cgroup_holds(sb->id, sb->agent_pid))
		return error_set(e, ERR_BACKEND, "read back: the agent is "
		    "not in its cgroups");
	return 0;
}
