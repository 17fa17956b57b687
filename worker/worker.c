/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * sandboxd-worker: one process for each sandbox, started by the broker with
 * descriptor 3 a channel to it, an id of its own, an empty root directory
 * and nothing else.  It confines itself before it reads a byte, gets the
 * agent's channel with WORKER_START, and then serves exec.* to the
 * connections that the broker hands over (conn.c, method.c, start.c, io.c),
 * asks the agent for what has to happen inside (agent_wrap.c), keeps the
 * table of execs (exec.c) and their streams (output.c, input.c).
 *
 * It trusts the broker.  A bad frame from the agent ends the sandbox; a bad
 * message from a client ends that client.  When the broker is gone it
 * answers what is open and exits; so it does after WORKER_END.
 */

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "worker.h"

#define FLUSH_TICK_MS	5

struct order {
	enum msg_type	 type;
	bool		 is_first;	/* before WORKER_START */
	int		(*take)(struct worker *, struct frame *,
			    struct error *);
};

static int	 start_take(struct worker *, struct frame *, struct error *);
static int	 conn_take(struct worker *, struct frame *, struct error *);
static int	 hangup_take(struct worker *, struct frame *, struct error *);
static int	 group_take_one(struct worker *, struct frame *,
		    struct error *);
static int	 killed_take(struct worker *, struct frame *, struct error *);
static int	 end_take(struct worker *, struct frame *, struct error *);
static void	 worker_end(struct worker *, const char *);

static const struct order orders[] = {
	{ MSG_WORKER_START,	true,	start_take },
	{ MSG_WORKER_CONN,	false,	conn_take },
	{ MSG_WORKER_HANGUP,	false,	hangup_take },
	{ MSG_WORKER_GROUP,	false,	group_take_one },
	{ MSG_WORKER_KILLED,	false,	killed_take },
	{ MSG_WORKER_END,	true,	end_take },
};

static struct worker worker = { .null_fd = -1, .life_fd = -1 };

/*** The broker ***/

static void
broker_frame(struct chan *c, struct frame *f, void *arg)
{
	struct worker		*w = arg;
	const struct order	*o = NULL;
	struct error		 e = { 0 };
	size_t			 i;

	(void)c;
	log_debug("%s: %s", w->id, msg_name(f->type));
	for (i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
		if (orders[i].type == f->type)
			o = &orders[i];
	if (o == NULL || (w->state == WORKER_NEW && !o->is_first))
		fatal("%s out of order", msg_name(f->type));
	if (o->take(w, f, &e) == -1)
		fatal("%s: %s", msg_name(f->type), e.message);
}

static void
broker_gone(const struct error *e, void *arg)
{
	struct worker	*w = arg;

	log_debug("%s: the broker is gone: %s", w->id, e->message);
	watch_free(w->broker);
	w->broker = NULL;
	worker_end(w, "lost");
}

void
worker_tell(struct worker *w, enum msg_type type, uint32_t id,
    const void *msg)
{
	struct error	 e = { 0 };

	if (w->broker == NULL)
		return;
	log_debug("%s: to the broker: %s", w->id, msg_name(type));
	if (chan_send(watch_get_chan(w->broker), type, id, msg, NULL, 0,
	    &e) == -1)
		log_warn("%s: %s: %s", w->id, msg_name(type), e.message);
	watch_kick(w->broker);
}

/*** Start ***/

static void
front_frame(struct chan *c, struct frame *f, void *arg)
{
	(void)c;
	(void)f;
	(void)arg;
}

static void
front_gone(const struct error *e, void *arg)
{
	struct worker	*w = arg;

	log_debug("%s: the front is gone: %s", w->id, e->message);
	watch_free(w->front);
	w->front = NULL;
}

static void
start_watch(struct worker *w, int agent_fd, int front_fd)
{
	struct chan	*agent, *front;
	unsigned int	 dirs = 1u << DIR_AW;

	if (w->is_stream)
		dirs |= 1u << DIR_XA;
	agent = chan_new(agent_fd, w->is_stream ? CHAN_STREAM : 0, dirs);
	front = chan_new(front_fd, 0, 0);
	if (agent == NULL || front == NULL)
		fatal("out of memory");
	w->agent = watch_chan(w->base, agent, agent_frame, agent_gone, w);
	w->front = watch_chan(w->base, front, front_frame, front_gone, w);
	if (w->agent == NULL || w->front == NULL)
		fatal("out of memory");
}

static int
start_take(struct worker *w, struct frame *f, struct error *e)
{
	struct msg_worker_start	 m;
	int			 agent_fd, front_fd;

	if (msg_unpack(f, &m, e) == -1)
		return -1;
	if (w->state != WORKER_NEW)
		return error_set(e, ERR_CONFLICT, "a second time");
	agent_fd = frame_take_fd(f, 0);
	front_fd = frame_take_fd(f, 1);
	if (agent_fd == -1 || front_fd == -1)
		return error_set(e, ERR_INVALID, "descriptors are missing");
	if (text_copy(w->id, sizeof(w->id), m.id) == -1)
		return error_set(e, ERR_INVALID, "bad id");
	w->is_stream = m.is_stream;
	w->has_groups = m.has_groups && !m.is_stream;
	w->timeout_ms = m.timeout;
	w->cpu_ms = m.cpu_time;
	w->output_max = m.output;
	w->files = m.files;
	env_base(w, m.env);
	w->state = WORKER_STARTED;
	start_watch(w, agent_fd, front_fd);
	if (m.ends != 0)
		deadline_sandbox(w, m.ends);
	return 0;
}

/*** Orders ***/

static int
conn_take(struct worker *w, struct frame *f, struct error *e)
{
	struct msg_worker_conn	 m;
	int			 fd;

	if (msg_unpack(f, &m, e) == -1)
		return -1;
	/* Without a descriptor, none was free here: the client sees EOF. */
	if ((fd = frame_take_fd(f, 0)) != -1)
		(void)conn_new(w, fd, m.handle);
	return 0;
}

static int
hangup_take(struct worker *w, struct frame *f, struct error *e)
{
	struct msg_worker_hangup	 m;

	if (msg_unpack(f, &m, e) == -1)
		return -1;
	conn_hangup(w, m.handle);
	return 0;
}

static int
group_take_one(struct worker *w, struct frame *f, struct error *e)
{
	struct msg_worker_group	 m;

	if (msg_unpack(f, &m, e) == -1)
		return -1;
	group_give(w, (uint32_t)m.group, frame_take_fd(f, 0));
	return 0;
}

static int
killed_take(struct worker *w, struct frame *f, struct error *e)
{
	struct msg_worker_killed	 m;
	struct exec			*x;

	if (msg_unpack(f, &m, e) == -1)
		return -1;
	x = exec_find_group(w, m.group);
	if (x != NULL && x->is_killing)
		exec_killed(x, m.is_empty);
	return 0;
}

static int
end_take(struct worker *w, struct frame *f, struct error *e)
{
	struct msg_worker_end	 m;
	char			 cause[33];

	if (msg_unpack(f, &m, e) == -1 ||
	    text_copy(cause, sizeof(cause), m.cause) == -1)
		return -1;
	worker_end(w, cause);
	return 0;
}

/*** The end ***/

static bool
worker_is_flushed(struct worker *w)
{
	const struct exec	*x;
	const struct sink	*s;
	int			 i;

	for (x = exec_after(w, 0); x != NULL; x = exec_after(w, x->id)) {
		for (i = 0; i < 2; i++) {
			if (x->out[i] == NULL)
				continue;
			TAILQ_FOREACH(s, &x->out[i]->sinks, entry)
				if (!sink_is_flushed(s))
					return false;
		}
	}
	return conn_all_flushed(w);
}

static void
end_event(evutil_socket_t fd, short what, void *arg)
{
	static const struct timeval	 tick = { 0, FLUSH_TICK_MS * 1000 };
	struct worker			*w = arg;

	(void)fd;
	(void)what;
	if (w->state == WORKER_LOST)
		/* The broker was told, and has not answered. */
		worker_end(w, w->cause);
	else if (worker_is_flushed(w) || clock_ms() >= w->end_by)
		event_base_loopbreak(w->base);
	else
		evtimer_add(w->end, &tick);
}

static void
end_timer(struct worker *w, int ms)
{
	struct timeval	 tv = { ms / 1000, ms % 1000 * 1000 };

	if (w->end == NULL)
		w->end = evtimer_new(w->base, end_event, w);
	if (w->end == NULL)
		fatal("out of memory");
	evtimer_add(w->end, &tv);
}

void
worker_over(struct worker *w, const char *cause, const char *fmt, ...)
{
	struct msg_worker_over	 m;
	char			 text[512];
	va_list			 ap;

	if (w->state >= WORKER_LOST)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_info("%s: %s: %s", w->id, cause, text);
	w->state = WORKER_LOST;
	snprintf(w->cause, sizeof(w->cause), "%s", cause);
	m.cause = view_of(cause);
	m.text = view_of(text);
	worker_tell(w, MSG_WORKER_OVER, 0, &m);
	end_timer(w, END_MAX_MS);
}

/* Every exec gets its result, every request its answer; then the exit. */
static void
worker_end(struct worker *w, const char *cause)
{
	char	 why[sizeof(w->cause)];

	if (w->state == WORKER_ENDING)
		return;
	snprintf(why, sizeof(why), "%s", cause);
	memcpy(w->cause, why, sizeof(why));
	w->state = WORKER_ENDING;
	w->end_by = clock_ms() + END_MAX_MS;
	exec_end_all(w, w->cause);
	end_timer(w, 0);
}

/*** main ***/

/* Descriptors 0 to 2 are taken, so that no other becomes one of them. */
static void
worker_descriptors(struct worker *w)
{
	struct stat	 st;
	int		 fds[2], i;

	for (i = 0; i < 3; i++)
		if (fcntl(i, F_GETFD) == -1 && errno == EBADF &&
		    pipe2(fds, O_CLOEXEC) == 0)
			close(fds[1]);
	if (fcntl(PEER_CHANNEL_FD, F_SETFD, FD_CLOEXEC) == -1)
		fatal("descriptor %d is the broker's", PEER_CHANNEL_FD);
	(void)syscall(SYS_close_range, PEER_CHANNEL_FD + 1, ~0U, 0);
	if (fstat(0, &st) == 0 && S_ISCHR(st.st_mode) &&
	    st.st_rdev == makedev(1, 3)) {
		w->null_fd = 0;
		w->null_writes = (fcntl(0, F_GETFL) & O_ACCMODE) == O_RDWR;
	}
}

static void
worker_base(struct worker *w)
{
	struct event_config	*config = event_config_new();

	if (config == NULL)
		fatal("out of memory");
	event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK |
	    EVENT_BASE_FLAG_IGNORE_ENV);
	w->base = event_base_new_with_config(config);
	event_config_free(config);
	if (w->base == NULL)
		fatal("no event base");
}

/*
 * There may be thousands of workers, most of them idle: what only the start
 * needed goes back, memory and mapped pages of the program.
 */
static void
worker_slim(void)
{
	extern const char	 __executable_start[], etext[];
	uintptr_t		 page = (uintptr_t)getpagesize(), from, to;

	from = (uintptr_t)__executable_start & ~(page - 1);
	to = (uintptr_t)etext & ~(page - 1);
	(void)madvise((void *)from, to - from, MADV_DONTNEED);
	(void)malloc_trim(0);
}

int
main(int argc, char **argv)
{
	struct worker	*w = &worker;
	struct chan	*c;

	log_init("sandboxd-worker", argc > 1 && strcmp(argv[1], "-v") == 0 ?
	    LOG_LEVEL_DEBUG : LOG_LEVEL_WARN);
	/* It ends with its broker, not by a terminal's or a unit's signal. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	mallopt(M_TRIM_THRESHOLD, 64 * 1024);
	mallopt(M_TOP_PAD, 16 * 1024);

	worker_descriptors(w);
	TAILQ_INIT(&w->waiting);
	TAILQ_INIT(&w->over);
	TAILQ_INIT(&w->conns);
	worker_base(w);
	confine();
	worker_slim();

	if ((c = chan_new(PEER_CHANNEL_FD, 0, 1u << DIR_BW)) == NULL ||
	    (w->broker = watch_chan(w->base, c, broker_frame, broker_gone,
	    w)) == NULL)
		fatal("out of memory");
	event_base_dispatch(w->base);
	/* Clients see the end of their connections: everything is closed. */
	_exit(0);
}
