/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Reads back from outside, before a sandbox is announced, what the kernel
 * says of its agent.  Runs in the broker.  No code but ours has run inside
 * by then; this finds our own mistakes and a kernel that did not do what it
 * was asked.
 */

#include "config.h"

#include <sys/types.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/backend.h"
#include "proto/proto.h"

/* The rest of the line "Name:\t...", or NULL. */
static const char *
line_find(const char *text, const char *name)
{
	size_t n = strlen(name);
	const char *p;

	for (p = text; *p != '\0'; p += strcspn(p, "\n"), p += *p == '\n')
		if (strncmp(p, name, n) == 0 && p[n] == ':')
			return p + n + 1;
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
		p = end + strspn(end, " \t");
	} while (*p != '\n' && *p != '\0');
	return true;
}

static int
ids_verify(const struct backend *b, const struct backend_create *c,
    const char *text, struct error *e)
{
	uid_t uid = c->owner_uid;
	gid_t gid = c->owner_gid;
	const char *groups = line_find(text, "Groups");

	if (!c->is_root) {
		uid = geteuid();
		gid = getegid();
	} else if (b->features & BACKEND_USES_SLOT)
		uid = gid = c->slot_base + SLOT_USER;
	if (!line_is(text, "Uid", uid, 10) || !line_is(text, "Gid", gid, 10))
		return error_set(e, ERR_BACKEND, "read back: the agent does "
		    "not have the ids %u and %u", uid, gid);
	if (c->is_root &&
	    (groups == NULL || groups[strspn(groups, " \t")] != '\n'))
		return error_set(e, ERR_BACKEND,
		    "read back: the agent has supplementary groups");
	return 0;
}

static int
rights_verify(const struct backend *b, bool is_root, const char *text,
    struct error *e)
{
	static const char *const sets[] = { "CapInh", "CapPrm", "CapEff",
	    "CapAmb", "CapBnd" };
	/* Without rights nobody can empty his bounding set. */
	size_t i, n = is_root ? 5 : 4;

	for (i = 0; i < n; i++)
		if (!line_is(text, sets[i], 0, 16))
			return error_set(e, ERR_BACKEND,
			    "read back: the agent's %s is not empty", sets[i]);
	if (!line_is(text, "NoNewPrivs", 1, 10))
		return error_set(e, ERR_BACKEND,
		    "read back: the agent's no_new_privs is not set");
	if (b->level != LEVEL_NONE && !line_is(text, "Seccomp", 2, 10))
		return error_set(e, ERR_BACKEND,
		    "read back: the agent has no seccomp filter");
	return 0;
}

int
verify_agent(const struct backend *b, const struct backend_create *c,
    pid_t pid, int proc_fd, struct error *e)
{
	char path[32], text[8192];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "%d/status", pid);
	if ((fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC)) != -1)
		n = read(fd, text, sizeof(text) - 1);
	fd_close(&fd);
	if (n <= 0)
		return error_sys(e, ERR_BACKEND, errno,
		    "read back: the agent's process");
	text[n] = '\0';
	if (ids_verify(b, c, text, e) == -1)
		return -1;
	return rights_verify(b, c->is_root, text, e);
}
