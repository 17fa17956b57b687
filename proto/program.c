/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Where the sibling programs are.  Run by front, broker and sandboxctl with
 * their own rights, the broker's being root: so no environment variable is
 * asked, and a program beside the running one counts only if nobody but root
 * and the caller could have put it there.
 */

#include "config.h"

#include <sys/stat.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "proto.h"

static bool
is_ours(const struct stat *st)
{
	return (st->st_uid == 0 || st->st_uid == geteuid()) &&
	    (st->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* The directory of the running program, without a trailing slash. */
static int
own_directory(char *out, size_t cap)
{
	ssize_t n;
	char *slash;

	n = readlink("/proc/self/exe", out, cap - 1);
	if (n <= 0 || (size_t)n >= cap - 1)
		return -1;
	out[n] = '\0';
	if ((slash = strrchr(out, '/')) == NULL || slash == out)
		return -1;
	*slash = '\0';
	return 0;
}

static bool
is_beside(char *out, size_t cap, const char *name)
{
	char dir[PATH_LEN_MAX + 1];
	struct stat st;
	int n;

	if (own_directory(dir, sizeof(dir)) == -1)
		return false;
	if (lstat(dir, &st) == -1 || !S_ISDIR(st.st_mode) || !is_ours(&st))
		return false;
	n = snprintf(out, cap, "%s/%s", dir, name);
	if (n < 0 || (size_t)n >= cap)
		return false;
	return lstat(out, &st) == 0 && S_ISREG(st.st_mode) && is_ours(&st) &&
	    (st.st_mode & S_IXUSR) != 0;
}

int
program_path(char *out, size_t cap, const char *name, struct error *e)
{
	const char *dir;
	int n;

	if (is_beside(out, cap, name))
		return 0;
	dir = strcmp(name, "sandboxd") == 0 ? SANDBOXD_SBINDIR :
	    SANDBOXD_LIBEXECDIR;
	n = snprintf(out, cap, "%s/%s", dir, name);
	if (n < 0 || (size_t)n >= cap)
		return error_set(e, ERR_INTERNAL, "path of %s is too long",
		    name);
	if (access(out, X_OK) == -1) {
		error_sys(e, ERR_UNAVAILABLE, errno, "cannot find %s", name);
		error_path(e, out);
		error_fix(e, "install sandboxd, or run it from a build "
		    "directory that only you and root can write to");
		return -1;
	}
	return 0;
}
