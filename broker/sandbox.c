/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The table of sandboxes: found, woken when something they wait for has
 * happened, and ended.  Create and destroy are one walk over the steps of
 * create.c, there and back.  Whose a sandbox is was decided when it was
 * made, by what the kernel said of the client.
 */

#include <sys/socket.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "broker.h"

static TAILQ_HEAD(, sandbox) sandboxes = TAILQ_HEAD_INITIALIZER(sandboxes);
static size_t nsandboxes;

struct sandbox *
sandbox_new(const char *id)
{
	struct sandbox *sb;

	if (nsandboxes >= SANDBOXES_MAX)
		return NULL;
	sb = xcalloc(1, sizeof(*sb));
	snprintf(sb->id, sizeof(sb->id), "%s", id);
	sb->steps.table = create_steps;
	sb->steps.n = create_nsteps;
	sb->steps.fail_at = broker_hook("SANDBOXD_TEST_FAIL");
	sb->created = wall_ms();
	sb->offer_fd = sb->meet_fd = sb->agent_fd = sb->child_fd = -1;
	sb->event_fd = sb->front_fd = sb->agent_pidfd = sb->error_fd = -1;
	TAILQ_INSERT_TAIL(&sandboxes, sb, entry);
	nsandboxes++;
	return sb;
}

struct sandbox *
sandbox_find(struct view id)
{
	struct sandbox *sb;

	TAILQ_FOREACH(sb, &sandboxes, entry)
		if (!sb->steps.is_probe && view_is(id, sb->id))
			break;
	return sb;
}

struct sandbox *
sandbox_next(const struct sandbox *sb)
{
	return sb == NULL ? TAILQ_FIRST(&sandboxes) : TAILQ_NEXT(sb, entry);
}

/*** The end ***/

/* Nothing of it is left: tell whoever waits for that. */
static void
sandbox_gone(struct sandbox *sb)
{
	struct msg_broker_destroyed destroyed = { .id = view_of(sb->id) };
	struct msg_broker_gone gone = { .id = view_of(sb->id),
	    .cause = view_of(sb->cause), .text = view_of(sb->text) };
	size_t i;

	log_debug("%s: gone: %s %s%s", sb->id, sb->cause, sb->text,
	    sb->error.message);
	if (!sb->steps.is_probe && !sb->is_announced)
		request_fail(sb->request, &sb->error);
	else if (!sb->steps.is_probe && !sb->is_asked)
		request_send(MSG_BROKER_GONE, 0, &gone, NULL, 0);
	for (i = 0; i < sb->nwaiters; i++)
		request_send(MSG_BROKER_DESTROYED, sb->waiters[i], &destroyed,
		    NULL, 0);
	TAILQ_REMOVE(&sandboxes, sb, entry);
	nsandboxes--;
	timer_clear(&sb->timer);
	group_end(sb);
	offer_release(sb->offer_fd, sb->uid);
	buf_free(&sb->request_spec);
	free(sb->mounts);
	free(sb);
	slot_fill(0);
	broker_stop_check();
}

static void
sandbox_undo(struct sandbox *sb)
{
	sb->state = SB_ENDING;
	timer_clear(&sb->timer);
	steps_undo(&sb->steps);
}

/* Goes on with the steps; a step that is woken by what it does is safe. */
void
sandbox_wake(struct sandbox *sb)
{
	bool is_forward;
	int rv;

	if (sb->is_awake)
		return;
	sb->is_awake = true;
	do {
		is_forward = !sb->steps.is_undoing;
		rv = steps_go(&sb->steps, sb, &sb->error);
		if (rv == -1) {
			if (sb->steps.is_probe)
				probe_result(sb, &sb->error);
			snprintf(sb->cause, sizeof(sb->cause), "failed");
			sandbox_undo(sb);
		}
	} while (is_forward && sb->steps.is_undoing);
	sb->is_awake = false;
	if (rv == STEP_WAIT)
		return;
	if (!is_forward)
		sandbox_gone(sb);
	else if (sb->steps.is_probe) {
		probe_result(sb, NULL);
		sandbox_end(sb, true, "destroyed", "%s", "");
	}
}

static void
sandbox_timer(void *arg)
{
	sandbox_wake(arg);
}

void
sandbox_wake_in(struct sandbox *sb, int64_t ms)
{
	timer_set(&sb->timer, ms, sandbox_timer, sb);
}

/* Not at once: whoever calls is in the middle of something. */
void
sandbox_wake_all(void)
{
	struct sandbox *sb;

	TAILQ_FOREACH(sb, &sandboxes, entry)
		if (sb->state == SB_CREATING && !sb->is_launched)
			sandbox_wake_in(sb, 0);
}

void
sandbox_end(struct sandbox *sb, bool is_asked, const char *cause,
    const char *fmt, ...)
{
	va_list ap;

	if (sb->state == SB_ENDING)
		return;
	va_start(ap, fmt);
	vsnprintf(sb->text, sizeof(sb->text), fmt, ap);
	va_end(ap);
	snprintf(sb->cause, sizeof(sb->cause), "%s", cause);
	sb->is_asked = is_asked;
	if (sb->state == SB_CREATING)
		error_set(&sb->error, ERR_BACKEND, "the sandbox ended while "
		    "it was made: %s %s", cause, sb->text);
	sandbox_undo(sb);
	sandbox_wake(sb);
}

/*** Connections ***/

/* out: the client's end; the worker gets the other. */
int
sandbox_connect(struct sandbox *sb, uint64_t handle, int *out,
    struct error *e)
{
	struct msg_worker_conn msg = { .handle = handle };
	int pair[2];
	size_t i;

	for (i = 0; i < sb->nconns && sb->conns[i] != handle; i++)
		;
	if (i == CONNS_PER_SANDBOX_MAX)
		return error_set(e, ERR_LIMIT, "%d clients are connected to "
		    "this sandbox already", CONNS_PER_SANDBOX_MAX);
	if (fd_pair(SOCK_STREAM, pair) == -1)
		return error_sys(e, ERR_INTERNAL, errno, "socketpair");
	sb->conns[i] = handle;
	if (i == sb->nconns)
		sb->nconns++;
	worker_send(sb->worker, MSG_WORKER_CONN, &msg, pair[1]);
	*out = pair[0];
	return 0;
}

/* A client has left: its connections close, what should die with it dies. */
void
sandbox_hangup(uint64_t handle)
{
	struct msg_worker_hangup msg = { .handle = handle };
	struct sandbox *sb, *next;
	size_t i;

	for (sb = TAILQ_FIRST(&sandboxes); sb != NULL; sb = next) {
		next = TAILQ_NEXT(sb, entry);
		for (i = 0; i < sb->nconns && sb->conns[i] != handle; i++)
			;
		if (i < sb->nconns && sb->state == SB_RUNNING) {
			sb->conns[i] = sb->conns[--sb->nconns];
			worker_send(sb->worker, MSG_WORKER_HANGUP, &msg, -1);
		}
		if (sb->handle == handle && sb->judged.spec.die_with_client &&
		    !sb->steps.is_probe)
			sandbox_end(sb, false, "destroyed", "its client left");
	}
}
