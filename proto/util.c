/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Memory, descriptors, clocks, ids, text and numbers: the small things that
 * every process needs.  No rights, no state; libc only, also in the static
 * agent.  Texts and numbers come from clients and are not trusted.
 */

#include <sys/random.h>
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "proto.h"

/*** Memory ***/

void *
xcalloc(size_t n, size_t size)
{
	void *p;

	if ((p = calloc(n, size)) == NULL && n != 0 && size != 0)
		fatal("out of memory");
	return p;
}

void *
xrealloc(void *old, size_t n)
{
	void *p;

	if ((p = realloc(old, n == 0 ? 1 : n)) == NULL)
		fatal("out of memory");
	return p;
}

char *
xstrdup(const char *s)
{
	char *p;

	if ((p = strdup(s)) == NULL)
		fatal("out of memory");
	return p;
}

/*** Descriptors ***/

void
fd_close(int *fd)
{
	int saved = errno;

	if (*fd != -1)
		close(*fd);
	*fd = -1;
	errno = saved;
}

int
fd_nonblock(int fd)
{
	int flags;

	if ((flags = fcntl(fd, F_GETFL)) == -1)
		return -1;
	if (flags & O_NONBLOCK)
		return 0;
	return fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

int
fd_pair(int type, int fds[2])
{
	return socketpair(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
	    fds);
}

int
fd_write_all(int fd, const void *data, size_t n)
{
	const char *p = data;
	ssize_t done;

	while (n > 0) {
		done = write(fd, p, n);
		if (done == -1 && errno == EINTR)
			continue;
		if (done == -1)
			return -1;
		p += done;
		n -= (size_t)done;
	}
	return 0;
}

/*** Clocks, random numbers, ids ***/

static int64_t
clock_ms(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int64_t
now_ms(void)
{
	return clock_ms(CLOCK_BOOTTIME);
}

int64_t
wall_ms(void)
{
	return clock_ms(CLOCK_REALTIME);
}

void
random_bytes(void *out, size_t n)
{
	char *p = out;
	ssize_t got;

	while (n > 0) {
		got = getrandom(p, n, 0);
		if (got == -1 && errno == EINTR)
			continue;
		if (got == -1)
			fatal("getrandom: %s", strerror(errno));
		p += got;
		n -= (size_t)got;
	}
}

void
id_make(char id[ID_LEN + 1], const char *prefix)
{
	static const char hex[] = "0123456789abcdef";
	unsigned char r[8];
	size_t i, n;

	_Static_assert(ID_LEN == 3 + 2 * sizeof(r), "id length");
	n = strlen(prefix);
	if (n > 3)
		n = 3;
	memcpy(id, prefix, n);
	random_bytes(r, sizeof(r));
	for (i = 0; i < sizeof(r); i++) {
		id[n++] = hex[r[i] >> 4];
		id[n++] = hex[r[i] & 15];
	}
	id[n] = '\0';
}

bool
id_is_valid(const char *id)
{
	return strlen(id) == ID_LEN && strncmp(id, "sb_", 3) == 0 &&
	    strspn(id + 3, "0123456789abcdef") == ID_LEN - 3;
}

bool
name_is_valid(const char *name)
{
	size_t n;

	n = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "abcdefghijklmnopqrstuvwxyz0123456789._-");
	return n > 0 && n <= NAME_LEN_MAX && name[n] == '\0' &&
	    name[0] != '.' && name[0] != '-';
}

/*** Text ***/

int
text_copy(char *out, size_t cap, struct view v)
{
	if (v.n >= cap || (v.n > 0 && memchr(v.p, '\0', v.n) != NULL))
		return -1;
	if (v.n > 0)
		memcpy(out, v.p, v.n);
	out[v.n] = '\0';
	return 0;
}

struct view
view_of(const char *s)
{
	if (s == NULL)
		return (struct view){ NULL, 0 };
	return (struct view){ (const unsigned char *)s, strlen(s) };
}

bool
view_is(struct view v, const char *s)
{
	return v.p != NULL && v.n == strlen(s) && memcmp(v.p, s, v.n) == 0;
}

char *
text_escape(char *out, size_t cap, struct view v)
{
	static const char hex[] = "0123456789abcdef";
	unsigned char c;
	size_t i, n = 0;

	if (cap == 0)
		return out;
	for (i = 0; i < v.n && n + 4 < cap; i++) {
		c = v.p[i];
		if (c >= 0x20 && c < 0x7f && c != '"' && c != '\'' &&
		    c != '\\') {
			out[n++] = (char)c;
			continue;
		}
		out[n++] = '\\';
		if (c >= 0x20 && c < 0x7f) {
			out[n++] = (char)c;
		} else if (c == '\n' || c == '\t') {
			out[n++] = c == '\n' ? 'n' : 't';
		} else {
			out[n++] = 'x';
			out[n++] = hex[c >> 4];
			out[n++] = hex[c & 15];
		}
	}
	out[n] = '\0';
	return out;
}

/*** Numbers ***/

#define FRACTION	1000000000u	/* nine digits behind the point */

struct unit {
	const char	*name;
	uint64_t	 factor;
};

static const struct unit sizes[] = {
	{ "", 1 },
	{ "K", 1ull << 10 },
	{ "M", 1ull << 20 },
	{ "G", 1ull << 30 },
	{ "T", 1ull << 40 },
	{ NULL, 0 }
};

static const struct unit durations[] = {
	{ "", 1000 },
	{ "ms", 1 },
	{ "s", 1000 },
	{ "m", 60 * 1000 },
	{ "h", 3600 * 1000 },
	{ "d", 86400 * 1000 },
	{ NULL, 0 }
};

static const struct unit millis[] = {
	{ "", 1000 },
	{ NULL, 0 }
};

/* Digits into whole; at most max digits.  Returns how many. */
static size_t
digits(const char *s, size_t max, uint64_t *value)
{
	size_t n;

	*value = 0;
	for (n = 0; s[n] >= '0' && s[n] <= '9'; n++) {
		if (n == max)
			return 0;
		*value = *value * 10 + (uint64_t)(s[n] - '0');
	}
	return n;
}

/* A decimal number times the factor of the unit behind it; rounds down. */
static int
number(const char *s, const struct unit *units, uint64_t *out)
{
	uint64_t whole, fraction = 0, scale;
	unsigned __int128 value;
	size_t n;

	if ((n = digits(s, 18, &whole)) == 0)
		return -1;
	s += n;
	if (*s == '.') {
		if ((n = digits(++s, 9, &fraction)) == 0)
			return -1;
		s += n;
		for (scale = FRACTION; n > 0; n--)
			scale /= 10;
		fraction *= scale;
	}
	while (units->name != NULL && strcmp(units->name, s) != 0)
		units++;
	if (units->name == NULL)
		return -1;
	value = (unsigned __int128)whole * units->factor +
	    (unsigned __int128)fraction * units->factor / FRACTION;
	if (value > INT64_MAX)
		return -1;
	*out = (uint64_t)value;
	return 0;
}

static int
parse(const char *s, const struct unit *units, const char *what,
    const char *fix, uint64_t *out, struct error *e)
{
	char shown[64];

	if (number(s, units, out) == 0)
		return 0;
	error_set(e, ERR_INVALID, "'%s' is not a %s",
	    text_escape(shown, sizeof(shown), view_of(s)), what);
	error_fix(e, "write it like %s", fix);
	return -1;
}

int
parse_size(const char *s, uint64_t *out, struct error *e)
{
	return parse(s, sizes, "size", "512M, 1.5G or 4096 (bytes)", out, e);
}

int
parse_duration(const char *s, uint64_t *out, struct error *e)
{
	return parse(s, durations, "duration",
	    "250ms, 30s, 5m, 1h, 1d or 30 (seconds)", out, e);
}

int
parse_milli(const char *s, uint64_t *out, struct error *e)
{
	return parse(s, millis, "number", "2 or 1.5", out, e);
}

int
parse_uint(const char *s, uint64_t min, uint64_t max, uint64_t *out,
    struct error *e)
{
	char shown[64];
	uint64_t value;
	size_t n;

	n = digits(s, 19, &value);
	if (n == 0 || s[n] != '\0' || value < min || value > max)
		return error_set(e, ERR_INVALID,
		    "'%s' is not a number from %llu to %llu",
		    text_escape(shown, sizeof(shown), view_of(s)),
		    (unsigned long long)min, (unsigned long long)max);
	*out = value;
	return 0;
}
