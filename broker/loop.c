/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The broker's event loop: descriptors with callbacks, and timers on a clock
 * that counts suspend.  Runs with the broker's rights; small enough to be
 * read at one sitting, which is why it is not libevent.
 */

#include <sys/epoll.h>
#include <sys/timerfd.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "broker.h"

static int epoll_fd = -1;
static int clock_fd = -1;
static struct watcher clock_watcher = { .fd = -1 };
TAILQ_HEAD(timer_list, timer);
static struct timer_list timers = TAILQ_HEAD_INITIALIZER(timers);
static int64_t armed;			/* what clock_fd is set to, 0 off */
static bool is_ending;
static int status;

void
loop_add(struct watcher *w, int fd, uint32_t events,
    void (*fn)(void *, uint32_t), void *arg)
{
	struct epoll_event ev = { .events = events, .data.ptr = w };

	w->fd = fd;
	w->fn = fn;
	w->arg = arg;
	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &ev) == -1)
		fatal("epoll_ctl add: %s", strerror(errno));
}

void
loop_change(struct watcher *w, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = w };

	if (epoll_ctl(epoll_fd, EPOLL_CTL_MOD, w->fd, &ev) == -1)
		fatal("epoll_ctl mod: %s", strerror(errno));
}

/* Before the close: a copy elsewhere would keep the file in the set. */
void
loop_del(struct watcher *w)
{
	if (w->fd != -1 &&
	    epoll_ctl(epoll_fd, EPOLL_CTL_DEL, w->fd, NULL) == -1)
		fatal("epoll_ctl del: %s", strerror(errno));
	w->fd = -1;
}

/*** Timers: a sorted list, one timerfd for the first ***/

static void
clock_arm(void)
{
	const struct timer *first = TAILQ_FIRST(&timers);
	struct itimerspec its = { 0 };
	int64_t at;

	at = first == NULL ? 0 : first->at;
	if (at == armed)
		return;
	armed = at;
	its.it_value.tv_sec = at / 1000;
	its.it_value.tv_nsec = at % 1000 * 1000000;
	if (timerfd_settime(clock_fd, TFD_TIMER_ABSTIME, &its, NULL) == -1)
		fatal("timerfd_settime: %s", strerror(errno));
}

void
timer_clear(struct timer *t)
{
	if (!t->is_set)
		return;
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
clock_event(void *arg, uint32_t events)
{
	struct timer *t;
	uint64_t n;
	int64_t now = now_ms();

	(void)arg;
	(void)events;
	if (read(clock_fd, &n, sizeof(n)) == -1 && errno != EAGAIN)
		fatal("timerfd: %s", strerror(errno));
	armed = 0;
	while ((t = TAILQ_FIRST(&timers)) != NULL && t->at <= now) {
		timer_clear(t);
		t->fn(t->arg);
	}
}

/*** The loop ***/

void
loop_init(void)
{
	if ((epoll_fd = epoll_create1(EPOLL_CLOEXEC)) == -1)
		fatal("epoll_create1: %s", strerror(errno));
	clock_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (clock_fd == -1)
		fatal("timerfd_create: %s", strerror(errno));
	loop_add(&clock_watcher, clock_fd, EPOLLIN, clock_event, NULL);
}

/*
 * The kernel hands ready descriptors out in turn, so taking one at a time is
 * fair, and no second event can be waiting for what a callback freed.
 */
void
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
		w->fn(w->arg, ev.events);
	}
}

void
loop_end(int code)
{
	is_ending = true;
	status = code;
}

int
loop_status(void)
{
	return status;
}
