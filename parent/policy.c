/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The configuration as the one message that arms the broker; broker/policy.c
 * is the other end.  Run by the front once, before anything listens.
 */

#include "config.h"

#include "parent/parent.h"

static void
listen_pack(const struct conf_listen *l, struct buf *b)
{
	put_map(b, 2 + l->has_group);
	pairs_put_str(b, "path", l->path);
	pairs_put_uint(b, "mode", l->mode);
	if (l->has_group)
		pairs_put_uint(b, "gid", l->gid);
}

static void
rule_pack(const struct conf_rule *r, struct buf *b)
{
	static const char *const subjects[] = {
		[SUBJECT_ALL] = "all",
		[SUBJECT_USER] = "user",
		[SUBJECT_GROUP] = "group"
	};

	put_map(b, 3u + (r->profile != NULL) + (r->backend != NULL));
	put_str(b, "permit");
	put_bool(b, r->is_permit);
	pairs_put_str(b, "subject", subjects[r->subject]);
	pairs_put_uint(b, "id", r->id);
	if (r->profile != NULL)
		pairs_put_str(b, "profile", r->profile);
	if (r->backend != NULL)
		pairs_put_str(b, "backend", r->backend);
}

static void
profile_pack(const struct conf_profile *p, struct buf *b)
{
	put_map(b, 2);
	pairs_put_str(b, "name", p->name);
	put_str(b, "spec");
	spec_pack(&p->spec, b);
}

void
policy_pack(const struct conf *conf, struct buf *b)
{
	size_t i;

	put_map(b, 10u + (conf->override != NULL));
	pairs_put_uint(b, "uid", conf->uid);
	pairs_put_uint(b, "gid", conf->gid);
	pairs_put_uint(b, "base", conf->base);
	pairs_put_uint(b, "count", conf->count);
	put_str(b, "private");
	put_bool(b, conf->is_private);
	put_str(b, "listen");
	put_array(b, (uint32_t)conf->nlistens);
	for (i = 0; i < conf->nlistens; i++)
		listen_pack(&conf->listens[i], b);
	put_str(b, "order");
	put_array(b, (uint32_t)conf->norder);
	for (i = 0; i < conf->norder; i++)
		put_str(b, conf->order[i]);
	put_str(b, "defaults");
	spec_pack(&conf->defaults, b);
	put_str(b, "profiles");
	put_array(b, (uint32_t)conf->nprofiles);
	for (i = 0; i < conf->nprofiles; i++)
		profile_pack(&conf->profiles[i], b);
	put_str(b, "rules");
	put_array(b, (uint32_t)conf->nrules);
	for (i = 0; i < conf->nrules; i++)
		rule_pack(&conf->rules[i], b);
	if (conf->override != NULL)
		pairs_put_str(b, "override", conf->override);
}
