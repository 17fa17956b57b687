/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The methods of a sandbox connection: the table, which exec a request
 * names, and those that only look or poke.  Run by the worker for clients
 * whose bytes are not trusted.  A request that names an exec which is still
 * being started waits for that.
 */

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "worker.h"

static int	wait_call(struct call *, struct error *);
static int	info_call(struct call *, struct error *);
static int	list_call(struct call *, struct error *);
static int	kill_call(struct call *, struct error *);
static int	resize_call(struct call *, struct error *);

static const struct method methods[] = {
	{ "exec.start",		start_call,	false },
	{ "exec.wait",		wait_call,	true },
	{ "exec.info",		info_call,	true },
	{ "exec.list",		list_call,	false },
	{ "exec.kill",		kill_call,	true },
	{ "exec.resize",	resize_call,	true },
	{ "exec.attach",	attach_call,	true },
	{ "exec.read",		read_call,	true },
	{ "exec.write",		write_call,	true },
};

static const struct {
	const char	*name;
	int		 number;
} signals[] = {
	{ "HUP", SIGHUP }, { "INT", SIGINT }, { "QUIT", SIGQUIT },
	{ "ILL", SIGILL }, { "TRAP", SIGTRAP }, { "ABRT", SIGABRT },
	{ "BUS", SIGBUS }, { "FPE", SIGFPE }, { "KILL", SIGKILL },
	{ "USR1", SIGUSR1 }, { "SEGV", SIGSEGV }, { "USR2", SIGUSR2 },
	{ "PIPE", SIGPIPE }, { "ALRM", SIGALRM }, { "TERM", SIGTERM },
	{ "CHLD", SIGCHLD }, { "CONT", SIGCONT }, { "STOP", SIGSTOP },
	{ "TSTP", SIGTSTP }, { "TTIN", SIGTTIN }, { "TTOU", SIGTTOU },
	{ "URG", SIGURG }, { "XCPU", SIGXCPU }, { "XFSZ", SIGXFSZ },
	{ "VTALRM", SIGVTALRM }, { "PROF", SIGPROF },
	{ "WINCH", SIGWINCH }, { "IO", SIGIO }, { "PWR", SIGPWR },
	{ "SYS", SIGSYS },
};

const struct method *
method_find(struct view name)
{
	size_t	 i;

	for (i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (view_is(name, methods[i].name))
			return &methods[i];
	return NULL;
}

/* By number, or by tag. */
static struct exec *
method_exec(struct call *call, struct error *e)
{
	struct worker	*w = call->conn->worker;
	struct exec	*x = NULL;
	struct view	 v = map_find(call->params, "exec"), tag;
	struct cursor	 c;
	uint64_t	 id;

	if (v.p == NULL) {
		error_key(e, ERR_INVALID, "exec", "exec is missing");
		return NULL;
	}
	cursor_init(&c, v);
	if (get_uint(&c, &id, UINT64_MAX) == 0)
		x = exec_find(w, id);
	else if (get_str(&c, &tag, TAG_LEN_MAX) == 0)
		x = exec_find_tag(w, tag);
	else {
		error_key(e, ERR_INVALID, "exec",
		    "exec must be a number or a tag");
		return NULL;
	}
	if (x == NULL) {
		error_key(e, ERR_NOT_FOUND, "exec", "no such exec");
		error_fix(e, "'sandboxctl ls ID' shows which there are");
	}
	return x;
}

static int
method_defer(const struct method *m, struct call *call, struct error *e)
{
	struct pending	*p;

	p = pending_new(call->conn, call->exec, &call->exec->pendings,
	    PEND_DEFER, call->id, e);
	if (p == NULL)
		return -1;
	p->method = m;
	if (pending_hold(p, call->params, e) == 0)
		return 0;
	pending_free(p);
	return -1;
}

void
method_call(const struct method *m, struct call *call)
{
	struct error	 e = { 0 };

	log_debug("%s: request %u: %s", call->conn->worker->id, call->id,
	    m->name);
	if (m->names_exec && call->exec == NULL &&
	    (call->exec = method_exec(call, &e)) == NULL) {
		conn_fail(call->conn, call->id, &e);
		return;
	}
	if ((call->exec != NULL && exec_is_early(call->exec) ?
	    method_defer(m, call, &e) : m->run(call, &e)) == -1)
		conn_fail(call->conn, call->id, &e);
}

/*** exec.wait, info, list ***/

struct named_params {
	struct view	 exec;
};

static const struct field named_fields[] = {
	{ .name = "exec", .kind = F_RAW, .max = TAG_LEN_MAX + 5,
	    .offset = offsetof(struct named_params, exec) },
};

static int
named_check(struct call *call, struct error *e)
{
	struct named_params	 p;

	return field_unpack_map(named_fields, 1, call->params, &p, e);
}

static void
call_reply(struct call *call, struct buf *b)
{
	conn_reply(call->conn, call->id, b, NULL, 0);
	buf_free(b);
}

static int
wait_call(struct call *call, struct error *e)
{
	struct buf	 b = { 0 };

	if (named_check(call, e) == -1)
		return -1;
	if (call->exec->state != EXEC_OVER)
		return pending_new(call->conn, call->exec,
		    &call->exec->pendings, PEND_WAIT, call->id, e) == NULL ?
		    -1 : 0;
	result_pack(call->exec, &b);
	call_reply(call, &b);
	return 0;
}

static int
info_call(struct call *call, struct error *e)
{
	struct buf	 b = { 0 };

	if (named_check(call, e) == -1)
		return -1;
	result_info(call->exec, &b);
	call_reply(call, &b);
	return 0;
}

struct list_params {
	uint64_t	 after;
	uint64_t	 max;
};

static const struct field list_fields[] = {
	{ .name = "after", .kind = F_UINT, .max = UINT32_MAX,
	    .offset = offsetof(struct list_params, after) },
	{ .name = "max", .kind = F_UINT, .min = 1, .max = PAGE_MAX,
	    .offset = offsetof(struct list_params, max) },
};

static int
list_call(struct call *call, struct error *e)
{
	struct worker		*w = call->conn->worker;
	struct list_params	 p = { 0, PAGE_MAX };
	struct buf		 rows = { 0 }, b = { 0 };
	struct exec		*x;
	uint32_t		 n = 0;

	if (field_unpack_map(list_fields, 2, call->params, &p, e) == -1)
		return -1;
	for (x = exec_after(w, p.after); x != NULL && n < p.max;
	    x = exec_after(w, x->id)) {
		if (exec_is_early(x))
			continue;
		result_info(x, &rows);
		n++;
	}
	put_map(&b, 2);
	put_str(&b, "execs");
	put_array(&b, n);
	if (n > 0)
		put_raw(&b, (struct view){ rows.p, rows.n });
	put_str(&b, "more");
	put_bool(&b, x != NULL);
	buf_free(&rows);
	call_reply(call, &b);
	return 0;
}

/*** exec.kill, resize ***/

struct kill_params {
	struct view	 exec;
	struct view	 signal;
	bool		 all;
};

static const struct field kill_fields[] = {
	{ .name = "exec", .kind = F_RAW, .max = TAG_LEN_MAX + 5,
	    .offset = offsetof(struct kill_params, exec) },
	{ .name = "signal", .kind = F_RAW, .max = 16,
	    .offset = offsetof(struct kill_params, signal) },
	{ .name = "all", .kind = F_BOOL,
	    .offset = offsetof(struct kill_params, all) },
};

static int
signal_get(struct view v, int *sig, struct error *e)
{
	struct cursor	 c;
	struct view	 name;
	uint64_t	 n;
	size_t		 i;

	cursor_init(&c, v);
	if (get_uint(&c, &n, 64) == 0 && n > 0) {
		*sig = (int)n;
		return 0;
	}
	if (get_str(&c, &name, 16) == 0) {
		if (name.n > 3 && memcmp(name.p, "SIG", 3) == 0) {
			name.p += 3;
			name.n -= 3;
		}
		for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
			if (!view_is(name, signals[i].name))
				continue;
			*sig = signals[i].number;
			return 0;
		}
	}
	return error_key(e, ERR_INVALID, "signal",
	    "signal must be a number from 1 to 64 or a name as TERM");
}

static int
kill_call(struct call *call, struct error *e)
{
	struct kill_params	 p = { 0 };
	struct exec		*x = call->exec;
	struct buf		 b = { 0 };
	int			 sig;

	if (field_unpack_map(kill_fields, 3, call->params, &p, e) == -1)
		return -1;
	sig = p.all ? SIGKILL : SIGTERM;
	if (p.signal.p != NULL && signal_get(p.signal, &sig, e) == -1)
		return -1;
	if (p.all) {
		if (sig != SIGKILL)
			return error_key(e, ERR_UNSUPPORTED, "signal",
			    "only KILL goes to all processes of an exec");
		if (pending_new(call->conn, x, &x->pendings, PEND_KILL,
		    call->id, e) == NULL)
			return -1;
		exec_kill(x, NULL);
		return 0;
	}
	/* What has ended is not an error: it may have ended just now. */
	if (x->state == EXEC_RUNNING)
		agent_signal(x, sig);
	put_map(&b, 2);
	put_str(&b, "exec");
	put_uint(&b, x->id);
	put_str(&b, "state");
	put_str(&b, x->state == EXEC_RUNNING ? "running" : "exited");
	call_reply(call, &b);
	return 0;
}

struct resize_params {
	struct view	 exec;
	uint64_t	 rows;
	uint64_t	 cols;
};

static const struct field resize_fields[] = {
	{ .name = "exec", .kind = F_RAW, .max = TAG_LEN_MAX + 5,
	    .offset = offsetof(struct resize_params, exec) },
	{ .name = "rows", .kind = F_UINT, .min = 1, .max = 65535,
	    .offset = offsetof(struct resize_params, rows),
	    .is_required = true },
	{ .name = "cols", .kind = F_UINT, .min = 1, .max = 65535,
	    .offset = offsetof(struct resize_params, cols),
	    .is_required = true },
};

static int
resize_call(struct call *call, struct error *e)
{
	struct resize_params	 p = { 0 };
	struct buf		 b = { 0 };

	if (field_unpack_map(resize_fields, 3, call->params, &p, e) == -1)
		return -1;
	if (!call->exec->has_pty)
		return error_key(e, ERR_CONFLICT, "exec",
		    "exec %u has no terminal", call->exec->id);
	if (call->exec->state == EXEC_RUNNING)
		agent_resize(call->exec, p.rows, p.cols);
	put_map(&b, 0);
	call_reply(call, &b);
	return 0;
}
