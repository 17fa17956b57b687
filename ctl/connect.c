/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Connections for the commands, and the operands that say to what.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"

struct sandbox_client *
connect_daemon(const struct options *o)
{
	struct sandbox_error error = { 0 };
	struct sandbox_client *client;

	if (sandbox_client_open(o->socket, &client, &error) == 0)
		return client;
	say_error(o->command, &error);
	return NULL;
}

struct sandbox_client *
connect_any(const struct options *o)
{
	struct sandbox_error error = { 0 };
	struct sandbox_client *client;

	if (sandbox_client_open(o->socket, &client, &error) == 0)
		return client;
	if (o->socket == NULL && sandbox_client_is_default() &&
	    error.sys_errno == ENOENT) {
		if (o->is_verbose)
			say("%s; starting a private one", error.message);
		if (sandbox_client_private(&client, &error) == 0)
			return client;
	}
	say_error(o->command, &error);
	return NULL;
}

int
connect_operand(const char *operand, char **name, uint64_t *exec)
{
	const char *slash = strrchr(operand, '/');
	char *end;

	*exec = 0;
	if (slash != NULL) {
		errno = 0;
		*exec = strtoull(slash + 1, &end, 10);
		if (slash[1] < '0' || slash[1] > '9' || *end != '\0' ||
		    errno != 0 || *exec == 0) {
			say("%s: is not ID/N: no number behind the slash",
			    operand);
			return -1;
		}
	}
	*name = slash == NULL ? strdup(operand) :
	    strndup(operand, (size_t)(slash - operand));
	if (*name == NULL) {
		say_memory();
		return -1;
	}
	return 0;
}

struct sandbox_conn *
connect_sandbox(const struct options *o, struct sandbox_client *client,
    const char *name, char *id)
{
	struct sandbox_error error = { 0 };
	struct sandbox_conn *conn;

	if (sandbox_client_connect(client, name, id, &conn, &error) == 0)
		return conn;
	say("%s: %s: %s%s%s", o->command, name, error.message,
	    error.fix[0] == '\0' ? "" : "; ", error.fix);
	return NULL;
}
