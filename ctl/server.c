/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * check, stop and version: the daemon itself.
 */

#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"

#define STOP_MAX_MS	30000

/*** check ***/

static bool
check_flag(struct sandbox_value map, const char *key)
{
	bool b = false;

	sandbox_value_bool(sandbox_value_get(map, key), &b);
	return b;
}

/* "cause; fix" */
static void
check_why(struct sandbox_value row, char *text, size_t size)
{
	char fix[256] = "";
	size_t n;

	if (sandbox_value_text(sandbox_value_get(row, "cause"), text,
	    size) == -1 || text[0] == '\0')
		snprintf(text, size, "no cause given");
	sandbox_value_text(sandbox_value_get(row, "fix"), fix, sizeof(fix));
	n = strlen(text);
	if (fix[0] != '\0')
		snprintf(text + n, size - n, "; %s", fix);
}

static void
check_row(const struct options *o, struct sandbox_value row)
{
	char why[600], name[64] = "?";
	bool works = check_flag(row, "works");

	sandbox_value_text(sandbox_value_get(row, "name"), name, sizeof(name));
	if (o->is_json) {
		json_print(row);
		return;
	}
	if (works && o->is_quiet)
		return;
	if (works) {
		printf("%-8s works%s\n", name,
		    check_flag(row, "chosen") ? ", is what auto takes" : "");
		return;
	}
	check_why(row, why, sizeof(why));
	if (o->is_quiet)
		say("%s: %s", name, why);
	else
		printf("%-8s does not work: %s\n", name, why);
}

/* 0 when one of those asked about works. */
static int
check_rows(const struct options *o, struct sandbox_value rows)
{
	struct sandbox_iter it;
	struct sandbox_value row;
	char name[64];
	int status = 1;
	bool is_known = false;

	sandbox_iter_init(&it, rows);
	while (sandbox_iter_next(&it, NULL, &row)) {
		if (o->backend != NULL && (sandbox_value_text(
		    sandbox_value_get(row, "name"), name,
		    sizeof(name)) == -1 || strcmp(name, o->backend) != 0))
			continue;
		is_known = true;
		check_row(o, row);
		if (check_flag(row, "works"))
			status = 0;
	}
	if (!is_known && o->backend != NULL)
		say("check: %s: no such backend here", o->backend);
	return status;
}

static void
check_host(const struct options *o, struct sandbox_value host)
{
	if (o->is_json) {
		json_print(host);
		return;
	}
	if (o->is_quiet)
		return;
	print_flat("host.", host);
	if (!check_flag(host, "root"))
		printf("The daemon runs without root: programs in sandboxes "
		    "have your uid, and only\nnamespaces and the system call "
		    "filter stand between them and your files;\nlimits may "
		    "not be enforced.\n");
}

int
check_run(struct options *o, char **words)
{
	struct sandbox_error error = { 0 };
	struct sandbox_client *client;
	struct sandbox_params *params;
	struct sandbox_reply *reply;
	struct sandbox_value answer;
	int status;

	(void)words;
	if ((client = connect_any(o)) == NULL)
		return EXIT_OWN;
	if ((params = sandbox_params_new()) == NULL)
		return say_memory();
	if (o->is_fresh)
		sandbox_params_bool(params, "fresh", true);
	if (sandbox_client_call(client, "server.check", params, NULL, 0,
	    &reply, &error) == -1)
		return say_error(o->command, &error);
	answer = sandbox_reply_value(reply);
	status = check_rows(o, sandbox_value_get(answer, "backends"));
	if (o->backend == NULL)
		check_host(o, sandbox_value_get(answer, "host"));
	return print_end(status);
}

/*** stop ***/

/* Is it a process named sandboxd?  It says so itself, so look. */
static bool
stop_is_daemon(int64_t pid)
{
	char path[64], name[32];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%lld/comm", (long long)pid);
	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) == -1)
		return false;
	n = read(fd, name, sizeof(name) - 1);
	close(fd);
	return n == 9 && memcmp(name, "sandboxd\n", 9) == 0;
}

/* Refused while sandboxes live, since they end with the daemon. */
static int
stop_ask(const struct options *o, struct sandbox_client *client)
{
	struct sandbox_error error = { 0 };
	struct sandbox_params *params;
	struct sandbox_reply *reply;
	size_t n;

	if (o->is_all)
		return 0;
	if ((params = sandbox_params_new()) == NULL)
		return say_memory();
	sandbox_params_bool(params, "all", true);
	if (sandbox_client_call(client, "sandbox.list", params, NULL, 0,
	    &reply, &error) == -1)
		return say_error(o->command, &error);
	n = sandbox_value_count(sandbox_value_get(sandbox_reply_value(reply),
	    "sandboxes"));
	sandbox_reply_free(reply);
	if (n == 0)
		return 0;
	say("stop: sandboxes are alive and would end with the daemon; "
	    "'sandboxctl rm' them, or use stop -a");
	return EXIT_OWN;
}

static int
stop_wait(const struct options *o, int pidfd)
{
	struct pollfd pfd = { .fd = pidfd, .events = POLLIN };

	if (poll(&pfd, 1, STOP_MAX_MS) == 1)
		return 0;
	say("%s: the daemon was told to end, but is still there; see its log",
	    o->command);
	return EXIT_OWN;
}

int
stop_run(struct options *o, char **words)
{
	struct sandbox_error error = { 0 };
	struct sandbox_client *client;
	struct sandbox_reply *reply;
	int64_t pid = 0;
	int pidfd, status;

	(void)words;
	if ((client = connect_daemon(o)) == NULL)
		return EXIT_OWN;
	if ((status = stop_ask(o, client)) != 0)
		return status;
	if (sandbox_client_hello(client, &reply, &error) == -1)
		return say_error(o->command, &error);
	sandbox_value_int(sandbox_value_get(sandbox_reply_value(reply), "pid"),
	    &pid);
	if (pid <= 1) {
		say("stop: the daemon does not say which process it is");
		return EXIT_OWN;
	}
	pidfd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
	if (pidfd == -1)
		return say_errno(o->command, "the daemon's process");
	if (!stop_is_daemon(pid)) {
		say("stop: process %lld is no sandboxd; is the daemon in "
		    "another pid namespace?", (long long)pid);
		return EXIT_OWN;
	}
	if (syscall(SYS_pidfd_send_signal, pidfd, SIGTERM, NULL, 0) == -1) {
		if (errno == EPERM)
			say("stop: not permitted; do it as root, or as the "
			    "user who started the daemon");
		else if (errno != ESRCH)
			say_errno(o->command, "cannot signal the daemon");
		return errno == ESRCH ? 0 : EXIT_OWN;
	}
	return stop_wait(o, pidfd);
}

/*** version ***/

int
version_run(struct options *o, char **words)
{
	struct sandbox_error error = { 0 };
	struct sandbox_client *client;
	struct sandbox_reply *reply;

	(void)words;
	if (!o->is_json)
		printf("sandboxctl %s\n", sandbox_version());
	/* Without a daemon there is nothing to say of one. */
	if (sandbox_client_open(o->socket, &client, &error) == -1) {
		if (o->socket != NULL || !sandbox_client_is_default())
			return say_error(o->command, &error);
		if (o->is_json)
			printf("{\"client\":\"%s\"}\n", sandbox_version());
		return print_end(0);
	}
	if (sandbox_client_hello(client, &reply, &error) == -1)
		return say_error(o->command, &error);
	if (o->is_json)
		json_print(sandbox_reply_value(reply));
	else {
		printf("sandboxd ");
		print_text(sandbox_value_get(sandbox_reply_value(reply),
		    "version"), 0);
		putchar('\n');
	}
	return print_end(0);
}
