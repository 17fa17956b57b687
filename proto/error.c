/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Error objects: a stable code for programs, a text for people.  Used by all
 * processes with whatever rights they have; libc only.  Texts may hold bytes
 * of clients, paths and programs, so what is not UTF-8 or is a control is
 * replaced here, once, and every text that leaves us can be shown.
 */

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "proto.h"

static const char *const names[] = {
	[ERR_NONE] = "none",
	[ERR_INVALID] = "invalid",
	[ERR_DENIED] = "denied",
	[ERR_NOT_FOUND] = "not_found",
	[ERR_CONFLICT] = "conflict",
	[ERR_LIMIT] = "limit",
	[ERR_TOO_LARGE] = "too_large",
	[ERR_BUSY] = "busy",
	[ERR_UNSUPPORTED] = "unsupported",
	[ERR_UNAVAILABLE] = "unavailable",
	[ERR_BACKEND] = "backend",
	[ERR_TIMEOUT] = "timeout",
	[ERR_INTERNAL] = "internal",
};

/* What to do about an error whose maker had nothing better to say. */
static const char *const advice[] = {
	[ERR_NONE] = "",
	[ERR_INVALID] = "see sandboxctl(1), or sandboxd-rpc(7), for what it "
	    "may be",
	[ERR_DENIED] = "ask the administrator for a rule that permits it",
	[ERR_NOT_FOUND] = "'sandboxctl ls' shows which there are",
	[ERR_CONFLICT] = "'sandboxctl info' shows how it is",
	[ERR_LIMIT] = "end some of what is there, or have the limit raised",
	[ERR_TOO_LARGE] = "ask for less, or pass it in a file",
	[ERR_BUSY] = "try again in a moment",
	[ERR_UNSUPPORTED] = "see sandboxd-rpc(7) for what there is",
	[ERR_UNAVAILABLE] = "try again; the daemon's log says more",
	[ERR_BACKEND] = "see 'sandboxctl check' and the daemon's log",
	[ERR_TIMEOUT] = "try again; the daemon's log says more",
	[ERR_INTERNAL] = "see the daemon's log, and report this",
};

#define NNAMES	(sizeof(names) / sizeof(names[0]))

/* Length of the UTF-8 sequence that starts at s, or 0. */
static size_t
utf8_len(const unsigned char *s)
{
	size_t i, n;

	if (*s >= 0xc2 && *s <= 0xdf)
		n = 2;
	else if (*s >= 0xe0 && *s <= 0xef)
		n = 3;
	else if (*s >= 0xf0 && *s <= 0xf4)
		n = 4;
	else
		return 0;
	for (i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	/* Overlong forms, surrogates, above U+10FFFF. */
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

static void
clean(char *text)
{
	unsigned char *s = (unsigned char *)text;
	size_t n;

	while (*s != '\0') {
		if (*s >= 0x20 && *s < 0x7f)
			s++;
		else if ((n = utf8_len(s)) != 0)
			s += n;
		else
			*s++ = '?';
	}
}

static void __attribute__((format(printf, 3, 0)))
vset(struct error *e, enum err_code code, const char *fmt, va_list ap)
{
	e->code = code;
	e->sys_errno = 0;
	e->key[0] = e->path[0] = e->fix[0] = '\0';
	vsnprintf(e->message, sizeof(e->message), fmt, ap);
	clean(e->message);
}

int
error_set(struct error *e, enum err_code code, const char *fmt, ...)
{
	va_list ap;

	if (e == NULL)
		return -1;
	va_start(ap, fmt);
	vset(e, code, fmt, ap);
	va_end(ap);
	return -1;
}

int
error_sys(struct error *e, enum err_code code, int sys_errno,
    const char *fmt, ...)
{
	va_list ap;
	size_t n;

	if (e == NULL)
		return -1;
	va_start(ap, fmt);
	vset(e, code, fmt, ap);
	va_end(ap);
	e->sys_errno = sys_errno;
	n = strlen(e->message);
	snprintf(e->message + n, sizeof(e->message) - n, ": %s",
	    strerror(sys_errno));
	return -1;
}

int
error_key(struct error *e, enum err_code code, const char *key,
    const char *fmt, ...)
{
	va_list ap;

	if (e == NULL)
		return -1;
	va_start(ap, fmt);
	vset(e, code, fmt, ap);
	va_end(ap);
	snprintf(e->key, sizeof(e->key), "%s", key);
	clean(e->key);
	return -1;
}

void
error_path(struct error *e, const char *path)
{
	if (e == NULL)
		return;
	snprintf(e->path, sizeof(e->path), "%s", path);
	clean(e->path);
}

void
error_fix(struct error *e, const char *fmt, ...)
{
	va_list ap;

	if (e == NULL)
		return;
	va_start(ap, fmt);
	vsnprintf(e->fix, sizeof(e->fix), fmt, ap);
	va_end(ap);
	clean(e->fix);
}

const char *
error_advice(const struct error *e)
{
	if (e->fix[0] != '\0' || (size_t)e->code >= NNAMES)
		return e->fix;
	return advice[e->code];
}

const char *
error_name(enum err_code code)
{
	if ((size_t)code >= NNAMES)
		code = ERR_INTERNAL;
	return names[code];
}

enum err_code
error_code(struct view name)
{
	size_t i;

	for (i = 1; i < NNAMES; i++)
		if (view_is(name, names[i]))
			return (enum err_code)i;
	return ERR_INTERNAL;
}
