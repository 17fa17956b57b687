/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The policy: received once from the front while that is still what the
 * administrator started, before anything listens.  Later requests are judged
 * against this copy.  Checked in full all the same.
 */

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "broker.h"

#define TABLE_MAX	4096
#define VALUE(s, n, k, m)						\
	{ .name = #n, .kind = k, .offset = offsetof(struct s, n), .max = m }

struct wire {
	uint64_t	 uid;
	uint64_t	 gid;
	uint64_t	 base;
	uint64_t	 count;
	struct view	 listen;
	struct view	 order;
	struct view	 override;
	struct view	 defaults;
	struct view	 profiles;
	struct view	 rules;
	bool		 private;
};

static const struct field wire_fields[] = {
	VALUE(wire, uid, F_UINT, UINT32_MAX),
	VALUE(wire, gid, F_UINT, UINT32_MAX),
	VALUE(wire, base, F_UINT, UINT32_MAX),
	VALUE(wire, count, F_UINT, UINT32_MAX),
	VALUE(wire, listen, F_ARRAY, FRAME_BODY_MAX),
	VALUE(wire, order, F_ARRAY, FRAME_BODY_MAX),
	VALUE(wire, override, F_STR, NAME_LEN_MAX),
	VALUE(wire, defaults, F_MAP, FRAME_BODY_MAX),
	VALUE(wire, profiles, F_ARRAY, FRAME_BODY_MAX),
	VALUE(wire, rules, F_ARRAY, FRAME_BODY_MAX),
	VALUE(wire, private, F_BOOL, 0),
};

static const struct field listen_fields[] = {
	VALUE(policy_listen, path, F_STR, PATH_LEN_MAX),
	VALUE(policy_listen, mode, F_UINT, 0777),
	VALUE(policy_listen, gid, F_UINT, UINT32_MAX),
};

struct profile_wire {
	struct view	 name;
	struct view	 spec;
};

static const struct field profile_fields[] = {
	VALUE(profile_wire, name, F_STR, NAME_LEN_MAX),
	VALUE(profile_wire, spec, F_MAP, FRAME_BODY_MAX),
};

static const struct field rule_fields[] = {
	VALUE(policy_rule, permit, F_BOOL, 0),
	VALUE(policy_rule, subject, F_STR, 16),
	VALUE(policy_rule, id, F_UINT, UINT32_MAX),
	VALUE(policy_rule, profile, F_STR, NAME_LEN_MAX),
	VALUE(policy_rule, backend, F_STR, NAME_LEN_MAX),
};

#define FIELDS(t)	t, sizeof(t) / sizeof(t[0])

static struct policy policy;
static bool has_policy;

const struct policy *
policy_get(void)
{
	return has_policy ? &policy : NULL;
}

const struct policy_profile *
policy_profile_find(struct view name)
{
	uint32_t i;

	for (i = 0; i < policy.nprofiles; i++)
		if (policy.profiles[i].name.n == name.n &&
		    memcmp(policy.profiles[i].name.p, name.p, name.n) == 0)
			return &policy.profiles[i];
	return NULL;
}

/* An array of maps into a table of rows of that size; first: what is absent. */
static int
rows_unpack(const struct field *fields, size_t nfields, struct view packed,
    const void *first, size_t size, void **rows, uint32_t *n, struct error *e)
{
	struct cursor c;
	struct view map;
	char *row;
	uint32_t i;

	*n = 0;
	if (packed.p == NULL)
		return 0;
	cursor_init(&c, packed);
	if (get_array(&c, n) == -1 || *n > TABLE_MAX)
		return error_set(e, ERR_INVALID, "policy: a bad table");
	*rows = xcalloc(*n + 1, size);
	for (i = 0; i < *n; i++) {
		row = (char *)*rows + i * size;
		memcpy(row, first, size);
		if (get_raw(&c, &map) == -1 ||
		    field_unpack_map(fields, nfields, map, row, e) == -1)
			return -1;
	}
	return 0;
}

static int
order_add(struct view word, struct error *e)
{
	char name[NAME_LEN_MAX + 1];
	const struct backend *b;
	size_t i;

	if (text_copy(name, sizeof(name), word) == -1)
		return error_set(e, ERR_INVALID, "policy: a bad order");
	for (i = 0; name[i] != '\0'; i++)
		if (name[i] >= 'A' && name[i] <= 'Z')
			name[i] += 'a' - 'A';
	if ((b = backend_find(name)) == NULL)
		return error_key(e, ERR_INVALID, "backend",
		    "there is no backend %s", name);
	if (policy.norder == BACKENDS_MAX)
		return error_set(e, ERR_INVALID, "policy: order too long");
	policy.order[policy.norder++] = b;
	return 0;
}

/* SANDBOX_BACKEND of the daemon's environment takes the order's place. */
static int
order_unpack(const struct wire *w, struct error *e)
{
	struct cursor c;
	struct view word;
	uint32_t n;

	if (w->override.n > 0 && strncasecmp((const char *)w->override.p,
	    "auto", w->override.n) != 0)
		return order_add(w->override, e);
	cursor_init(&c, w->order);
	if (w->order.p == NULL || get_array(&c, &n) == -1)
		return error_set(e, ERR_INVALID, "policy: no backend order");
	while (n-- > 0)
		if (get_str(&c, &word, NAME_LEN_MAX) == -1 ||
		    order_add(word, e) == -1)
			return -1;
	return 0;
}

static int
profiles_unpack(struct view packed, struct error *e)
{
	static const struct profile_wire first;
	struct profile_wire *rows = NULL;
	struct policy_profile *p;
	uint32_t i;
	int rv = -1;

	if (rows_unpack(FIELDS(profile_fields), packed, &first, sizeof(*rows),
	    (void **)&rows, &policy.nprofiles, e) == -1)
		goto out;
	policy.profiles = xcalloc(policy.nprofiles + 1, sizeof(*p));
	for (i = 0; i < policy.nprofiles; i++) {
		p = &policy.profiles[i];
		p->name = rows[i].name;
		spec_init(&p->spec);
		if (rows[i].spec.p != NULL &&
		    spec_unpack(rows[i].spec, &p->spec, e) == -1)
			goto out;
	}
	rv = 0;
out:
	free(rows);
	return rv;
}

static int
tables_unpack(const struct wire *w, struct error *e)
{
	static const struct policy_listen listen = { .gid = UINT32_MAX };
	static const struct policy_rule rule;
	uint32_t i;

	if (rows_unpack(FIELDS(listen_fields), w->listen, &listen,
	    sizeof(listen), (void **)&policy.listens, &policy.nlistens,
	    e) == -1 ||
	    rows_unpack(FIELDS(rule_fields), w->rules, &rule, sizeof(rule),
	    (void **)&policy.rules, &policy.nrules, e) == -1)
		return -1;
	for (i = 0; i < policy.nrules; i++)
		if (!view_is(policy.rules[i].subject, "all") &&
		    !view_is(policy.rules[i].subject, "user") &&
		    !view_is(policy.rules[i].subject, "group"))
			return error_set(e, ERR_INVALID, "policy: a rule "
			    "for nobody");
	spec_init(&policy.defaults);
	if (w->defaults.p != NULL &&
	    spec_unpack(w->defaults, &policy.defaults, e) == -1)
		return -1;
	return profiles_unpack(w->profiles, e);
}

/* The frame's bytes are copied: every view of the policy points in there. */
int
policy_unpack(struct view packed, struct error *e)
{
	struct wire w = { .uid = UINT32_MAX, .gid = UINT32_MAX };
	struct view copy;

	buf_add(&policy.bytes, packed.p, packed.n);
	if (policy.bytes.has_failed)
		fatal("out of memory");
	copy.p = policy.bytes.p;
	copy.n = policy.bytes.n;
	if (field_unpack_map(FIELDS(wire_fields), copy, &w, e) == -1)
		return -1;
	policy.uid = w.uid;
	policy.gid = w.gid;
	policy.base = w.base;
	policy.count = w.count;
	policy.is_private = w.private;
	if (order_unpack(&w, e) == -1 || tables_unpack(&w, e) == -1)
		return -1;
	has_policy = true;
	return 0;
}
