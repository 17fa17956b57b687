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
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "broker.h"

#define READY_MS	10000	/* until the agent says hello */
#define END_MS		1000	/* for the worker's last answers */
#define LOOK_MS		1
#define LOOK_MAX_MS	500

/*** What the child says ***/

static void
text_read(struct sandbox *sb)
{
	size_t room;
	ssize_t n;

	for (;;) {
		room = sizeof(sb->child_text) - 1 - sb->ntext;
		if (sb->error_fd == -1 || room == 0)
			break;
		n = read(sb->error_fd, sb->child_text + sb->ntext, room);
		if (n == -1 && errno == EAGAIN)
			return;
		if (n <= 0)
			break;
		sb->ntext += (size_t)n;
	}
	loop_del(&sb->error_watcher);
	fd_close(&sb->error_fd);
}

static void
text_event(void *arg, uint32_t events)
{
	(void)events;
	text_read(arg);
}

/* Why there is no agent; the child is dead, or too slow. */
static void
text_explain(struct sandbox *sb, struct error *e)
{
	const size_t head = sizeof(LAUNCH_MAGIC);
	const char *what = sb->backend->name;
	char line[256];
	struct view text;

	text_read(sb);
	sb->child_text[sb->ntext] = '\0';
	if (sb->ntext == head + sizeof(*e) &&
	    memcmp(sb->child_text, LAUNCH_MAGIC, head) == 0) {
		memcpy(e, sb->child_text + head, sizeof(*e));
		return;
	}
	if (sb->ntext > 0) {
		text.p = (const unsigned char *)sb->child_text;
		text.n = sb->ntext > 200 ? 200 : sb->ntext;
		text_escape(line, sizeof(line), text);
		error_set(e, ERR_BACKEND, "%s: %s", what, line);
		if (sb->backend->explain != NULL)
			sb->backend->explain(sb->child_text, e);
	} else if (WIFSIGNALED(sb->exit_status))
		error_set(e, ERR_BACKEND, "%s: killed by signal %d before "
		    "the agent said hello", what, WTERMSIG(sb->exit_status));
	else
		error_set(e, ERR_BACKEND, "%s: ended with status %d before "
		    "the agent said hello", what,
		    WEXITSTATUS(sb->exit_status));
}

/*** environment ***/

static void
child_exited(void *arg, int status)
{
	struct sandbox *sb = arg;

	sb->exit_status = status;
	if (sb->state == SB_RUNNING)
		sandbox_end(sb, false, "lost", "the agent ended (%s %d)",
		    WIFSIGNALED(status) ? "signal" : "status",
		    WIFSIGNALED(status) ? WTERMSIG(status) :
		    WEXITSTATUS(status));
	else
		sandbox_wake(sb);
}

enum step_result
environment_run(struct sandbox *sb, struct error *e)
{
	int joins[CG_TREES], clone_fd, error[2], n, rv;

	if ((n = cgroup_join_fds(sb->id, joins, &clone_fd, e)) == -1)
		return STEP_FAILED;
	if (pipe2(error, O_CLOEXEC | O_NONBLOCK) == -1) {
		error_sys(e, ERR_INTERNAL, errno, "pipe");
		error[0] = error[1] = rv = -1;
	} else
		rv = proc_fork(&sb->child, sb->backend->clone_flags, clone_fd,
		    child_exited, sb, e);
	if (rv == 0)
		launch_child(sb, joins, n, error[1]);
	while (n > 0)
		close(joins[--n]);
	fd_close(&clone_fd);
	fd_close(&error[1]);
	fd_close(&sb->child_fd);
	if (rv == -1) {
		fd_close(&error[0]);
		return STEP_FAILED;
	}
	/* The child has it, so this is not the last close. */
	fd_close(&sb->offer_fd);
	sb->is_launched = true;
	sb->error_fd = error[0];
	loop_add(&sb->error_watcher, sb->error_fd, EPOLLIN, text_event, sb);
	return STEP_DONE;
}

static bool
agent_is_gone(const struct sandbox *sb)
{
	return sb->agent_pidfd == -1 || syscall(SYS_pidfd_send_signal,
	    sb->agent_pidfd, 0, NULL, 0) == -1;
}

/*
 * All of it dies: the groups, the child, the agent if that is another.  Until
 * then this is looked at again and again; what cannot be killed keeps its
 * slot.
 */
enum step_result
environment_undo(struct sandbox *sb)
{
	bool has_more;

	if (!sb->is_launched)
		return STEP_DONE;
	proc_kill(&sb->child);
	if (sb->agent_pidfd != -1)
		syscall(SYS_pidfd_send_signal, sb->agent_pidfd, SIGKILL, NULL,
		    0);
	has_more = !cgroup_is_empty(sb->id);
	if (has_more)
		cgroup_kill(sb->id);
	if (has_more || sb->child.pid != 0 || !agent_is_gone(sb)) {
		if (sb->pause == 0)
			sb->pause = LOOK_MS;
		else if ((sb->pause *= 2) > LOOK_MAX_MS) {
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
	sb->is_launched = false;
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

/* A probe has no worker: the agent of our own program greets the broker. */
static void
hello_listen(struct sandbox *sb)
{
	struct chan *chan;

	chan = chan_new(sb->agent_fd, sb->is_stream ? CHAN_STREAM : 0,
	    1u << DIR_AW);
	if (chan == NULL)
		fatal("out of memory");
	sb->agent_fd = -1;
	peer_open(&sb->hello, chan, hello_frame, hello_lost, sb);
}

static void
agent_died(void *arg, uint32_t events)
{
	struct sandbox *sb = arg;

	(void)events;
	loop_del(&sb->agent_watcher);
	if (sb->state == SB_RUNNING)
		sandbox_end(sb, false, "lost", "the agent ended");
	else
		sandbox_wake(sb);
}

/* The agent of a helper program is no child of ours: watch it too. */
static int
agent_find(struct sandbox *sb, struct error *e)
{
	sb->agent_pid = sb->child.pid;
	if (sb->backend->agent_pid == NULL)
		return 0;
	sb->agent_pid = sb->backend->agent_pid(sb->child.pid);
	if (sb->agent_pid <= 0 || (sb->agent_pidfd =
	    (int)syscall(SYS_pidfd_open, sb->agent_pid, 0)) == -1)
		return error_set(e, ERR_BACKEND, "the agent's process cannot "
		    "be found");
	loop_add(&sb->agent_watcher, sb->agent_pidfd, EPOLLIN, agent_died, sb);
	return 0;
}

enum step_result
ready_run(struct sandbox *sb, struct error *e)
{
	if (sb->patience == 0) {
		sb->patience = now_ms() + READY_MS;
		sandbox_wake_in(sb, READY_MS);
		if (sb->steps.is_probe)
			hello_listen(sb);
	}
	if (sb->child.pid == 0) {
		text_explain(sb, e);
		return STEP_FAILED;
	}
	if (!sb->is_ready && now_ms() >= sb->patience) {
		error_set(e, ERR_TIMEOUT, "the agent did not say hello");
		if (sb->ntext > 0)
			text_explain(sb, e);
		return STEP_FAILED;
	}
	if (!sb->is_ready)
		return STEP_WAIT;
	timer_clear(&sb->timer);
	loop_del(&sb->error_watcher);
	fd_close(&sb->error_fd);
	return agent_find(sb, e) == -1 ? STEP_FAILED : STEP_DONE;
}

/*
 * The worker hears of the end first and gets a moment for its last answers;
 * then the environment is killed.
 */
enum step_result
ready_undo(struct sandbox *sb)
{
	struct msg_worker_end msg = { .cause = view_of(sb->cause) };

	if (sb->steps.is_probe) {
		peer_close(&sb->hello);
		return STEP_DONE;
	}
	if (!sb->has_ended) {
		sb->has_ended = true;
		group_end(sb);
		worker_send(sb->worker, MSG_WORKER_END, &msg, -1);
		sb->patience = now_ms() + END_MS;
		sandbox_wake_in(sb, END_MS);
	}
	if (sb->worker != NULL && sb->worker->proc.pid != 0 &&
	    sb->is_announced && now_ms() < sb->patience)
		return STEP_WAIT;
	timer_clear(&sb->timer);
	return STEP_DONE;
}
