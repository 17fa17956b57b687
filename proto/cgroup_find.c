/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Where our own control groups are, from the kernel's two texts: v1, v2 and
 * hybrid hosts, each controller by itself.  Pure, and used by the broker
 * alone; what cannot be understood is left out, and then that controller is
 * not there.
 */

#include <stdio.h>
#include <string.h>

#include "proto.h"

static const struct {
	const char	*name;
	unsigned int	 bit;
} v1_names[] = {
	{ "freezer", CG_GROUPS },
	{ "pids", CG_PIDS },
	{ "memory", CG_MEMORY },
	{ "cpu", CG_CPU },
};

bool
cgroup_list_has(const char *list, const char *end, const char *word)
{
	size_t n = strlen(word);
	const char *p;

	for (p = list; p < end; p += strcspn(p, ", \n") + 1)
		if ((size_t)(end - p) >= n && memcmp(p, word, n) == 0 &&
		    (p + n == end || strchr(", \n", p[n]) != NULL))
			return true;
	return false;
}

/* The next line of a text, cut if it is very long. */
static const char *
line_next(const char *p, char *line, size_t cap)
{
	size_t n = strcspn(p, "\n");

	if (*p == '\0')
		return NULL;
	snprintf(line, cap, "%.*s", (int)n, p);
	return p + n + (p[n] == '\n');
}

/*
 * Our own group's directory in the hierarchy with the controller; "" is v2.
 * The mount's root may be ours or above; or another namespace made it.
 */
static int
place_find(const char *self, const char *mounts, const char *name, char *out,
    size_t cap)
{
	static char line[16384], own[4096], root[4096], point[4096];
	char words[512], type[32];
	const char *p;
	size_t n;
	int len;

	for (p = self; (p = line_next(p, line, sizeof(line))) != NULL; )
		if (*name == '\0' ? sscanf(line, "0::%4095s", own) == 1 :
		    sscanf(line, "%*d:%511[^:]:%4095s", words, own) == 2 &&
		    cgroup_list_has(words, words + strlen(words), name))
			break;
	if (p == NULL)
		return -1;
	for (p = mounts; (p = line_next(p, line, sizeof(line))) != NULL; ) {
		if (sscanf(line, "%*s %*s %*s %4095s %4095s %*[^-]- %31s %*s "
		    "%511s", root, point, type, words) != 4 ||
		    strcmp(type, *name == '\0' ? "cgroup2" : "cgroup") != 0 ||
		    (*name != '\0' &&
		    !cgroup_list_has(words, words + strlen(words), name)))
			continue;
		n = strcmp(root, "/") == 0 ? 0 : strlen(root);
		if (strncmp(own, root, n) != 0 ||
		    (own[n] != '\0' && own[n] != '/'))
			continue;
		len = snprintf(out, cap, "%s%s", point,
		    strcmp(own + n, "/") == 0 ? "" : own + n);
		if (len > 0 && (size_t)len < cap)
			return 0;
	}
	return -1;
}

/* Controllers that are mounted together are one place; v2 comes last. */
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
		for (k = 0; k < n && strcmp(places[k].path, p->path) != 0; k++)
			;
		if (k == n) {
			n++;
			p->version = 1;
			p->bits = 0;
		}
		places[k].bits |= v1_names[i].bit;
	}
	p = &places[n];
	p->version = 2;
	p->bits = 0;
	return place_find(self, mounts, "", p->path, sizeof(p->path)) == -1 ?
	    n : n + 1;
}
