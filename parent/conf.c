/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * What the words of sandboxd.conf(5) mean, and the built-in defaults.  Run
 * by the front before it gives up its rights: the name service is asked here
 * and nowhere else.  The values are only taken down; the broker judges by its
 * own copy (policy.c).
 */

#include "config.h"

#include <ctype.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "parent/parent.h"

#define UIDS_BASE	1879048192u
#define UIDS_COUNT	16777216u
#define UIDS_END	0xffff0000u	/* well below -1 and its kind */
#define FRONT_USER	"_sandboxd"
#define CLIENT_GROUP	"sandbox"
#define MAIN_SOCKET	"/run/sandboxd.sock"

/* Names alone; what they mean is the broker's. */
#define BACKEND(name)	#name,
static const char *const backends[] = {
#include "backends/list.h"
};

static const char *
backend_name(const char *text)
{
	size_t i;

	for (i = 0; i < sizeof(backends) / sizeof(backends[0]); i++) {
		if (strcasecmp(text, backends[i]) == 0)
			return backends[i];
	}
	return NULL;
}

static int
backend_unknown(const char *text, struct error *e)
{
	char list[256] = "";
	size_t i, n = 0;

	for (i = 0; i < sizeof(backends) / sizeof(backends[0]); i++)
		n += (size_t)snprintf(list + n, sizeof(list) - n, " %s",
		    backends[i]);
	return error_set(e, ERR_INVALID,
	    "unknown backend \"%s\": there are%s", text, list);
}

struct conf *
conf_new(void)
{
	struct conf *conf;

	conf = xcalloc(1, sizeof(*conf));
	conf->base = UIDS_BASE;
	conf->count = UIDS_COUNT;
	spec_init(&conf->defaults);
	return conf;
}

int
conf_override(struct conf *conf, const char *name, struct error *e)
{
	if (name == NULL || *name == '\0' || strcasecmp(name, "auto") == 0)
		return 0;
	if ((conf->override = backend_name(name)) == NULL) {
		backend_unknown(name, e);
		error_fix(e, "correct or unset SANDBOX_BACKEND");
		return -1;
	}
	return 0;
}

/*** Names of users and groups ***/

static int
user_id(const char *text, uint32_t *id, gid_t *gid, struct error *e)
{
	const struct passwd *pw;
	uint64_t value;

	if ((pw = getpwnam(text)) != NULL) {
		*id = pw->pw_uid;
		*gid = pw->pw_gid;
		return 0;
	}
	if (!isdigit((unsigned char)*text))
		return error_set(e, ERR_INVALID, "unknown user \"%s\"", text);
	if (parse_uint(text, 0, UINT32_MAX - 1, &value, e) == -1)
		return -1;
	*gid = *id = (uint32_t)value;
	if ((pw = getpwuid(*id)) != NULL)
		*gid = pw->pw_gid;
	return 0;
}

static int
group_id(const char *text, uint32_t *id, struct error *e)
{
	const struct group *gr;
	uint64_t value;

	if ((gr = getgrnam(text)) != NULL) {
		*id = gr->gr_gid;
		return 0;
	}
	if (!isdigit((unsigned char)*text))
		return error_set(e, ERR_INVALID, "unknown group \"%s\"", text);
	if (parse_uint(text, 0, UINT32_MAX - 1, &value, e) == -1)
		return -1;
	*id = (uint32_t)value;
	return 0;
}

/*** listen ***/

int
conf_listen_add(struct conf *conf, const char *path, struct error *e)
{
	struct conf_listen *l;
	size_t i;

	if (conf->nlistens == LISTENS_MAX)
		return error_set(e, ERR_INVALID, "more than %d listeners",
		    LISTENS_MAX);
	if (*path != '/')
		return error_set(e, ERR_INVALID,
		    "a socket's path has to begin with \"/\"");
	if (strlen(path) > SOCKET_PATH_MAX)
		return error_set(e, ERR_INVALID,
		    "a socket's path has at most %d bytes", SOCKET_PATH_MAX);
	for (i = 0; i < conf->nlistens; i++) {
		if (strcmp(conf->listens[i].path, path) == 0)
			return error_set(e, ERR_INVALID,
			    "\"%s\" is listened on already", path);
	}
	l = &conf->listens[conf->nlistens++];
	snprintf(l->path, sizeof(l->path), "%s", path);
	l->mode = 0600;
	return 0;
}

int
conf_listen_mode(struct conf *conf, const char *text, struct error *e)
{
	char *end;
	unsigned long mode;

	mode = strtoul(text, &end, 8);
	if (*text < '0' || *text > '7' || *end != '\0' || mode > 0777)
		return error_set(e, ERR_INVALID,
		    "mode \"%s\" is not an octal number up to 0777", text);
	if (conf->nlistens > 0)
		conf->listens[conf->nlistens - 1].mode = (unsigned int)mode;
	return 0;
}

int
conf_listen_group(struct conf *conf, const char *text, struct error *e)
{
	struct conf_listen *l;
	uint32_t gid;

	if (group_id(text, &gid, e) == -1)
		return -1;
	if (conf->nlistens > 0) {
		l = &conf->listens[conf->nlistens - 1];
		l->has_group = true;
		l->gid = gid;
		l->group = xstrdup(text);
	}
	return 0;
}

int
conf_listen_default(struct conf *conf, bool is_root, const char *rundir,
    struct error *e)
{
	char path[SOCKET_PATH_MAX + 32];
	const char *xdg;

	xdg = getenv("XDG_RUNTIME_DIR");
	if (is_root)
		snprintf(path, sizeof(path), "%s", MAIN_SOCKET);
	else if (xdg != NULL && *xdg == '/')
		snprintf(path, sizeof(path), "%s/sandboxd.sock", xdg);
	else
		snprintf(path, sizeof(path), "%s/sandboxd.sock", rundir);
	if (conf_listen_add(conf, path, e) == -1)
		return -1;
	if (is_root && getgrnam(CLIENT_GROUP) != NULL &&
	    (conf_listen_mode(conf, "0660", e) == -1 ||
	    conf_listen_group(conf, CLIENT_GROUP, e) == -1))
		return -1;
	return 0;
}

/*** user, uids, backend order ***/

int
conf_user(struct conf *conf, const char *name, struct error *e)
{
	uint32_t uid;
	gid_t gid;

	if (user_id(name, &uid, &gid, e) == -1)
		return -1;
	if (uid == 0 || gid == 0)
		return error_set(e, ERR_INVALID,
		    "user \"%s\" is root or in root's group", name);
	conf->user = xstrdup(name);
	conf->uid = uid;
	conf->gid = gid;
	return 0;
}

int
conf_uids(struct conf *conf, const char *base, const char *count,
    struct error *e)
{
	uint64_t first, n;

	if (parse_uint(base, SLOT_IDS, UIDS_END, &first, e) == -1 ||
	    parse_uint(count, SLOT_IDS, UIDS_END, &n, e) == -1)
		return -1;
	if (n % SLOT_IDS != 0 || n < 2 * SLOT_IDS)
		return error_set(e, ERR_INVALID,
		    "count has to be a multiple of %u, and at least %u",
		    SLOT_IDS, 2 * SLOT_IDS);
	if (first + n > UIDS_END)
		return error_set(e, ERR_INVALID,
		    "the range ends above %u", UIDS_END);
	conf->base = (uint32_t)first;
	conf->count = (uint32_t)n;
	return 0;
}

int
conf_order_add(struct conf *conf, const char *text, struct error *e)
{
	const char *name;
	size_t i;

	if ((name = backend_name(text)) == NULL)
		return backend_unknown(text, e);
	for (i = 0; i < conf->norder; i++) {
		if (conf->order[i] == name)
			return error_set(e, ERR_INVALID,
			    "backend \"%s\" is there twice", name);
	}
	if (conf->norder == ORDER_MAX)
		return error_set(e, ERR_INVALID, "more than %d backends",
		    ORDER_MAX);
	conf->order[conf->norder++] = name;
	return 0;
}

/*** defaults and profiles ***/

int
conf_profile_add(struct conf *conf, const char *name, struct error *e)
{
	struct conf_profile *p;
	size_t i;

	if (!name_is_valid(name))
		return error_set(e, ERR_INVALID,
		    "\"%s\" cannot be a profile's name", name);
	for (i = 0; i < conf->nprofiles; i++) {
		if (strcmp(conf->profiles[i].name, name) == 0)
			return error_set(e, ERR_INVALID,
			    "profile \"%s\" is there twice", name);
	}
	if (conf->nprofiles == PROFILES_MAX)
		return error_set(e, ERR_INVALID, "more than %d profiles",
		    PROFILES_MAX);
	p = &conf->profiles[conf->nprofiles++];
	snprintf(p->name, sizeof(p->name), "%s", name);
	spec_init(&p->spec);
	return 0;
}

static int
limit_parse(const struct spec_limit *l, const char *text, uint64_t *value,
    struct error *e)
{
	if (l->is_size)
		return parse_size(text, value, e);
	if (l->kind == F_UINT)
		return parse_uint(text, 0, UINT64_MAX - 1, value, e);
	if (strcmp(l->name, "cpus") == 0)
		return parse_milli(text, value, e);
	return parse_duration(text, value, e);
}

/* The same bounds hold here and for clients: those of spec_unpack. */
static int
limit_check(const struct spec_limit *l, uint64_t value, struct error *e)
{
	struct buf b = { 0 };
	struct spec spec;
	int rc;

	put_map(&b, 1);
	put_str(&b, l->name);
	if (l->kind == F_MILLI)
		put_double(&b, (double)value / 1000);
	else
		put_uint(&b, value);
	spec_init(&spec);
	rc = spec_unpack((struct view){ b.p, b.n }, &spec, e);
	buf_free(&b);
	return rc;
}

static int
limit_set(struct spec *spec, const char *key, const char *text,
    struct error *e)
{
	const struct spec_limit *l;
	uint64_t value;

	for (l = spec_limits; l->name != NULL; l++) {
		if (strcmp(l->name, key) == 0)
			break;
	}
	if (l->name == NULL)
		return error_set(e, ERR_INVALID, "unknown limit \"%s\"", key);
	if (limit_parse(l, text, &value, e) == -1 ||
	    limit_check(l, value, e) == -1)
		return -1;
	memcpy((char *)spec + l->offset, &value, sizeof(value));
	return 0;
}

int
conf_spec_set(struct spec *spec, const char *key, const char *text,
    struct error *e)
{
	const char *name;

	if (strcmp(key, "backend") == 0) {
		if ((name = backend_name(text)) == NULL)
			return backend_unknown(text, e);
		spec->backend = view_of(name);
	} else if (strcmp(key, "image") == 0) {
		if (strcmp(text, "host") != 0)
			return error_set(e, ERR_INVALID,
			    "unknown image \"%s\": there is only "
			    "\"host\"", text);
		spec->image = view_of("host");
	} else if (strcmp(key, "network") == 0) {
		if (strcmp(text, "none") != 0)
			return error_set(e, ERR_INVALID,
			    "unknown network \"%s\": there is only "
			    "\"none\"", text);
		spec->network = view_of("none");
	} else
		return limit_set(spec, key, text, e);
	return 0;
}

/*** permit and deny ***/

int
conf_rule_who(struct conf_rule *rule, enum rule_subject subject,
    const char *name, struct error *e)
{
	gid_t gid;

	rule->subject = subject;
	rule->who = xstrdup(name);
	if (subject == SUBJECT_GROUP)
		return group_id(name, &rule->id, e);
	return user_id(name, &rule->id, &gid, e);
}

int
conf_rule_profile(const struct conf *conf, struct conf_rule *rule,
    const char *name, struct error *e)
{
	size_t i;

	for (i = 0; i < conf->nprofiles; i++) {
		if (strcmp(conf->profiles[i].name, name) == 0) {
			rule->profile = xstrdup(name);
			return 0;
		}
	}
	return error_set(e, ERR_INVALID,
	    "profile \"%s\" is not defined above", name);
}

int
conf_rule_backend(struct conf_rule *rule, const char *name, struct error *e)
{
	if ((rule->backend = backend_name(name)) == NULL)
		return backend_unknown(name, e);
	return 0;
}

int
conf_rule_add(struct conf *conf, const struct conf_rule *rule,
    struct error *e)
{
	if (conf->nrules == RULES_MAX)
		return error_set(e, ERR_INVALID, "more than %d rules",
		    RULES_MAX);
	conf->rules[conf->nrules++] = *rule;
	return 0;
}

/*** The whole ***/

/* Files of ids, and the columns in them; count -1: one id each. */
static const struct {
	const char	*path;
	int		 first;
	int		 count;
} id_files[] = {
	{ "/etc/passwd",	2,	-1 },
	{ "/etc/group",		2,	-1 },
	{ "/etc/subuid",	1,	2 },
	{ "/etc/subgid",	1,	2 },
};

/* A number in a column of a line that colons divide; or fallback. */
static uint64_t
column(const char *line, int n, uint64_t fallback)
{
	for (; n > 0; n--) {
		if ((line = strchr(line, ':')) == NULL)
			return fallback;
		line++;
	}
	if (n < 0 || !isdigit((unsigned char)*line))
		return fallback;
	return strtoull(line, NULL, 10);
}

/* Ids of ours that are somebody's would put that one's files in reach. */
static int
uids_check(const struct conf *conf, const char *path, int first_column,
    int count_column, struct error *e)
{
	FILE *f;
	char *line = NULL;
	size_t cap = 0;
	uint64_t count, first;
	int rc = 0;

	if ((f = fopen(path, "re")) == NULL)
		return 0;
	while (rc == 0 && getline(&line, &cap, f) != -1) {
		first = column(line, first_column, UINT32_MAX);
		count = column(line, count_column, 1);
		if (first >= (uint64_t)conf->base + conf->count ||
		    first + count <= conf->base)
			continue;
		line[strcspn(line, "\r\n")] = '\0';
		rc = error_set(e, ERR_CONFLICT,
		    "uids %u count %u meets \"%s\" of %s", conf->base,
		    conf->count, line, path);
		error_fix(e, "choose another range with \"uids\"");
	}
	free(line);
	fclose(f);
	return rc;
}

int
conf_finish(struct conf *conf, bool is_root, struct error *e)
{
	static const char *const order[] = { "ns", "bwrap" };
	bool is_default = conf->norder == 0;
	size_t i;

	for (i = 0; is_default && i < 2; i++) {
		if (backend_name(order[i]) != NULL &&
		    conf_order_add(conf, order[i], e) == -1)
			return -1;
	}
	if (!is_root) {
		conf->uid = geteuid();
		conf->gid = getegid();
		return 0;
	}
	for (i = 0; i < sizeof(id_files) / sizeof(id_files[0]); i++) {
		if (uids_check(conf, id_files[i].path, id_files[i].first,
		    id_files[i].count, e) == -1)
			return -1;
	}
	if (conf->user == NULL && getpwnam(FRONT_USER) != NULL)
		return conf_user(conf, FRONT_USER, e);
	return 0;
}

/* The last slot becomes the front's own: no sandbox gets it. */
void
conf_front_ids(struct conf *conf)
{
	if (conf->user != NULL)
		return;
	conf->count -= SLOT_IDS;
	conf->uid = conf->base + conf->count;
	conf->gid = conf->base + conf->count;
}
