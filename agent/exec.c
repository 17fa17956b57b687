/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The table of execs: from AGENT_EXEC to its one answer, and from there to
 * its one AGENT_EXITED; and the one place where children are reaped.  Run
 * by the agent.  A frame that the worker cannot have meant ends the agent;
 * a command that cannot be started is only an answer.
 */

#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent.h"

#define REAP_MAX	256		/* of one wake-up, for fairness */
#define PIPE_FDS	3

/* A packed array of words that is about to be copied. */
struct words {
	struct cursor	 cur;
	uint32_t	 n;
	size_t		 bytes;
};

static struct exec	*execs;
static unsigned int	 nexecs;
static bool		 is_purging;	/* see exec_purge */

static const char *const stages[] = {
	[STAGE_NONE] = "",
	[STAGE_FORK] = "fork",
	[STAGE_GROUP] = "group",
	[STAGE_CWD] = "cwd",
	[STAGE_PTY] = "pty",
	[STAGE_LIMITS] = "limits",
	[STAGE_LOOKUP] = "lookup",
	[STAGE_EXECVE] = "execve",
};

struct exec *
exec_find(uint64_t id)
{
	struct exec	*e;

	for (e = execs; e != NULL && e->id != id; e = e->next)
		;
	return e;
}

/*** Answers ***/

static void
failed_send(uint32_t id, uint32_t request, enum stage stage, int err,
    const char *path)
{
	struct msg_agent_failed	m = { .exec = id, .sys_errno = (uint64_t)err };

	m.stage = view_of(stages[stage]);
	m.path = view_of(path);
	agent_send(MSG_AGENT_FAILED, request, &m);
}

static void
relays_free(struct exec *e)
{
	if (e->pty != NULL)
		pty_free(e->pty);
	if (e->stream != NULL)
		stream_free(e->stream);
	e->pty = NULL;
	e->stream = NULL;
}

void
exec_started(struct exec *e, pid_t pid)
{
	struct msg_agent_started	m = { .exec = e->id };

	if (e->is_answered)
		return;
	e->pid = pid;
	e->is_answered = true;
	m.pid = (uint64_t)pid;
	agent_send(MSG_AGENT_STARTED, e->request, &m);
	if (e->stream != NULL)
		stream_start(e->stream);
}

void
exec_failed(struct exec *e, enum stage stage, int err, const char *path)
{
	if (e->is_answered)
		return;
	e->is_answered = e->is_ended = true;
	relays_free(e);
	failed_send(e->id, e->request, stage, err, path);
}

static uint64_t
microseconds(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000 + (uint64_t)t->tv_usec;
}

/* Output that is there already goes out before the result. */
void
exec_ended(struct exec *e, int status, const struct rusage *ru)
{
	struct msg_agent_exited	m = { .exec = e->id };

	if (!e->is_answered || e->is_ended)
		return;
	e->is_ended = true;
	e->pid = 0;
	if (e->pty != NULL)
		pty_drain(e->pty);
	if (e->stream != NULL)
		stream_drain(e->stream);
	if (WIFSIGNALED(status)) {
		m.signal = (uint64_t)WTERMSIG(status);
		m.has_core = WCOREDUMP(status);
	} else
		m.code = (uint64_t)WEXITSTATUS(status);
	m.user_us = microseconds(&ru->ru_utime);
	m.system_us = microseconds(&ru->ru_stime);
	m.peak = (uint64_t)ru->ru_maxrss * 1024;
	agent_send(MSG_AGENT_EXITED, 0, &m);
}

static void
killed_send(uint32_t id, uint32_t request)
{
	struct msg_agent_killed	m = { .exec = id };

	agent_send(MSG_AGENT_KILLED, request, &m);
}

/*** The table ***/

static struct exec *
exec_new(uint32_t id, uint32_t request)
{
	struct exec	*e;

	if (nexecs == EXECS_MAX || (e = calloc(1, sizeof(*e))) == NULL)
		return NULL;
	e->id = id;
	e->request = request;
	e->keeper.fd = -1;
	e->next = execs;
	execs = e;
	nexecs++;
	return e;
}

static bool
exec_is_over(const struct exec *e)
{
	return e->is_ended && e->keeper_pid == 0 && !e->is_killing &&
	    (e->pty == NULL || pty_is_over(e->pty)) &&
	    (e->stream == NULL || stream_is_over(e->stream));
}

void
exec_settle(struct exec *e)
{
	struct exec	**p;

	if (!exec_is_over(e))
		return;
	for (p = &execs; *p != e; p = &(*p)->next)
		;
	*p = e->next;
	nexecs--;
	relays_free(e);
	source_close(&e->keeper);
	free(e);
}

/*** Start ***/

static int
words_count(struct words *w, struct view packed, bool is_single)
{
	struct cursor	cur;
	struct view	v;
	uint32_t	i;

	cursor_init(&w->cur, packed);
	w->n = 1;
	if (!(is_single && cursor_kind(&w->cur) != V_ARRAY) &&
	    get_array(&w->cur, &w->n) == -1)
		return EINVAL;
	cur = w->cur;
	for (i = 0; i < w->n; i++) {
		if (get_bin(&cur, &v, ARGS_BYTES_MAX) == -1 ||
		    memchr(v.p, '\0', v.n) != NULL)
			return EINVAL;
		w->bytes += v.n + 1;
	}
	return w->n > ARGS_MAX ? E2BIG : 0;
}

/* Copies to *bytes and sets the pointers at to; both move on. */
static char **
words_copy(struct words *w, char **to, char **bytes)
{
	struct view	v;
	uint32_t	i;

	for (i = 0; i < w->n; i++) {
		(void)get_bin(&w->cur, &v, ARGS_BYTES_MAX);
		*to++ = *bytes;
		memcpy(*bytes, v.p, v.n);
		(*bytes)[v.n] = '\0';
		*bytes += v.n + 1;
	}
	*to++ = NULL;
	return to;
}

/* One block for both lists and all their text; 0 or errno. */
static int
spawn_words(struct spawn *s, const struct msg_agent_exec *m)
{
	static char	 sh[] = "sh", minus_c[] = "-c", end[] = "--";
	struct words	 argv = { 0 }, env = { 0 };
	char		**p, *bytes;
	int		 err;

	if ((err = words_count(&argv, m->argv, m->is_shell)) != 0 ||
	    (err = words_count(&env, m->env, false)) != 0)
		return err;
	if (argv.n == 0 || (m->is_shell && argv.n != 1))
		return EINVAL;
	p = malloc((argv.n + env.n + 5) * sizeof(*p) + argv.bytes +
	    env.bytes + m->cwd.n + 1);
	if (p == NULL)
		return ENOMEM;
	s->args = s->argv = p;
	bytes = (char *)(p + argv.n + env.n + 5);
	if (m->is_shell) {
		*p++ = sh;
		*p++ = minus_c;
		*p++ = end;
	}
	s->envp = words_copy(&argv, p, &bytes);
	(void)words_copy(&env, s->envp, &bytes);
	/* "--" only where the text would be taken for an option. */
	if (m->is_shell && **p != '-' && **p != '+') {
		s->argv[2] = s->argv[3];
		s->argv[3] = NULL;
	}
	if (m->is_shell)
		s->file = "/bin/sh";
	else if (strchr(s->argv[0], '/') != NULL)
		s->file = s->argv[0];
	if (m->cwd.n > 0) {
		if (memchr(m->cwd.p, '\0', m->cwd.n) != NULL)
			return EINVAL;
		memcpy(bytes, m->cwd.p, m->cwd.n);
		bytes[m->cwd.n] = '\0';
		s->cwd = bytes;
	}
	return 0;
}

/* The stdio of the frame goes to the child, or behind a pty's master. */
static int
stdio_passed(struct exec *e, struct spawn *s, struct frame *f,
    const struct msg_agent_exec *m)
{
	int	ends[2], fds[2], err;

	if (!(m->flags & EXEC_PTY)) {
		s->stdio[0] = frame_take_fd(f, 0);
		s->stdio[1] = frame_take_fd(f, 1);
		s->stdio[2] = frame_take_fd(f, 2);
		return 0;
	}
	if ((err = pty_open(m->rows, m->cols, ends)) != 0)
		return err;
	s->stdio[0] = ends[1];
	fds[0] = frame_take_fd(f, 0);
	fds[1] = frame_take_fd(f, 1);
	e->pty = pty_new(e, ends[0], fds);
	return e->pty == NULL ? ENOMEM : 0;
}

static int
stdio_pipes(struct spawn *s, int ours[3])
{
	int	p[2], i;

	for (i = 0; i < PIPE_FDS; i++) {
		if (pipe2(p, O_CLOEXEC) == -1)
			return errno;
		ours[i] = p[i == 0 ? 1 : 0];
		s->stdio[i] = p[i == 0 ? 0 : 1];
	}
	return 0;
}

static int
stdio_terminal(struct spawn *s, const struct msg_agent_exec *m, int ours[3])
{
	int	ends[2], err;

	if ((err = pty_open(m->rows, m->cols, ends)) != 0)
		return err;
	s->stdio[0] = ends[1];
	ours[1] = ends[0];
	ours[0] = fcntl(ends[0], F_DUPFD_CLOEXEC, 0);
	return ours[0] == -1 ? errno : 0;
}

/* Our ends go into the stream, whatever happens. */
static int
stdio_stream(struct exec *e, struct spawn *s, const struct msg_agent_exec *m)
{
	int	ours[3] = { -1, -1, -1 }, err, i;
	bool	has_pty = m->flags & EXEC_PTY;

	err = has_pty ? stdio_terminal(s, m, ours) : stdio_pipes(s, ours);
	if (err == 0) {
		e->stream = stream_new(e, ours, has_pty);
		err = e->stream == NULL ? ENOMEM : 0;
	}
	if (e->stream == NULL)
		for (i = 0; i < 3; i++)
			fd_close(&ours[i]);
	return err;
}

/* How many descriptors of the frame are stdio; what follows are groups. */
static int
stdio_count(const struct msg_agent_exec *m)
{
	if (agent_is_stream())
		return 0;
	return m->flags & EXEC_PTY ? 2 : 3;
}

/* 0 or errno. */
static int
spawn_init(struct spawn *s, struct frame *f, const struct msg_agent_exec *m)
{
	int	i, nstdio = stdio_count(m);
	bool	has_group = m->flags & EXEC_GROUP;

	*s = (struct spawn){ .stdio = { -1, -1, -1 } };
	s->has_tty = m->flags & EXEC_PTY;
	s->cpu_time = m->cpu_time;
	s->files = m->files;
	/*
	 * On hosts whose controllers have a tree each, a group is one
	 * descriptor for each tree.
	 */
	if (f->nfds > nstdio && (!has_group ||
	    f->nfds - nstdio > GROUP_FDS_MAX))
		fatal("AGENT_EXEC: %d descriptors, flags %u", f->nfds,
		    (unsigned int)m->flags);
	for (i = nstdio; i < f->nfds; i++)
		s->groups[s->ngroups++] = frame_take_fd(f, i);
	/* Some were lost on the way: more are open than may be. */
	return f->nfds < nstdio + has_group ? EMFILE : 0;
}

static void
exec_run(struct exec *e, struct spawn *s)
{
	pid_t	pid;
	int	err;

	if (s->ngroups == 0) {
		if ((err = keeper_start(e, s)) != 0)
			exec_failed(e, STAGE_FORK, err, "");
		return;
	}
	pid = spawn_run(s);
	if (pid == -1)
		exec_failed(e, s->stage, s->err, spawn_path(s));
	else
		exec_started(e, pid);
}

void
exec_request(struct frame *f, const struct msg_agent_exec *m)
{
	struct spawn	 s;
	struct exec	*e;
	int		 err;

	if (exec_find(m->exec) != NULL)
		fatal("exec %u again", (unsigned int)m->exec);
	err = spawn_init(&s, f, m);
	if (err == 0 && (e = exec_new((uint32_t)m->exec, f->id)) == NULL)
		err = EAGAIN;
	if (err != 0) {
		failed_send((uint32_t)m->exec, f->id, STAGE_FORK, err, "");
		spawn_free(&s);
		return;
	}
	if ((err = spawn_words(&s, m)) != 0)
		exec_failed(e, STAGE_EXECVE, err, "");
	else if ((err = agent_is_stream() ? stdio_stream(e, &s, m) :
	    stdio_passed(e, &s, f, m)) != 0)
		exec_failed(e, s.has_tty ? STAGE_PTY : STAGE_FORK, err,
		    s.has_tty ? "/dev/ptmx" : "");
	else
		exec_run(e, &s);
	spawn_free(&s);
	exec_settle(e);
}

/*** Signals and ends ***/

/*
 * A main process that was not reaped keeps its number, and with it that of
 * its process group: no stranger is hit.
 */
void
exec_signal(const struct msg_agent_signal *m)
{
	struct exec	*e = exec_find(m->exec);

	if (e == NULL || e->pid == 0)
		return;
	if (e->keeper_pid != 0)
		keeper_signal(e, (int)m->signal);
	else
		(void)kill(-e->pid, (int)m->signal);
}

/* Children of the agent that are accounted for. */
static bool
exec_owns(pid_t pid)
{
	struct exec	*e;

	for (e = execs; e != NULL; e = e->next)
		if (e->keeper_pid == pid || (e->pid == pid && !e->is_killing))
			return true;
	return false;
}

/*
 * A keeper that was killed cannot kill.  Nobody tells which orphans were
 * its: all that no other exec accounts for go.
 */
static void
exec_kill_lost(void)
{
	struct exec	*e, *next;
	bool		 is_lost = is_purging;

	for (e = execs; e != NULL; e = e->next)
		if (e->is_killing && e->keeper_pid == 0)
			is_lost = true;
	if (!is_lost || kill_round(exec_owns) != 0)
		return;
	is_purging = false;
	for (e = execs; e != NULL; e = next) {
		next = e->next;
		if (!e->is_killing || e->keeper_pid != 0)
			continue;
		e->is_killing = false;
		killed_send(e->id, e->kill_request);
		exec_settle(e);
	}
}

void
exec_purge(void)
{
	is_purging = true;
}

void
exec_kill(uint32_t request, uint64_t id)
{
	struct exec	*e = exec_find(id);

	if (e == NULL || e->is_killing || !e->has_keeper) {
		if (e != NULL && e->pid != 0)
			(void)kill(-e->pid, SIGKILL);
		killed_send((uint32_t)id, request);
		return;
	}
	e->is_killing = true;
	e->kill_request = request;
	if (e->keeper_pid != 0)
		keeper_kill(e);
	else
		exec_kill_lost();
}

static struct exec *
exec_of(pid_t pid)
{
	struct exec	*e;

	for (e = execs; e != NULL; e = e->next)
		if (e->keeper_pid == pid ||
		    (e->keeper_pid == 0 && e->pid == pid))
			return e;
	return NULL;
}

/* Orphans come here as well and are only put away. */
void
exec_reap(void)
{
	struct rusage	 ru;
	struct exec	*e;
	pid_t		 pid;
	int		 status, i;

	for (i = 0; i < REAP_MAX; i++) {
		if ((pid = wait4(-1, &status, WNOHANG, &ru)) <= 0)
			break;
		if ((e = exec_of(pid)) == NULL)
			continue;
		if (e->keeper_pid == pid)
			keeper_gone(e);
		else
			exec_ended(e, status, &ru);
		exec_settle(e);
	}
	/* Blocked, so this only makes the descriptor readable again. */
	if (i == REAP_MAX)
		(void)raise(SIGCHLD);
	exec_kill_lost();
}
