/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Log lines on standard error.  Used by all processes with whatever rights
 * they have; libc only.  What is logged may hold bytes of clients and of
 * hostile programs: controls and non-ASCII are escaped, so that a line stays
 * one line and cannot drive a terminal.  One write per line.
 */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "proto.h"

#define LINE_MAX_BYTES	2048

static const char *proc = "sandboxd";
static enum log_level level = LOG_LEVEL_INFO;

void
log_init(const char *name, enum log_level max)
{
	proc = name;
	level = max;
}

enum log_level
log_level(void)
{
	return level;
}

/*
 * Quotes and backslashes stay, since our own formats have them and the
 * arguments went through text_escape already where that matters.
 */
static size_t
escape(char *out, size_t cap, const char *text)
{
	static const char hex[] = "0123456789abcdef";
	unsigned char c;
	size_t n = 0;

	for (; (c = (unsigned char)*text) != '\0' && n + 5 < cap; text++) {
		if (c >= 0x20 && c < 0x7f) {
			out[n++] = (char)c;
			continue;
		}
		out[n++] = '\\';
		if (c == '\n' || c == '\t') {
			out[n++] = c == '\n' ? 'n' : 't';
			continue;
		}
		out[n++] = 'x';
		out[n++] = hex[c >> 4];
		out[n++] = hex[c & 15];
	}
	return n;
}

static void __attribute__((format(printf, 1, 0)))
vlog(const char *fmt, va_list ap)
{
	char text[LINE_MAX_BYTES / 2], line[LINE_MAX_BYTES];
	int n, saved = errno;

	n = snprintf(line, sizeof(line), "%s: ", proc);
	if (n < 0 || (size_t)n >= sizeof(line) / 2)
		n = 0;
	vsnprintf(text, sizeof(text), fmt, ap);
	n += (int)escape(line + n, sizeof(line) - (size_t)n - 1, text);
	line[n++] = '\n';
	while (write(STDERR_FILENO, line, (size_t)n) == -1 && errno == EINTR)
		;
	errno = saved;
}

void
log_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vlog(fmt, ap);
	va_end(ap);
}

void
log_info(const char *fmt, ...)
{
	va_list ap;

	if (level < LOG_LEVEL_INFO)
		return;
	va_start(ap, fmt);
	vlog(fmt, ap);
	va_end(ap);
}

void
log_debug(const char *fmt, ...)
{
	va_list ap;

	if (level < LOG_LEVEL_DEBUG)
		return;
	va_start(ap, fmt);
	vlog(fmt, ap);
	va_end(ap);
}

void
log_error(const char *what, const struct error *e)
{
	log_warn("%s: %s%s%s%s%s", what, e->message,
	    e->path[0] != '\0' ? ": " : "", e->path,
	    e->fix[0] != '\0' ? "; " : "", e->fix);
}

void
fatal(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vlog(fmt, ap);
	va_end(ap);
	exit(1);
}
