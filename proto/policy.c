/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The configuration as the broker receives it; parent/policy.c packs it.
 * Run by the broker, once, with what the front was still trusted to send.
 * Checked in full all the same; nothing is judged here.
 */

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "proto.h"

#define TABLE_MAX	4096
#define NITEMS(t)	(sizeof(t) / sizeof((t)[0]))
#define VALUE(s, n, k, m)						\
	{ .name = #n, .kind = k, .offset = offsetof(struct s, n), .max = m }
#define LIST(n, k)	VALUE(policy, n, k, FRAME_BODY_MAX)

static const struct field policy_fields[] = {
	VALUE(policy, uid, F_UINT, UINT32_MAX),
	VALUE(policy, gid, F_UINT, UINT32_MAX),
	VALUE(policy, base, F_UINT, UINT32_MAX),
	VALUE(policy, count, F_UINT, UINT32_MAX),
	VALUE(policy, override, F_STR, NAME_LEN_MAX),
	VALUE(policy, private, F_BOOL, 0),
	LIST(listen, F_ARRAY), LIST(order, F_ARRAY), LIST(rules, F_ARRAY),
	LIST(profiles, F_ARRAY), LIST(defaults, F_MAP),
};

static const struct field listen_fields[] = {
	VALUE(policy_listen, path, F_STR, PATH_LEN_MAX),
	VALUE(policy_listen, mode, F_UINT, 0777),
	VALUE(policy_listen, gid, F_UINT, UINT32_MAX),
};

static const struct field profile_fields[] = {
	VALUE(policy_profile, name, F_STR, NAME_LEN_MAX),
	VALUE(policy_profile, spec, F_MAP, FRAME_BODY_MAX),
};

static const struct field rule_fields[] = {
	VALUE(policy_rule, permit, F_BOOL, 0),
	VALUE(policy_rule, subject, F_STR, 16),
	VALUE(policy_rule, id, F_UINT, UINT32_MAX),
	VALUE(policy_rule, profile, F_STR, NAME_LEN_MAX),
	VALUE(policy_rule, backend, F_STR, NAME_LEN_MAX),
};

/* An array of maps into a table of rows of that size. */
static int
rows_unpack(const struct field *fields, size_t nfields, struct view packed,
    size_t size, void *table, uint32_t *n, struct error *e)
{
	struct cursor c;
	struct view map;
	uint32_t i;
	char *rows;

	*n = 0;
	cursor_init(&c, packed);
	if (packed.p != NULL && (get_array(&c, n) == -1 || *n > TABLE_MAX))
		return error_set(e, ERR_INVALID, "policy: a bad table");
	rows = xcalloc(*n + 1, size);
	memcpy(table, &rows, sizeof(rows));
	for (i = 0; i < *n; i++)
		if (get_raw(&c, &map) == -1 || field_unpack_map(fields,
		    nfields, map, rows + i * size, e) == -1)
			return -1;
	return 0;
}

#define ROWS(name, packed)	rows_unpack(name##_fields,		\
	NITEMS(name##_fields), packed, sizeof(struct policy_##name),	\
	&p->name##_rows, &p->n##name, e)

/* SANDBOX_BACKEND of the daemon's environment takes the order's place. */
static int
order_unpack(struct policy *p, struct error *e)
{
	struct cursor c;
	uint32_t i;

	p->norder = 1;
	cursor_init(&c, p->order);
	if (p->override.n > 0 && strncasecmp((const char *)p->override.p,
	    "auto", p->override.n) != 0) {
		p->order_rows = &p->override;
		return 0;
	}
	if (p->order.p == NULL || get_array(&c, &p->norder) == -1 ||
	    p->norder > TABLE_MAX)
		return error_set(e, ERR_INVALID, "policy: no backend order");
	p->order_rows = xcalloc(p->norder + 1, sizeof(struct view));
	for (i = 0; i < p->norder; i++)
		if (get_str(&c, &p->order_rows[i], NAME_LEN_MAX) == -1)
			return error_set(e, ERR_INVALID, "policy: bad order");
	return 0;
}

static int
spec_of(struct view packed, struct spec *s, struct error *e)
{
	spec_init(s);
	return packed.p == NULL ? 0 : spec_unpack(packed, s, e);
}

int
policy_unpack(struct view packed, struct policy *p, struct error *e)
{
	struct view subject;
	uint32_t i;

	memset(p, 0, sizeof(*p));
	buf_add(&p->bytes, packed.p, packed.n);
	if (p->bytes.has_failed)
		fatal("out of memory");
	packed.p = p->bytes.p;
	if (field_unpack_map(policy_fields, NITEMS(policy_fields), packed, p,
	    e) == -1 || order_unpack(p, e) == -1 ||
	    spec_of(p->defaults, &p->default_spec, e) == -1 ||
	    ROWS(listen, p->listen) == -1 || ROWS(rule, p->rules) == -1 ||
	    ROWS(profile, p->profiles) == -1)
		return -1;
	for (i = 0; i < p->nprofile; i++)
		if (spec_of(p->profile_rows[i].spec,
		    &p->profile_rows[i].values, e) == -1)
			return -1;
	for (i = 0; i < p->nrule; i++) {
		subject = p->rule_rows[i].subject;
		if (!view_is(subject, "all") && !view_is(subject, "user") &&
		    !view_is(subject, "group"))
			return error_set(e, ERR_INVALID,
			    "policy: a rule for nobody");
	}
	return 0;
}

void
policy_free(struct policy *p)
{
	if (p->order_rows != &p->override)
		free(p->order_rows);
	free(p->listen_rows);
	free(p->profile_rows);
	free(p->rule_rows);
	buf_free(&p->bytes);
	memset(p, 0, sizeof(*p));
}
