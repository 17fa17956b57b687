/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The policy, received once from the front while that is still what the
 * administrator started, and requests judged by it.  The front has judged
 * them already; judged again because the front is not trusted.  Values of a
 * profile are defaults and ceilings, `defaults` only defaults.
 */

#include <string.h>

#include "broker.h"

static struct policy policy;
static const struct backend *order[BACKENDS_MAX];
static size_t norder;
static bool has_policy;

const struct policy *
policy_get(void)
{
	return has_policy ? &policy : NULL;
}

/* Of the order, the i-th; NULL at the end. */
const struct backend *
policy_backend(size_t i)
{
	return i < norder ? order[i] : NULL;
}

int
policy_set(struct view packed, struct error *e)
{
	char name[NAME_LEN_MAX + 1];
	const struct backend *b;
	uint32_t i;
	char *p;

	if (policy_unpack(packed, &policy, e) == -1)
		return -1;
	for (i = 0; i < policy.norder; i++) {
		if (text_copy(name, sizeof(name), policy.order_rows[i]) == -1)
			name[0] = '\0';
		for (p = name; *p != '\0'; p++)
			if (*p >= 'A' && *p <= 'Z')
				*p += 'a' - 'A';
		if ((b = backend_find(name)) == NULL ||
		    norder == BACKENDS_MAX)
			return error_key(e, ERR_INVALID, "backend",
			    "there is no backend %s", name);
		order[norder++] = b;
	}
	has_policy = true;
	return 0;
}

static bool
view_same(struct view a, struct view b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
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
			*limit = *spec_value(&policy.default_spec, i);
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
	const struct spec *d = &policy.default_spec, *ps;
	struct spec *s = &j->spec, none;
	uint32_t i;

	j->asked = 0;
	spec_init(&none);
	ps = &none;
	if (spec_unpack(packed, s, e) == -1)
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
