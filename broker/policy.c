/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The policy, received once from the front while that is still what the
 * administrator started, and requests judged by it.  The front has judged
 * them already; judged again because the front is not trusted.  Values of a
 * profile are defaults and ceilings, `defaults` only defaults.
 */

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "broker.h"

#define TABLE_MAX	4096
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

static struct policy policy;
static bool has_policy;

const struct policy *
policy_get(void)
{
	return has_policy ? &policy : NULL;
}

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
	&policy.name##_rows, &policy.n##name, e)

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
	if ((b = backend_find(name)) == NULL ||
	    policy.nbackends == BACKENDS_MAX)
		return error_key(e, ERR_INVALID, "backend",
		    "there is no backend %s", name);
	policy.backends[policy.nbackends++] = b;
	return 0;
}

/* SANDBOX_BACKEND of the daemon's environment takes the order's place. */
static int
order_unpack(struct error *e)
{
	struct view word = policy.override;
	struct cursor c;
	uint32_t n;

	if (word.n > 0 && strncasecmp((const char *)word.p, "auto", word.n))
		return order_add(word, e);
	cursor_init(&c, policy.order);
	if (policy.order.p == NULL || get_array(&c, &n) == -1)
		return error_set(e, ERR_INVALID, "policy: no backend order");
	while (n-- > 0)
		if (get_str(&c, &word, NAME_LEN_MAX) == -1 ||
		    order_add(word, e) == -1)
			return -1;
	return 0;
}

static int
spec_of(struct view packed, struct spec *s, struct error *e)
{
	spec_init(s);
	return packed.p == NULL ? 0 : spec_unpack(packed, s, e);
}

/* The frame's bytes are copied: every view of the policy points in there. */
int
policy_unpack(struct view packed, struct error *e)
{
	struct policy_profile *p;
	struct view subject;
	uint32_t i;

	buf_add(&policy.bytes, packed.p, packed.n);
	if (policy.bytes.has_failed)
		fatal("out of memory");
	packed.p = policy.bytes.p;
	if (field_unpack_map(policy_fields, NITEMS(policy_fields), packed,
	    &policy, e) == -1 || order_unpack(e) == -1 ||
	    spec_of(policy.defaults, &policy.defaults_spec, e) == -1 ||
	    ROWS(listen, policy.listen) == -1 ||
	    ROWS(rule, policy.rules) == -1 ||
	    ROWS(profile, policy.profiles) == -1)
		return -1;
	for (i = 0; i < policy.nprofile; i++) {
		p = &policy.profile_rows[i];
		if (spec_of(p->spec, &p->values, e) == -1)
			return -1;
	}
	for (i = 0; i < policy.nrule; i++) {
		subject = policy.rule_rows[i].subject;
		if (!view_is(subject, "all") && !view_is(subject, "user") &&
		    !view_is(subject, "group"))
			return error_set(e, ERR_INVALID, "policy: a rule "
			    "for nobody");
	}
	has_policy = true;
	return 0;
}

/*** Judging ***/

static bool
view_same(struct view a, struct view b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

uint64_t *
spec_value(const struct spec *s, size_t i)
{
	return (uint64_t *)((uintptr_t)s + spec_limits[i].offset);
}

/* A word of the request, or the profile's, which nobody may change. */
static int
word_fill(struct view *word, struct view given, struct view fallback,
    const char *key, struct error *e)
{
	if (given.p != NULL && word->p != NULL && !view_same(*word, given))
		return error_key(e, ERR_INVALID, key, "%s: the profile has "
		    "another and does not leave the choice", key);
	if (word->p == NULL)
		*word = given.p != NULL ? given : fallback;
	return 0;
}

static int
limits_fill(struct judged *j, const struct spec *profile, struct error *e)
{
	uint64_t *limit, ceiling;
	size_t i;

	for (i = 0; spec_limits[i].name != NULL; i++) {
		limit = spec_value(&j->spec, i);
		ceiling = *spec_value(profile, i);
		if (*limit != SPEC_ABSENT || ceiling != SPEC_ABSENT)
			j->asked |= 1u << i;
		if (*limit == SPEC_ABSENT)
			*limit = ceiling;
		if (*limit == SPEC_ABSENT)
			*limit = *spec_value(&policy.defaults_spec, i);
		else if (*limit > ceiling)
			return error_key(e, ERR_INVALID, spec_limits[i].name,
			    "%s: %llu is above the profile's %llu",
			    spec_limits[i].name, (unsigned long long)*limit,
			    (unsigned long long)ceiling);
	}
	return 0;
}

static int
floor_rank(struct view floor)
{
	if (view_is(floor, "kernel"))
		return LEVEL_KERNEL;
	return view_is(floor, "namespace") ? LEVEL_NAMESPACE : LEVEL_NONE;
}

int
policy_judge(struct view packed, struct judged *j, struct error *e)
{
	const struct spec *d = &policy.defaults_spec, *ps;
	struct spec *s = &j->spec, none;
	uint32_t i;

	j->asked = 0;
	spec_init(&none);
	ps = &none;
	if (spec_of(packed, s, e) == -1)
		return -1;
	if (s->profile.p != NULL) {
		for (i = 0; i < policy.nprofile && !view_same(s->profile,
		    policy.profile_rows[i].name); i++)
			;
		if (i == policy.nprofile)
			return error_key(e, ERR_INVALID, "profile",
			    "there is no profile of this name");
		ps = &policy.profile_rows[i].values;
	}
	if (word_fill(&s->backend, ps->backend, d->backend, "backend", e) ||
	    word_fill(&s->image, ps->image, d->image, "image", e) ||
	    word_fill(&s->network, ps->network, d->network, "network", e))
		return -1;
	if (floor_rank(ps->floor) > floor_rank(s->floor))
		s->floor = ps->floor;
	if (s->network.p != NULL && !view_is(s->network, "none"))
		return error_key(e, ERR_INVALID, "network",
		    "network: only none is known");
	if (s->image.p != NULL && !view_is(s->image, "host"))
		return error_key(e, ERR_INVALID, "image",
		    "image: only host is known");
	if (s->mounts.p != NULL && s->offer == SPEC_ABSENT)
		return error_key(e, ERR_INVALID, "offer",
		    "mounts need a sandbox.offer");
	return limits_fill(j, ps, e);
}

static bool
rule_matches(const struct policy_rule *r, const struct subject *who,
    const struct judged *j, const struct backend *b)
{
	bool is_group = view_is(r->subject, "group");
	size_t i;

	if (view_is(r->subject, "user") && who->uid != r->id)
		return false;
	for (i = 0; is_group && i < who->ngroups && who->groups[i] != r->id;
	    i++)
		;
	if (is_group && i == who->ngroups && who->gid != r->id)
		return false;
	if (r->profile.n > 0 && !view_same(r->profile, j->spec.profile))
		return false;
	return r->backend.n == 0 || view_is(r->backend, b->name);
}

/*
 * Last match wins; no match is permitted, except that no isolation on behalf
 * of root has to be permitted by name.
 */
int
policy_judge_backend(const struct subject *who, const struct judged *j,
    const struct backend *b, bool is_root, struct error *e)
{
	const struct policy_rule *last = NULL;
	uint32_t i;

	for (i = 0; i < policy.nrule; i++)
		if (rule_matches(&policy.rule_rows[i], who, j, b))
			last = &policy.rule_rows[i];
	if (last != NULL && !last->permit)
		return error_key(e, ERR_DENIED, "backend", "a rule of the "
		    "configuration denies this with backend %s", b->name);
	if (b->level == LEVEL_NONE && is_root &&
	    (last == NULL || last->backend.n == 0)) {
		error_key(e, ERR_DENIED, "backend", "backend %s isolates "
		    "nothing and is not permitted", b->name);
		error_fix(e, "permit it by name in sandboxd.conf: "
		    "permit user NAME backend %s", b->name);
		return -1;
	}
	if ((int)b->level < floor_rank(j->spec.floor))
		return error_key(e, ERR_INVALID, "floor", "backend %s is "
		    "below the floor that was asked for", b->name);
	return 0;
}
