/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Where our own control groups are, from the kernel's two texts: v1, v2 and
 * hybrid hosts, each controller by itself.  Pure; what cannot be understood
 * is left out, and then that controller is not there.
 */

#include <stdio.h>
#include <string.h>

#include "broker.h"

static const struct {
	const char	*name;
	unsigned int	 bit;
} v1_names[] = {
	{ "freezer", CG_GROUPS },
	{ "pids", CG_PIDS },
	{ "memory", CG_MEMORY },
	{ "cpu", CG_CPU },
};

/* Is the word one of a list with commas of that length? */
static bool
list_has(const char *list, size_t n, const char *word)
{
	size_t len = strlen(word), at = 0, end;

	while (at < n) {
		for (end = at; end < n && list[end] != ','; end++)
			;
		if (end - at == len && memcmp(list + at, word, len) == 0)
			return true;
		at = end + 1;
	}
	return false;
}

/* Our path in the hierarchy with the controller; "" is v2's. */
static int
own_path(const char *self, const char *controller, char *out, size_t cap)
{
	const char *line, *list, *path, *end;

	for (line = self; *line != '\0'; line = *end == '\0' ? end : end + 1) {
		end = line + strcspn(line, "\n");
		list = memchr(line, ':', (size_t)(end - line));
		if (list == NULL)
			continue;
		list++;
		path = memchr(list, ':', (size_t)(end - list));
		if (path == NULL)
			continue;
		if (*controller == '\0' ? path != list :
		    !list_has(list, (size_t)(path - list), controller))
			continue;
		path++;
		if ((size_t)(end - path) >= cap)
			return -1;
		memcpy(out, path, (size_t)(end - path));
		out[end - path] = '\0';
		return 0;
	}
	return -1;
}

/* The part of our path that is below the mount's root. */
static const char *
below_root(const char *path, const char *root)
{
	size_t n = strlen(root);

	if (strcmp(root, "/") == 0)
		return strcmp(path, "/") == 0 ? "" : path;
	if (strncmp(path, root, n) == 0 && (path[n] == '\0' || path[n] == '/'))
		return path + n;
	/* Another's namespace of groups made this mount. */
	return NULL;
}

/* One line of mountinfo; v1 with this controller, or v2 with "". */
static int
mount_match(char *line, const char *controller, char **root, char **point)
{
	char *field[6], *rest, *type, *options;
	int i;

	if ((rest = strstr(line, " - ")) == NULL)
		return -1;
	*rest = '\0';
	rest += 3;
	for (i = 0; i < 6; i++)
		if ((field[i] = strsep(&line, " ")) == NULL)
			return -1;
	type = strsep(&rest, " ");
	strsep(&rest, " ");		/* the source */
	options = rest;
	if (type == NULL || options == NULL)
		return -1;
	if (strcmp(type, *controller == '\0' ? "cgroup2" : "cgroup") != 0)
		return -1;
	if (*controller != '\0' &&
	    !list_has(options, strlen(options), controller))
		return -1;
	*root = field[3];
	*point = field[4];
	return 0;
}

static int
place_find(const char *self, const char *mounts, const char *controller,
    char *out, size_t cap)
{
	char own[PATH_LEN_MAX + 1], line[2 * PATH_LEN_MAX];
	char *root, *point;
	const char *p, *end, *below;
	int n;

	if (own_path(self, controller, own, sizeof(own)) == -1)
		return -1;
	for (p = mounts; *p != '\0'; p = *end == '\0' ? end : end + 1) {
		end = p + strcspn(p, "\n");
		if ((size_t)(end - p) >= sizeof(line))
			continue;
		memcpy(line, p, (size_t)(end - p));
		line[end - p] = '\0';
		if (mount_match(line, controller, &root, &point) == -1 ||
		    (below = below_root(own, root)) == NULL)
			continue;
		n = snprintf(out, cap, "%s%s", point, below);
		if (n > 0 && (size_t)n < cap)
			return 0;
	}
	return -1;
}

int
cgroup_find(const char *self, const char *mounts, struct cgroup_place *places)
{
	struct cgroup_place *p;
	size_t i;
	int n = 0, k;

	for (i = 0; i < sizeof(v1_names) / sizeof(v1_names[0]); i++) {
		p = &places[n];
		if (place_find(self, mounts, v1_names[i].name, p->path,
		    sizeof(p->path)) == -1)
			continue;
		/* Controllers that are mounted together are one tree. */
		for (k = 0; k < n && strcmp(places[k].path, p->path) != 0; k++)
			;
		if (k == n) {
			p->version = 1;
			p->controllers = 0;
			n++;
		}
		places[k].controllers |= v1_names[i].bit;
	}
	p = &places[n];
	if (place_find(self, mounts, "", p->path, sizeof(p->path)) == 0) {
		p->version = 2;
		p->controllers = 0;
		n++;
	}
	return n;
}
