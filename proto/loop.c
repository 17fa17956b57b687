/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The broker's event loop: descriptors and channels with callbacks, timers on
 * a clock that counts suspend.  No rights of its own; small enough
 * to be read at one sitting, which is why it is not libevent.  Peers are not
 * trusted: chan.c checks each frame, the callbacks what it says.
 */

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "loop.h"

TAILQ_HEAD(timer_list, timer);

static int epoll_fd = -1;
static int clock_fd = -1;
static struct watcher clock_watcher;
static struct timer_list timers = TAILQ_HEAD_INITIALIZER(timers);
static int64_t armed;			/* what clock_fd is set to, 0 off */
static bool is_ending;
static int status;

static void
loop_ctl(int op, struct watcher *w, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = w };

	if (epoll_ctl(epoll_fd, op, w->fd, &ev) == -1)
		fatal("epoll_ctl: %s", strerror(errno));
}

void
loop_add(struct watcher *w, int fd, uint32_t events, void (*fn)(void *),
    void *arg)
{
	*w = (struct watcher){ true, fd, 0, fn, arg };
	loop_ctl(EPOLL_CTL_ADD, w, events);
}

/* Before the close: a copy elsewhere would keep the file in the set. */
void
loop_del(struct watcher *w)
{
	if (w->is_on)
		loop_ctl(EPOLL_CTL_DEL, w, 0);
	w->is_on = false;
}

/*** Timers: a sorted list, one timerfd for the first ***/

static void
clock_arm(void)
{
	const struct timer *first = TAILQ_FIRST(&timers);
	int64_t at = first == NULL ? 0 : first->at;
	struct itimerspec its = {
		.it_value = { at / 1000, at % 1000 * 1000000 }
	};

	if (at == armed)
		return;
	armed = at;
	if (timerfd_settime(clock_fd, TFD_TIMER_ABSTIME, &its, NULL) == -1)
		fatal("timerfd_settime: %s", strerror(errno));
}

void
timer_clear(struct timer *t)
{
	if (t->is_set)
		TAILQ_REMOVE(&timers, t, entry);
	t->is_set = false;
}

void
timer_set(struct timer *t, int64_t ms, void (*fn)(void *), void *arg)
{
	struct timer *other;

	timer_clear(t);
	t->at = now_ms() + ms;
	t->fn = fn;
	t->arg = arg;
	t->is_set = true;
	TAILQ_FOREACH_REVERSE(other, &timers, timer_list, entry)
		if (other->at <= t->at)
			break;
	if (other == NULL)
		TAILQ_INSERT_HEAD(&timers, t, entry);
	else
		TAILQ_INSERT_AFTER(&timers, other, t, entry);
}

static void
clock_event(void *arg)
{
	struct timer *t;
	uint64_t n;
	int64_t now = now_ms();

	(void)arg;
	if (read(clock_fd, &n, sizeof(n)) == -1 && errno != EAGAIN)
		fatal("timerfd: %s", strerror(errno));
	armed = 0;
	while ((t = TAILQ_FIRST(&timers)) != NULL && t->at <= now) {
		timer_clear(t);
		t->fn(t->arg);
	}
}

/*** Channels ***/

/* One frame per wake-up, so a talkative peer queues with the others. */
static void
peer_event(void *arg)
{
	struct peer *p = arg;
	uint32_t events = p->watcher.events;
	struct error e = { 0 };
	struct frame f;
	int got = 0;

	if (events & EPOLLOUT) {
		got = chan_flush(p->chan, &e);
		if (got == 0 && chan_pending(p->chan) == 0)
			loop_ctl(EPOLL_CTL_MOD, &p->watcher, EPOLLIN);
	}
	if (got == 0 && (events & ~(uint32_t)EPOLLOUT) != 0)
		got = chan_recv(p->chan, &f, &e);
	if (got == 1) {
		p->frame(p->arg, &f);
	} else if (got == -1) {
		loop_del(&p->watcher);
		p->lost(p->arg, &e);
	}
}

void
peer_open(struct peer *p, int fd, unsigned int flags, unsigned int accepts,
    void (*frame)(void *, struct frame *),
    void (*lost)(void *, const struct error *), void *arg)
{
	if ((p->chan = chan_new(fd, flags, accepts)) == NULL)
		fatal("out of memory");
	p->frame = frame;
	p->lost = lost;
	p->arg = arg;
	loop_add(&p->watcher, fd, EPOLLIN, peer_event, p);
}

void
peer_close(struct peer *p)
{
	loop_del(&p->watcher);
	if (p->chan != NULL)
		chan_free(p->chan);
	p->chan = NULL;
}

void
peer_send(struct peer *p, enum msg_type type, uint32_t id, const void *msg,
    const int *fds, int nfds)
{
	struct error e = { 0 };
	int i, fd;

	if (!p->watcher.is_on) {
		for (i = 0; i < nfds; i++) {
			fd = fds[i];
			fd_close(&fd);
		}
		return;
	}
	log_debug("to %s: %s %u", p->name, msg_name(type), id);
	if (chan_send(p->chan, type, id, msg, fds, nfds, &e) == -1) {
		log_error(msg_name(type), &e);
		/* The loop sees the end of it and tells the owner. */
		shutdown(chan_fd(p->chan), SHUT_RDWR);
	} else if (chan_pending(p->chan) > 0)
		loop_ctl(EPOLL_CTL_MOD, &p->watcher, EPOLLIN | EPOLLOUT);
}

/*** The loop ***/

void
loop_init(void)
{
	if ((epoll_fd = epoll_create1(EPOLL_CLOEXEC)) == -1 ||
	    (clock_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC |
	    TFD_NONBLOCK)) == -1)
		fatal("loop: %s", strerror(errno));
	loop_add(&clock_watcher, clock_fd, EPOLLIN, clock_event, NULL);
}

/*
 * The kernel hands ready descriptors out in turn, so taking one at a time is
 * fair, and no second event can be waiting for what a callback freed.
 */
int
loop_run(void)
{
	struct epoll_event ev;
	struct watcher *w;
	int n;

	while (!is_ending) {
		clock_arm();
		n = epoll_wait(epoll_fd, &ev, 1, -1);
		if (n == -1 && errno != EINTR)
			fatal("epoll_wait: %s", strerror(errno));
		if (n != 1)
			continue;
		w = ev.data.ptr;
		w->events = ev.events;
		w->fn(w->arg);
	}
	return status;
}

void
loop_end(int code)
{
	is_ending = true;
	status = code;
}
