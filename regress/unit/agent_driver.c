/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The agent under test: start, frames, and what every test asks of it.  Run
 * by the unit tests of agent/, with the rights of who runs them.  Nothing
 * here trusts an answer without looking at its type, number and exec.
 */

#include <sys/socket.h>
#include <sys/wait.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent_driver.h"

static const char *const empty_env[] = { "PATH=/usr/bin:/bin", NULL };

static void
agent_exec(int fd, bool is_stream)
{
	const char	*dir = getenv("builddir");
	char		 path[4096];

	(void)snprintf(path, sizeof(path), "%s/sandboxd-agent",
	    dir != NULL ? dir : ".");
	/* As a careless starter would: an ignored signal, a closed stdin. */
	(void)signal(SIGINT, SIG_IGN);
	(void)close(STDIN_FILENO);
	if (fd != AGENT_CHANNEL_FD)
		(void)dup2(fd, AGENT_CHANNEL_FD);
	else
		(void)fcntl(fd, F_SETFD, 0);
	(void)execl(path, "sandboxd-agent", is_stream ? "-s" : NULL, NULL);
	perror(path);
	_exit(99);
}

static int
start(void **state, bool is_stream)
{
	struct driver	*d = calloc(1, sizeof(*d));
	union answer	 a;
	int		 fds[2];

	assert_non_null(d);
	assert_int_equal(socketpair(AF_UNIX, (is_stream ? SOCK_STREAM :
	    SOCK_SEQPACKET) | SOCK_CLOEXEC, 0, fds), 0);
	d->pid = fork();
	assert_true(d->pid != -1);
	if (d->pid == 0)
		agent_exec(fds[1], is_stream);
	(void)close(fds[1]);
	d->is_stream = is_stream;
	d->gives_credit = true;
	d->chan = chan_new(fds[0], is_stream ? CHAN_STREAM : 0,
	    1u << DIR_AW | 1u << DIR_XA);
	assert_non_null(d->chan);
	driver_expect(d, MSG_AGENT_HELLO, 0, &a);
	assert_int_equal(a.hello.version, WIRE_VERSION);
	*state = d;
	return 0;
}

int
driver_start(void **state)
{
	return start(state, false);
}

int
driver_start_stream(void **state)
{
	return start(state, true);
}

int
driver_stop(void **state)
{
	struct driver	*d = *state;
	int		 status, i;

	chan_free(d->chan);
	if (d->pid != 0) {
		assert_int_equal(waitpid(d->pid, &status, 0), d->pid);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
	for (i = 0; i < 3; i++)
		buf_free(&d->got[i]);
	free(d);
	return 0;
}

/*** Frames ***/

void
driver_send(struct driver *d, enum msg_type type, uint32_t id,
    const void *msg)
{
	struct error	e = { 0 };

	if (chan_send(d->chan, type, id, msg, NULL, 0, &e) == -1)
		fail_msg("%s: %s", msg_name(type), e.message);
}

static void
note_data(struct driver *d, const struct msg_agent_data *m)
{
	struct msg_agent_credit	c = { .exec = m->exec, .stream = m->stream,
	    .bytes = m->data.n };

	assert_false(d->is_eof[m->stream]);
	buf_add(&d->got[m->stream], m->data.p, m->data.n);
	assert_false(d->got[m->stream].has_failed);
	if (d->gives_credit)
		driver_send(d, MSG_AGENT_CREDIT, 0, &c);
}

enum msg_type
driver_next(struct driver *d, struct frame *f, union answer *a)
{
	struct pollfd	p = { .fd = chan_fd(d->chan) };
	struct error	e = { 0 };
	int		n;

	while ((n = chan_recv(d->chan, f, &e)) == 0) {
		p.events = chan_pending(d->chan) > 0 ? POLLIN | POLLOUT :
		    POLLIN;
		if (poll(&p, 1, ANSWER_MS) == 0)
			fail_msg("the agent says nothing");
		if (p.revents & POLLOUT)
			(void)chan_flush(d->chan, &e);
	}
	if (n == -1 || msg_unpack(f, a, &e) == -1)
		fail_msg("%s", e.message);
	if (f->type == MSG_AGENT_DATA)
		note_data(d, &a->data);
	else if (f->type == MSG_AGENT_EOF)
		d->is_eof[a->eof.stream] = true;
	else if (f->type == MSG_AGENT_CLOSED)
		d->is_closed[a->closed.stream] = true;
	else if (f->type == MSG_AGENT_CREDIT)
		d->credited += a->credit.bytes;
	return f->type;
}

void
driver_expect(struct driver *d, enum msg_type type, uint32_t id,
    union answer *a)
{
	struct frame	f;
	enum msg_type	got;

	do
		got = driver_next(d, &f, a);
	while (got >= MSG_AGENT_DATA);
	assert_string_equal(msg_name(got), msg_name(type));
	assert_int_equal(f.id, id);
	assert_int_equal(f.nfds, 0);
}

/*** Commands ***/

void
command_init(struct command *c)
{
	*c = (struct command){ .fds = { -1, -1, -1 }, .env = empty_env,
	    .flags = EXEC_GROUP };
}

static void
put_words(struct buf *b, const char *const *words)
{
	uint32_t	n = 0, i;

	while (words[n] != NULL)
		n++;
	put_array(b, n);
	for (i = 0; i < n; i++)
		put_bin(b, view_of(words[i]));
}

/* /dev/null takes "0" as well as a group does. */
uint32_t
driver_exec(struct driver *d, const struct command *c)
{
	const char		*shell[] = { c->shell, NULL };
	struct msg_agent_exec	 m = { .exec = ++d->next_id };
	struct buf		 argv = { 0 }, env = { 0 };
	struct error		 e = { 0 };
	int			 fds[4], null, n = 0, i;

	put_words(&argv, c->shell != NULL ? shell : c->argv);
	put_words(&env, c->env);
	m.argv = (struct view){ argv.p, argv.n };
	m.env = (struct view){ env.p, env.n };
	m.is_shell = c->shell != NULL;
	m.cwd = view_of(c->cwd != NULL ? c->cwd : "");
	m.flags = c->flags;
	m.rows = c->rows;
	m.cols = c->cols;
	m.cpu_time = c->cpu_time;
	m.files = c->files;
	assert_true((null = open("/dev/null", O_RDWR | O_CLOEXEC)) != -1);
	for (i = 0; !d->is_stream && i < (c->flags & EXEC_PTY ? 2 : 3); i++)
		fds[n++] = c->fds[i] != -1 ? c->fds[i] : null;
	/* A byte stream takes no group: there, keepers are used. */
	if (d->is_stream)
		m.flags &= ~(uint64_t)EXEC_GROUP;
	else if (m.flags & EXEC_GROUP)
		fds[n++] = null;
	if (chan_send_lent(d->chan, MSG_AGENT_EXEC, m.exec + 1000, &m, fds, n,
	    &e) == -1)
		fail_msg("%s", e.message);
	(void)close(null);
	buf_free(&argv);
	buf_free(&env);
	return d->next_id;
}

uint32_t
driver_run(struct driver *d, const struct command *c, pid_t *pid)
{
	union answer	a;
	uint32_t	id = driver_exec(d, c);

	driver_expect(d, MSG_AGENT_STARTED, id + 1000, &a);
	assert_int_equal(a.started.exec, id);
	assert_true(a.started.pid > 1);
	if (pid != NULL)
		*pid = (pid_t)a.started.pid;
	return id;
}

void
driver_result(struct driver *d, uint32_t id, struct result *r)
{
	union answer	a;

	driver_expect(d, MSG_AGENT_EXITED, 0, &a);
	assert_int_equal(a.exited.exec, id);
	if (r != NULL)
		*r = (struct result){ .code = a.exited.code,
		    .signal = a.exited.signal, .user_us = a.exited.user_us,
		    .system_us = a.exited.system_us, .peak = a.exited.peak };
}

char *
driver_shell(struct driver *d, const char *text, struct result *r)
{
	struct command	c;
	char		*out;
	uint32_t	id;
	int		p[2];

	command_init(&c);
	c.shell = text;
	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	c.fds[1] = p[1];
	id = driver_run(d, &c, NULL);
	(void)close(p[1]);
	out = read_all(p[0], NULL);
	driver_result(d, id, r);
	return out;
}

void
driver_fails(struct driver *d, const struct command *c, const char *stage,
    int err, const char *path)
{
	union answer	a;
	char		text[PATH_LEN_MAX + 1];
	uint32_t	id = driver_exec(d, c);

	driver_expect(d, MSG_AGENT_FAILED, id + 1000, &a);
	assert_int_equal(a.failed.exec, id);
	assert_int_equal(text_copy(text, sizeof(text), a.failed.stage), 0);
	assert_string_equal(text, stage);
	assert_int_equal(text_copy(text, sizeof(text), a.failed.path), 0);
	assert_string_equal(text, path);
	assert_int_equal(a.failed.sys_errno, err);
}

void
driver_signal(struct driver *d, uint32_t id, int sig)
{
	struct msg_agent_signal	m = { .exec = id, .signal = (uint64_t)sig };

	driver_send(d, MSG_AGENT_SIGNAL, 0, &m);
}

/*** Things ***/

char *
read_all(int fd, size_t *len)
{
	struct buf	b = { 0 };
	char		bytes[16 * 1024];
	ssize_t		n;

	while ((n = read(fd, bytes, sizeof(bytes))) > 0)
		buf_add(&b, bytes, (size_t)n);
	assert_true(n == 0 || errno == EIO);
	(void)close(fd);
	if (len != NULL)
		*len = b.n;
	buf_add(&b, "", 1);
	assert_false(b.has_failed);
	return (char *)b.p;
}

void
wait_until(bool (*cond)(void *), void *arg)
{
	int	ms;

	for (ms = 0; !cond(arg); ms += 5) {
		if (ms > ANSWER_MS)
			fail_msg("waited in vain");
		(void)poll(NULL, 0, 5);
	}
}

/* Name, state and parent of a process; false when there is none. */
static bool
process_stat(pid_t pid, char name[64], char *state, pid_t *parent)
{
	char	 path[64], line[512], *close_paren, *p;
	FILE	*f;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if ((f = fopen(path, "re")) == NULL)
		return false;
	p = fgets(line, sizeof(line), f);
	(void)fclose(f);
	if (p == NULL || (p = strchr(line, '(')) == NULL ||
	    (close_paren = strrchr(line, ')')) == NULL)
		return false;
	*close_paren = '\0';
	(void)snprintf(name, 64, "%.63s", p + 1);
	*state = close_paren[2];
	*parent = (pid_t)strtol(close_paren + 4, NULL, 10);
	return true;
}

int
children(pid_t parent, const char *name, pid_t *pid)
{
	char		 comm[64], state;
	struct dirent	*de;
	pid_t		 p, its;
	DIR		*dir = opendir("/proc");
	int		 n = 0;

	assert_non_null(dir);
	while ((de = readdir(dir)) != NULL) {
		if ((p = (pid_t)strtol(de->d_name, NULL, 10)) <= 0 ||
		    !process_stat(p, comm, &state, &its) || its != parent ||
		    (name != NULL && strcmp(name, comm) != 0))
			continue;
		if (n++ == 0 && pid != NULL)
			*pid = p;
	}
	(void)closedir(dir);
	return n;
}

bool
is_gone(pid_t pid)
{
	char	comm[64], state;
	pid_t	parent;

	return !process_stat(pid, comm, &state, &parent) || state == 'Z' ||
	    state == 'X';
}

static long
ticks(pid_t pid)
{
	char	 path[64], line[1024], *p;
	long	 user = -1, sys = 0;
	FILE	*f;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	assert_non_null(f = fopen(path, "re"));
	assert_non_null(fgets(line, sizeof(line), f));
	(void)fclose(f);
	assert_non_null(p = strrchr(line, ')'));
	assert_int_equal(sscanf(p, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u "
	    "%*u %*u %ld %ld", &user, &sys), 2);
	return user + sys;
}

/* Only a loop that never waits can fail this, however slow the machine. */
void
assert_idle(pid_t pid)
{
	long	before, hz = sysconf(_SC_CLK_TCK);

	(void)poll(NULL, 0, 200);
	before = ticks(pid);
	(void)poll(NULL, 0, 500);
	assert_true(ticks(pid) - before < hz / 4);
}
