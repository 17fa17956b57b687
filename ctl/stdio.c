/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Descriptors 0 to 2: which can be given to the program itself, and pipes
 * with pumps for those that cannot.
 */

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <fcntl.h>
#include <linux/magic.h>
#include <unistd.h>

#include "ctl.h"

void
stdio_open_closed(void)
{
	int fd;

	/* The lowest free one is what open gives. */
	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= 2);
	if (fd != -1)
		close(fd);
}

/* Open for what the stream needs? */
static bool
stdio_is_usable(int fd)
{
	int flags = fcntl(fd, F_GETFL);
	int mode = flags & O_ACCMODE;

	if (flags == -1 || (flags & O_PATH))
		return false;
	return mode == O_RDWR || mode == (fd == 0 ? O_RDONLY : O_WRONLY);
}

static bool
stdio_is_null(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, 3);
}

static bool
stdio_is_passable(const struct stat *st)
{
	return S_ISFIFO(st->st_mode) || S_ISREG(st->st_mode) ||
	    stdio_is_null(st);
}

/* Are standard output and error one terminal or socket? */
static bool
stdio_is_same(void)
{
	struct stat a, b;

	return fstat(1, &a) == 0 && fstat(2, &b) == 0 &&
	    a.st_dev == b.st_dev && a.st_ino == b.st_ino &&
	    a.st_rdev == b.st_rdev;
}

/*
 * A pipe belongs to who made it, but inside another user may open it again
 * by /dev/stdout: in the direction that he has it for, and no other.  Pipes
 * that have a name keep the mode that somebody gave them.
 */
static void
stdio_open_up(int end, int fd, mode_t mode)
{
	struct statfs fs;

	if (fstatfs(end, &fs) == 0 && fs.f_type == PIPEFS_MAGIC)
		fchmod(end, (mode & 07777) | (fd == 0 ? 0044 : 0022));
}

static int
stdio_pipe(struct session *s, int fd)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) == -1)
		return say_errno(s->o->command, "cannot make a pipe");
	if (pump_open(&s->pumps[fd], fd, ends[fd == 0 ? 1 : 0],
	    fd == 0) == -1)
		return say_memory();
	stdio_open_up(ends[0], fd, 0600);
	s->exec.fds[fd] = s->given[fd] = ends[fd == 0 ? 0 : 1];
	return 0;
}

static int
stdio_one(struct session *s, int fd)
{
	struct stat st;

	if (!stdio_is_usable(fd) || fstat(fd, &st) == -1 ||
	    S_ISDIR(st.st_mode)) {
		s->exec.fds[fd] = SANDBOX_FD_NULL;
		return 0;
	}
	/* A limit of output is enforced by whoever reads it. */
	if (fd != 0 && s->o->output != 0) {
		s->exec.fds[fd] = SANDBOX_FD_RELAY;
		return 0;
	}
	if (stdio_is_null(&st) ||
	    (stdio_is_passable(&st) && !s->exec.has_pty)) {
		if (S_ISFIFO(st.st_mode))
			stdio_open_up(fd, fd, st.st_mode);
		s->exec.fds[fd] = fd;
		return 0;
	}
	/* One pipe for both keeps their order. */
	if (fd == 2 && s->given[1] != -1 && stdio_is_same()) {
		s->exec.fds[2] = s->given[1];
		return 0;
	}
	return stdio_pipe(s, fd);
}

int
stdio_prepare(struct session *s)
{
	int fd, status;

	for (fd = 0; fd < (s->exec.has_pty ? 2 : 3); fd++)
		if ((status = stdio_one(s, fd)) != 0)
			return status;
	return 0;
}
