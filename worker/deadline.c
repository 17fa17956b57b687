/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Time: one timer for each exec that has something due, made only then; one
 * for the agent's answers; one for the sandbox's end of life, on a clock
 * that counts suspend.  Run by the worker.  Setting the system clock changes
 * nothing here.
 */

#include <sys/timerfd.h>

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "worker.h"

int64_t
clock_us(void)
{
	struct timespec	 t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t
clock_ms(void)
{
	return clock_us() / 1000;
}

/*** Of an exec ***/

static void
deadline_event(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	exec_tick(arg);
}

static void
deadline_min(int64_t *at, int64_t other)
{
	if (other != 0 && (*at == 0 || other < *at))
		*at = other;
}

void
deadline_update(struct exec *x)
{
	struct timeval	 tv;
	int64_t		 at = 0, ms;

	deadline_min(&at, x->deadline);
	deadline_min(&at, x->kill_by);
	deadline_min(&at, x->quiet_by);
	deadline_min(&at, x->drain_by);
	if (at == 0) {
		if (x->timer != NULL)
			event_del(x->timer);
		return;
	}
	if (x->timer == NULL)
		x->timer = evtimer_new(x->worker->base, deadline_event, x);
	if (x->timer == NULL)
		fatal("out of memory");
	ms = at - clock_ms();
	if (ms < 0)
		ms = 0;
	tv.tv_sec = ms / 1000;
	tv.tv_usec = ms % 1000 * 1000;
	evtimer_add(x->timer, &tv);
}

void
deadline_free(struct exec *x)
{
	if (x->timer != NULL)
		event_free(x->timer);
	x->timer = NULL;
}

/*** Of the agent's answers ***/

static void
starting_event(evutil_socket_t fd, short what, void *arg)
{
	struct worker	*w = arg;
	struct exec	*x;
	bool		 has_more = false;
	int64_t		 now = clock_ms();

	(void)fd;
	(void)what;
	for (x = exec_after(w, 0); x != NULL; x = exec_after(w, x->id)) {
		if (x->state != EXEC_STARTING)
			continue;
		if (x->start_by <= now) {
			worker_over(w, "lost",
			    "the agent does not answer to exec %u", x->id);
			return;
		}
		has_more = true;
	}
	if (has_more)
		deadline_starting(w);
}

void
deadline_starting(struct worker *w)
{
	static const struct timeval	 tv = { START_MAX_MS / 1000, 0 };

	if (w->starting == NULL)
		w->starting = evtimer_new(w->base, starting_event, w);
	if (w->starting == NULL)
		fatal("out of memory");
	if (!evtimer_pending(w->starting, NULL))
		evtimer_add(w->starting, &tv);
}

/*** Of the sandbox ***/

static void
life_event(evutil_socket_t fd, short what, void *arg)
{
	uint64_t	 n;

	(void)what;
	if (read((int)fd, &n, sizeof(n)) != (ssize_t)sizeof(n))
		return;
	worker_over(arg, "expired", "its time is over");
}

void
deadline_sandbox(struct worker *w, uint64_t ends)
{
	struct itimerspec	 t = { 0 };

	t.it_value.tv_sec = (time_t)(ends / 1000);
	t.it_value.tv_nsec = (long)(ends % 1000) * 1000000 + 1;
	w->life_fd = timerfd_create(CLOCK_BOOTTIME,
	    TFD_CLOEXEC | TFD_NONBLOCK);
	if (w->life_fd == -1 ||
	    timerfd_settime(w->life_fd, TFD_TIMER_ABSTIME, &t, NULL) == -1)
		fatal("cannot time the end of life");
	w->life = event_new(w->base, w->life_fd, EV_READ | EV_PERSIST,
	    life_event, w);
	if (w->life == NULL || event_add(w->life, NULL) == -1)
		fatal("out of memory");
}
