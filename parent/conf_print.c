/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The configuration back as text that parses to the same: sandboxd -nv.  Run
 * by whoever calls that, with his own rights; trusts its own structs alone.
 */

#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "parent/parent.h"

static void
print_quoted(const char *text)
{
	putchar('"');
	for (; *text != '\0'; text++) {
		if (*text == '"' || *text == '\\')
			putchar('\\');
		putchar(*text);
	}
	putchar('"');
}

static void
print_size(uint64_t value)
{
	static const char units[] = "KMGT";
	size_t i = 0;

	while (value != 0 && value % 1024 == 0 && i < strlen(units)) {
		value /= 1024;
		i++;
	}
	printf("%" PRIu64 "%.*s", value, i > 0, i > 0 ? &units[i - 1] : "");
}

static void
print_limit(const struct spec_limit *l, uint64_t value)
{
	printf("\t%s ", l->name);
	if (l->is_size)
		print_size(value);
	else if (l->kind == F_UINT)
		printf("%" PRIu64, value);
	else if (strcmp(l->name, "cpus") == 0)
		printf("%" PRIu64 ".%03" PRIu64, value / 1000, value % 1000);
	else if (value % 1000 == 0)
		printf("%" PRIu64 "s", value / 1000);
	else
		printf("%" PRIu64 "ms", value);
	putchar('\n');
}

static void
print_view(const char *key, struct view v)
{
	if (v.p != NULL)
		printf("\t%s %.*s\n", key, (int)v.n, (const char *)v.p);
}

static void
print_spec(const struct spec *spec)
{
	const struct spec_limit *l;
	uint64_t value;

	printf("{\n");
	print_view("backend", spec->backend);
	print_view("image", spec->image);
	print_view("network", spec->network);
	for (l = spec_limits; l->name != NULL; l++) {
		memcpy(&value, (const char *)spec + l->offset, sizeof(value));
		if (value != SPEC_ABSENT)
			print_limit(l, value);
	}
	printf("}\n");
}

static void
print_listen(const struct conf_listen *l)
{
	printf("listen on ");
	print_quoted(l->path);
	printf(" mode %04o", l->mode);
	if (l->has_group) {
		printf(" group ");
		print_quoted(l->group);
	}
	putchar('\n');
}

static void
print_rule(const struct conf_rule *r)
{
	static const char *const subjects[] = {
		[SUBJECT_ALL] = "all",
		[SUBJECT_USER] = "user ",
		[SUBJECT_GROUP] = "group "
	};

	printf("%s %s", r->is_permit ? "permit" : "deny",
	    subjects[r->subject]);
	if (r->subject != SUBJECT_ALL)
		print_quoted(r->who);
	if (r->profile != NULL) {
		printf(" profile ");
		print_quoted(r->profile);
	}
	if (r->backend != NULL)
		printf(" backend %s", r->backend);
	putchar('\n');
}

void
conf_print(const struct conf *conf)
{
	size_t i;

	for (i = 0; i < conf->nlistens; i++)
		print_listen(&conf->listens[i]);
	if (conf->user != NULL) {
		printf("user ");
		print_quoted(conf->user);
		putchar('\n');
	}
	printf("uids %u count %u\n", conf->base, conf->count);
	printf("backend order {");
	for (i = 0; i < conf->norder; i++)
		printf(" %s", conf->order[i]);
	printf(" }\n");
	printf("defaults ");
	print_spec(&conf->defaults);
	for (i = 0; i < conf->nprofiles; i++) {
		printf("profile ");
		print_quoted(conf->profiles[i].name);
		putchar(' ');
		print_spec(&conf->profiles[i].spec);
	}
	for (i = 0; i < conf->nrules; i++)
		print_rule(&conf->rules[i]);
}
