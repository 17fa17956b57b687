/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * What people read: messages on stderr, tables and values on stdout.  Text
 * that came from elsewhere is made printable, so that nobody's terminal is
 * driven by a name that somebody else chose.
 */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ctl.h"

static bool
is_control(unsigned char c)
{
	return c < ' ' || c == 0x7f;
}

/* One write, so that lines of several processes do not mix. */
static void
say_line(char *line, size_t n)
{
	size_t i;
	ssize_t done;

	for (i = 0; i < n; i++)
		if (is_control((unsigned char)line[i]))
			line[i] = '?';
	line[n++] = '\n';
	do
		done = write(STDERR_FILENO, line, n);
	while (done == -1 && errno == EINTR);
}

void
say(const char *fmt, ...)
{
	static const char prefix[] = "sandboxctl: ";
	char line[2048];
	size_t at = sizeof(prefix) - 1;
	va_list ap;
	int n;

	memcpy(line, prefix, at);
	va_start(ap, fmt);
	n = vsnprintf(line + at, sizeof(line) - at - 1, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	at += (size_t)n < sizeof(line) - at - 1 ? (size_t)n :
	    sizeof(line) - at - 2;
	say_line(line, at);
}

int
say_error(const char *what, const struct sandbox_error *error)
{
	say("%s: %s%s%s", what, error->message[0] != '\0' ? error->message :
	    sandbox_error_name(error->code),
	    error->fix[0] == '\0' ? "" : "; ", error->fix);
	return EXIT_OWN;
}

int
say_errno(const char *what, const char *why)
{
	say("%s: %s: %s", what, why, strerror(errno));
	return EXIT_OWN;
}

int
say_memory(void)
{
	say("out of memory");
	return EXIT_OWN;
}

/* Why a limit ended a command. */
void
say_limit(const struct options *o, const char *cause)
{
	static const struct {
		const char	*cause;
		const char	*what;
	} limits[] = {
		{ "timeout", "time limit" },
		{ "cpu", "processor time limit" },
		{ "output", "output limit" },
		{ "oom", "memory limit" }
	};
	uint64_t ms;
	size_t i;

	if (strcmp(cause, "expired") == 0) {
		say("the sandbox reached the end of its time to live");
		return;
	}
	ms = strcmp(cause, "timeout") == 0 ? o->timeout :
	    strcmp(cause, "cpu") == 0 ? o->cpu_time : 0;
	for (i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		if (strcmp(limits[i].cause, cause) != 0)
			continue;
		if (ms != 0)
			say("%s of %g s reached", limits[i].what,
			    (double)ms / 1000);
		else
			say("%s reached", limits[i].what);
	}
}

/*** Values ***/

static void
print_number(struct sandbox_value v, char *text, size_t size)
{
	int64_t n;
	uint64_t u;
	double d;

	if (sandbox_value_int(v, &n) == 0)
		snprintf(text, size, "%lld", (long long)n);
	else if (sandbox_value_uint(v, &u) == 0)
		snprintf(text, size, "%llu", (unsigned long long)u);
	else if (sandbox_value_double(v, &d) == 0)
		snprintf(text, size, "%.15g", d);
}

/* A value that is not made of others, as text; too long: cut. */
static void
print_scalar(struct sandbox_value v, char *text, size_t size)
{
	const void *p;
	size_t i, n;
	bool b;

	text[0] = '\0';
	if (sandbox_value_bool(v, &b) == 0)
		snprintf(text, size, "%s", b ? "yes" : "no");
	else if (sandbox_value_bytes(v, &p, &n) == 0) {
		if (n >= size)
			n = size - 1;
		memcpy(text, p, n);
		text[n] = '\0';
		for (i = 0; i < n; i++)
			if (is_control((unsigned char)text[i]))
				text[i] = '?';
	} else
		print_number(v, text, size);
}

void
print_text(struct sandbox_value v, int width)
{
	char text[512];

	print_scalar(v, text, sizeof(text));
	if (text[0] == '\0' && width != 0)
		strcpy(text, "-");
	if (width <= 0)
		printf("%s", text);
	else
		printf("%-*s ", width, text);
}

/* Seconds since 1970 as people write them. */
static bool
print_time(const char *key, struct sandbox_value v)
{
	static const char *const keys[] = { "created", "expires", "started" };
	char text[32];
	double seconds;
	time_t t;
	struct tm tm;
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (strcmp(keys[i], key) == 0)
			break;
	if (i == sizeof(keys) / sizeof(keys[0]) ||
	    sandbox_value_double(v, &seconds) == -1)
		return false;
	t = (time_t)seconds;
	if (gmtime_r(&t, &tm) == NULL || strftime(text, sizeof(text),
	    "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		return false;
	printf("%s", text);
	return true;
}

static void
print_words(struct sandbox_value array)
{
	struct sandbox_iter it;
	struct sandbox_value v;
	const char *space = "";

	sandbox_iter_init(&it, array);
	while (sandbox_iter_next(&it, NULL, &v)) {
		printf("%s", space);
		print_text(v, 0);
		space = " ";
	}
}

void
print_flat(const char *prefix, struct sandbox_value map)
{
	struct sandbox_iter it;
	struct sandbox_value key, v;
	char name[64], path[160];

	sandbox_iter_init(&it, map);
	while (sandbox_iter_next(&it, &key, &v)) {
		print_scalar(key, name, sizeof(name));
		snprintf(path, sizeof(path), "%s%s", prefix, name);
		if (sandbox_value_kind(v) == SANDBOX_MAP) {
			strncat(path, ".", sizeof(path) - strlen(path) - 1);
			print_flat(path, v);
			continue;
		}
		if (sandbox_value_kind(v) == SANDBOX_NIL)
			continue;
		printf("%-18s ", path);
		if (sandbox_value_kind(v) == SANDBOX_ARRAY)
			print_words(v);
		else if (!print_time(name, v))
			print_text(v, 0);
		putchar('\n');
	}
}

int
print_end(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	if (errno != EPIPE)
		say("cannot write: %s", strerror(errno));
	return EXIT_OWN;
}
