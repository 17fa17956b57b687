/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Loads the wire vectors for unit tests.  Run by whoever runs the tests; the
 * source tree is trusted.
 */

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "regress/wire/wire.h"

static const char *
source_dir(void)
{
	const char *dir = getenv("srcdir");

	return dir == NULL ? "." : dir;
}

struct view
wire_read(const char *kind, const char *name)
{
	struct view v = { NULL, 0 };
	char path[4096];
	unsigned char *p;
	off_t size;
	int fd;

	snprintf(path, sizeof(path), "%s/regress/wire/%s/%s", source_dir(),
	    kind, name);
	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) == -1)
		fail_msg("cannot open %s", path);
	size = lseek(fd, 0, SEEK_END);
	/* An empty block still has an address. */
	p = malloc(size == 0 ? 1 : (size_t)size);
	assert_non_null(p);
	assert_int_equal(pread(fd, p, (size_t)size, 0), size);
	close(fd);
	v.p = p;
	v.n = (size_t)size;
	return v;
}

static int
is_vector(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

size_t
wire_each(const char *kind, vector_fn *fn, void *arg)
{
	struct dirent **names;
	struct vector v = { .kind = kind };
	char path[4096];
	int i, n;

	snprintf(path, sizeof(path), "%s/regress/wire/%s", source_dir(),
	    kind);
	if ((n = scandir(path, &names, is_vector, alphasort)) <= 0)
		fail_msg("no vectors in %s", path);
	for (i = 0; i < n; i++) {
		v.name = names[i]->d_name;
		v.data = wire_read(kind, v.name);
		fn(&v, arg);
		free((void *)(uintptr_t)v.data.p);
		free(names[i]);
	}
	free(names);
	return (size_t)n;
}

unsigned char *
wire_copy(struct view v, size_t n)
{
	unsigned char *p;

	p = malloc(n == 0 ? 1 : n);
	assert_non_null(p);
	memcpy(p, v.p, n);
	return p;
}

int
fd_count(void)
{
	DIR *d;
	int n = 0;

	d = opendir("/proc/self/fd");
	assert_non_null(d);
	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n;
}

static int	fds_before;

int
fd_count_setup(void **state)
{
	(void)state;
	fds_before = fd_count();
	return 0;
}

int
fd_count_check(void **state)
{
	(void)state;
	return fd_count() == fds_before ? 0 : -1;
}

/* Not by rights_put(): more than any of our messages may carry. */
void
wire_send(int fd, const void *p, size_t n, int passed, int nfds)
{
	union {
		struct cmsghdr	 align;
		char		 bytes[CMSG_SPACE(sizeof(int) * 64)];
	} control;
	struct iovec iov = { (void *)(uintptr_t)p, n };
	struct msghdr m = { 0 };
	struct cmsghdr *cm;
	int i;

	m.msg_iov = &iov;
	m.msg_iovlen = 1;
	if (nfds > 0) {
		memset(&control, 0, sizeof(control));
		m.msg_control = control.bytes;
		m.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)nfds);
		cm = CMSG_FIRSTHDR(&m);
		cm->cmsg_level = SOL_SOCKET;
		cm->cmsg_type = SCM_RIGHTS;
		cm->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)nfds);
		for (i = 0; i < nfds; i++)
			memcpy(CMSG_DATA(cm) + sizeof(int) * (size_t)i,
			    &passed, sizeof(int));
	}
	assert_int_equal(sendmsg(fd, &m, MSG_NOSIGNAL), n);
}

uint64_t
random_next(uint64_t *state)
{
	uint64_t z;

	z = *state += 0x9e3779b97f4a7c15ull;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

unsigned int
frame_type(struct view v)
{
	return v.p[4] | (unsigned int)v.p[5] << 8;
}

int
frame_nfds(struct view v)
{
	return v.p[12] | v.p[13] << 8;
}
