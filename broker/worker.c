/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Workers, seen from the broker: started with an id of a slot, no rights and
 * an empty root directory, and what they ask for.  A worker serves one
 * sandbox and is trusted with no other: whatever it says concerns its own,
 * and a bad word from it ends that one.
 */

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker.h"

static int program_fd = -1;
static bool is_static;

/* A dynamic program finds no loader in an empty directory. */
static bool
elf_is_static(int fd)
{
	Elf64_Ehdr head;
	Elf64_Phdr ph;
	int i;

	if (pread(fd, &head, sizeof(head), 0) != sizeof(head) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_phentsize != sizeof(ph))
		return false;
	for (i = 0; i < head.e_phnum; i++) {
		if (pread(fd, &ph, sizeof(ph), (off_t)head.e_phoff +
		    i * (off_t)sizeof(ph)) != sizeof(ph))
			return false;
		if (ph.p_type == PT_INTERP)
			return false;
	}
	return true;
}

void
worker_init(void)
{
	char path[PATH_LEN_MAX + 1];
	struct error e = { 0 };

	if (program_path(path, sizeof(path), "sandboxd-worker", &e) == -1)
		fatal("%s; %s", e.message, e.fix);
	if ((program_fd = open(path, O_RDONLY | O_CLOEXEC)) == -1)
		fatal("%s: %s", path, strerror(errno));
	is_static = elf_is_static(program_fd);
	if (!is_static && geteuid() == 0)
		log_debug("the worker is no static program: it keeps the "
		    "host's root directory");
}

static void
worker_child(const struct slot *slot, int fd)
{
	static char name[] = "sandboxd-worker", verbose[] = "-v";
	char *argv[] = { name, NULL, NULL }, *envp[] = { NULL };
	struct error e = { 0 };
	uid_t id;

	if (log_level() == LOG_LEVEL_DEBUG)
		argv[1] = verbose;
	if (fchdir(instance_empty_dir()) == -1 ||
	    (priv_is_root() && is_static && chroot(".") == -1))
		fatal("worker's root: %s", strerror(errno));
	if (slot != NULL) {
		id = slot->base + SLOT_WORKER;
		if (prctl(PR_SET_KEEPCAPS, 1) == -1 ||
		    setgroups(0, NULL) == -1 ||
		    setresgid(id, id, id) == -1 ||
		    setresuid(id, id, id) == -1)
			fatal("worker's ids: %s", strerror(errno));
	}
	if (priv_drop(&e) == -1)
		fatal("worker: %s", e.message);
	proc_only_channel(fd);
	syscall(SYS_execveat, program_fd, "", argv, envp, AT_EMPTY_PATH);
	fatal("worker: exec: %s", strerror(errno));
}

/*** What a worker says ***/

static void
worker_lost(struct worker *w, const char *why)
{
	if (w->sandbox == NULL)
		return;
	if (w->sandbox->state == SB_ENDING)
		sandbox_wake(w->sandbox);
	else
		sandbox_end(w->sandbox, false, "lost", "the worker %s", why);
}

static void
worker_ready(struct worker *w, const void *arg)
{
	const struct msg_worker_ready *msg = arg;

	if (msg->version != WIRE_VERSION) {
		sandbox_end(w->sandbox, false, "lost", "the agent is of "
		    "another version");
		return;
	}
	w->sandbox->is_ready = true;
	sandbox_wake(w->sandbox);
}

static void
worker_groups(struct worker *w, const void *arg)
{
	group_make(w->sandbox, ((const struct msg_worker_groups *)arg)->count);
}

static void
worker_kill(struct worker *w, const void *arg)
{
	group_kill(w->sandbox,
	    (uint32_t)((const struct msg_worker_kill *)arg)->group);
}

static void
worker_done(struct worker *w, const void *arg)
{
	group_done(w->sandbox,
	    (uint32_t)((const struct msg_worker_done *)arg)->group);
}

static void
worker_over(struct worker *w, const void *arg)
{
	static const char *const causes[] = { "lost", "expired", "timeout" };
	const struct msg_worker_over *msg = arg;
	struct sandbox *sb = w->sandbox;
	size_t i;

	/* Why the agent did not come up is better known from the child. */
	if (sb->state == SB_CREATING && sb->child.pid != 0) {
		sb->patience = now_ms() + 500;
		sandbox_wake_in(sb, 500);
		return;
	}
	for (i = 0; i < sizeof(causes) / sizeof(causes[0]); i++)
		if (view_is(msg->cause, causes[i]))
			break;
	sandbox_end(sb, false, i == 3 ? "lost" : causes[i], "%.*s",
	    (int)msg->text.n, (const char *)msg->text.p);
}

static const struct {
	enum msg_type	 type;
	void		 (*handler)(struct worker *, const void *);
} handlers[] = {
	{ MSG_WORKER_READY, worker_ready },
	{ MSG_WORKER_GROUPS, worker_groups },
	{ MSG_WORKER_KILL, worker_kill },
	{ MSG_WORKER_DONE, worker_done },
	{ MSG_WORKER_OVER, worker_over },
};

union worker_msg {
	struct msg_worker_ready		 ready;
	struct msg_worker_groups	 groups;
	struct msg_worker_kill		 kill;
	struct msg_worker_done		 done;
	struct msg_worker_over		 over;
};

static void
worker_frame(void *arg, struct frame *f)
{
	struct worker *w = arg;
	struct error e = { 0 };
	union worker_msg msg;
	size_t i;

	if (msg_unpack(f, &msg, &e) == -1 || w->sandbox == NULL) {
		log_warn("bad %s from a worker", msg_name(f->type));
		proc_kill(&w->proc);
		return;
	}
	log_debug("%s: %s", w->sandbox->id, msg_name(f->type));
	for (i = 0; i < sizeof(handlers) / sizeof(handlers[0]); i++)
		if (handlers[i].type == f->type)
			handlers[i].handler(w, &msg);
}

/* The channel closes a moment before the process ends, or it is broken. */
static void
worker_closed(void *arg, const struct error *e)
{
	struct worker *w = arg;

	if (e->code == ERR_INVALID)
		log_error("worker", e);
	proc_kill(&w->proc);
}

static void
worker_exited(void *arg, int status)
{
	struct worker *w = arg;

	(void)status;
	if (w->sandbox != NULL) {
		worker_lost(w, "died");
		return;
	}
	if (w->slot != NULL)
		w->slot->worker = NULL;
	worker_free(w);
}

/*** From the broker's side ***/

struct worker *
worker_new(const struct slot *slot, struct error *e)
{
	struct worker *w;
	struct chan *chan;
	int pair[2], rv;

	if (fd_pair(SOCK_SEQPACKET, pair) == -1) {
		error_sys(e, ERR_INTERNAL, errno, "socketpair");
		return NULL;
	}
	w = xcalloc(1, sizeof(*w));
	rv = proc_fork(&w->proc, 0, -1, worker_exited, w, e);
	if (rv == 0)
		worker_child(slot, pair[1]);
	close(pair[1]);
	if (rv == -1) {
		close(pair[0]);
		free(w);
		return NULL;
	}
	if ((chan = chan_new(pair[0], 0, 1u << DIR_WB)) == NULL)
		fatal("out of memory");
	peer_open(&w->peer, chan, worker_frame, worker_closed, w);
	return w;
}

static uint64_t
limit_of(uint64_t value)
{
	return value == SPEC_ABSENT ? 0 : value;
}

/* Map of text to bytes; an array of "NAME=value" for the worker. */
static int
env_pack(struct view map, struct buf *out, struct error *e)
{
	struct view key, value, word;
	struct buf text = { 0 };
	struct cursor c;
	uint32_t n = 0, i;

	cursor_init(&c, map);
	if (map.p != NULL && get_map(&c, &n) == -1)
		return error_key(e, ERR_INVALID, "env", "env: not a map");
	put_array(out, n);
	for (i = 0; i < n; i++) {
		if (get_bin(&c, &key, ARGS_BYTES_MAX) == -1 ||
		    get_bin(&c, &value, ARGS_BYTES_MAX) == -1)
			break;
		text.n = 0;
		buf_add(&text, key.p, key.n);
		buf_add(&text, "=", 1);
		buf_add(&text, value.p, value.n);
		word.p = text.p;
		word.n = text.n;
		put_bin(out, word);
	}
	buf_free(&text);
	if (i < n || out->has_failed || out->n > ARGS_BYTES_MAX)
		return error_key(e, ERR_INVALID, "env", "env: not a map of "
		    "at most %d bytes", ARGS_BYTES_MAX);
	return 0;
}

int
worker_start(struct worker *w, struct sandbox *sb, struct error *e)
{
	const struct spec *s = &sb->judged.spec;
	struct msg_worker_start msg = {
		.id = view_of(sb->id),
		.is_stream = sb->is_stream,
		.has_groups = cgroup_has(CG_GROUPS),
		.ends = (uint64_t)sb->ends,
		.timeout = limit_of(s->timeout),
		.cpu_time = limit_of(s->cpu_time),
		.output = limit_of(s->output),
		.files = limit_of(s->files) > UINT32_MAX ? UINT32_MAX :
		    limit_of(s->files),
	};
	int fds[2] = { sb->agent_fd, sb->event_fd };
	struct buf env = { 0 };

	if (env_pack(s->env, &env, e) == -1) {
		buf_free(&env);
		return -1;
	}
	msg.env.p = env.p;
	msg.env.n = env.n;
	w->sandbox = sb;
	w->slot = NULL;
	peer_send(&w->peer, MSG_WORKER_START, 0, &msg, fds, 2);
	sb->agent_fd = sb->event_fd = -1;
	buf_free(&env);
	return 0;
}

void
worker_send(struct worker *w, enum msg_type type, const void *msg, int fd)
{
	if (w == NULL || w->peer.watcher.fd == -1)
		fd_close(&fd);
	else
		peer_send(&w->peer, type, 0, msg, &fd, fd == -1 ? 0 : 1);
}

void
worker_free(struct worker *w)
{
	proc_kill(&w->proc);
	proc_forget(&w->proc);
	peer_close(&w->peer);
	free(w);
}
