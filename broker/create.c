/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * What it takes to make a sandbox, as a row of steps, each with its undo.
 * A probe of a backend is the same without policy, worker and claim.  Runs
 * in the broker; the request has been judged by the front and is judged
 * again here, because the front is not trusted.
 */

#include <sys/socket.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker.h"

/*** policy ***/

static int
mounts_read(struct sandbox *sb, struct error *e)
{
	struct spec_mount m[MOUNTS_MAX];
	int i;

	if ((sb->nmounts = spec_mounts(&sb->judged.spec, m, e)) == -1)
		return -1;
	sb->mounts = xcalloc((size_t)sb->nmounts + 1, sizeof(*sb->mounts));
	for (i = 0; i < sb->nmounts; i++) {
		sb->mounts[i].fd = (int)m[i].fd;
		sb->mounts[i].is_writable = m[i].writable;
		if (text_copy(sb->mounts[i].dst, sizeof(sb->mounts[i].dst),
		    m[i].dst) == -1)
			return error_key(e, ERR_INVALID, "dst", "too long");
	}
	return 0;
}

/* DONE: this one it is.  WAIT: it is being tried out. */
static int
backend_try(struct sandbox *sb, const struct client *c,
    const struct backend *b, struct error *e)
{
	enum probe_state state;

	if (policy_judge_backend(&c->who, &sb->judged, b, priv_is_root(),
	    e) == -1)
		return -1;
	if ((state = probe_of(b)->state) == PROBE_UNKNOWN)
		state = probe_start(b);
	if (state == PROBE_FAILED)
		*e = probe_of(b)->error;
	/* It says nothing of the backend. */
	if (state == PROBE_FAILED && e->code == ERR_LIMIT)
		probe_of(b)->state = PROBE_UNKNOWN;
	sb->backend = b;
	return state == PROBE_WORKS ? STEP_DONE :
	    state == PROBE_FAILED ? -1 : STEP_WAIT;
}

static int
backend_choose(struct sandbox *sb, const struct client *c, struct error *e)
{
	struct view word = sb->judged.spec.backend;
	struct error why;
	char name[NAME_LEN_MAX + 1];
	const struct backend *b;
	size_t i;
	int rv;

	if (word.p != NULL && !view_is(word, "auto")) {
		if (text_copy(name, sizeof(name), word) == -1 ||
		    (b = backend_find(name)) == NULL)
			return error_key(e, ERR_INVALID, "backend",
			    "there is no such backend");
		return backend_try(sb, c, b, e);
	}
	error_set(e, ERR_UNAVAILABLE, "no backend is configured");
	for (i = 0; (b = policy_backend(i)) != NULL; i++) {
		memset(&why, 0, sizeof(why));
		if ((rv = backend_try(sb, c, b, &why)) != -1)
			return rv;
		if (i == 0)
			*e = why;
	}
	return -1;
}

static int
policy_run(struct sandbox *sb, struct error *e)
{
	struct view packed = { sb->request_spec.p, sb->request_spec.n };
	struct client *c = client_find(sb->handle);
	struct spec *s = &sb->judged.spec;
	int rv;

	if (c == NULL)
		return error_set(e, ERR_UNAVAILABLE, "the client has left");
	if (policy_judge(packed, &sb->judged, e) == -1)
		return -1;
	if ((rv = backend_choose(sb, c, e)) != STEP_DONE)
		return rv;
	sb->uid = c->who.uid;
	sb->gid = c->who.gid;
	if (s->ttl != SPEC_ABSENT)
		sb->ends = now_ms() + (int64_t)s->ttl;
	if (s->mounts.p == NULL)
		return STEP_DONE;
	if (mounts_read(sb, e) == -1)
		return -1;
	sb->offer_fd = client_take_offer(c, s->offer, e);
	return sb->offer_fd == -1 ? -1 : STEP_DONE;
}

/*** slot ***/

static int
slot_run(struct sandbox *sb, struct error *e)
{
	int rv;

	if (!priv_is_root() || sb->slot != NULL)
		return STEP_DONE;
	rv = slot_take((sb->backend->features & BACKEND_OWN_NETWORK) != 0,
	    &sb->slot, e);
	if (rv == STEP_DONE && !sb->steps.is_probe) {
		sb->worker = sb->slot->worker;
		sb->slot->worker = NULL;
	}
	return rv;
}

static int
slot_undo(struct sandbox *sb)
{
	if (sb->slot != NULL)
		slot_give(sb->slot);
	sb->slot = NULL;
	return STEP_DONE;
}

/*** cgroup ***/

static int
cgroup_run(struct sandbox *sb, struct error *e)
{
	if (cgroup_make(sb->id, e) == -1)
		return -1;
	return cgroup_limit(sb->id, &sb->judged.spec, sb->judged.asked, e);
}

/* Empty groups may be busy for a moment after their last process. */
static int
cgroup_undo(struct sandbox *sb)
{
	if (cgroup_remove(sb->id) == 0)
		return STEP_DONE;
	sandbox_wake_in(sb, 2);
	return STEP_WAIT;
}

/*** channels ***/

static int
channels_run(struct sandbox *sb, struct error *e)
{
	int agent[2], event[2];

	sb->is_stream = !(sb->backend->features & BACKEND_PASSES_FDS) ||
	    broker_hook("SANDBOXD_TEST_STREAM") != NULL;
	if (fd_pair(sb->is_stream ? SOCK_STREAM : SOCK_SEQPACKET, agent) == -1)
		return error_sys(e, ERR_INTERNAL, errno, "socketpair");
	sb->agent_fd = agent[0];
	sb->child_fd = agent[1];
	if (fd_pair(SOCK_SEQPACKET, event) == -1)
		return error_sys(e, ERR_INTERNAL, errno, "socketpair");
	sb->event_fd = event[0];
	sb->front_fd = event[1];
	return STEP_DONE;
}

static int
channels_undo(struct sandbox *sb)
{
	fd_close(&sb->agent_fd);
	fd_close(&sb->child_fd);
	fd_close(&sb->event_fd);
	fd_close(&sb->front_fd);
	return STEP_DONE;
}

/*** worker ***/

static int
worker_run(struct sandbox *sb, struct error *e)
{
	if (sb->worker == NULL &&
	    (sb->worker = worker_new(sb->slot, e)) == NULL)
		return -1;
	return worker_start(sb->worker, sb, e);
}

/* Its slot is nobody's until it is dead. */
static int
worker_undo(struct sandbox *sb)
{
	if (sb->worker == NULL)
		return STEP_DONE;
	sb->worker->sandbox = sb;
	if (sb->worker->proc.pid != 0) {
		proc_kill(&sb->worker->proc);
		return STEP_WAIT;
	}
	worker_free(sb->worker);
	sb->worker = NULL;
	return STEP_DONE;
}

/*** announce ***/

static void
info_pack(const struct sandbox *sb, struct buf *out)
{
	const struct spec *s = &sb->judged.spec;
	const struct backend *b = sb->backend;
	char owner[32];
	uint32_t n, i;

	snprintf(owner, sizeof(owner), "uid:%u", sb->uid);
	put_map(out, 7 + (sb->ends != 0) + (s->profile.p != NULL));
	put_pair(out, "backend", b->name);
	put_pair(out, "owner", owner);
	put_pair(out, "state", "running");
	put_pair(out, "network", b->level == LEVEL_NONE ? "host" : "none");
	put_str(out, "created");
	put_double(out, (double)sb->created / 1000);
	put_str(out, "protections");
	for (n = 0; b->protections[n] != NULL; n++)
		;
	put_array(out, n);
	for (i = 0; i < n; i++)
		put_str(out, b->protections[i]);
	put_str(out, "limits");
	spec_limits_pack(s, out);
	if (sb->ends != 0) {
		put_str(out, "expires");
		put_double(out, (double)(sb->created +
		    (int64_t)s->ttl) / 1000);
	}
	if (s->profile.p != NULL) {
		put_str(out, "profile");
		put_str_view(out, s->profile);
	}
}

static void
sandbox_expired(void *arg)
{
	sandbox_end(arg, false, "expired", "%s", "");
}

/* From here on the front knows it, and an end is an event. */
static int
announce_run(struct sandbox *sb, struct error *e)
{
	struct msg_broker_created msg = { .id = view_of(sb->id) };
	int fds[2] = { sb->front_fd, -1 };
	struct buf info = { 0 };

	if (client_find(sb->handle) == NULL)
		return error_set(e, ERR_UNAVAILABLE, "the client has left");
	if (sb->judged.spec.connect &&
	    sandbox_connect(sb, sb->handle, &fds[1], e) == -1)
		return -1;
	info_pack(sb, &info);
	if (info.has_failed)
		fatal("out of memory");
	msg.info = (struct view){ info.p, info.n };
	sb->front_fd = -1;
	sb->state = SB_RUNNING;
	sb->is_announced = true;
	if (sb->ends != 0)
		timer_set(&sb->timer, sb->ends > now_ms() ?
		    sb->ends - now_ms() : 0, sandbox_expired, sb);
	if (sb->backend->level == LEVEL_NONE)
		log_warn("%s: backend %s isolates nothing", sb->id,
		    sb->backend->name);
	request_send(MSG_BROKER_CREATED, sb->request, &msg, fds,
	    fds[1] == -1 ? 1 : 2);
	buf_free(&info);
	if (sb->slot != NULL)
		launch_namespaces_close(&sb->slot->ns);
	slot_fill(SLOT_REST_MS);
	return STEP_DONE;
}

const struct step create_steps[] = {
	{ "policy", false, policy_run, NULL },
	{ "slot", true, slot_run, slot_undo },
	{ "cgroup", true, cgroup_run, cgroup_undo },
	{ "channels", true, channels_run, channels_undo },
	{ "worker", false, worker_run, worker_undo },
	{ "claim", false, instance_meet, instance_disclaim },
	{ "environment", true, environment_run, environment_undo },
	{ "ready", true, ready_run, ready_undo },
	{ "verify", true, verify_run, NULL },
	{ "announce", false, announce_run, NULL },
};
const size_t create_nsteps = NITEMS(create_steps);
