/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * sandboxd-agent, the first process inside a sandbox: its loop, its channel
 * and what comes in on it.  Runs as the sandbox's user inside every
 * protection, without a capability, with nothing open but descriptor 3.
 * Trusts the worker at the other end of that, and nothing else: commands
 * run as the same user, and may signal or kill it where it is not pid 1.
 *
 * One thread, no signal handlers: every signal is blocked for good and
 * SIGCHLD is read from a descriptor.  AGENT_EXEC makes a child that shares
 * the agent's memory until it has called execve (spawn.c), so an answer is
 * ready when that call returns.  When the channel closes, all ends: as pid
 * 1 the kernel sees to it, elsewhere (backend host) this does.
 */

#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent.h"

#define QUEUE_HIGH	(1024 * 1024)	/* unsent bytes: stop reading output */
#define END_MS		5000		/* for killing everything on host */

union message {
	struct msg_agent_exec	exec;
	struct msg_agent_signal	signal;
	struct msg_agent_resize	resize;
	struct msg_agent_kill	kill;
	struct msg_agent_data	data;
	struct msg_agent_credit	credit;
	struct msg_agent_eof	eof;
	struct msg_agent_closed	closed;
};

typedef void handler_fn(struct frame *, const union message *);

static handler_fn handle_exec, handle_signal, handle_resize, handle_kill,
    handle_data, handle_credit, handle_eof, handle_closed;

static struct agent {
	struct chan	*chan;
	struct source	 channel;
	struct source	 signals;
	int		 epoll_fd;
	bool		 is_stream;
	bool		 is_over;
} agent;

static const struct handler {
	handler_fn	*fn;
	bool		 is_stream;	/* of stream channels only */
} handlers[MSG_AGENT_CLOSED + 1] = {
	[MSG_AGENT_EXEC] =	{ handle_exec, false },
	[MSG_AGENT_SIGNAL] =	{ handle_signal, false },
	[MSG_AGENT_RESIZE] =	{ handle_resize, false },
	[MSG_AGENT_KILL] =	{ handle_kill, false },
	[MSG_AGENT_DATA] =	{ handle_data, true },
	[MSG_AGENT_CREDIT] =	{ handle_credit, true },
	[MSG_AGENT_EOF] =	{ handle_eof, true },
	[MSG_AGENT_CLOSED] =	{ handle_closed, true },
};

/* 0, or the errno of epoll_ctl: EPERM for a regular file. */
int
source_watch(struct source *s, uint32_t events)
{
	struct epoll_event	ev = { .events = events, .data.ptr = s };

	if (s->is_set && s->events == events)
		return 0;
	if (epoll_ctl(agent.epoll_fd, s->is_set ? EPOLL_CTL_MOD :
	    EPOLL_CTL_ADD, s->fd, &ev) == -1)
		return errno;
	s->is_set = true;
	s->events = events;
	return 0;
}

void
source_forget(struct source *s)
{
	struct epoll_event	ev = { 0 };

	if (s->is_set)
		(void)epoll_ctl(agent.epoll_fd, EPOLL_CTL_DEL, s->fd, &ev);
	s->is_set = false;
}

void
source_close(struct source *s)
{
	source_forget(s);
	fd_close(&s->fd);
}

bool
agent_is_stream(void)
{
	return agent.is_stream;
}

bool
agent_is_choked(void)
{
	return chan_pending(agent.chan) > QUEUE_HIGH;
}

void
agent_send(enum msg_type type, uint32_t request, const void *msg)
{
	struct error	e = { 0 };

	if (agent.is_over)
		return;
	if (chan_send(agent.chan, type, request, msg, NULL, 0, &e) == -1)
		agent.is_over = true;
}

static void
handle_exec(struct frame *f, const union message *m)
{
	exec_request(f, &m->exec);
}

static void
handle_signal(struct frame *f, const union message *m)
{
	(void)f;
	exec_signal(&m->signal);
}

static void
handle_resize(struct frame *f, const union message *m)
{
	struct exec	*e = exec_find(m->resize.exec);

	(void)f;
	if (e != NULL && e->pty != NULL)
		pty_set_size(e->pty, m->resize.rows, m->resize.cols);
	if (e != NULL && e->stream != NULL)
		stream_set_size(e->stream, m->resize.rows, m->resize.cols);
}

static void
handle_kill(struct frame *f, const union message *m)
{
	exec_kill(f->id, m->kill.exec);
}

/* An exec may have ended while a message about its streams was on its way. */
static struct stream *
stream_of(uint64_t id)
{
	struct exec	*e = exec_find(id);

	return e == NULL ? NULL : e->stream;
}

static void
handle_data(struct frame *f, const union message *m)
{
	struct stream	*s = stream_of(m->data.exec);

	(void)f;
	if (s != NULL && m->data.stream == STDIN_FILENO)
		stream_data(s, m->data.data);
}

static void
handle_credit(struct frame *f, const union message *m)
{
	struct stream	*s = stream_of(m->credit.exec);

	(void)f;
	if (s != NULL)
		stream_credit(s, m->credit.stream, m->credit.bytes);
}

static void
handle_eof(struct frame *f, const union message *m)
{
	struct stream	*s = stream_of(m->eof.exec);

	(void)f;
	if (s != NULL && m->eof.stream == STDIN_FILENO)
		stream_eof(s);
}

static void
handle_closed(struct frame *f, const union message *m)
{
	struct stream	*s = stream_of(m->closed.exec);

	(void)f;
	if (s != NULL)
		stream_closed(s, m->closed.stream);
}

static void
channel_frame(struct frame *f)
{
	const struct handler	*h = NULL;
	union message		 m;
	struct error		 e = { 0 };

	if (f->type < sizeof(handlers) / sizeof(handlers[0]))
		h = &handlers[f->type];
	if (h == NULL || h->fn == NULL || (h->is_stream && !agent.is_stream))
		fatal("%s is not for an agent", msg_name(f->type));
	if (msg_unpack(f, &m, &e) == -1)
		fatal("%s: %s", msg_name(f->type), e.message);
	h->fn(f, &m);
}

static void
channel_event(void *arg, uint32_t events)
{
	struct frame	f;
	struct error	e = { 0 };
	int		n;

	(void)arg;
	if (events & EPOLLOUT && chan_flush(agent.chan, &e) == -1) {
		agent.is_over = true;
		return;
	}
	if ((events & ~(uint32_t)EPOLLOUT) == 0)
		return;
	/*
	 * A record socket stays readable as long as there is more; of a byte
	 * stream whole frames may be waiting in the channel's buffer.
	 */
	do {
		n = chan_recv(agent.chan, &f, &e);
		if (n == 1)
			channel_frame(&f);
	} while (n == 1 && agent.is_stream && !agent.is_over);
	if (n == -1 && e.code != ERR_UNAVAILABLE)
		fatal("channel: %s", e.message);
	if (n == -1)
		agent.is_over = true;
}

static void
signals_event(void *arg, uint32_t events)
{
	(void)arg;
	(void)events;
	signals_drain(agent.signals.fd);
	exec_reap();
}

/* The worker is slow: only its channel and the children, until it is not. */
static void
loop_choked(void)
{
	struct pollfd	p[2] = {
		{ .fd = agent.channel.fd, .events = POLLIN | POLLOUT },
		{ .fd = agent.signals.fd, .events = POLLIN },
	};

	if (poll(p, 2, -1) == -1)
		return;
	if (p[1].revents != 0)
		signals_event(NULL, EPOLLIN);
	if (p[0].revents != 0)
		channel_event(NULL, (uint32_t)p[0].revents);
}

static void
loop_run(void)
{
	struct epoll_event	 ev;
	struct source		*s;

	while (!agent.is_over) {
		(void)source_watch(&agent.channel,
		    chan_pending(agent.chan) > 0 ? EPOLLIN | EPOLLOUT :
		    EPOLLIN);
		if (agent_is_choked()) {
			loop_choked();
			continue;
		}
		if (epoll_wait(agent.epoll_fd, &ev, 1, -1) != 1)
			continue;
		s = ev.data.ptr;
		s->fn(s->arg, ev.events);
	}
}

/* Descriptors 0 to 2 are taken, so that none of ours is ever one of them. */
static void
agent_descriptors(void)
{
	int	fd;

	do {
		if ((fd = open("/dev/null", O_RDWR | O_CLOEXEC)) == -1)
			fatal("/dev/null: %s", strerror(errno));
	} while (fd < AGENT_CHANNEL_FD);
	(void)close(fd);
	if (fcntl(AGENT_CHANNEL_FD, F_SETFD, FD_CLOEXEC) == -1)
		fatal("descriptor %d: %s", AGENT_CHANNEL_FD, strerror(errno));
	(void)syscall(SYS_close_range, AGENT_CHANNEL_FD + 1, ~0U, 0);
}

static void
agent_open(void)
{
	unsigned int	dirs = 1u << DIR_WA;

	if (agent.is_stream)
		dirs |= 1u << DIR_XA;
	agent.chan = chan_new(AGENT_CHANNEL_FD,
	    agent.is_stream ? CHAN_STREAM : 0, dirs);
	agent.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	agent.signals.fd = signals_open();
	if (agent.chan == NULL || agent.epoll_fd == -1 ||
	    agent.signals.fd == -1)
		fatal("cannot start: %s", strerror(errno));
	agent.signals.fn = signals_event;
	agent.channel.fd = AGENT_CHANNEL_FD;
	agent.channel.fn = channel_event;
	if (source_watch(&agent.signals, EPOLLIN) != 0)
		fatal("epoll_ctl: %s", strerror(errno));
}

/* At exit, on host: there is no namespace that ends with this process. */
static void
agent_end(void)
{
	struct pollfd	p = { .fd = agent.signals.fd, .events = POLLIN };
	int64_t		ends = now_ms() + END_MS;

	while (now_ms() < ends) {
		(void)kill_round(NULL);
		(void)poll(&p, 1, 10);
		signals_drain(agent.signals.fd);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD)
			return;
	}
	log_warn("something does not die");
}

int
main(int argc, char **argv)
{
	struct msg_agent_hello	hello = { .version = WIRE_VERSION };

	/* What commands inherit from here needs no call in each of them. */
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	(void)prctl(PR_SET_NAME, "sandboxd-agent", 0, 0, 0);
	log_init("sandboxd-agent", LOG_LEVEL_WARN);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1 ||
	    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == -1)
		fatal("prctl: %s", strerror(errno));
	(void)umask(022);
	signals_block();
	signals_default();
	agent_descriptors();

	agent.is_stream = argc > 1 && strcmp(argv[1], "-s") == 0;
	agent_open();
	if (getpid() != 1)
		(void)atexit(agent_end);
	agent_send(MSG_AGENT_HELLO, 0, &hello);
	loop_run();
	return 0;
}
