/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The environment of a sandbox from outside: the child that makes it, the
 * agent in it, and how both are brought to an end.  What the child writes
 * before it becomes the agent is an error of ours or the words of a helper
 * program; neither is believed to be anything but text.
 */

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "broker.h"

#define READY_MS	10000	/* until the agent says hello */
#define END_MS		1000	/* for the worker's last answers */
#define KIND_MS		16	/* for the end of a pid namespace */
#define LOOK_MAX_MS	500
#define TMP_DEFAULT	(64ull * 1024 * 1024)
#define FILES_DEFAULT	1024

static int agent_file = -1;
static int filter_fd = -1;
static struct sock_fprog filter;

void
environment_init(void)
{
	struct error e = { 0 };

	if ((agent_file = launch_load_agent(&e)) == -1 ||
	    filter_base(&filter, &filter_fd, &e) == -1)
		fatal("%s; %s", e.message, e.fix);
}

/*** environment ***/

static void
create_fill(const struct sandbox *sb, struct backend_create *c)
{
	const struct spec *s = &sb->judged.spec;
	bool is_slot = sb->slot != NULL &&
	    (sb->backend->features & BACKEND_USES_SLOT) != 0;
	struct slot_namespaces none;

	*c = (struct backend_create){
		.id = sb->id,
		.is_root = priv_is_root(),
		.owner_uid = sb->uid,
		.owner_gid = sb->gid,
		.client_ns_fd = -1,
		.tmp = s->tmp == SPEC_ABSENT ? TMP_DEFAULT : s->tmp,
		.files = s->files == SPEC_ABSENT ? FILES_DEFAULT : s->files,
		.agent_fd = agent_file,
		.channel_fd = sb->child_fd,
		.is_stream = sb->is_stream,
		.filter = &filter,
		.filter_fd = filter_fd,
		.nmounts = sb->nmounts,
		.drop = priv_drop,
	};
	memset(&none, 0xff, sizeof(none));	/* all -1 */
	launch_namespaces_lend(is_slot ? &sb->slot->ns : &none, c);
	c->slot_base = is_slot ? sb->slot->base : 0;
}

static void
text_event(void *arg)
{
	struct sandbox *sb = arg;
	size_t room = sizeof(sb->child_text) - 1 - sb->ntext;
	ssize_t n = read(sb->error_fd, sb->child_text + sb->ntext, room);

	if (n > 0)
		sb->ntext += (size_t)n;
	else if (n == 0 || errno != EAGAIN)
		loop_del(&sb->error_watcher);
}

static void
child_exited(void *arg, int status)
{
	struct sandbox *sb = arg;

	sb->exit_status = status;
	if (sb->state == SB_RUNNING)
		sandbox_end(sb, false, "lost", "the agent ended, %s %d",
		    WIFSIGNALED(status) ? "signal" : "status",
		    WIFSIGNALED(status) ? WTERMSIG(status) :
		    WEXITSTATUS(status));
	else
		sandbox_wake(sb);
}

int
environment_run(struct sandbox *sb, struct error *e)
{
	const struct client *c = client_find(sb->handle);
	struct backend_create create;
	struct backend_launch l = {
		.backend = sb->backend,
		.create = &create,
		.mounts = sb->mounts,
		.offer_fd = sb->offer_fd,
		.proc_fd = priv_proc_fd(),
		.client_pid = c == NULL ? 0 : c->pid,
		.client_pidfd = c == NULL ? -1 : c->pidfd,
	};
	int clone_fd, pair[2], rv = -1;

	if ((l.njoins = cgroup_join_fds(sb->id, l.joins, &clone_fd, e)) == -1)
		return -1;
	create_fill(sb, &create);
	if (pipe2(pair, O_CLOEXEC | O_NONBLOCK) == -1) {
		pair[0] = pair[1] = -1;
		error_sys(e, ERR_INTERNAL, errno, "pipe");
	} else
		rv = proc_fork(&sb->child, sb->backend->clone_flags, clone_fd,
		    child_exited, sb, e);
	create.error_fd = pair[1];
	if (rv == 0)
		launch_child(&l);
	while (l.njoins > 0)
		close(l.joins[--l.njoins]);
	fd_close(&clone_fd);
	fd_close(&pair[1]);
	fd_close(&sb->child_fd);
	sb->error_fd = pair[0];
	if (rv == -1)
		return -1;
	sb->is_launched = true;
	loop_add(&sb->error_watcher, sb->error_fd, EPOLLIN, text_event, sb);
	if (sb->steps.is_probe)
		return STEP_DONE;
	/* While the agent starts. */
	group_make(sb, GROUPS_AHEAD);
	return sb->state == SB_ENDING ? STEP_WAIT : instance_claim(sb, e);
}

/*
 * All of it dies.  Mostly that is done by the end of the agent, which is the
 * first process in there; the groups say whether it was.  Until then this is
 * looked at again and again; what cannot be killed keeps its slot.
 */
int
environment_undo(struct sandbox *sb)
{
	bool has_more = false;

	if (sb->is_launched) {
		proc_kill(&sb->child);
		has_more = sb->child.pid != 0;
		if (sb->agent_pidfd != -1)
			has_more |= syscall(SYS_pidfd_send_signal,
			    sb->agent_pidfd, SIGKILL, NULL, 0) == 0;
		/* Freezing a group would hold up those that die in it. */
		if ((!has_more || sb->pause > KIND_MS) &&
		    !cgroup_is_empty(sb->id)) {
			cgroup_kill(sb->id);
			has_more = true;
		}
	}
	if (has_more) {
		sb->pause = sb->pause == 0 ? 1 : sb->pause * 2;
		if (sb->pause > LOOK_MAX_MS) {
			sb->pause = LOOK_MAX_MS;
			log_warn("%s: something in it does not die", sb->id);
		}
		sandbox_wake_in(sb, sb->pause);
		return STEP_WAIT;
	}
	loop_del(&sb->agent_watcher);
	fd_close(&sb->agent_pidfd);
	loop_del(&sb->error_watcher);
	fd_close(&sb->error_fd);
	return STEP_DONE;
}

/*** ready ***/

static void
hello_frame(void *arg, struct frame *f)
{
	struct sandbox *sb = arg;

	sb->is_ready = f->type == MSG_AGENT_HELLO;
	sandbox_wake(sb);
}

static void
hello_lost(void *arg, const struct error *e)
{
	(void)e;
	sandbox_wake(arg);
}

static void
agent_died(void *arg)
{
	struct sandbox *sb = arg;

	loop_del(&sb->agent_watcher);
	if (sb->state == SB_RUNNING)
		sandbox_end(sb, false, "lost", "the agent ended");
	else
		sandbox_wake(sb);
}

int
ready_run(struct sandbox *sb, struct error *e)
{
	if (sb->patience == 0) {
		sb->patience = now_ms() + READY_MS;
		sandbox_wake_in(sb, READY_MS);
		/* No worker: the agent of our own program greets us. */
		if (sb->steps.is_probe) {
			sb->hello.name = "agent";
			peer_open(&sb->hello, sb->agent_fd, sb->is_stream ?
			    CHAN_STREAM : 0, 1u << DIR_AW, hello_frame,
			    hello_lost, sb);
			sb->agent_fd = -1;
		}
	}
	if (sb->child.pid == 0 || (!sb->is_ready && now_ms() >= sb->patience)) {
		text_event(sb);
		return launch_explain(sb->backend, sb->child_text, sb->ntext,
		    sb->child.pid != 0, sb->exit_status, e);
	}
	if (!sb->is_ready)
		return STEP_WAIT;
	timer_clear(&sb->timer);
	loop_del(&sb->error_watcher);
	fd_close(&sb->error_fd);
	sb->agent_pid = sb->child.pid;
	if (sb->backend->agent_pid == NULL)
		return STEP_DONE;
	/* The agent of a helper program is no child of ours: watch it too. */
	sb->agent_pid = sb->backend->agent_pid(sb->child.pid);
	sb->agent_pidfd = sb->agent_pid <= 0 ? -1 :
	    (int)syscall(SYS_pidfd_open, sb->agent_pid, 0);
	if (sb->agent_pidfd == -1)
		return error_set(e, ERR_BACKEND, "%s: the agent's process "
		    "cannot be found", sb->backend->name);
	loop_add(&sb->agent_watcher, sb->agent_pidfd, EPOLLIN, agent_died, sb);
	return STEP_DONE;
}

/*
 * The worker hears of the end first and gets a moment for its last answers;
 * then the environment is killed.
 */
int
ready_undo(struct sandbox *sb)
{
	struct msg_worker_end msg = { .cause = view_of(sb->cause) };

	peer_close(&sb->hello);
	if (!sb->is_announced)
		return STEP_DONE;
	if (!sb->has_ended) {
		sb->has_ended = true;
		group_end(sb);
		worker_send(sb->worker, MSG_WORKER_END, &msg, -1);
		sb->patience = now_ms() + END_MS;
		sandbox_wake_in(sb, END_MS);
	}
	return sb->worker->proc.pid != 0 && now_ms() < sb->patience ?
	    STEP_WAIT : STEP_DONE;
}

/*** verify ***/

int
verify_run(struct sandbox *sb, struct error *e)
{
	struct backend_create c;

	create_fill(sb, &c);
	if (verify_agent(sb->backend, &c, sb->agent_pid, priv_proc_fd(),
	    e) == -1)
		return -1;
	if (!cgroup_holds(sb->id, sb->agent_pid))
		return error_set(e, ERR_BACKEND, "read back: the agent is "
		    "not in its cgroups");
	return STEP_DONE;
}
