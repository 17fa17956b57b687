/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Terminals: opened on the sandbox's own devpts, the master held by the
 * agent alone (it is not dumpable, so nothing inside can reach it) and
 * copied to and from two descriptors of the worker's, which become
 * non-blocking.  No byte is interpreted.  End of input is typed as the
 * terminal's end-of-file character; when nobody reads the output any more
 * the master is closed, and the session gets SIGHUP.
 */

#include <sys/epoll.h>
#include <sys/ioctl.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#include "agent.h"

#ifndef TIOCGPTPEER
#define TIOCGPTPEER	_IO('T', 0x41)
#endif

#define PUMP_SIZE	(8 * 1024)
#define ROWS_DEFAULT	24
#define COLS_DEFAULT	80

/* What one direction waits for. */
enum flow {
	FLOW_READ,	/* bytes to come */
	FLOW_WRITE,	/* room to write them */
	FLOW_QUIET,	/* master only: no slave is open, one may be again */
	FLOW_END	/* all is copied, or the other side is gone */
};

struct pump {
	struct source	 from;
	struct source	 to;
	size_t		 n;
	size_t		 pos;
	bool		 is_eof;	/* from has ended */
	unsigned char	 last;		/* byte taken in */
	unsigned char	 buf[PUMP_SIZE];
};

struct pty {
	struct exec	*exec;
	struct pump	 in;		/* descriptor to master */
	struct pump	 out;		/* master to descriptor */
	bool		 is_typed;	/* the end of input */
};

static void	pty_in(struct pty *);
static void	pty_out(struct pty *);

/* Read some if nothing is left to write.  True: go on. */
static bool
pump_fill(struct pump *p, bool is_master, enum flow *flow)
{
	ssize_t	n;

	if (p->pos < p->n)
		return true;
	*flow = FLOW_END;
	if (p->is_eof)
		return false;
	n = read(p->from.fd, p->buf, sizeof(p->buf));
	if (n == -1 && errno == EAGAIN) {
		*flow = FLOW_READ;
		return false;
	}
	if (n == -1 && errno == EIO && is_master) {
		*flow = FLOW_QUIET;
		return false;
	}
	if (n <= 0) {
		p->is_eof = true;
		return false;
	}
	p->pos = 0;
	p->n = (size_t)n;
	p->last = p->buf[n - 1];
	return true;
}

static enum flow
pump_run(struct pump *p, bool is_master)
{
	enum flow	flow;
	ssize_t		n;
	int		i;

	for (i = 0; i < RELAY_ROUNDS; i++) {
		if (!pump_fill(p, is_master, &flow))
			return flow;
		n = write(p->to.fd, p->buf + p->pos, p->n - p->pos);
		if (n == 0 || (n == -1 && errno == EAGAIN))
			return FLOW_WRITE;
		if (n == -1)
			return FLOW_END;
		p->pos += (size_t)n;
	}
	return p->pos < p->n ? FLOW_WRITE : FLOW_READ;
}

static void
pump_close(struct pump *p)
{
	source_close(&p->from);
	source_close(&p->to);
}

/*
 * Only what is waited for is watched: a side that has hung up would wake
 * the loop for ever.
 */
static void
pump_wait(struct pump *p, enum flow flow, bool is_master)
{
	if (flow == FLOW_WRITE) {
		source_forget(&p->from);
		(void)source_watch(&p->to, EPOLLOUT);
		return;
	}
	if (source_watch(&p->from, flow == FLOW_QUIET ? EPOLLIN | EPOLLET :
	    EPOLLIN) != 0)
		/* A regular file: always ready. */
		(void)source_watch(&p->to, EPOLLOUT);
	else if (is_master)
		/* Errors only: the reader went away. */
		(void)source_watch(&p->to, 0);
	else
		source_forget(&p->to);
}

/*** Input ***/

size_t
pty_eof_bytes(int fd, int last, char bytes[2])
{
	struct termios	t;

	if (tcgetattr(fd, &t) == -1 || t.c_cc[VEOF] == _POSIX_VDISABLE)
		return 0;
	bytes[0] = bytes[1] = (char)t.c_cc[VEOF];
	/* In an unfinished line the first one only hands that line over. */
	return t.c_lflag & ICANON && last != '\n' ? 2 : 1;
}

static void
pty_in(struct pty *t)
{
	struct pump	*p = &t->in;
	enum flow	 flow;

	if (p->from.fd == -1)
		return;
	flow = pump_run(p, false);
	if (flow == FLOW_END && p->is_eof && !t->is_typed) {
		t->is_typed = true;
		p->pos = 0;
		p->n = pty_eof_bytes(p->to.fd, p->last, (char *)p->buf);
		flow = pump_run(p, false);
	}
	if (flow == FLOW_END)
		pump_close(p);
	else
		pump_wait(p, flow, false);
}

static void
pty_in_event(void *arg, uint32_t events)
{
	(void)events;
	pty_in(arg);
}

/*** Output ***/

static void
pty_hangup(struct pty *t)
{
	pump_close(&t->in);
	pump_close(&t->out);
}

static void
pty_out(struct pty *t)
{
	struct pump	*p = &t->out;
	enum flow	 flow;

	if (p->from.fd == -1)
		return;
	flow = pump_run(p, true);
	/* As long as the main process lives, it may open its terminal again. */
	if (flow == FLOW_QUIET && t->exec->is_ended)
		flow = FLOW_END;
	if (flow == FLOW_END)
		pty_hangup(t);
	else
		pump_wait(p, flow, true);
}

static void
pty_out_event(void *arg, uint32_t events)
{
	struct pty	*t = arg;

	(void)events;
	pty_out(t);
	exec_settle(t->exec);
}

static void
pty_reader_event(void *arg, uint32_t events)
{
	struct pty	*t = arg;

	if (events & EPOLLERR)
		pty_hangup(t);
	else
		pty_out(t);
	exec_settle(t->exec);
}

/*** Life ***/

/* 0 or errno. */
int
pty_open(uint64_t rows, uint64_t cols, int fds[2])
{
	int	unlock = 0, err;

	fds[0] = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (fds[0] == -1)
		return errno;
	/* The master first; then the size, so that nothing runs without. */
	if (ioctl(fds[0], TIOCSPTLCK, &unlock) == -1 ||
	    (err = pty_resize(fds[0], rows, cols)) != 0 ||
	    (fds[1] = ioctl(fds[0], TIOCGPTPEER,
	    O_RDWR | O_NOCTTY | O_CLOEXEC)) == -1) {
		err = errno;
		(void)close(fds[0]);
		return err;
	}
	return 0;
}

int
pty_resize(int fd, uint64_t rows, uint64_t cols)
{
	struct winsize	w = { 0 };

	w.ws_row = (unsigned short)(rows != 0 ? rows : ROWS_DEFAULT);
	w.ws_col = (unsigned short)(cols != 0 ? cols : COLS_DEFAULT);
	return ioctl(fd, TIOCSWINSZ, &w) == -1 ? errno : 0;
}

void
pty_set_size(struct pty *t, uint64_t rows, uint64_t cols)
{
	if (t->out.from.fd != -1)
		(void)pty_resize(t->out.from.fd, rows, cols);
}

struct pty *
pty_new(struct exec *e, int master, int fds[2])
{
	struct pty	*t = calloc(1, sizeof(*t));
	int		 copy = fcntl(master, F_DUPFD_CLOEXEC, 0);

	if (t == NULL || copy == -1) {
		free(t);
		fd_close(&copy);
		fd_close(&master);
		fd_close(&fds[0]);
		fd_close(&fds[1]);
		return NULL;
	}
	(void)fd_nonblock(fds[0]);
	(void)fd_nonblock(fds[1]);
	t->exec = e;
	t->in.last = '\n';
	t->in.from = (struct source){ .fd = fds[0], .fn = pty_in_event,
	    .arg = t };
	t->in.to = (struct source){ .fd = copy, .fn = pty_in_event,
	    .arg = t };
	t->out.from = (struct source){ .fd = master, .fn = pty_out_event,
	    .arg = t };
	t->out.to = (struct source){ .fd = fds[1], .fn = pty_reader_event,
	    .arg = t };
	pty_in(t);
	pty_out(t);
	return t;
}

void
pty_free(struct pty *t)
{
	pty_hangup(t);
	free(t);
}

/* What the main process wrote is in the master's buffer at the latest now. */
void
pty_drain(struct pty *t)
{
	pty_out(t);
}

bool
pty_is_over(const struct pty *t)
{
	return t->out.from.fd == -1;
}
