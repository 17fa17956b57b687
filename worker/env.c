/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The environment of an exec, built from nothing: a fixed base, then the
 * sandbox's, then the exec's own; later ones win, and nil removes.  Run by
 * the worker.  Names and values are bytes and stay exactly as they came.
 */

#include <stdlib.h>
#include <string.h>

#include "worker.h"

struct entry {
	struct view	 name;
	struct view	 value;
	bool		 is_joined;	/* "name=value" lies in one piece */
	bool		 is_removed;
};

struct env {
	struct entry	*p;
	size_t		 n;
};

static const char *const base[] = {
	"PATH=/usr/local/bin:/usr/bin:/bin",
	"HOME=/workspace",
	"USER=sandbox",
	"LOGNAME=sandbox",
	"SHELL=/bin/sh",
	"LANG=C.UTF-8",
};

static struct entry *
env_slot(struct env *env, struct view name)
{
	size_t	 i;

	for (i = 0; i < env->n; i++)
		if (env->p[i].name.n == name.n &&
		    memcmp(env->p[i].name.p, name.p, name.n) == 0)
			return &env->p[i];
	return &env->p[env->n++];
}

/* "NAME=value"; -1 if it is not that. */
static int
env_add(struct env *env, struct view v)
{
	const unsigned char	*eq = memchr(v.p, '=', v.n);
	struct view		 name;
	size_t			 n;

	if (eq == NULL || eq == v.p || memchr(v.p, '\0', v.n) != NULL)
		return -1;
	n = (size_t)(eq - v.p);
	name = (struct view){ v.p, n };
	*env_slot(env, name) = (struct entry){ name,
	    { eq + 1, v.n - n - 1 }, true, false };
	return 0;
}

/* All of a packed array; -1 if one of them is not "NAME=value". */
static int
env_add_array(struct env *env, struct view packed)
{
	struct cursor	 c;
	struct view	 v;
	uint32_t	 i, n;

	cursor_init(&c, packed);
	if (get_array(&c, &n) == -1)
		return -1;
	for (i = 0; i < n; i++)
		if (get_bin(&c, &v, ARGS_BYTES_MAX) == -1 ||
		    env_add(env, v) == -1)
			return -1;
	return 0;
}

static int
env_add_map(struct env *env, struct view packed, struct error *e)
{
	struct cursor	 c;
	struct entry	 entry;
	uint32_t	 i, n;

	cursor_init(&c, packed);
	(void)get_map(&c, &n);
	for (i = 0; i < n; i++) {
		entry = (struct entry){ 0 };
		if (get_bin(&c, &entry.name, ARGS_BYTES_MAX) == -1 ||
		    entry.name.n == 0 ||
		    memchr(entry.name.p, '=', entry.name.n) != NULL ||
		    memchr(entry.name.p, '\0', entry.name.n) != NULL)
			return error_key(e, ERR_INVALID, "env",
			    "a name in env is empty or has a = or NUL in it");
		if (get_nil(&c) == 0)
			entry.is_removed = true;
		else if (get_bin(&c, &entry.value, ARGS_BYTES_MAX) == -1 ||
		    memchr(entry.value.p, '\0', entry.value.n) != NULL)
			return error_key(e, ERR_INVALID, "env",
			    "a value in env is not bytes, or has a NUL in it");
		*env_slot(env, entry.name) = entry;
	}
	return 0;
}

static void
env_put(const struct env *env, struct buf *b)
{
	const struct entry	*x;
	struct buf		 join = { 0 };
	size_t			 i;
	uint32_t		 n = 0;

	for (i = 0; i < env->n; i++)
		n += !env->p[i].is_removed;
	put_array(b, n);
	for (i = 0; i < env->n; i++) {
		x = &env->p[i];
		if (x->is_removed)
			continue;
		if (x->is_joined) {
			put_bin(b, (struct view){ x->name.p,
			    x->name.n + 1 + x->value.n });
			continue;
		}
		join.n = 0;
		buf_add(&join, x->name.p, x->name.n);
		buf_add(&join, "=", 1);
		buf_add(&join, x->value.p, x->value.n);
		put_bin(b, (struct view){ join.p, join.n });
	}
	if (join.has_failed || b->has_failed)
		fatal("out of memory");
	buf_free(&join);
}

static uint32_t
env_count(struct view packed)
{
	struct cursor	 c;
	uint32_t	 n = 0;

	cursor_init(&c, packed);
	if (get_array(&c, &n) == -1)
		(void)get_map(&c, &n);
	return n;
}

/* From the broker, which has checked it. */
void
env_base(struct worker *w, struct view packed)
{
	struct env	 env = { 0 };
	size_t		 i;

	env.p = xcalloc(sizeof(base) / sizeof(base[0]) + env_count(packed),
	    sizeof(*env.p));
	for (i = 0; i < sizeof(base) / sizeof(base[0]); i++)
		(void)env_add(&env, view_of(base[i]));
	if (env_add_array(&env, packed) == -1)
		fatal("WORKER_START: bad environment");
	env_put(&env, &w->env);
	free(env.p);
}

int
env_pack(struct worker *w, struct view map, bool has_pty, struct buf *b,
    struct error *e)
{
	struct view	 ours = { w->env.p, w->env.n };
	struct env	 env = { 0 };
	int		 r = -1;

	if (env_count(map) > ARGS_MAX)
		return error_key(e, ERR_TOO_LARGE, "env",
		    "more than %d variables", ARGS_MAX);
	env.p = xcalloc(env_count(ours) + env_count(map) + 1,
	    sizeof(*env.p));
	if (has_pty)
		(void)env_add(&env, view_of("TERM=xterm-256color"));
	(void)env_add_array(&env, ours);
	if (map.p == NULL || env_add_map(&env, map, e) == 0) {
		env_put(&env, b);
		r = 0;
	}
	free(env.p);
	if (r == 0 && b->n > ARGS_BYTES_MAX)
		r = error_key(e, ERR_TOO_LARGE, "env",
		    "the environment has %zu bytes, more than %d", b->n,
		    ARGS_BYTES_MAX);
	return r;
}
