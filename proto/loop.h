/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The broker's event loop, and channels in it: what event.h is for front and
 * worker, without libevent.  One thread, one loop; state is static.
 */

#ifndef PROTO_LOOP_H
#define PROTO_LOOP_H

#include <sys/queue.h>

#include "proto.h"

/* A descriptor in the loop; lies in what it belongs to. */
struct watcher {
	bool		 is_on;
	int		 fd;
	uint32_t	 events;	/* while fn runs */
	void		 (*fn)(void *);
	void		*arg;
};

struct timer {
	TAILQ_ENTRY(timer) entry;
	bool		 is_set;
	int64_t		 at;		/* now_ms() */
	void		 (*fn)(void *);
	void		*arg;
};

void	 loop_init(void);
/* Events of epoll; 0 is hang-up and error only. */
void	 loop_add(struct watcher *, int, uint32_t, void (*)(void *), void *);
void	 loop_del(struct watcher *);	/* the fd stays open; twice is fine */
void	 timer_set(struct timer *, int64_t, void (*)(void *), void *);
void	 timer_clear(struct timer *);
/* One event at a time, so a callback may free anything. */
int	 loop_run(void);		/* the status given to loop_end */
void	 loop_end(int);

struct peer {
	const char	*name;		/* for the log */
	struct chan	*chan;
	struct watcher	 watcher;
	void		 (*frame)(void *, struct frame *);
	void		 (*lost)(void *, const struct error *);
	void		*arg;
};

/* chan_new() in the loop.  After lost() nothing more comes. */
void	 peer_open(struct peer *, int, unsigned int, unsigned int,
	    void (*)(void *, struct frame *),
	    void (*)(void *, const struct error *), void *);
void	 peer_close(struct peer *);
/* Consumes the fds.  A peer that cannot take it is lost soon. */
void	 peer_send(struct peer *, enum msg_type, uint32_t, const void *,
	    const int *, int);

#endif
