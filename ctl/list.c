/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * ls, info, rm and events: sandboxes seen from outside.
 */

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ctl.h"

/* One page of an answer; *after: the last one's id, for the next page. */
static int
list_page(const struct options *o, struct sandbox_value page,
    const char *rows_key, const char *id_key, row_fn *fn, void *arg,
    struct sandbox_value *last)
{
	struct sandbox_iter it;
	struct sandbox_value row;
	int status = 0;

	sandbox_iter_init(&it, sandbox_value_get(page, rows_key));
	while (status == 0 && sandbox_iter_next(&it, NULL, &row)) {
		*last = sandbox_value_get(row, id_key);
		status = fn(o, row, arg);
	}
	return status;
}

static struct sandbox_params *
list_params(const char *after, uint64_t after_number, bool all)
{
	struct sandbox_params *params;

	if ((params = sandbox_params_new()) == NULL)
		return NULL;
	if (after[0] != '\0')
		sandbox_params_text(params, "after", after);
	if (after_number != 0)
		sandbox_params_uint(params, "after", after_number);
	if (all)
		sandbox_params_bool(params, "all", true);
	return params;
}

/* Walks all sandboxes, page by page. */
static int
list_sandboxes(const struct options *o, struct sandbox_client *client,
    bool all, row_fn *fn, void *arg)
{
	struct sandbox_error error = { 0 };
	struct sandbox_params *params;
	struct sandbox_reply *reply;
	struct sandbox_value page, last = { NULL, 0 };
	char after[SANDBOX_ID_SIZE] = "";
	bool more = true;
	int status = 0;

	while (more && status == 0) {
		if ((params = list_params(after, 0, all)) == NULL)
			return say_memory();
		if (sandbox_client_call(client, "sandbox.list", params, NULL,
		    0, &reply, &error) == -1)
			return say_error(o->command, &error);
		sandbox_params_free(params);
		page = sandbox_reply_value(reply);
		status = list_page(o, page, "sandboxes", "id", fn, arg, &last);
		more = false;
		sandbox_value_bool(sandbox_value_get(page, "more"), &more);
		if (sandbox_value_text(last, after, sizeof(after)) == -1)
			more = false;
		sandbox_reply_free(reply);
	}
	return status;
}

int
list_execs(const struct options *o, struct sandbox_conn *conn, row_fn *fn,
    void *arg)
{
	struct sandbox_error error = { 0 };
	struct sandbox_params *params;
	struct sandbox_reply *reply;
	struct sandbox_value page, last = { NULL, 0 };
	uint64_t after = 0;
	bool more = true;
	int status = 0;

	while (more && status == 0) {
		if ((params = list_params("", after, false)) == NULL)
			return say_memory();
		if (sandbox_conn_call(conn, "exec.list", params, NULL, 0,
		    &reply, &error) == -1)
			return say_error(o->command, &error);
		sandbox_params_free(params);
		page = sandbox_reply_value(reply);
		status = list_page(o, page, "execs", "exec", fn, arg, &last);
		more = false;
		sandbox_value_bool(sandbox_value_get(page, "more"), &more);
		if (sandbox_value_uint(last, &after) == -1)
			more = false;
		sandbox_reply_free(reply);
	}
	return status;
}

/*** ls ***/

/* Of the row, or of the result in it. */
static struct sandbox_value
row_get(struct sandbox_value row, const char *key)
{
	struct sandbox_value v = sandbox_value_get(row, key);

	if (v.data != NULL)
		return v;
	return sandbox_value_get(sandbox_value_get(row, "result"), key);
}

static int
row_print(const struct options *o, struct sandbox_value row,
    const char *const *keys, const int *widths)
{
	size_t i;

	if (o->is_json)
		json_print(row);
	else if (o->is_quiet) {
		print_text(sandbox_value_get(row, keys[0]), 0);
		putchar('\n');
	} else {
		for (i = 0; keys[i] != NULL; i++)
			print_text(row_get(row, keys[i]), widths[i]);
		putchar('\n');
	}
	return 0;
}

static const char *const sandbox_keys[] = { "id", "name", "state", "backend",
	"owner", NULL };
static const int sandbox_widths[] = { 19, 16, 10, 8, -1 };
static const char *const exec_keys[] = { "exec", "state", "pid", "code",
	"signal", "cause", "tag", NULL };
static const int exec_widths[] = { 6, 9, 7, 5, 7, 10, -1 };

static int
sandbox_row(const struct options *o, struct sandbox_value row, void *arg)
{
	(void)arg;
	return row_print(o, row, sandbox_keys, sandbox_widths);
}

static int
exec_row(const struct options *o, struct sandbox_value row, void *arg)
{
	(void)arg;
	return row_print(o, row, exec_keys, exec_widths);
}

static void
ls_head(const struct options *o, const char *const *keys, const int *widths)
{
	size_t i, j;
	char word[32];

	if (o->is_json || o->is_quiet)
		return;
	for (i = 0; keys[i] != NULL; i++) {
		for (j = 0; keys[i][j] != '\0' && j + 1 < sizeof(word); j++)
			word[j] = (char)(keys[i][j] & ~0x20);
		word[j] = '\0';
		if (widths[i] == -1)
			printf("%s", word);
		else
			printf("%-*s ", widths[i], word);
	}
	putchar('\n');
}

int
ls_run(struct options *o, char **words)
{
	struct sandbox_client *client;
	struct sandbox_conn *conn;
	char id[SANDBOX_ID_SIZE];

	if ((client = connect_daemon(o)) == NULL)
		return EXIT_OWN;
	if (words[0] == NULL) {
		ls_head(o, sandbox_keys, sandbox_widths);
		return print_end(list_sandboxes(o, client, o->is_all,
		    sandbox_row, NULL));
	}
	if ((conn = connect_sandbox(o, client, words[0], id)) == NULL)
		return EXIT_OWN;
	ls_head(o, exec_keys, exec_widths);
	return print_end(list_execs(o, conn, exec_row, NULL));
}

/*** info ***/

static void
info_print(const struct options *o, struct sandbox_value info)
{
	if (o->is_json)
		json_print(info);
	else
		print_flat("", info);
}

static int
info_exec(const struct options *o, struct sandbox_client *client,
    const char *name, uint64_t number)
{
	struct sandbox_error error = { 0 };
	struct sandbox_conn *conn;
	struct sandbox_params *params;
	struct sandbox_reply *reply;
	char id[SANDBOX_ID_SIZE];
	int status = 0;

	if ((conn = connect_sandbox(o, client, name, id)) == NULL)
		return EXIT_OWN;
	if ((params = sandbox_params_new()) == NULL)
		return say_memory();
	sandbox_params_uint(params, "exec", number);
	if (sandbox_conn_call(conn, "exec.info", params, NULL, 0, &reply,
	    &error) == 0) {
		info_print(o, sandbox_reply_value(reply));
		sandbox_reply_free(reply);
	} else
		status = say_error(name, &error);
	sandbox_params_free(params);
	sandbox_conn_free(conn);
	return status;
}

static int
info_one(const struct options *o, struct sandbox_client *client,
    const char *operand)
{
	struct sandbox_error error = { 0 };
	struct sandbox_reply *reply;
	uint64_t number;
	char *name;
	int status = 0;

	if (connect_operand(operand, &name, &number) == -1)
		return EXIT_OWN;
	if (number != 0)
		status = info_exec(o, client, name, number);
	else if (sandbox_client_info(client, name, &reply, &error) == 0) {
		info_print(o, sandbox_reply_value(reply));
		sandbox_reply_free(reply);
	} else
		status = say_error(operand, &error);
	free(name);
	return status;
}

int
info_run(struct options *o, char **words)
{
	struct sandbox_client *client;
	int one, status = 0;

	if ((client = connect_daemon(o)) == NULL)
		return EXIT_OWN;
	for (; *words != NULL; words++) {
		if ((one = info_one(o, client, *words)) != 0)
			status = one;
		if (words[1] != NULL && !o->is_json)
			putchar('\n');
	}
	return print_end(status);
}

/*** rm ***/

static int
rm_row(const struct options *o, struct sandbox_value row, void *arg)
{
	char id[SANDBOX_ID_SIZE];
	struct list *list = arg;
	const char **words;

	(void)o;
	if (sandbox_value_text(sandbox_value_get(row, "id"), id,
	    sizeof(id)) == -1)
		return 0;
	words = reallocarray(list->words, list->n + 2, sizeof(*words));
	if (words == NULL)
		return say_memory();
	list->words = words;
	if ((words[list->n] = strdup(id)) == NULL)
		return say_memory();
	words[++list->n] = NULL;
	return 0;
}

int
rm_run(struct options *o, char **words)
{
	struct sandbox_error error = { 0 };
	struct sandbox_client *client;
	struct list list = { NULL, 0 };
	int status = 0;

	if (words[0] == NULL && !o->is_all) {
		help_usage(command_find("rm"));
		return EXIT_OWN;
	}
	if ((client = connect_daemon(o)) == NULL)
		return EXIT_OWN;
	if (o->is_all) {
		/* All of mine, as the list without -a shows them. */
		status = list_sandboxes(o, client, false, rm_row, &list);
		words = (char **)list.words;
	}
	for (; words != NULL && *words != NULL; words++)
		if (sandbox_client_destroy(client, *words, &error) == -1)
			status = say_error(*words, &error);
	return status;
}

/*** events ***/

static void
event_print(struct sandbox_value event, void *arg)
{
	const struct options *o = arg;
	struct sandbox_iter it;
	struct sandbox_value key, v;
	char name[64], when[32];
	const void *p;
	double seconds = 0;
	size_t n;
	time_t t;
	struct tm tm;

	if (o->is_json) {
		json_print(event);
		fflush(stdout);
		return;
	}
	sandbox_value_double(sandbox_value_get(event, "time"), &seconds);
	t = (time_t)seconds;
	gmtime_r(&t, &tm);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
	print_text(sandbox_value_get(event, "seq"), 6);
	printf("%s ", when);
	print_text(sandbox_value_get(event, "kind"), 9);
	print_text(sandbox_value_get(event, "id"), 19);
	sandbox_iter_init(&it, event);
	while (sandbox_iter_next(&it, &key, &v)) {
		if (sandbox_value_text(key, name, sizeof(name)) == -1 ||
		    strstr(" boot seq time kind id ", name) != NULL ||
		    sandbox_value_kind(v) == SANDBOX_NIL ||
		    sandbox_value_kind(v) >= SANDBOX_ARRAY ||
		    (sandbox_value_bytes(v, &p, &n) == 0 && n == 0))
			continue;
		printf(" %s=", name);
		print_text(v, 0);
	}
	putchar('\n');
	fflush(stdout);
}

int
events_run(struct options *o, char **words)
{
	struct sandbox_error error = { 0 };
	struct sandbox_client *client;
	struct pollfd pfd;

	(void)words;
	if ((client = connect_daemon(o)) == NULL)
		return EXIT_OWN;
	if (sandbox_client_subscribe(client, o->since, event_print, o,
	    &error) == -1)
		return say_error(o->command, &error);
	while (!ferror(stdout)) {
		pfd.fd = sandbox_client_fd(client);
		pfd.events = sandbox_client_events(client);
		poll(&pfd, 1, -1);
		if (sandbox_client_dispatch(client, &error) == -1)
			return say_error(o->command, &error);
	}
	return print_end(EXIT_OWN);
}
