/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The table of execs and the life of each: asked for, started, ended,
 * drained, over; exactly one result.  Run by the worker.  What the agent
 * reports is believed only where it fits the state, and what it fails to
 * report is made up for by deadlines.
 */

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "worker.h"

static void	exec_evict(struct worker *);
static void	exec_requests(struct exec *);
static int	exec_ask(struct exec *, struct launch *, struct error *);
static void	launch_free(struct launch *);

/*** The table ***/

struct exec *
exec_new(struct worker *w, struct conn *c, struct error *e)
{
	struct exec	*x;
	size_t		 cap;

	if (w->nlive >= EXECS_MAX || w->last_id == UINT32_MAX) {
		error_set(e, ERR_LIMIT, "%u commands are running", w->nlive);
		error_fix(e, "wait for some, or kill them");
		return NULL;
	}
	if (w->nexecs == w->execs_cap) {
		cap = w->execs_cap == 0 ? 16 : w->execs_cap * 2;
		w->execs = xrealloc(w->execs, cap * sizeof(*w->execs));
		w->execs_cap = cap;
	}
	x = xcalloc(1, sizeof(*x));
	x->worker = w;
	x->conn = c;
	x->id = ++w->last_id;
	TAILQ_INIT(&x->pendings);
	w->execs[w->nexecs++] = x;
	w->nlive++;
	return x;
}

/* Position of the first id that is not below. */
static size_t
exec_position(const struct worker *w, uint64_t id)
{
	size_t	 from = 0, to = w->nexecs, mid;

	while (from < to) {
		mid = from + (to - from) / 2;
		if (w->execs[mid]->id < id)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

struct exec *
exec_find(struct worker *w, uint64_t id)
{
	size_t	 i = exec_position(w, id);

	return i < w->nexecs && w->execs[i]->id == id ? w->execs[i] : NULL;
}

struct exec *
exec_after(struct worker *w, uint64_t id)
{
	size_t	 i = id >= UINT32_MAX ? w->nexecs : exec_position(w, id + 1);

	return i < w->nexecs ? w->execs[i] : NULL;
}

/* The newest one of that tag. */
struct exec *
exec_find_tag(struct worker *w, struct view tag)
{
	size_t	 i;

	for (i = w->nexecs; i > 0; i--)
		if (w->execs[i - 1]->tag != NULL &&
		    view_is(tag, w->execs[i - 1]->tag))
			return w->execs[i - 1];
	return NULL;
}

struct exec *
exec_find_group(struct worker *w, uint64_t group)
{
	size_t	 i;

	for (i = w->nexecs; i > 0; i--)
		if (w->execs[i - 1]->has_group &&
		    w->execs[i - 1]->group == group)
			return w->execs[i - 1];
	return NULL;
}

bool
exec_is_early(const struct exec *x)
{
	return x->state == EXEC_WAITING || x->state == EXEC_STARTING;
}

void
exec_free(struct exec *x)
{
	struct worker	*w = x->worker;
	struct pending	*p;
	struct error	 e = { 0 };
	size_t		 i = exec_position(w, x->id);

	memmove(w->execs + i, w->execs + i + 1,
	    (w->nexecs - i - 1) * sizeof(*w->execs));
	w->nexecs--;
	if (x->state != EXEC_OVER) {
		w->nlive--;
		group_done(x);
	}
	if (x->state == EXEC_WAITING && x->launch != NULL) {
		TAILQ_REMOVE(&w->waiting, x, entry);
		w->nwaiting--;
	} else if (x->state == EXEC_OVER)
		TAILQ_REMOVE(&w->over, x, entry);
	error_set(&e, ERR_NOT_FOUND, "exec %u is forgotten", x->id);
	while ((p = TAILQ_FIRST(&x->pendings)) != NULL)
		pending_fail(p, &e);
	if (x->launch != NULL)
		launch_free(x->launch);
	input_free(x->in);
	output_free(x->out[0]);
	output_free(x->out[1]);
	deadline_free(x);
	free(x->tag);
	free(x);
}

/*** Start ***/

static void
launch_free(struct launch *l)
{
	int	 i;

	for (i = 0; i < l->nfds; i++)
		fd_close(&l->fds[i]);
	buf_free(&l->kept);
	free(l);
}

/* Moves a view of the request into the launch's own memory. */
static void
launch_own(struct launch *l, struct view *v, size_t *at)
{
	size_t	 n = v->n;

	if (n != 0)
		memcpy(l->kept.p + *at, v->p, n);
	*v = (struct view){ l->kept.p + *at, n };
	*at += n;
}

static struct launch *
launch_keep(const struct launch *from)
{
	struct launch	*l = xcalloc(1, sizeof(*l));
	size_t		 at = 0;

	*l = *from;
	l->kept = (struct buf){ 0 };
	l->kept.cap = l->argv.n + l->env.n + l->cwd.n + 1;
	l->kept.p = xcalloc(1, l->kept.cap);
	launch_own(l, &l->argv, &at);
	launch_own(l, &l->env, &at);
	launch_own(l, &l->cwd, &at);
	l->kept.n = at;
	return l;
}

int
exec_launch(struct exec *x, struct launch *l, struct error *e)
{
	struct worker	*w = x->worker;
	int		 fd;

	if (x->timeout_ms != 0)
		x->deadline = clock_ms() + (int64_t)x->timeout_ms;
	if (!w->has_groups)
		return exec_ask(x, l, e);
	if (group_take(w, &x->group, &fd) == 0) {
		x->has_group = true;
		l->fds[l->nfds++] = fd;
		return exec_ask(x, l, e);
	}
	x->state = EXEC_WAITING;
	x->launch = launch_keep(l);
	l->nfds = 0;
	TAILQ_INSERT_TAIL(&w->waiting, x, entry);
	w->nwaiting++;
	group_refill(w);
	deadline_update(x);
	return 0;
}

void
exec_launch_next(struct worker *w)
{
	struct exec	*x;
	struct launch	*l;
	struct error	 e = { 0 };
	int		 fd;

	while ((x = TAILQ_FIRST(&w->waiting)) != NULL &&
	    group_take(w, &x->group, &fd) == 0) {
		TAILQ_REMOVE(&w->waiting, x, entry);
		w->nwaiting--;
		x->has_group = true;
		l = x->launch;
		x->launch = NULL;
		l->fds[l->nfds++] = fd;
		if (exec_ask(x, l, &e) == -1)
			exec_failed(x, &e);
		launch_free(l);
	}
}

/* Takes the descriptors of the launch. */
static int
exec_ask(struct exec *x, struct launch *l, struct error *e)
{
	int	 r;

	x->state = EXEC_STARTING;
	/* The process uses its first time before it is reported. */
	x->began_us = clock_us();
	r = agent_exec(x, l, e);
	l->nfds = 0;
	if (r == -1)
		return -1;
	/* In case that the agent never answers. */
	x->start_by = x->began_us / 1000 + START_MAX_MS;
	deadline_starting(x->worker);
	if (x->deadline != 0)
		deadline_update(x);
	if (x->is_stdin_null)
		agent_eof(x, 0);
	if (x->in != NULL)
		input_begin(x->in);
	return 0;
}

void
exec_started(struct exec *x, pid_t pid)
{
	int	 i;

	x->pid = pid;
	x->state = EXEC_RUNNING;
	x->started_ms = wall_ms();
	start_reply(x);
	result_event(x, "exec");
	exec_requests(x);
	/* After an attach that came with the start: it misses no byte. */
	for (i = 0; i < 2; i++)
		if (x->out[i] != NULL)
			output_begin(x->out[i]);
	if (x->kill_on_close && x->conn == NULL)
		exec_kill(x, NULL);
}

/* It never ran: the starter gets the error, others that there is none. */
void
exec_failed(struct exec *x, const struct error *e)
{
	struct pending	*p, *next;
	struct error	 none = { 0 };
	struct worker	*w = x->worker;

	error_set(&none, ERR_NOT_FOUND, "exec %u did not start", x->id);
	for (p = TAILQ_FIRST(&x->pendings); p != NULL; p = next) {
		next = TAILQ_NEXT(p, of_exec);
		pending_fail(p, p->kind == PEND_START ? e : &none);
	}
	exec_free(x);
	group_refill(w);
}

/* Runs the requests that waited for the start, in order. */
static void
exec_requests(struct exec *x)
{
	struct pending		*p;
	const struct method	*m;
	struct call		 call;
	unsigned char		*params;

	for (;;) {
		TAILQ_FOREACH(p, &x->pendings, of_exec)
			if (p->kind == PEND_DEFER)
				break;
		if (p == NULL)
			return;
		m = p->method;
		params = p->p;
		call = (struct call){ .conn = p->conn, .exec = x,
		    .id = p->id, .params = { params, p->n } };
		p->p = NULL;
		pending_free(p);
		method_call(m, &call);
		free(params);
	}
}

/*** End ***/

void
exec_exited(struct exec *x, const struct msg_agent_exited *m)
{
	x->code = (int)m->code;
	x->signal = (int)m->signal;
	x->has_core = m->has_core;
	x->user_us = (int64_t)m->user_us;
	x->system_us = (int64_t)m->system_us;
	x->peak = (int64_t)m->peak;
	x->has_status = true;
	x->wall_us = clock_us() - x->began_us;
	x->state = EXEC_DRAINING;
	x->deadline = 0;
	if (!x->is_killing)
		x->kill_by = 0;
	exec_drain(x);
}

void
exec_drain(struct exec *x)
{
	int64_t	 now;
	int	 i;

	if (x->state != EXEC_DRAINING || x->is_killing)
		return;
	for (i = 0; i < 2; i++)
		if (x->out[i] != NULL && !output_is_drained(x->out[i]))
			break;
	if (i == 2) {
		exec_finish(x);
		return;
	}
	if (x->drain_by != 0)
		return;
	now = clock_ms();
	x->drain_by = now + DRAIN_MAX_MS;
	x->quiet_by = now + DRAIN_QUIET_MS;
	x->seen = x->moved;
	deadline_update(x);
}

static const char *
exec_cause(const struct exec *x)
{
	if (x->forced != NULL)
		return x->forced;
	if (!x->has_status)
		return "lost";
	if (x->cpu_ms != 0 && (x->signal == SIGXCPU ||
	    (x->signal == SIGKILL &&
	    x->user_us + x->system_us >= (int64_t)x->cpu_ms * 1000)))
		return "cpu";
	return x->signal != 0 ? "signal" : "exit";
}

void
exec_finish(struct exec *x)
{
	struct worker	*w = x->worker;
	struct pending	*p, *next;
	struct buf	 result = { 0 };
	int		 i;

	if (x->state == EXEC_OVER)
		return;
	x->state = EXEC_OVER;
	x->cause = exec_cause(x);
	x->deadline = x->quiet_by = x->drain_by = 0;
	if (!x->has_status)
		x->wall_us = clock_us() - x->began_us;
	w->nlive--;
	TAILQ_INSERT_TAIL(&w->over, x, entry);
	result_pack(x, &result);
	for (p = TAILQ_FIRST(&x->pendings); p != NULL; p = next) {
		next = TAILQ_NEXT(p, of_exec);
		if (p->kind == PEND_WAIT)
			pending_reply(p, &result);
	}
	buf_free(&result);
	result_event(x, "exit");
	if (x->in != NULL)
		input_close(x->in);
	for (i = 0; i < 2; i++)
		if (x->out[i] != NULL)
			output_end(x->out[i]);
	if (!x->is_killing) {
		x->kill_by = 0;
		deadline_free(x);
	}
	group_done(x);
	group_refill(w);
	exec_evict(w);
}

static bool
exec_is_quiet(const struct exec *x)
{
	return (x->out[0] == NULL || x->out[0]->is_eof) &&
	    (x->out[1] == NULL || x->out[1]->is_eof);
}

/*
 * What is kept after the end is bounded in number and in bytes.  First those
 * go whose streams are at their end: closing a pipe kills whoever still
 * writes to it.  The newest always stays.
 */
static void
exec_evict(struct worker *w)
{
	struct exec	*x, *newest = TAILQ_LAST(&w->over, exec_queue);
	struct output	*o;
	int		 i;

	while (w->nexecs - w->nlive > RESULTS_MAX) {
		TAILQ_FOREACH(x, &w->over, entry)
			if (exec_is_quiet(x))
				break;
		if (x == NULL || x == newest)
			x = TAILQ_FIRST(&w->over);
		exec_free(x);
	}
	if (ring_total() <= RING_BUDGET / 2)
		return;
	TAILQ_FOREACH(x, &w->over, entry) {
		for (i = 0; i < 2; i++) {
			o = x->out[i];
			if (x != newest && o != NULL &&
			    TAILQ_EMPTY(&o->sinks))
				ring_free(&o->ring);
		}
		if (ring_total() <= RING_BUDGET / 2)
			break;
	}
}

/*** Kill ***/

void
exec_kill(struct exec *x, const char *cause)
{
	struct msg_worker_kill	 m = { .group = x->group };
	struct error		 e = { 0 };

	if (x->state == EXEC_WAITING) {
		error_set(&e, ERR_TIMEOUT,
		    "killed before it was started: no group was free");
		exec_failed(x, &e);
		return;
	}
	if (cause != NULL && x->forced == NULL && x->state < EXEC_DRAINING)
		x->forced = cause;
	if (x->is_killing)
		return;
	x->is_killing = true;
	x->kill_by = clock_ms() + KILL_MAX_MS;
	if (x->worker->has_groups) {
		/* The broker itself gives up after that time. */
		x->kill_by += KILL_MAX_MS;
		worker_tell(x->worker, MSG_WORKER_KILL, x->id, &m);
	} else
		agent_kill(x);
	deadline_update(x);
}

static void
exec_answer_kills(struct exec *x)
{
	struct pending	*p, *next;
	struct buf	 b = { 0 };

	put_map(&b, 2);
	put_str(&b, "exec");
	put_uint(&b, x->id);
	put_str(&b, "state");
	put_str(&b, "exited");
	for (p = TAILQ_FIRST(&x->pendings); p != NULL; p = next) {
		next = TAILQ_NEXT(p, of_exec);
		if (p->kind == PEND_KILL)
			pending_reply(p, &b);
	}
	buf_free(&b);
}

void
exec_killed(struct exec *x, bool is_empty)
{
	x->is_killing = false;
	x->kill_by = 0;
	if (!is_empty)
		worker_over(x->worker, "timeout",
		    "exec %u: a process did not die", x->id);
	exec_answer_kills(x);
	if (x->state == EXEC_RUNNING)
		/* By then the agent has to have seen it, too. */
		x->kill_by = clock_ms() + KILL_MAX_MS;
	if (x->state == EXEC_OVER)
		deadline_free(x);
	else
		deadline_update(x);
	exec_drain(x);
}

/* The kill has had its time. */
static void
exec_overdue(struct exec *x)
{
	x->kill_by = 0;
	if (x->is_killing) {
		worker_over(x->worker, "timeout",
		    "exec %u: the kill was not confirmed", x->id);
		return;
	}
	if (x->state != EXEC_RUNNING)
		return;
	/* All is dead, but the agent does not say so. */
	x->is_forced = true;
	x->has_status = true;
	x->signal = SIGKILL;
	x->wall_us = clock_us() - x->began_us;
	x->state = EXEC_DRAINING;
	exec_drain(x);
}

/*
 * Bytes wait for the reader of a passed descriptor, and the one who passed it
 * is there: as when the command wrote to it itself, its end waits, too.  What
 * a limit ended does not.
 */
static bool
exec_is_held(const struct exec *x)
{
	int	 i;

	if (x->conn == NULL || x->forced != NULL)
		return false;
	for (i = 0; i < 2; i++)
		if (x->out[i] != NULL && !output_is_flushed(x->out[i]))
			return true;
	return false;
}

void
exec_tick(struct exec *x)
{
	int64_t	 now = clock_ms();

	if (x->deadline != 0 && x->deadline <= now) {
		x->deadline = 0;
		if (x->state == EXEC_WAITING) {
			exec_kill(x, "timeout");	/* frees it */
			return;
		}
		exec_kill(x, "timeout");
	}
	if (x->kill_by != 0 && x->kill_by <= now)
		exec_overdue(x);
	if (x->state == EXEC_DRAINING && x->drain_by != 0) {
		if (exec_is_held(x)) {
			/* sink.c comes back when some of it was taken. */
			x->drain_by = x->quiet_by = 0;
		} else if (x->drain_by <= now || (x->quiet_by <= now &&
		    x->seen == x->moved)) {
			exec_finish(x);
		} else if (x->quiet_by <= now) {
			x->seen = x->moved;
			x->quiet_by = now + DRAIN_QUIET_MS;
		}
	}
	deadline_update(x);
}

/*** The end of the sandbox or of a connection ***/

void
exec_end_all(struct worker *w, const char *cause)
{
	struct exec	*x;
	struct error	 e = { 0 };
	uint32_t	 id;
	int		 i;

	error_set(&e, ERR_UNAVAILABLE, "the sandbox has ended (%s)", cause);
	for (id = 0; (x = exec_after(w, id)) != NULL;) {
		id = x->id;
		if (exec_is_early(x)) {
			exec_failed(x, &e);
			continue;
		}
		x->is_killing = false;
		exec_answer_kills(x);
		if (x->state == EXEC_OVER)
			continue;
		if (x->forced == NULL && x->state == EXEC_RUNNING)
			x->forced = cause;
		for (i = 0; i < 2; i++)
			if (x->out[i] != NULL)
				output_pull(x->out[i]);
		exec_finish(x);
	}
}

void
exec_conn_closed(struct worker *w, struct conn *c)
{
	struct exec	*x;
	uint32_t	 id;
	int		 i;

	for (id = 0; (x = exec_after(w, id)) != NULL;) {
		id = x->id;
		if (x->in != NULL)
			input_conn_closed(x->in, c);
		for (i = 0; i < 2; i++)
			if (x->out[i] != NULL)
				output_conn_closed(x->out[i], c);
		if (x->conn != c)
			continue;
		x->conn = NULL;
		/* Early ones are killed when they have started. */
		if (x->kill_on_close && (x->state == EXEC_RUNNING ||
		    x->state == EXEC_WAITING))
			exec_kill(x, NULL);
		else
			exec_drain(x);
	}
}
