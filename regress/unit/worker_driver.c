/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The worker under test and everybody around it; see worker_driver.h.
 */

#include <sys/socket.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "worker_driver.h"

/*** Programs ***/

static void
program_exec(const char *name, int fd, const char *arg)
{
	const char	*dir = getenv("builddir");
	char		 path[4096];
	int		 null_fd = open("/dev/null", O_RDWR);

	(void)snprintf(path, sizeof(path), "%s/%s", dir != NULL ? dir : ".",
	    name);
	(void)dup2(null_fd, STDIN_FILENO);
	if (fd != PEER_CHANNEL_FD)
		(void)dup2(fd, PEER_CHANNEL_FD);
	else
		(void)fcntl(fd, F_SETFD, 0);
	(void)execl(path, name, arg, NULL);
	perror(path);
	_exit(99);
}

static pid_t
program_start(const char *name, int type, const char *arg, int *fd)
{
	int	fds[2];
	pid_t	pid;

	assert_int_equal(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fds), 0);
	pid = fork();
	assert_true(pid != -1);
	if (pid == 0)
		program_exec(name, fds[1], arg);
	(void)close(fds[1]);
	*fd = fds[0];
	return pid;
}

int
dev_null(void)
{
	int	fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	assert_true(fd != -1);
	return fd;
}

/*** Channels ***/

static void
side_init(struct side *p, int fd, bool is_stream, unsigned int dirs)
{
	p->chan = chan_new(fd, is_stream ? CHAN_STREAM : 0, dirs);
	assert_non_null(p->chan);
}

static void
side_end(struct side *p)
{
	unsigned int	i;
	int		j;

	for (i = 0; i < p->n; i++) {
		for (j = 0; j < p->kept[i].frame.nfds; j++)
			fd_close(&p->kept[i].frame.fds[j]);
		buf_free(&p->kept[i].body);
	}
	chan_free(p->chan);
	p->chan = NULL;
}

void
side_send(struct side *p, enum msg_type type, const void *m, int fd)
{
	struct error	e = { 0 };

	/* One that has ended already is no failure: what it answered is. */
	if (chan_send_lent(p->chan, type, 0, m, &fd, fd == -1 ? 0 : 1, &e) ==
	    -1 && e.code != ERR_UNAVAILABLE)
		fail_msg("%s: %s", msg_name(type), e.message);
}

/* The broker's part: groups are there at once. */
static bool
broker_answers(struct driver *d, const struct frame *f)
{
	struct msg_worker_groups	m;
	struct msg_worker_group		g;
	int				fd;

	if (f->type != MSG_WORKER_GROUPS || (d->flags & KEEPS_GROUPS))
		return false;
	assert_int_equal(msg_unpack(f, &m, NULL), 0);
	fd = dev_null();
	while (m.count-- > 0) {
		g.group = d->next_group++;
		side_send(&d->broker, MSG_WORKER_GROUP, &g, fd);
	}
	(void)close(fd);
	return true;
}

static void
side_take(struct driver *d, struct side *p)
{
	struct error	e = { 0 };
	struct frame	f;
	struct kept	*k;
	int		i, r;

	while ((r = chan_recv(p->chan, &f, &e)) == 1) {
		if (p == &d->broker && broker_answers(d, &f))
			continue;
		/* Events, and groups that are done: a test may not care. */
		if (p->n == FRAMES_MAX && (f.type == MSG_WORKER_EVENT ||
		    f.type == MSG_WORKER_DONE))
			continue;
		assert_true(p->n < FRAMES_MAX);
		k = &p->kept[p->n++];
		k->frame = f;
		k->frame.owned = NULL;
		k->body = (struct buf){ 0 };
		buf_add(&k->body, f.body.p, f.body.n);
		k->frame.body = (struct view){ k->body.p, k->body.n };
		for (i = 0; i < f.nfds; i++)
			k->frame.fds[i] = frame_take_fd(&f, i);
	}
	if (r == -1) {
		assert_int_equal(e.code, ERR_UNAVAILABLE);
		p->is_gone = true;
	}
}

/* Views borrow a copy that the next call frees. */
void
side_expect(struct driver *d, struct side *p, enum msg_type type,
    union message *m, int *fds)
{
	static struct buf	last;
	struct kept		k;
	unsigned int		i;
	int			j;

	for (;;) {
		for (i = 0; i < p->n; i++)
			if (p->kept[i].frame.type == type)
				break;
		if (i < p->n)
			break;
		if (p->is_gone)
			fail_msg("%s did not come", msg_name(type));
		driver_run(d, ANSWER_MS);
	}
	k = p->kept[i];
	p->n--;
	memmove(&p->kept[i], &p->kept[i + 1], (p->n - i) * sizeof(k));
	buf_free(&last);
	last = k.body;
	assert_int_equal(msg_unpack(&k.frame, m, NULL), 0);
	for (j = 0; j < k.frame.nfds; j++) {
		if (fds != NULL)
			fds[j] = k.frame.fds[j];
		else
			(void)close(k.frame.fds[j]);
	}
	if (fds != NULL)
		fds[j] = -1;
}

void
side_wait_gone(struct driver *d, struct side *p)
{
	while (!p->is_gone)
		driver_run(d, ANSWER_MS);
}

/*** Clients ***/

void
client_open(struct driver *d, struct client *c, uint64_t handle)
{
	struct msg_worker_conn	m = { .handle = handle };
	int			fds[2];

	memset(c, 0, sizeof(*c));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
	    fds), 0);
	side_send(&d->broker, MSG_WORKER_CONN, &m, fds[1]);
	(void)close(fds[1]);
	c->rpc = rpc_new(fds[0]);
	assert_non_null(c->rpc);
	c->next = 1;
}

void
client_close(struct client *c)
{
	while (c->n > 0)
		reply_free(&c->replies[--c->n]);
	rpc_free(c->rpc);
	c->rpc = NULL;
}

static uint32_t
client_vsend(struct client *c, const char *method, const int *fds, int nfds,
    const char *fmt, va_list ap)
{
	struct buf	b = { 0 };
	struct error	e = { 0 };
	char		*json;
	int		copies[RPC_FDS_MAX], i;

	assert_true(vasprintf(&json, fmt, ap) != -1);
	json_pack(json, &b);
	free(json);
	for (i = 0; i < nfds; i++) {
		copies[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 3);
		assert_true(copies[i] != -1);
	}
	if (rpc_request(c->rpc, c->next, method, &b, copies, nfds, &e) == -1)
		fail_msg("%s: %s", method, e.message);
	buf_free(&b);
	return c->next++;
}

uint32_t
client_send(struct client *c, const char *method, const int *fds, int nfds,
    const char *fmt, ...)
{
	va_list		ap;
	uint32_t	id;

	va_start(ap, fmt);
	id = client_vsend(c, method, fds, nfds, fmt, ap);
	va_end(ap);
	return id;
}

static void
client_take(struct client *c)
{
	struct error	e = { 0 };
	struct rpc_msg	m;
	struct reply	*r;
	int		i, got;

	while ((got = rpc_recv(c->rpc, &m, &e)) == 1) {
		assert_int_equal(m.kind, RPC_RESPONSE);
		assert_true(c->n < REPLIES_MAX);
		r = &c->replies[c->n++];
		memset(r, 0, sizeof(*r));
		r->id = m.id;
		r->is_error = m.error.n > 1;
		buf_add(&r->value, r->is_error ? m.error.p : m.result.p,
		    r->is_error ? m.error.n : m.result.n);
		r->nfds = m.nfds;
		for (i = 0; i < m.nfds; i++)
			r->fds[i] = rpc_take_fd(&m, i);
	}
	if (got == -1)
		c->is_gone = true;
}

static unsigned int
client_find(const struct client *c, uint32_t id)
{
	unsigned int	i;

	for (i = 0; i < c->n; i++)
		if (c->replies[i].id == id)
			break;
	return i;
}

bool
client_has_reply(struct client *c, uint32_t id)
{
	client_take(c);
	return client_find(c, id) < c->n;
}

void
client_reply(struct driver *d, struct client *c, uint32_t id,
    struct reply *r)
{
	struct pollfd	p = { .fd = rpc_fd(c->rpc), .events = POLLIN };
	unsigned int	i;

	while (!client_has_reply(c, id)) {
		if (c->is_gone)
			fail_msg("request %u: the connection ended", id);
		if (c == &d->client)
			driver_run(d, ANSWER_MS);
		else {
			driver_run(d, 0);
			(void)poll(&p, 1, 1);
		}
	}
	i = client_find(c, id);
	*r = c->replies[i];
	c->n--;
	memmove(&c->replies[i], &c->replies[i + 1],
	    (c->n - i) * sizeof(*r));
}

void
reply_free(struct reply *r)
{
	int	i;

	for (i = 0; i < r->nfds; i++)
		fd_close(&r->fds[i]);
	buf_free(&r->value);
}

/* "mode.stdin": a key of a map in the map. */
static struct view
reply_find(const struct reply *r, const char *key)
{
	struct view	v = { r->value.p, r->value.n };
	char		part[64];
	size_t		n;

	for (;;) {
		n = strcspn(key, ".");
		(void)snprintf(part, sizeof(part), "%.*s", (int)n, key);
		v = map_find(v, part);
		if (v.p == NULL || key[n] == '\0')
			return v;
		key += n + 1;
	}
}

int
reply_int(const struct reply *r, const char *key)
{
	struct cursor	c;
	struct view	v = reply_find(r, key);
	int64_t		n;

	if (v.p == NULL)
		return -1;
	cursor_init(&c, v);
	assert_int_equal(get_int(&c, &n), 0);
	return (int)n;
}

uint64_t
reply_uint(const struct reply *r, const char *key)
{
	struct cursor	c;
	struct view	v = reply_find(r, key);
	uint64_t	n;

	assert_non_null(v.p);
	cursor_init(&c, v);
	assert_int_equal(get_uint(&c, &n, UINT64_MAX), 0);
	return n;
}

bool
reply_bool(const struct reply *r, const char *key)
{
	struct cursor	c;
	struct view	v = reply_find(r, key);
	bool		is_true;

	assert_non_null(v.p);
	cursor_init(&c, v);
	assert_int_equal(get_bool(&c, &is_true), 0);
	return is_true;
}

const char *
reply_text(const struct reply *r, const char *key)
{
	static char	text[1024];
	struct cursor	c;
	struct view	v = reply_find(r, key), s;

	if (v.p == NULL)
		return "";
	cursor_init(&c, v);
	assert_int_equal(get_bin(&c, &s, sizeof(text) - 1), 0);
	memcpy(text, s.p, s.n);
	text[s.n] = '\0';
	return text;
}

int
reply_fd(struct reply *r, int i)
{
	int	fd = r->fds[i];

	assert_true(i < r->nfds && fd != -1);
	r->fds[i] = -1;
	return fd;
}

void
reply_is_error(const struct reply *r, enum err_code code, const char *key)
{
	struct error	e = { 0 };

	assert_true(r->is_error);
	rpc_error_unpack((struct view){ r->value.p, r->value.n }, &e);
	if (e.code != code || strcmp(e.key, key) != 0)
		fail_msg("error %s, key %s: %s", error_name(e.code), e.key,
		    e.message);
	assert_true(e.message[0] != '\0');
}

/*** The driver ***/

static void
driver_poll_fd(struct pollfd *p, const struct side *side)
{
	p->fd = side->chan == NULL || side->is_gone ? -1 :
	    chan_fd(side->chan);
	p->events = POLLIN;
	if (p->fd != -1 && chan_pending(side->chan) > 0)
		p->events |= POLLOUT;
}

void
driver_run(struct driver *d, int ms)
{
	struct side	*sides[3] = { &d->broker, &d->front, &d->agent };
	struct pollfd	 p[4];
	int		 i;

	for (i = 0; i < 3; i++)
		driver_poll_fd(&p[i], sides[i]);
	p[3].fd = d->client.rpc == NULL || d->client.is_gone ? -1 :
	    rpc_fd(d->client.rpc);
	p[3].events = POLLIN;
	if (p[3].fd != -1 && rpc_pending(d->client.rpc) > 0)
		p[3].events |= POLLOUT;
	if (poll(p, 4, ms) == 0) {
		if (ms == ANSWER_MS)
			fail_msg("nothing happens");
		return;
	}
	for (i = 0; i < 3; i++) {
		if (p[i].revents & POLLOUT)
			(void)chan_flush(sides[i]->chan, NULL);
		if (p[i].revents & ~POLLOUT)
			side_take(d, sides[i]);
	}
	if (p[3].revents & POLLOUT)
		(void)rpc_flush(d->client.rpc, NULL);
	if (p[3].revents & ~POLLOUT)
		client_take(&d->client);
}

void
driver_until(struct driver *d, bool (*cond)(void *), void *arg)
{
	int	i;

	for (i = 0; !cond(arg); i++) {
		driver_run(d, 10);
		assert_true(i < ANSWER_MS / 10);
	}
}

struct driver *
driver_new(unsigned int flags, const struct limits *limits)
{
	static const unsigned char	 empty[] = { 0x90 };
	struct driver			*d = calloc(1, sizeof(*d));
	struct msg_worker_start		 m = { 0 };
	struct msg_agent_hello		 hello = { WIRE_VERSION };
	union message			 u;
	struct error			 e = { 0 };
	int				 type, fd, fds[2], pass[2];
	bool				 is_stream = flags & WITH_STREAM;

	assert_non_null(d);
	d->flags = flags;
	d->next_group = 1;
	type = is_stream ? SOCK_STREAM : SOCK_SEQPACKET;
	d->pid = program_start("sandboxd-worker", SOCK_SEQPACKET, NULL, &fd);
	side_init(&d->broker, fd, false, 1u << DIR_WB);
	if (flags & WITH_AGENT)
		d->agent_pid = program_start("sandboxd-agent", type,
		    is_stream ? "-s" : NULL, &pass[0]);
	else {
		assert_int_equal(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0,
		    fds), 0);
		pass[0] = fds[0];
		side_init(&d->agent, fds[1], is_stream,
		    1u << DIR_WA | 1u << DIR_XA);
	}
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
	    fds), 0);
	pass[1] = fds[0];
	side_init(&d->front, fds[1], false, 1u << DIR_WF);
	m.id = view_of("sb_0123456789abcdef");
	m.is_stream = is_stream;
	m.has_groups = (flags & WITH_GROUPS) != 0;
	m.env = (struct view){ empty, sizeof(empty) };
	if (limits != NULL) {
		m.ends = limits->ends;
		m.timeout = limits->timeout;
		m.cpu_time = limits->cpu_time;
		m.output = limits->output;
	}
	if (chan_send(d->broker.chan, MSG_WORKER_START, 1, &m, pass, 2, &e) ==
	    -1)
		fail_msg("%s", e.message);
	if (!(flags & WITH_AGENT))
		side_send(&d->agent, MSG_AGENT_HELLO, &hello, -1);
	side_expect(d, &d->broker, MSG_WORKER_READY, &u, NULL);
	assert_int_equal(u.worker_ready.version, WIRE_VERSION);
	client_open(d, &d->client, 1);
	return d;
}

void
driver_wait_exit(struct driver *d)
{
	int	status;

	while (!d->broker.is_gone)
		driver_run(d, ANSWER_MS);
	assert_int_equal(waitpid(d->pid, &status, 0), d->pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fail_msg("the worker ended with status %#x", status);
	d->pid = 0;
}

void
driver_free(struct driver *d)
{
	struct msg_worker_end	m = { view_of("destroyed") };
	int			status;

	if (d->pid != 0) {
		side_send(&d->broker, MSG_WORKER_END, &m, -1);
		driver_wait_exit(d);
	}
	if (d->agent_pid != 0) {
		/* Its channel is closed with the worker. */
		assert_int_equal(waitpid(d->agent_pid, &status, 0),
		    d->agent_pid);
	}
	client_close(&d->client);
	side_end(&d->broker);
	side_end(&d->front);
	if (d->agent.chan != NULL)
		side_end(&d->agent);
	free(d);
}

int
driver_agent(void **state)
{
	*state = driver_new(WITH_AGENT, NULL);
	return 0;
}

int
driver_agent_stream(void **state)
{
	*state = driver_new(WITH_AGENT | WITH_STREAM, NULL);
	return 0;
}

int
driver_agent_groups(void **state)
{
	*state = driver_new(WITH_AGENT | WITH_GROUPS, NULL);
	return 0;
}

int
driver_tear_down(void **state)
{
	driver_free(*state);
	return 0;
}

void
driver_call(struct driver *d, struct reply *r, const char *method,
    const char *fmt, ...)
{
	va_list		ap;
	uint32_t	id;

	va_start(ap, fmt);
	id = client_vsend(&d->client, method, NULL, 0, fmt, ap);
	va_end(ap);
	client_reply(d, &d->client, id, r);
}

void
driver_refuses(struct driver *d, enum err_code code, const char *key,
    const char *method, const char *fmt, ...)
{
	struct reply	r;
	va_list		ap;
	uint32_t	id;

	va_start(ap, fmt);
	id = client_vsend(&d->client, method, NULL, 0, fmt, ap);
	va_end(ap);
	client_reply(d, &d->client, id, &r);
	reply_is_error(&r, code, key);
	reply_free(&r);
}

/*** Execs ***/

uint32_t
driver_start(struct driver *d, const char *shell, const char *more)
{
	struct reply	r;
	uint32_t	exec;

	driver_call(d, &r, "exec.start", "{'shell':'%s','cwd':'/'%s%s}",
	    shell, more[0] == '\0' ? "" : ",", more);
	if (r.is_error)
		fail_msg("%s: %s", shell, reply_text(&r, "message"));
	exec = (uint32_t)reply_uint(&r, "exec");
	assert_true(reply_int(&r, "pid") > 0);
	reply_free(&r);
	return exec;
}

void
driver_result(struct driver *d, uint32_t exec, struct reply *r)
{
	driver_call(d, r, "exec.wait", "{'exec':%u}", exec);
	if (r->is_error)
		fail_msg("exec.wait: %s", reply_text(r, "message"));
	assert_int_equal(reply_uint(r, "exec"), exec);
}

void
driver_exits(struct driver *d, uint32_t exec, int code)
{
	struct reply	r;

	driver_result(d, exec, &r);
	assert_string_equal(reply_text(&r, "cause"), "exit");
	assert_int_equal(reply_int(&r, "code"), code);
	assert_int_equal(reply_int(&r, "signal"), -1);
	reply_free(&r);
}

char *
driver_read(struct driver *d, uint32_t exec, const char *stream, size_t *len)
{
	struct buf	all = { 0 };
	struct reply	r;
	struct cursor	c;
	struct view	data;
	bool		is_eof = false;

	while (!is_eof) {
		driver_call(d, &r, "exec.read", "{'exec':%u,'stream':'%s',"
		    "'offset':%zu,'max':300000,'wait_ms':60000}", exec,
		    stream, all.n);
		if (r.is_error)
			fail_msg("%s", reply_text(&r, "message"));
		assert_int_equal(reply_uint(&r, "offset"), all.n);
		assert_int_equal(reply_uint(&r, "lost"), 0);
		cursor_init(&c, reply_find(&r, "data"));
		assert_int_equal(get_bin(&c, &data, SIZE_MAX), 0);
		buf_add(&all, data.p, data.n);
		assert_int_equal(reply_uint(&r, "next"), all.n);
		is_eof = reply_bool(&r, "eof");
		reply_free(&r);
	}
	if (len != NULL)
		*len = all.n;
	buf_add(&all, "", 1);
	assert_false(all.has_failed);
	return (char *)all.p;
}

int
attach(struct driver *d, uint32_t exec, const char *stream, uint64_t offset)
{
	struct reply	r;
	int		fd;

	driver_call(d, &r, "exec.attach",
	    "{'exec':%u,'streams':['%s'],'offset':%llu}", exec, stream,
	    (unsigned long long)offset);
	if (r.is_error)
		fail_msg("attach: %s", reply_text(&r, "message"));
	fd = reply_fd(&r, 0);
	reply_free(&r);
	return fd;
}

void
detach(int fd)
{
	assert_int_equal(close(fd), 0);
}

char *
driver_read_fd(struct driver *d, int fd, size_t max, size_t *len)
{
	struct pollfd	p = { .fd = fd, .events = POLLIN };
	struct buf	all = { 0 };
	char		bytes[65536];
	ssize_t		n = 1;

	while (n > 0 && all.n < max) {
		while (poll(&p, 1, 0) == 0) {
			driver_run(d, 0);
			assert_true(poll(&p, 1, 10) != -1);
		}
		n = read(fd, bytes, max - all.n < sizeof(bytes) ?
		    max - all.n : sizeof(bytes));
		assert_true(n != -1);
		buf_add(&all, bytes, (size_t)n);
	}
	if (len != NULL)
		*len = all.n;
	buf_add(&all, "", 1);
	assert_false(all.has_failed);
	return (char *)all.p;
}

void
driver_write_fd(struct driver *d, int fd, const void *data, size_t n)
{
	struct pollfd	 p = { .fd = fd, .events = POLLOUT };
	const char	*bytes = data;
	ssize_t		 done;

	while (n > 0) {
		while (poll(&p, 1, 0) == 0) {
			driver_run(d, 0);
			assert_true(poll(&p, 1, 10) != -1);
		}
		done = write(fd, bytes, n < 4096 ? n : 4096);
		assert_true(done > 0);
		bytes += done;
		n -= (size_t)done;
	}
}
