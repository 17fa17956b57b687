/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * What a request for a sandbox comes to under the policy.  The front has
 * judged it already; judged again because the front is not trusted.  Values
 * of a profile are defaults and ceilings, `defaults` only defaults.
 */

#include <string.h>

#include "broker.h"

static uint64_t *
limit_of(struct spec *s, size_t i)
{
	return (uint64_t *)(void *)((char *)s + spec_limits[i].offset);
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
		return error_key(e, ERR_INVALID, key,
		    "%s: the profile has another and does not leave the "
		    "choice", key);
	if (word->p == NULL)
		*word = given.p != NULL ? given : fallback;
	return 0;
}

static int
limits_fill(struct judged *j, const struct spec *profile,
    const struct spec *defaults, struct error *e)
{
	uint64_t *limit, ceiling;
	size_t i;

	for (i = 0; spec_limits[i].name != NULL; i++) {
		limit = limit_of(&j->spec, i);
		ceiling = profile == NULL ? SPEC_ABSENT :
		    *limit_of((struct spec *)(uintptr_t)profile, i);
		if (*limit != SPEC_ABSENT || ceiling != SPEC_ABSENT)
			j->asked |= 1u << i;
		if (*limit != SPEC_ABSENT && ceiling != SPEC_ABSENT &&
		    *limit > ceiling)
			return error_key(e, ERR_INVALID, spec_limits[i].name,
			    "%s: %llu is above the profile's %llu",
			    spec_limits[i].name, (unsigned long long)*limit,
			    (unsigned long long)ceiling);
		if (*limit == SPEC_ABSENT)
			*limit = ceiling;
		if (*limit == SPEC_ABSENT)
			*limit = *limit_of(
			    (struct spec *)(uintptr_t)defaults, i);
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

static int
words_judge(struct judged *j, struct error *e)
{
	struct spec *s = &j->spec;

	if (s->network.p != NULL && !view_is(s->network, "none"))
		return error_key(e, ERR_INVALID, "network",
		    "network: only none is known");
	if (s->image.p != NULL && !view_is(s->image, "host"))
		return error_key(e, ERR_INVALID, "image",
		    "image: only host is known");
	if (s->mounts.p != NULL && s->offer == SPEC_ABSENT)
		return error_key(e, ERR_INVALID, "offer",
		    "mounts need a sandbox.offer");
	return 0;
}

int
judge_spec(const struct policy *p, struct view packed, struct judged *j,
    struct error *e)
{
	const struct policy_profile *profile = NULL;
	static const struct spec none;
	const struct spec *ps = &none;
	struct spec *s = &j->spec;

	memset(j, 0, sizeof(*j));
	spec_init(s);
	if (spec_unpack(packed, s, e) == -1)
		return -1;
	if (s->profile.p != NULL) {
		if ((profile = policy_profile_find(s->profile)) == NULL)
			return error_key(e, ERR_INVALID, "profile",
			    "there is no profile of this name");
		ps = &profile->spec;
	}
	if (word_fill(&s->backend, ps->backend, p->defaults.backend, "backend",
	    e) == -1 || word_fill(&s->image, ps->image, p->defaults.image,
	    "image", e) == -1 || word_fill(&s->network, ps->network,
	    p->defaults.network, "network", e) == -1)
		return -1;
	if (floor_rank(ps->floor) > floor_rank(s->floor))
		s->floor = ps->floor;
	if (limits_fill(j, profile == NULL ? NULL : ps, &p->defaults, e) == -1)
		return -1;
	return words_judge(j, e);
}

/*** Rules ***/

static bool
subject_is(const struct subject *who, const struct policy_rule *r)
{
	size_t i;

	if (view_is(r->subject, "all"))
		return true;
	if (view_is(r->subject, "user"))
		return who->uid == r->id;
	for (i = 0; i < who->ngroups; i++)
		if (who->groups[i] == r->id)
			return true;
	return who->gid == r->id;
}

static bool
rule_matches(const struct policy_rule *r, const struct subject *who,
    const struct judged *j, const struct backend *b)
{
	if (!subject_is(who, r))
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
judge_backend(const struct policy *p, const struct subject *who,
    const struct judged *j, const struct backend *b, bool is_root,
    struct error *e)
{
	const struct policy_rule *last = NULL;
	uint32_t i;

	for (i = 0; i < p->nrules; i++)
		if (rule_matches(&p->rules[i], who, j, b))
			last = &p->rules[i];
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
