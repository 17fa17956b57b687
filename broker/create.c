/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * What it takes to make a sandbox, as a row of steps, each with its undo.
 * A probe of a backend is the same without policy, claim and worker.  Runs
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
destination_check(const char *dst, struct error *e)
{
	const char *p, *end;

	if (dst[0] != '/' || dst[1] == '\0')
		return error_key(e, ERR_INVALID, "dst", "mounts: %s is no "
		    "absolute path below /", dst);
	for (p = dst + 1; ; p = end + 1) {
		end = p + strcspn(p, "/");
		if (end == p || (end - p == 1 && p[0] == '.') ||
		    (end - p == 2 && p[0] == '.' && p[1] == '.'))
			return error_key(e, ERR_INVALID, "dst",
			    "mounts: empty, . or .. parts in %s", dst);
		if (*end == '\0')
			return 0;
	}
}

static int
mounts_read(struct sandbox *sb, struct view packed, struct error *e)
{
	struct backend_mount *m;
	struct cursor c;
	struct view map, flag;
	uint64_t fd;
	uint32_t n, i;

	cursor_init(&c, packed);
	if (get_array(&c, &n) == -1 || n > MOUNTS_MAX)
		return error_key(e, ERR_INVALID, "mounts", "too many mounts");
	sb->mounts = xcalloc(n + 1, sizeof(*sb->mounts));
	sb->mount_fds = xcalloc(n + 1, sizeof(*sb->mount_fds));
	for (i = 0; i < n; i++) {
		m = &sb->mounts[i];
		m->fd = -1;
		if (get_raw(&c, &map) == -1 || map_uint(map, "fd", &fd) == -1
		    || fd >= MOUNTS_MAX ||
		    map_text(map, "dst", m->dst, sizeof(m->dst)) == -1)
			return error_key(e, ERR_INVALID, "mounts",
			    "mounts: a bad entry");
		if (destination_check(m->dst, e) == -1)
			return -1;
		flag = map_find(map, "writable");
		m->is_writable = flag.n == 1 && flag.p[0] == 0xc3;
		sb->mount_fds[i] = (uint32_t)fd;
	}
	sb->nmounts = n;
	return 0;
}

/* DONE: this one it is.  WAIT: it is being tried out. */
static enum step_result
backend_try(struct sandbox *sb, const struct client *c,
    const struct backend *b, struct error *e)
{
	struct error why = { 0 };

	if (judge_backend(policy_get(), &c->who, &sb->judged, b,
	    priv_is_root(), &why) == -1) {
		*e = why;
		return STEP_FAILED;
	}
	if (probe_state(b) == PROBE_UNKNOWN)
		probe_start(b);
	if (probe_state(b) == PROBE_UNKNOWN ||
	    probe_state(b) == PROBE_RUNNING)
		return STEP_WAIT;
	if (probe_state(b) == PROBE_FAILED) {
		*e = *probe_error(b);
		return STEP_FAILED;
	}
	sb->backend = b;
	return STEP_DONE;
}

static enum step_result
backend_choose(struct sandbox *sb, const struct client *c, struct error *e)
{
	const struct policy *p = policy_get();
	struct error first = { 0 }, why;
	char name[NAME_LEN_MAX + 1];
	const struct backend *b;
	enum step_result result;
	size_t i;

	if (sb->judged.spec.backend.p != NULL &&
	    !view_is(sb->judged.spec.backend, "auto")) {
		if (text_copy(name, sizeof(name), sb->judged.spec.backend) ==
		    -1 || (b = backend_find(name)) == NULL) {
			error_key(e, ERR_INVALID, "backend",
			    "there is no such backend");
			return STEP_FAILED;
		}
		return backend_try(sb, c, b, e);
	}
	for (i = 0; i < p->norder; i++) {
		memset(&why, 0, sizeof(why));
		result = backend_try(sb, c, p->order[i], &why);
		if (result != STEP_FAILED)
			return result;
		if (first.code == ERR_NONE)
			first = why;
	}
	*e = first;
	if (first.code == ERR_NONE)
		error_set(e, ERR_UNAVAILABLE, "no backend is configured");
	return STEP_FAILED;
}

static enum step_result
policy_run(struct sandbox *sb, struct error *e)
{
	struct view packed = { sb->request_spec.p, sb->request_spec.n };
	struct client *c = client_find(sb->handle);
	struct spec *s = &sb->judged.spec;
	enum step_result result;

	if (c == NULL) {
		error_set(e, ERR_UNAVAILABLE, "the client has left");
		return STEP_FAILED;
	}
	if (judge_spec(policy_get(), packed, &sb->judged, e) == -1)
		return STEP_FAILED;
	if ((result = backend_choose(sb, c, e)) != STEP_DONE)
		return result;
	sb->uid = c->who.uid;
	sb->gid = c->who.gid;
	if (s->ttl != SPEC_ABSENT)
		sb->ends = now_ms() + (int64_t)s->ttl;
	if (s->mounts.p == NULL)
		return STEP_DONE;
	if (mounts_read(sb, s->mounts, e) == -1)
		return STEP_FAILED;
	sb->offer_fd = client_take_offer(c, s->offer, e);
	return sb->offer_fd == -1 ? STEP_FAILED : STEP_DONE;
}

/*** slot ***/

static enum step_result
slot_run(struct sandbox *sb, struct error *e)
{
	int rv;

	if (!priv_is_root() || sb->slot != NULL)
		return STEP_DONE;
	rv = slot_take((sb->backend->features & BACKEND_OWN_NETWORK) != 0,
	    &sb->slot, e);
	if (rv != 1)
		return rv == 0 ? STEP_WAIT : STEP_FAILED;
	if (!sb->steps.is_probe) {
		sb->worker = sb->slot->worker;
		sb->slot->worker = NULL;
	}
	return STEP_DONE;
}

static enum step_result
slot_undo(struct sandbox *sb)
{
	if (sb->slot != NULL)
		slot_give(sb->slot, sb->steps.is_probe);
	sb->slot = NULL;
	return STEP_DONE;
}

/*** claim ***/

static enum step_result
claim_run(struct sandbox *sb, struct error *e)
{
	if (claim_write(sb, e) == -1 || claim_meet(sb, &sb->meet_fd, e) == -1)
		return STEP_FAILED;
	return STEP_DONE;
}

static enum step_result
claim_undo(struct sandbox *sb)
{
	fd_close(&sb->meet_fd);
	claim_remove(sb);
	return STEP_DONE;
}

/*** cgroup ***/

static enum step_result
cgroup_run(struct sandbox *sb, struct error *e)
{
	if (cgroup_make(sb->id, e) == -1 || cgroup_limit(sb->id,
	    &sb->judged.spec, sb->judged.asked, e) == -1)
		return STEP_FAILED;
	return STEP_DONE;
}

/* Empty groups may be busy for a moment after their last process. */
static enum step_result
cgroup_undo(struct sandbox *sb)
{
	if (cgroup_remove(sb->id) == 0)
		return STEP_DONE;
	sandbox_wake_in(sb, 2);
	return STEP_WAIT;
}

/*** channels ***/

static enum step_result
channels_run(struct sandbox *sb, struct error *e)
{
	int agent[2], event[2];

	sb->is_stream = !(sb->backend->features & BACKEND_PASSES_FDS) ||
	    broker_hook("SANDBOXD_TEST_STREAM") != NULL;
	if (fd_pair(sb->is_stream ? SOCK_STREAM : SOCK_SEQPACKET, agent) == -1
	    || fd_pair(SOCK_SEQPACKET, event) == -1) {
		error_sys(e, ERR_INTERNAL, errno, "socketpair");
		return STEP_FAILED;
	}
	sb->agent_fd = agent[0];
	sb->child_fd = agent[1];
	sb->event_fd = event[0];
	sb->front_fd = event[1];
	return STEP_DONE;
}

static enum step_result
channels_undo(struct sandbox *sb)
{
	fd_close(&sb->agent_fd);
	fd_close(&sb->child_fd);
	fd_close(&sb->event_fd);
	fd_close(&sb->front_fd);
	return STEP_DONE;
}

/*** worker ***/

static enum step_result
worker_run(struct sandbox *sb, struct error *e)
{
	if (sb->worker == NULL &&
	    (sb->worker = worker_new(sb->slot, e)) == NULL)
		return STEP_FAILED;
	return worker_start(sb->worker, sb, e) == -1 ? STEP_FAILED : STEP_DONE;
}

/* Its slot is nobody's until it is dead. */
static enum step_result
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

/*** verify, announce ***/

static enum step_result
verify_run(struct sandbox *sb, struct error *e)
{
	return verify_agent(sb, e) == -1 ? STEP_FAILED : STEP_DONE;
}

static void
sandbox_expired(void *arg)
{
	sandbox_end(arg, false, "expired", "%s", "");
}

static void
limits_pack(const struct spec *s, struct buf *out)
{
	const uint64_t *value;
	uint32_t n = 0;
	size_t i;

	for (i = 0; spec_limits[i].name != NULL; i++)
		n += *(const uint64_t *)(const void *)((const char *)s +
		    spec_limits[i].offset) != SPEC_ABSENT;
	put_map(out, n);
	for (i = 0; spec_limits[i].name != NULL; i++) {
		value = (const uint64_t *)(const void *)((const char *)s +
		    spec_limits[i].offset);
		if (*value == SPEC_ABSENT)
			continue;
		put_str(out, spec_limits[i].name);
		if (spec_limits[i].kind == F_MILLI)
			put_double(out, (double)*value / 1000);
		else
			put_uint(out, *value);
	}
}

static void
info_pack(const struct sandbox *sb, struct buf *out)
{
	const struct spec *s = &sb->judged.spec;
	const char *const *word;
	char owner[32];
	uint32_t n = 0;

	snprintf(owner, sizeof(owner), "uid:%u", sb->uid);
	put_map(out, 7 + (sb->ends != 0) + (s->profile.p != NULL));
	put_str(out, "backend");
	put_str(out, sb->backend->name);
	put_str(out, "protections");
	for (word = sb->backend->protections; *word != NULL; word++)
		n++;
	put_array(out, n);
	for (word = sb->backend->protections; *word != NULL; word++)
		put_str(out, *word);
	put_str(out, "limits");
	limits_pack(s, out);
	put_str(out, "created");
	put_double(out, (double)sb->created / 1000);
	put_str(out, "owner");
	put_str(out, owner);
	put_str(out, "state");
	put_str(out, "running");
	put_str(out, "network");
	put_str(out, sb->backend->level == LEVEL_NONE ? "host" : "none");
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

/* From here on the front knows it, and an end is an event. */
static enum step_result
announce_run(struct sandbox *sb, struct error *e)
{
	struct msg_broker_created msg = { .id = view_of(sb->id) };
	int fds[2] = { sb->front_fd, -1 };
	struct buf info = { 0 };

	if (client_find(sb->handle) == NULL) {
		error_set(e, ERR_UNAVAILABLE, "the client has left");
		return STEP_FAILED;
	}
	if (claim_write(sb, e) == -1 || (sb->judged.spec.connect &&
	    sandbox_connect(sb, sb->handle, &fds[1], e) == -1))
		return STEP_FAILED;
	info_pack(sb, &info);
	if (info.has_failed)
		fatal("out of memory");
	msg.info.p = info.p;
	msg.info.n = info.n;
	sb->front_fd = -1;
	sb->state = SB_RUNNING;
	sb->is_announced = true;
	if (sb->ends != 0)
		timer_set(&sb->ttl, sb->ends > now_ms() ?
		    sb->ends - now_ms() : 0, sandbox_expired, sb);
	if (sb->backend->level == LEVEL_NONE)
		log_warn("%s: backend %s isolates nothing", sb->id,
		    sb->backend->name);
	request_send(MSG_BROKER_CREATED, sb->request, &msg, fds,
	    fds[1] == -1 ? 1 : 2);
	buf_free(&info);
	if (sb->slot != NULL)
		slot_close_namespaces(sb->slot);
	slot_fill();
	return STEP_DONE;
}

static enum step_result
announce_undo(struct sandbox *sb)
{
	timer_clear(&sb->ttl);
	return STEP_DONE;
}

/*** All of it ***/

const struct step create_steps[] = {
	{ "policy", false, policy_run, NULL },
	{ "slot", true, slot_run, slot_undo },
	{ "claim", false, claim_run, claim_undo },
	{ "cgroup", true, cgroup_run, cgroup_undo },
	{ "channels", true, channels_run, channels_undo },
	{ "worker", false, worker_run, worker_undo },
	{ "environment", true, environment_run, environment_undo },
	{ "ready", true, ready_run, ready_undo },
	{ "verify", true, verify_run, NULL },
	{ "announce", false, announce_run, announce_undo },
};
const size_t create_nsteps = sizeof(create_steps) / sizeof(create_steps[0]);
