/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Bytes between a descriptor of the user's that cannot be passed (terminal,
 * socket, device) and a pipe that can.  The user's descriptors are shared
 * with other programs, so they never become nonblocking: they are read and
 * written only when poll says so, and in small pieces.
 */

#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "ctl.h"

#define PIECE	4096	/* what a terminal takes without blocking long */

int
pump_open(struct pump *p, int fd, int other, bool is_input)
{
	int flags;

	if ((p->buf = malloc(COPY_SIZE)) == NULL)
		return -1;
	p->is_input = is_input;
	p->from = is_input ? fd : other;
	p->to = is_input ? other : fd;
	flags = fcntl(other, F_GETFL);
	fcntl(other, F_SETFL, flags | O_NONBLOCK);
	return 0;
}

/* Only the end that is ours; the user's stay open. */
void
pump_close(struct pump *p)
{
	if (p->from == -1)
		return;
	close(p->is_input ? p->to : p->from);
	p->from = p->to = -1;
	p->n = 0;
}

bool
pump_poll(const struct pump *p, struct pollfd *pfd)
{
	if (p->from == -1)
		return false;
	pfd->fd = p->n > 0 ? p->to : p->from;
	pfd->events = p->n > 0 ? POLLOUT : POLLIN;
	return true;
}

static ssize_t
pump_get(const struct pump *p)
{
	ssize_t n = -1;

	if (p->is_input) {
		n = recv(p->from, p->buf, COPY_SIZE, MSG_DONTWAIT);
		if (n != -1 || errno != ENOTSOCK)
			return n;
	}
	return read(p->from, p->buf, COPY_SIZE);
}

static ssize_t
pump_put(const struct pump *p)
{
	const unsigned char *at = p->buf + p->off;
	ssize_t n = -1;

	if (!p->is_input) {
		n = send(p->to, at, p->n, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n != -1 || errno != ENOTSOCK)
			return n;
	}
	return write(p->to, at, p->is_input || p->n < PIECE ? p->n : PIECE);
}

static bool
is_later(void)
{
	return errno == EAGAIN || errno == EINTR;
}

void
pump_run(struct pump *p)
{
	ssize_t n;

	if (p->n == 0) {
		if ((n = pump_get(p)) > 0) {
			p->off = 0;
			p->n = (size_t)n;
		} else if (n == 0 || !is_later())
			pump_close(p);	/* the end goes on to the reader */
		return;
	}
	if ((n = pump_put(p)) >= 0) {
		p->off += (size_t)n;
		p->n -= (size_t)n;
	} else if (!is_later())
		pump_close(p);		/* the writer gets EPIPE */
}
