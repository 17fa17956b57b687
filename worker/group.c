/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Exec groups: control groups that the broker makes ahead, each with a
 * descriptor to join it by, so that none is made on the way to an answer.
 * Run by the worker, which only passes the descriptors on.
 */

#include <unistd.h>

#include "worker.h"

int
group_take(struct worker *w, uint32_t *id, int *fd)
{
	struct group	*g;

	if (w->ngroups == 0)
		return -1;
	g = &w->groups[--w->ngroups];
	*id = g->id;
	*fd = g->fd;
	return 0;
}

void
group_give(struct worker *w, uint32_t id, int fd)
{
	struct msg_worker_done	 m = { .group = id };

	if (w->nasked > 0)
		w->nasked--;
	if (fd == -1 || w->ngroups == GROUPS_AHEAD) {
		/* Without a descriptor, or not asked for: of no use. */
		fd_close(&fd);
		worker_tell(w, MSG_WORKER_DONE, 0, &m);
		return;
	}
	w->groups[w->ngroups++] = (struct group){ id, fd };
	exec_launch_next(w);
}

/* Asks for more when half of the stock is gone or somebody waits. */
void
group_refill(struct worker *w)
{
	struct msg_worker_groups	 m = { 0 };
	unsigned int			 have = w->ngroups + w->nasked;

	if (!w->has_groups || w->state != WORKER_LIVE ||
	    w->nasked >= GROUPS_AHEAD)
		return;
	if (have > GROUPS_AHEAD / 2 && have >= w->nwaiting)
		return;
	m.count = GROUPS_AHEAD - w->nasked;
	if (w->nwaiting == 0)
		m.count = GROUPS_AHEAD - have;
	if (m.count == 0)
		return;
	w->nasked += (unsigned int)m.count;
	worker_tell(w, MSG_WORKER_GROUPS, 0, &m);
}

/* No further exec in it; what lives on in it is the broker's to see. */
void
group_done(struct exec *x)
{
	struct msg_worker_done	 m = { .group = x->group };

	if (x->has_group && !x->is_done)
		worker_tell(x->worker, MSG_WORKER_DONE, 0, &m);
	x->is_done = true;
}
