/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * exec.start: what a client asks for is checked and turned into what the
 * agent is asked for.  Run by the worker; neither the client's bytes nor
 * its descriptors are trusted.  Descriptors are looked at by type alone and
 * passed on; where they cannot be passed, or a limit has to be kept, or the
 * agent would change their flags (a terminal), the worker copies.
 */

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "worker.h"

#define ABSENT		UINT64_MAX
#define MS_MAX		(1000ull * 1000 * 1000 * 1000)

struct start_params {
	struct view	 argv;
	struct view	 shell;
	struct view	 env;
	struct view	 cwd;
	struct view	 stdio[3];
	struct view	 tag;
	struct view	 output_full;
	struct view	 on_disconnect;
	uint64_t	 fds;
	uint64_t	 rows;
	uint64_t	 cols;
	uint64_t	 timeout;
	uint64_t	 cpu_time;
	uint64_t	 output;
	bool		 pty;
};

#define FIELD(n, k, m, lo)						\
	{ .name = #n, .kind = k, .max = m, .min = lo,			\
	    .offset = offsetof(struct start_params, n) }
#define STDIO(n, i)							\
	{ .name = n, .kind = F_STR, .max = 8,				\
	    .offset = offsetof(struct start_params, stdio[i]) }

static const struct field start_fields[] = {
	FIELD(argv, F_ARRAY, RPC_MESSAGE_MAX, 0),
	FIELD(shell, F_BIN, RPC_MESSAGE_MAX, 0),
	FIELD(env, F_MAP, RPC_MESSAGE_MAX, 0),
	FIELD(cwd, F_BIN, RPC_MESSAGE_MAX, 0),
	STDIO("stdin", 0),
	STDIO("stdout", 1),
	STDIO("stderr", 2),
	FIELD(tag, F_STR, TAG_LEN_MAX, 0),
	FIELD(output_full, F_STR, 16, 0),
	FIELD(on_disconnect, F_STR, 16, 0),
	FIELD(fds, F_UINT, 3, 0),
	FIELD(rows, F_UINT, 65535, 0),
	FIELD(cols, F_UINT, 65535, 0),
	FIELD(timeout, F_MILLI, MS_MAX, 1),
	FIELD(cpu_time, F_MILLI, MS_MAX, 1),
	FIELD(output, F_UINT, INT64_MAX, 1),
	FIELD(pty, F_BOOL, 0, 0),
};

static const char *const stream_names[] = { "stdin", "stdout", "stderr" };

/* One start on its way. */
struct start {
	struct call		*call;
	struct exec		*exec;
	struct start_params	 p;
	struct launch		 launch;
	struct buf		 args;		/* shell as an array */
	struct buf		 env;
	int			 nstreams;
	int			 nfds;		/* of the request, taken */
};

/*** What to run ***/

static int
start_argv(struct start *s, struct error *e)
{
	struct cursor	 c;
	struct view	 v;
	uint32_t	 i, n;

	cursor_init(&c, s->p.argv);
	if (get_array(&c, &n) == -1 || n == 0)
		return error_key(e, ERR_INVALID, "argv", "argv is empty");
	if (n > ARGS_MAX)
		return error_key(e, ERR_TOO_LARGE, "argv",
		    "more than %d words", ARGS_MAX);
	for (i = 0; i < n; i++) {
		if (get_bin(&c, &v, RPC_MESSAGE_MAX) == -1 ||
		    memchr(v.p, '\0', v.n) != NULL)
			return error_key(e, ERR_INVALID, "argv",
			    "word %u of argv is not bytes, or has a NUL", i);
		if (i == 0 && v.n == 0)
			return error_key(e, ERR_INVALID, "argv",
			    "the command has no name");
	}
	s->launch.argv = s->p.argv;
	return 0;
}

static int
start_shell(struct start *s, struct error *e)
{
	if (memchr(s->p.shell.p, '\0', s->p.shell.n) != NULL)
		return error_key(e, ERR_INVALID, "shell",
		    "the text has a NUL in it");
	put_array(&s->args, 1);
	put_bin(&s->args, s->p.shell);
	if (s->args.has_failed)
		fatal("out of memory");
	s->launch.argv = (struct view){ s->args.p, s->args.n };
	s->launch.is_shell = true;
	return 0;
}

static int
start_command(struct start *s, struct error *e)
{
	struct worker	*w = s->call->conn->worker;

	if ((s->p.argv.p != NULL) == (s->p.shell.p != NULL))
		return error_key(e, ERR_INVALID, "argv",
		    "one of argv and shell must be given");
	if ((s->p.argv.p != NULL ? start_argv(s, e) : start_shell(s, e)) ==
	    -1)
		return -1;
	/* Not given: empty, and the agent knows where the workspace is. */
	s->launch.cwd = s->p.cwd.p != NULL ? s->p.cwd : view_of("");
	if ((s->p.cwd.p != NULL && s->launch.cwd.n == 0) ||
	    s->launch.cwd.n > PATH_LEN_MAX ||
	    memchr(s->launch.cwd.p, '\0', s->launch.cwd.n) != NULL)
		return error_key(e, ERR_INVALID, "cwd",
		    "cwd is not a path of 1 to %d bytes", PATH_LEN_MAX);
	if (s->p.env.p == NULL && !s->p.pty)
		s->launch.env = (struct view){ w->env.p, w->env.n };
	else if (env_pack(w, s->p.env, s->p.pty, &s->env, e) == -1)
		return -1;
	else
		s->launch.env = (struct view){ s->env.p, s->env.n };
	if (s->launch.argv.n + s->launch.env.n > ARGS_BYTES_MAX)
		return error_key(e, ERR_TOO_LARGE,
		    s->p.argv.p != NULL ? "argv" : "shell",
		    "arguments and environment have %zu bytes, "
		    "more than %d", s->launch.argv.n + s->launch.env.n,
		    ARGS_BYTES_MAX);
	return 0;
}

/*** Limits ***/

/* What the sandbox has is default and ceiling; 0 is none. */
static int
start_limit(const char *key, uint64_t asked, uint64_t ceiling,
    uint64_t *value, struct error *e)
{
	*value = asked == ABSENT ? ceiling : asked;
	if (ceiling != 0 && *value > ceiling) {
		error_key(e, ERR_INVALID, key,
		    "%s is above the sandbox's limit", key);
		error_fix(e, "create the sandbox with a larger %s", key);
		return -1;
	}
	return 0;
}

static int
start_word(struct view v, const char *key, const char *const *words,
    unsigned int *index, struct error *e)
{
	if (v.p == NULL)
		return 0;
	for (*index = 0; words[*index] != NULL; (*index)++)
		if (view_is(v, words[*index]))
			return 0;
	return error_key(e, ERR_INVALID, key, "%s has no such value", key);
}

static int
start_limits(struct start *s, struct error *e)
{
	static const char *const	 full[] = { "discard", "kill",
					    "block", NULL };
	static const char *const	 closed[] = { "keep", "kill", NULL };
	struct worker			*w = s->call->conn->worker;
	struct exec			*x = s->exec;
	unsigned int			 what = FULL_DISCARD, kills = 0;

	if (start_limit("timeout", s->p.timeout, w->timeout_ms,
	    &x->timeout_ms, e) == -1 ||
	    start_limit("cpu_time", s->p.cpu_time, w->cpu_ms, &x->cpu_ms,
	    e) == -1 ||
	    start_limit("output", s->p.output, w->output_max,
	    &x->output_max, e) == -1 ||
	    start_word(s->p.output_full, "output_full", full, &what,
	    e) == -1 ||
	    start_word(s->p.on_disconnect, "on_disconnect", closed, &kills,
	    e) == -1)
		return -1;
	x->full = (enum full_mode)what;
	x->kill_on_close = kills == 1;
	s->launch.cpu_time = (x->cpu_ms + 999) / 1000;
	if (s->launch.cpu_time > UINT32_MAX)
		s->launch.cpu_time = 0;
	return 0;
}

static int
start_tag(struct start *s, struct error *e)
{
	struct exec	*other;
	char		 tag[TAG_LEN_MAX + 1];

	if (s->p.tag.p == NULL)
		return 0;
	if (s->p.tag.n == 0 || text_copy(tag, sizeof(tag), s->p.tag) == -1)
		return error_key(e, ERR_INVALID, "tag", "tag is empty");
	other = exec_find_tag(s->call->conn->worker, s->p.tag);
	if (other != NULL && other->state != EXEC_OVER)
		return error_key(e, ERR_CONFLICT, "tag",
		    "exec %u has that tag and is running", other->id);
	s->exec->tag = xstrdup(tag);
	return 0;
}

/*** Descriptors ***/

/* FIFOs, regular files and /dev/null, open for the right direction. */
static int
start_check_fd(int fd, int i, enum end_kind *kind, struct error *e)
{
	struct stat	 st;
	const char	*what = "neither a pipe, a regular file nor /dev/null";
	int		 flags, mode;

	flags = fcntl(fd, F_GETFL);
	if (flags == -1 || fstat(fd, &st) == -1)
		return error_key(e, ERR_INVALID, stream_names[i],
		    "%s: its descriptor cannot be used", stream_names[i]);
	mode = flags & O_ACCMODE;
	*kind = S_ISFIFO(st.st_mode) ? END_FIFO : END_FILE;
	if (flags & O_PATH)
		what = "opened with O_PATH";
	else if (!S_ISFIFO(st.st_mode) && !S_ISREG(st.st_mode) &&
	    !(S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3)))
		;
	else if (mode == (i == 0 ? O_WRONLY : O_RDONLY))
		what = i == 0 ? "not open for reading" :
		    "not open for writing";
	else
		return 0;
	error_key(e, ERR_INVALID, stream_names[i], "%s is %s",
	    stream_names[i], what);
	error_fix(e, "pass a pipe and copy");
	return -1;
}

/* Makes room for a relayed stream and gives the child's end. */
static int
start_relay(struct start *s, int i, enum stream_mode mode, struct error *e)
{
	struct exec	*x = s->exec;
	bool		 is_stream = x->worker->is_stream;
	int		 fd = -1;

	if (i == 0) {
		x->in = input_new(x);
		if (!is_stream && input_open(x->in, &fd, e) == -1)
			return -1;
	} else {
		x->out[i - 1] = output_new(x, (unsigned int)i, mode);
		if (!is_stream && output_open(x->out[i - 1], &fd, e) == -1)
			return -1;
	}
	if (!is_stream)
		s->launch.fds[s->launch.nfds++] = fd;
	return 0;
}

static int
start_fd(struct start *s, int i, struct error *e)
{
	struct exec	*x = s->exec;
	enum end_kind	 kind = END_FILE;
	int		 fd, r;
	bool		 has_limit;

	fd = rpc_take_fd(s->call->msg, s->nfds++);
	if (fd == -1)
		return error_key(e, ERR_INVALID, stream_names[i],
		    "%s: no descriptor came", stream_names[i]);
	if (start_check_fd(fd, i, &kind, e) == -1) {
		fd_close(&fd);
		return -1;
	}
	/* An output limit makes it a relayed stream, with all that is had. */
	has_limit = i > 0 && x->output_max != 0;
	x->mode[i] = has_limit ? MODE_RELAY : MODE_FD;
	if (!x->worker->is_stream && !x->has_pty && !has_limit) {
		s->launch.fds[s->launch.nfds++] = fd;
		return 0;
	}
	r = start_relay(s, i, x->mode[i], e);
	if (r == -1)
		fd_close(&fd);
	else
		r = i == 0 ? source_new(x->in, NULL, kind, fd, e) :
		    sink_new(x->out[i - 1], NULL, kind, fd, 0, e);
	return r;
}

/*
 * Our own /dev/null where there is one, except behind a terminal, whose
 * pump wants something to poll; else a pipe with nobody at the other end,
 * or one that is read and thrown away.
 */
static int
start_null(struct start *s, int i, struct error *e)
{
	struct exec	*x = s->exec;
	struct worker	*w = x->worker;
	int		 fd;

	x->mode[i] = MODE_NULL;
	if (w->is_stream && i == 0) {
		x->is_stdin_null = true;
		return 0;
	}
	if (!w->is_stream && !x->has_pty && w->null_fd != -1 &&
	    (i == 0 || w->null_writes)) {
		fd = fcntl(w->null_fd, F_DUPFD_CLOEXEC, 3);
		if (fd == -1)
			return error_sys(e, ERR_LIMIT, errno,
			    "no descriptor for %s", stream_names[i]);
		s->launch.fds[s->launch.nfds++] = fd;
		return 0;
	}
	if (start_relay(s, i, MODE_NULL, e) == -1)
		return -1;
	if (i == 0) {
		input_free(x->in);
		x->in = NULL;
	}
	return 0;
}

static int
start_stream(struct start *s, int i, unsigned int how, struct error *e)
{
	struct exec	*x = s->exec;

	if (how == MODE_FD)
		return start_fd(s, i, e);
	if (how == MODE_NULL)
		return start_null(s, i, e);
	x->mode[i] = MODE_RELAY;
	return start_relay(s, i, MODE_RELAY, e);
}

static int
start_stdio(struct start *s, struct error *e)
{
	static const char *const	 modes[] = { "null", "fd", "relay",
					    NULL };
	unsigned int			 how[3];
	uint64_t			 n = 0;
	int				 i;
	bool				 is_default;

	if (s->p.pty && s->p.stdio[2].p != NULL &&
	    !view_is(s->p.stdio[2], "null"))
		return error_key(e, ERR_INVALID, "stderr",
		    "a terminal has one output, stdout");
	is_default = s->p.stdio[0].p == NULL && s->p.stdio[1].p == NULL &&
	    s->p.stdio[2].p == NULL;
	for (i = 0; i < s->nstreams; i++) {
		how[i] = i > 0 || s->p.pty ? MODE_RELAY : MODE_NULL;
		if (is_default && s->p.fds == (uint64_t)s->nstreams)
			how[i] = MODE_FD;
		if (start_word(s->p.stdio[i], stream_names[i], modes, &how[i],
		    e) == -1)
			return -1;
		n += how[i] == MODE_FD;
	}
	if (n != s->p.fds)
		return error_key(e, ERR_INVALID, "fds",
		    "%u streams are to be passed, but %u descriptors came",
		    (unsigned int)n, (unsigned int)s->p.fds);
	for (i = 0; i < s->nstreams; i++)
		if (start_stream(s, i, how[i], e) == -1)
			return -1;
	return 0;
}

/*** The request ***/

static int
start_prepare(struct start *s, struct error *e)
{
	struct exec	*x = s->exec;

	x->has_pty = s->p.pty;
	s->nstreams = s->p.pty ? 2 : 3;
	s->launch.rows = s->p.rows;
	s->launch.cols = s->p.cols;
	if (start_command(s, e) == -1 || start_limits(s, e) == -1 ||
	    start_tag(s, e) == -1 || start_stdio(s, e) == -1)
		return -1;
	return pending_new(s->call->conn, x, &x->pendings, PEND_START,
	    s->call->id, e) == NULL ? -1 : 0;
}

/* The error is the answer; nobody else knows of the exec yet. */
static void
start_undo(struct start *s)
{
	struct pending	*p;
	int		 i;

	for (i = 0; i < s->launch.nfds; i++)
		fd_close(&s->launch.fds[i]);
	while ((p = TAILQ_FIRST(&s->exec->pendings)) != NULL)
		pending_free(p);
	exec_free(s->exec);
}

int
start_call(struct call *call, struct error *e)
{
	struct start	 s = { .call = call };
	int		 r;

	if (call->conn->worker->state != WORKER_LIVE)
		return error_set(e, ERR_UNAVAILABLE, "the sandbox is ending");
	s.p.timeout = s.p.cpu_time = s.p.output = ABSENT;
	if (field_unpack_map(start_fields,
	    sizeof(start_fields) / sizeof(start_fields[0]), call->params,
	    &s.p, e) == -1 ||
	    (s.exec = exec_new(call->conn->worker, call->conn, e)) == NULL)
		return -1;
	r = start_prepare(&s, e);
	if (r == 0)
		r = exec_launch(s.exec, &s.launch, e);
	if (r == -1)
		start_undo(&s);
	buf_free(&s.args);
	buf_free(&s.env);
	return r;
}

/* execve has succeeded. */
void
start_reply(struct exec *x)
{
	struct pending	*p;
	struct buf	 b = { 0 };

	TAILQ_FOREACH(p, &x->pendings, of_exec)
		if (p->kind == PEND_START)
			break;
	if (p == NULL)
		return;
	result_started(x, &b);
	pending_reply(p, &b);
	buf_free(&b);
}
