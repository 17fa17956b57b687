/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * What is said about an exec: its result, its row in a list, its events.
 * Run by the worker; the numbers in it are the agent's word.
 */

#include "worker.h"

static void
put_seconds(struct buf *b, const char *key, int64_t us)
{
	put_str(b, key);
	put_double(b, (double)us / 1e6);
}

static void
put_truncated(const struct exec *x, struct buf *b)
{
	put_str(b, "truncated");
	put_map(b, 2);
	put_str(b, "stdout");
	put_bool(b, x->out[0] != NULL && x->out[0]->is_truncated);
	put_str(b, "stderr");
	put_bool(b, x->out[1] != NULL && x->out[1]->is_truncated);
}

/* exec code|signal cause wall user system peak truncated core [tag] */
void
result_pack(const struct exec *x, struct buf *b)
{
	put_map(b, 8 + (x->has_status ? 1 : 0) + (x->tag != NULL ? 1 : 0));
	put_str(b, "exec");
	put_uint(b, x->id);
	if (x->tag != NULL) {
		put_str(b, "tag");
		put_str(b, x->tag);
	}
	/* An end that nobody saw has neither: it is never 0. */
	if (x->has_status) {
		put_str(b, x->signal != 0 ? "signal" : "code");
		put_int(b, x->signal != 0 ? x->signal : x->code);
	}
	put_str(b, "cause");
	put_str(b, x->cause);
	put_seconds(b, "wall", x->wall_us);
	put_seconds(b, "user", x->user_us);
	put_seconds(b, "system", x->system_us);
	put_str(b, "peak");
	put_int(b, x->peak);
	put_truncated(x, b);
	put_str(b, "core");
	put_bool(b, x->has_core);
}

const char *
result_mode(enum stream_mode mode)
{
	static const char *const	 names[] = {
		[MODE_NULL] = "null",
		[MODE_FD] = "fd",
		[MODE_RELAY] = "relay",
	};

	return names[mode];
}

static void
put_modes(const struct exec *x, struct buf *b)
{
	put_str(b, "mode");
	put_map(b, 3);
	put_str(b, "stdin");
	put_str(b, result_mode(x->mode[0]));
	put_str(b, "stdout");
	put_str(b, result_mode(x->mode[1]));
	put_str(b, "stderr");
	put_str(b, result_mode(x->mode[2]));
}

void
result_started(const struct exec *x, struct buf *b)
{
	put_map(b, 3);
	put_str(b, "exec");
	put_uint(b, x->id);
	put_str(b, "pid");
	put_int(b, x->pid);
	put_modes(x, b);
}

static void
put_stream(const struct output *o, const char *key, struct buf *b)
{
	put_str(b, key);
	put_map(b, 3);
	put_str(b, "start");
	put_uint(b, o->ring.start);
	put_str(b, "end");
	put_uint(b, o->ring.end);
	put_str(b, "eof");
	put_bool(b, o->is_eof);
}

void
result_info(const struct exec *x, struct buf *b)
{
	uint32_t	 n;

	n = (uint32_t)((x->out[0] != NULL) + (x->out[1] != NULL));
	put_map(b, 7 + (x->tag != NULL ? 1 : 0) +
	    (x->state == EXEC_OVER ? 1 : 0));
	put_str(b, "exec");
	put_uint(b, x->id);
	if (x->tag != NULL) {
		put_str(b, "tag");
		put_str(b, x->tag);
	}
	put_str(b, "state");
	put_str(b, x->state == EXEC_OVER ? "exited" : "running");
	put_str(b, "pid");
	put_int(b, x->pid);
	put_str(b, "started");
	put_double(b, (double)x->started_ms / 1e3);
	put_str(b, "pty");
	put_bool(b, x->has_pty);
	put_modes(x, b);
	put_str(b, "streams");
	put_map(b, n);
	if (x->out[0] != NULL)
		put_stream(x->out[0], "stdout", b);
	if (x->out[1] != NULL)
		put_stream(x->out[1], "stderr", b);
	if (x->state == EXEC_OVER) {
		put_str(b, "result");
		result_pack(x, b);
	}
}

static void
event_started(const struct exec *x, struct buf *b)
{
	put_map(b, x->tag != NULL ? 2 : 1);
	put_str(b, "pid");
	put_int(b, x->pid);
	if (x->tag != NULL) {
		put_str(b, "tag");
		put_str(b, x->tag);
	}
}

/* To the front; the loss of an event is the front's loss only. */
void
result_event(const struct exec *x, const char *kind)
{
	struct worker			*w = x->worker;
	struct msg_worker_event		 m = { .exec = x->id };
	struct error			 e;
	struct buf			 info = { 0 };

	if (w->front == NULL)
		return;
	if (x->state == EXEC_OVER)
		result_pack(x, &info);
	else
		event_started(x, &info);
	m.kind = view_of(kind);
	m.info = (struct view){ info.p, info.n };
	if (chan_send(watch_get_chan(w->front), MSG_WORKER_EVENT, 0, &m,
	    NULL, 0, &e) == -1)
		log_debug("%s: event of exec %u: %s", w->id, x->id,
		    e.message);
	watch_kick(w->front);
	buf_free(&info);
}
