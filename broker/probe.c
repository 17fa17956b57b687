/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Does a backend work here?  Found out by making a whole environment up to
 * the agent's greeting and taking it down again, once, and remembered.  At
 * start the configured order is tried until one works; the others wait until
 * somebody names them or asks.  Runs in the broker, like any create.
 */

#include <sys/utsname.h>

#include <string.h>
#include <unistd.h>

#include "broker.h"

#define CHECKS_MAX	32

static struct probe probes[BACKENDS_MAX];
static uint32_t checks[CHECKS_MAX];	/* requests to be answered */
static size_t nchecks;

struct probe *
probe_of(const struct backend *b)
{
	size_t i;

	for (i = 0; backend_table[i] != b; i++)
		;
	return &probes[i];
}

enum probe_state
probe_start(const struct backend *b)
{
	struct probe *p = probe_of(b);
	char id[ID_LEN + 1];
	struct sandbox *sb;

	memset(&p->error, 0, sizeof(p->error));
	if (b->probe(priv_is_root(), &p->error) == -1)
		return p->state = PROBE_FAILED;
	id_make(id, "sb_");
	if ((sb = sandbox_new(id)) == NULL)
		return PROBE_UNKNOWN;		/* tried again later */
	sb->steps.is_probe = true;
	sb->backend = b;
	sb->uid = geteuid();
	sb->gid = getegid();
	sb->judged.spec = policy_get()->default_spec;
	/* Not from here: who starts a probe is in the middle of something. */
	sandbox_wake_in(sb, 0);
	return p->state = PROBE_RUNNING;
}

/*** Who waits for the result ***/

static void
check_pack(size_t i, struct buf *out)
{
	const struct backend *b;
	const struct error *e = &probes[i].error;
	bool works = probes[i].state == PROBE_WORKS && e->code == ERR_NONE;
	size_t k;

	for (k = 0; (b = policy_backend(k)) != NULL &&
	    probe_of(b)->state != PROBE_WORKS; k++)
		;
	put_map(out, 5);
	put_pair(out, "name", backend_table[i]->name);
	put_str(out, "works");
	put_bool(out, works);
	put_str(out, "chosen");
	put_bool(out, b == backend_table[i]);
	put_pair(out, "cause", works ? "" : e->message);
	put_pair(out, "fix", works ? "" : e->fix);
}

static void
host_pack(struct buf *out)
{
	static const char *const names[] = { "groups", "pids", "memory",
	    "cpus" };			/* by bit of CG_ */
	struct utsname uts;
	unsigned int i;

	uname(&uts);
	put_map(out, 4 + NITEMS(names));
	put_pair(out, "kernel", uts.release);
	put_pair(out, "cgroup", cgroup_layout());
	put_pair(out, "instance", instance_name());
	put_str(out, "root");
	put_bool(out, priv_is_root());
	for (i = 0; i < NITEMS(names); i++) {
		put_str(out, names[i]);
		put_bool(out, cgroup_has(1u << i));
	}
}

static void
checks_answer(void)
{
	struct msg_broker_checked msg;
	struct buf all = { 0 }, host = { 0 };
	uint32_t i, n;

	for (n = 0; backend_table[n] != NULL; n++)
		if (probes[n].state == PROBE_UNKNOWN ||
		    probes[n].state == PROBE_RUNNING)
			return;
	put_array(&all, n);
	for (i = 0; i < n; i++)
		check_pack(i, &all);
	host_pack(&host);
	msg.checks = (struct view){ all.p, all.n };
	msg.host = (struct view){ host.p, host.n };
	while (nchecks > 0)
		request_send(MSG_BROKER_CHECKED, checks[--nchecks], &msg,
		    NULL, 0);
	buf_free(&all);
	buf_free(&host);
}

/* The order until one works, and then we are ready. */
void
probe_order(void)
{
	const struct backend *b;
	enum probe_state state;
	size_t i;

	for (i = 0; (b = policy_backend(i)) != NULL; i++) {
		if ((state = probe_of(b)->state) == PROBE_UNKNOWN)
			state = probe_start(b);
		if (state == PROBE_RUNNING)
			return;
		if (state == PROBE_WORKS) {
			broker_ready(b->name);
			return;
		}
	}
	broker_ready("");
}

/* Told as soon as it is known, before the environment is taken down. */
void
probe_result(const struct sandbox *sb, const struct error *e)
{
	struct probe *p = probe_of(sb->backend);

	if (broker_is_stopping())
		return;
	p->has_worked |= e == NULL;	/* later failures are only told */
	p->state = p->has_worked ? PROBE_WORKS : PROBE_FAILED;
	if (e != NULL)
		p->error = *e;
	probe_order();
	checks_answer();
	sandbox_wake_all();
}

int
probe_check(uint32_t request, bool is_fresh, struct error *e)
{
	size_t i;

	if (nchecks == CHECKS_MAX)
		return error_set(e, ERR_BUSY, "%d checks are under way",
		    CHECKS_MAX);
	checks[nchecks++] = request;
	for (i = 0; backend_table[i] != NULL; i++)
		if (probes[i].state == PROBE_UNKNOWN ||
		    (is_fresh && probes[i].state != PROBE_RUNNING))
			probe_start(backend_table[i]);
	checks_answer();
	return 0;
}
