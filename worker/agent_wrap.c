/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The agent's channel: what it is asked and what it answers.  Run by the
 * worker.  Once hostile code runs inside, the agent speaks for the attacker:
 * every frame is checked against the state of the exec that it names, and
 * one that does not fit ends the sandbox.
 */

#include <errno.h>
#include <string.h>

#include "worker.h"

#define AGENT_QUEUE_HIGH	(1024 * 1024)
#define RETRY_MS		5

/* What an agent says of an exec; each begins with its number. */
union answer {
	uint64_t			 exec;
	struct msg_agent_started	 started;
	struct msg_agent_failed		 failed;
	struct msg_agent_exited		 exited;
	struct msg_agent_killed		 killed;
	struct msg_agent_data		 data;
	struct msg_agent_credit		 credit;
	struct msg_agent_eof		 eof;
	struct msg_agent_closed		 closed;
};

#define BEGINS_WITH_EXEC(name)						\
	_Static_assert(offsetof(struct msg_agent_##name, exec) == 0, #name)
BEGINS_WITH_EXEC(started);
BEGINS_WITH_EXEC(failed);
BEGINS_WITH_EXEC(exited);
BEGINS_WITH_EXEC(killed);
BEGINS_WITH_EXEC(data);
BEGINS_WITH_EXEC(credit);
BEGINS_WITH_EXEC(eof);
BEGINS_WITH_EXEC(closed);

/* -1: it does not fit the exec. */
typedef int take_fn(struct exec *, const union answer *, struct error *);

static take_fn	 started_take, failed_take, exited_take, killed_take,
		 data_take, credit_take, eof_take, closed_take;

static const struct {
	enum msg_type	 type;
	bool		 is_stream;	/* on byte channels only */
	take_fn		*take;
} answers[] = {
	{ MSG_AGENT_STARTED,	false,	started_take },
	{ MSG_AGENT_FAILED,	false,	failed_take },
	{ MSG_AGENT_EXITED,	false,	exited_take },
	{ MSG_AGENT_KILLED,	false,	killed_take },
	{ MSG_AGENT_DATA,	true,	data_take },
	{ MSG_AGENT_CREDIT,	true,	credit_take },
	{ MSG_AGENT_EOF,	true,	eof_take },
	{ MSG_AGENT_CLOSED,	true,	closed_take },
};

/*** Answers ***/

void
agent_gone(const struct error *e, void *arg)
{
	struct worker	*w = arg;

	watch_free(w->agent);
	w->agent = NULL;
	worker_over(w, "lost", "the agent is lost: %s", e->message);
}

static int
hello_take(struct worker *w, const struct frame *f, struct error *e)
{
	struct msg_agent_hello	 m;
	struct msg_worker_ready	 r;

	if (w->state != WORKER_STARTED)
		return error_set(e, ERR_INVALID, "out of order");
	if (msg_unpack(f, &m, e) == -1)
		return -1;
	if (m.version != WIRE_VERSION)
		return error_set(e, ERR_UNSUPPORTED, "version %u, not %u",
		    (unsigned int)m.version, WIRE_VERSION);
	w->state = WORKER_LIVE;
	r.version = m.version;
	worker_tell(w, MSG_WORKER_READY, 0, &r);
	group_refill(w);
	return 0;
}

/*
 * An exec that was there and is forgotten, or whose end was decided without
 * the agent, may still be spoken of; one that was never asked for may not.
 */
static int
answer_take(struct worker *w, const struct frame *f, struct error *e)
{
	union answer	 m;
	struct exec	*x;
	size_t		 i, n = sizeof(answers) / sizeof(answers[0]);

	for (i = 0; i < n && answers[i].type != f->type; i++)
		;
	if (i == n || (answers[i].is_stream && !w->is_stream) ||
	    w->state == WORKER_STARTED)
		return error_set(e, ERR_INVALID, "out of order");
	if (msg_unpack(f, &m, e) == -1)
		return -1;
	if ((x = exec_find(w, m.exec)) != NULL)
		return answers[i].take(x, &m, e);
	if (m.exec == 0 || m.exec > w->last_id)
		return error_set(e, ERR_INVALID, "exec %u was never asked for",
		    (unsigned int)m.exec);
	return 0;
}

void
agent_frame(struct chan *c, struct frame *f, void *arg)
{
	struct worker	*w = arg;
	struct error	 e = { 0 }, why = { 0 };

	(void)c;
	log_debug("%s: %s", w->id, msg_name(f->type));
	if ((f->type == MSG_AGENT_HELLO ? hello_take(w, f, &e) :
	    answer_take(w, f, &e)) == 0)
		return;
	error_set(&why, ERR_INVALID, "bad %s: %s", msg_name(f->type),
	    e.message);
	agent_gone(&why, w);
}

static int
answer_unfit(const struct exec *x, struct error *e)
{
	return error_set(e, ERR_INVALID, "exec %u is not in that state",
	    x->id);
}

static int
started_take(struct exec *x, const union answer *m, struct error *e)
{
	if (x->state != EXEC_STARTING)
		return answer_unfit(x, e);
	exec_started(x, (pid_t)m->started.pid);
	return 0;
}

/* The stage is one of a few words; the path may be anything. */
static void
failed_error(const struct msg_agent_failed *m, struct error *e)
{
	char		 stage[17], path[200];
	enum err_code	 code = ERR_BACKEND;

	text_escape(stage, sizeof(stage), m->stage);
	text_escape(path, sizeof(path), m->path);
	if (m->sys_errno == ENOENT || m->sys_errno == ENOTDIR)
		code = ERR_NOT_FOUND;
	else if (view_is(m->stage, "fork"))
		code = ERR_LIMIT;
	if (path[0] == '\0')
		error_sys(e, code, (int)m->sys_errno, "%s", stage);
	else
		error_sys(e, code, (int)m->sys_errno, "%s: %s", stage, path);
	(void)text_copy(e->key, sizeof(e->key), view_of(stage));
	error_path(e, path);
}

static int
failed_take(struct exec *x, const union answer *m, struct error *e)
{
	struct error	 why = { 0 };

	if (x->state != EXEC_STARTING)
		return answer_unfit(x, e);
	failed_error(&m->failed, &why);
	exec_failed(x, &why);
	return 0;
}

static int
exited_take(struct exec *x, const union answer *m, struct error *e)
{
	if (x->is_forced)
		return 0;
	if (x->state != EXEC_RUNNING)
		return answer_unfit(x, e);
	exec_exited(x, &m->exited);
	return 0;
}

static int
killed_take(struct exec *x, const union answer *m, struct error *e)
{
	(void)m;
	if (!x->is_killing || x->worker->has_groups)
		return answer_unfit(x, e);
	exec_killed(x, true);
	return 0;
}

static int
data_take(struct exec *x, const union answer *m, struct error *e)
{
	if (exec_is_early(x) || m->data.stream == 0)
		return answer_unfit(x, e);
	if (x->out[m->data.stream - 1] == NULL)
		return error_set(e, ERR_INVALID, "exec %u has no such stream",
		    x->id);
	return output_data(x->out[m->data.stream - 1], m->data.data, e);
}

static int
credit_take(struct exec *x, const union answer *m, struct error *e)
{
	if (x->in == NULL)
		return 0;
	if (m->credit.stream != 0)
		return answer_unfit(x, e);
	return input_credit(x->in, m->credit.bytes, e);
}

static int
eof_take(struct exec *x, const union answer *m, struct error *e)
{
	if (m->eof.stream == 0 || x->out[m->eof.stream - 1] == NULL)
		return 0;
	if (exec_is_early(x))
		return answer_unfit(x, e);
	output_eof(x->out[m->eof.stream - 1]);
	return 0;
}

static int
closed_take(struct exec *x, const union answer *m, struct error *e)
{
	(void)e;
	if (m->closed.stream == 0 && x->in != NULL)
		input_close(x->in);
	return 0;
}

/*** Requests ***/

/* Takes the descriptors. */
static int
agent_send(struct worker *w, enum msg_type type, uint32_t id, const void *m,
    int *fds, int nfds, struct error *e)
{
	int	 i;

	if (w->agent == NULL) {
		for (i = 0; i < nfds; i++)
			fd_close(&fds[i]);
		return error_set(e, ERR_UNAVAILABLE, "the agent is lost");
	}
	log_debug("%s: to the agent: %s", w->id, msg_name(type));
	i = chan_send(watch_get_chan(w->agent), type, id, m, fds, nfds, e);
	watch_kick(w->agent);
	return i;
}

/* When it cannot be told, its channel is broken, which is seen elsewhere. */
static void
agent_tell(struct worker *w, enum msg_type type, uint32_t id, const void *m)
{
	struct error	 e = { 0 };

	if (agent_send(w, type, id, m, NULL, 0, &e) == -1)
		log_debug("%s: %s: %s", w->id, msg_name(type), e.message);
}

int
agent_exec(struct exec *x, const struct launch *l, struct error *e)
{
	struct msg_agent_exec	 m = { .exec = x->id };
	int			 fds[4];

	m.argv = l->argv;
	m.is_shell = l->is_shell;
	m.env = l->env;
	m.cwd = l->cwd;
	m.flags = (x->has_pty ? EXEC_PTY : 0) |
	    (x->has_group ? EXEC_GROUP : 0);
	m.rows = l->rows;
	m.cols = l->cols;
	m.cpu_time = l->cpu_time;
	m.files = x->worker->files;
	memcpy(fds, l->fds, sizeof(fds));
	return agent_send(x->worker, MSG_AGENT_EXEC, x->id, &m, fds, l->nfds,
	    e);
}

void
agent_signal(struct exec *x, int sig)
{
	struct msg_agent_signal	 m = { x->id, (uint64_t)sig };

	agent_tell(x->worker, MSG_AGENT_SIGNAL, x->id, &m);
}

void
agent_resize(struct exec *x, uint64_t rows, uint64_t cols)
{
	struct msg_agent_resize	 m = { x->id, rows, cols };

	agent_tell(x->worker, MSG_AGENT_RESIZE, x->id, &m);
}

void
agent_kill(struct exec *x)
{
	struct msg_agent_kill	 m = { x->id };

	agent_tell(x->worker, MSG_AGENT_KILL, x->id, &m);
}

static void
retry_event(evutil_socket_t fd, short what, void *arg)
{
	struct worker	*w = arg;
	struct exec	*x;

	(void)fd;
	(void)what;
	for (x = exec_after(w, 0); x != NULL; x = exec_after(w, x->id))
		if (x->in != NULL && !exec_is_early(x))
			input_pump(x->in);
}

/* 0: too much is queued already; the input is pumped again soon. */
int
agent_data(struct exec *x, struct view data)
{
	static const struct timeval	 soon = { 0, RETRY_MS * 1000 };
	struct worker			*w = x->worker;
	struct msg_agent_data		 m = { x->id, 0, data };
	struct error			 e = { 0 };

	if (w->agent != NULL &&
	    chan_pending(watch_get_chan(w->agent)) > AGENT_QUEUE_HIGH) {
		if (w->retry == NULL)
			w->retry = evtimer_new(w->base, retry_event, w);
		if (w->retry == NULL)
			fatal("out of memory");
		if (!evtimer_pending(w->retry, NULL))
			evtimer_add(w->retry, &soon);
		return 0;
	}
	return agent_send(w, MSG_AGENT_DATA, 0, &m, NULL, 0, &e) == -1 ?
	    -1 : 1;
}

void
agent_credit(struct exec *x, unsigned int stream, uint64_t bytes)
{
	struct msg_agent_credit	 m = { x->id, stream, bytes };

	agent_tell(x->worker, MSG_AGENT_CREDIT, 0, &m);
}

void
agent_eof(struct exec *x, unsigned int stream)
{
	struct msg_agent_eof	 m = { x->id, stream };

	agent_tell(x->worker, MSG_AGENT_EOF, 0, &m);
}

void
agent_closed(struct exec *x, unsigned int stream)
{
	struct msg_agent_closed	 m = { x->id, stream };

	agent_tell(x->worker, MSG_AGENT_CLOSED, 0, &m);
}
