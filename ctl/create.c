/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * create and run: what a sandbox shall be.  Directories for it are opened
 * here, with the user's own rights, and passed as descriptors.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"

static void
put_text(struct sandbox_params *params, const char *key, const char *text)
{
	if (text != NULL)
		sandbox_params_text(params, key, text);
}

static void
put_uint(struct sandbox_params *params, const char *key, uint64_t n)
{
	if (n != 0)
		sandbox_params_uint(params, key, n);
}

/* Seconds, processors: the options count thousandths. */
static void
put_milli(struct sandbox_params *params, const char *key, uint64_t n)
{
	if (n != 0)
		sandbox_params_double(params, key, (double)n / 1000);
}

/* "NAME=VALUE" words as a map. */
static int
put_pairs(const struct options *o, struct sandbox_params *params,
    const char *key, const struct list *list)
{
	const char *eq;
	char *name;
	size_t i;

	sandbox_params_open_map(params, key);
	for (i = 0; i < list->n; i++) {
		eq = strchr(list->words[i], '=');
		if (eq == NULL || eq == list->words[i]) {
			say("%s: %s: '%s' is not NAME=VALUE", o->command, key,
			    list->words[i]);
			return EXIT_OWN;
		}
		name = strndup(list->words[i],
		    (size_t)(eq - list->words[i]));
		if (name == NULL)
			return say_memory();
		if (strcmp(key, "env") == 0)
			sandbox_params_bytes(params, name, eq + 1,
			    strlen(eq + 1));
		else
			sandbox_params_text(params, name, eq + 1);
		free(name);
	}
	sandbox_params_close(params);
	return 0;
}

static int
create_put(const struct options *o, struct sandbox_params *params)
{
	put_text(params, "name", o->name);
	put_text(params, "profile", o->profile);
	put_text(params, "backend", o->backend);
	put_text(params, "floor", o->floor);
	put_text(params, "image", o->image);
	put_text(params, "network", o->network);
	put_uint(params, "memory", o->memory);
	put_uint(params, "pids", o->pids);
	put_uint(params, "files", o->files);
	put_uint(params, "tmp", o->tmp);
	put_uint(params, "output", o->output);
	put_milli(params, "cpus", o->cpus);
	put_milli(params, "ttl", o->ttl);
	put_milli(params, "timeout", o->timeout);
	put_milli(params, "cpu_time", o->cpu_time);
	if (o->labels.n != 0)
		return put_pairs(o, params, "labels", &o->labels);
	return 0;
}

/*** Directories ***/

struct mounts {
	int	 fds[MOUNTS];
	char	*dsts[MOUNTS];
	int	 n;
};

static void
mounts_free(struct mounts *mounts)
{
	while (mounts->n > 0) {
		close(mounts->fds[--mounts->n]);
		free(mounts->dsts[mounts->n]);
	}
}

/* SRC[:DST]; DST is absolute, so the last ":/" is where it begins. */
static char *
mount_split(const char *text, char **dst)
{
	const char *colon = NULL, *p;
	char *src;

	for (p = text; (p = strstr(p, ":/")) != NULL; p++)
		colon = p;
	src = colon == NULL ? strdup(text) :
	    strndup(text, (size_t)(colon - text));
	if (src == NULL)
		return NULL;
	*dst = colon == NULL ? realpath(text, NULL) : strdup(colon + 1);
	return src;
}

static int
mount_open(const struct options *o, const struct mount_option *option,
    struct mounts *mounts)
{
	char *dst = NULL, *src, why[512];
	int fd;

	if ((src = mount_split(option->text, &dst)) == NULL)
		return say_memory();
	fd = open(src, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1 || dst == NULL) {
		snprintf(why, sizeof(why), "--%s %s: cannot open the "
		    "directory", option->is_writable ? "rw" : "ro", src);
		say_errno(o->command, why);
		if (fd != -1)
			close(fd);
		free(src);
		free(dst);
		return EXIT_OWN;
	}
	free(src);
	mounts->fds[mounts->n] = fd;
	mounts->dsts[mounts->n++] = dst;
	return 0;
}

static void
mounts_put(const struct options *o, const struct mounts *mounts,
    uint64_t offer, struct sandbox_params *params)
{
	int i;

	sandbox_params_uint(params, "offer", offer);
	sandbox_params_open_array(params, "mounts");
	for (i = 0; i < mounts->n; i++) {
		sandbox_params_open_map(params, NULL);
		sandbox_params_text(params, "dst", mounts->dsts[i]);
		sandbox_params_bool(params, "writable",
		    o->mounts[i].is_writable);
		sandbox_params_uint(params, "fd", (uint64_t)i);
		sandbox_params_close(params);
	}
	sandbox_params_close(params);
}

static int
mounts_offer(const struct options *o, struct sandbox_client *client,
    struct sandbox_params *params)
{
	struct sandbox_error error = { 0 };
	struct mounts mounts = { .n = 0 };
	uint64_t offer;
	int i, status = 0;

	for (i = 0; i < o->nmounts && status == 0; i++)
		status = mount_open(o, &o->mounts[i], &mounts);
	if (status == 0) {
		if (sandbox_client_offer(client, mounts.fds, mounts.n, &offer,
		    &error) == -1)
			status = say_error(o->command, &error);
		else
			mounts_put(o, &mounts, offer, params);
	}
	mounts_free(&mounts);
	return status;
}

/*** create and run ***/

static void
create_warn(const struct options *o, struct sandbox_value info)
{
	char backend[64];

	if (sandbox_value_text(sandbox_value_get(info, "backend"), backend,
	    sizeof(backend)) == -1)
		return;
	if (o->is_verbose)
		say("backend %s", backend);
	else if (!o->is_quiet && strcmp(backend, "host") == 0)
		say("warning: backend host isolates nothing");
}

/* Parameters with all but env; NULL: complained. */
static struct sandbox_params *
create_params(const struct options *o, struct sandbox_client *client)
{
	struct sandbox_params *params;

	if ((params = sandbox_params_new()) == NULL) {
		say_memory();
		return NULL;
	}
	if (create_put(o, params) == 0 &&
	    (o->nmounts == 0 || mounts_offer(o, client, params) == 0))
		return params;
	sandbox_params_free(params);
	return NULL;
}

int
create_run(struct options *o, char **words)
{
	struct sandbox_error error = { 0 };
	struct sandbox_client *client;
	struct sandbox_params *params;
	struct sandbox_reply *reply;
	char id[SANDBOX_ID_SIZE];

	(void)words;
	if ((client = connect_daemon(o)) == NULL ||
	    (params = create_params(o, client)) == NULL)
		return EXIT_OWN;
	if (o->env.n != 0 && put_pairs(o, params, "env", &o->env) != 0)
		return EXIT_OWN;
	if (sandbox_client_create(client, params, id, NULL, &reply,
	    &error) == -1)
		return say_error(o->command, &error);
	create_warn(o, sandbox_reply_value(reply));
	if (o->is_json)
		json_print(sandbox_reply_value(reply));
	else
		puts(id);
	return print_end(0);
}

int
run_run(struct options *o, char **words)
{
	struct session s = { .o = o, .is_fresh = true };
	struct sandbox_error error = { 0 };
	struct sandbox_params *params;
	struct sandbox_reply *reply;
	char id[SANDBOX_ID_SIZE];

	if ((s.client = connect_any(o)) == NULL ||
	    (params = create_params(o, s.client)) == NULL)
		return EXIT_OWN;
	sandbox_params_bool(params, "die_with_client", true);
	if (sandbox_client_create(s.client, params, id, &s.conn, &reply,
	    &error) == -1)
		return say_error(o->command, &error);
	create_warn(o, sandbox_reply_value(reply));
	exec_fill(o, &s.exec);
	/* They are the sandbox's own already. */
	s.exec.timeout_ms = s.exec.cpu_time_ms = s.exec.output = 0;
	s.exec.argv = (const char *const *)words;
	/* The end of the connection ends the sandbox, behind our back. */
	return session_start(&s);
}
