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

static struct {
	enum probe_state state;
	struct error	 error;
} probes[BACKENDS_MAX];
static uint32_t checks[CHECKS_MAX];	/* requests to be answered */
static size_t nchecks;

static size_t
index_of(const struct backend *b)
{
	size_t i;

	for (i = 0; backend_table[i] != b; i++)
		;
	return i;
}

enum probe_state
probe_state(const struct backend *b)
{
	return probes[index_of(b)].state;
}

const struct error *
probe_error(const struct backend *b)
{
	return &probes[index_of(b)].error;
}

static void
probe_fail(size_t i, const struct error *e)
{
	probes[i].state = PROBE_FAILED;
	probes[i].error = *e;
	if (e->code != ERR_UNAVAILABLE)
		probes[i].error.code = ERR_BACKEND;
	log_info("backend %s does not work here: %s", backend_table[i]->name,
	    e->message);
}

void
probe_start(const struct backend *b)
{
	size_t i = index_of(b);
	char id[ID_LEN + 1];
	struct error e = { 0 };
	struct sandbox *sb;

	if (b->probe(priv_is_root(), &e) == -1) {
		probe_fail(i, &e);
		return;
	}
	id_make(id, "sb_");
	if ((sb = sandbox_new(id)) == NULL)
		return;			/* unknown still, and tried again */
	probes[i].state = PROBE_RUNNING;
	sb->steps.is_probe = true;
	sb->backend = b;
	sb->uid = geteuid();
	sb->gid = getegid();
	sb->judged.spec = policy_get()->defaults;
	/* Not from here: who starts a probe is in the middle of something. */
	sandbox_wake_in(sb, 0);
}

/*** Who waits for the result ***/

static void
check_pack(size_t i, struct buf *out)
{
	const struct policy *p = policy_get();
	const struct error *e = &probes[i].error;
	bool is_chosen, works = probes[i].state == PROBE_WORKS;
	size_t k;

	for (k = 0; k < p->norder && probe_state(p->order[k]) != PROBE_WORKS;
	    k++)
		;
	is_chosen = k < p->norder && p->order[k] == backend_table[i];
	put_map(out, 5);
	put_str(out, "name");
	put_str(out, backend_table[i]->name);
	put_str(out, "works");
	put_bool(out, works);
	put_str(out, "chosen");
	put_bool(out, is_chosen);
	put_str(out, "cause");
	put_str(out, works ? "" : e->message);
	put_str(out, "fix");
	put_str(out, works ? "" : e->fix);
}

static void
host_pack(struct buf *out)
{
	static const struct {
		const char	*name;
		unsigned int	 bit;
	} controllers[] = { { "groups", CG_GROUPS }, { "pids", CG_PIDS },
	    { "memory", CG_MEMORY }, { "cpus", CG_CPU } };
	struct utsname uts;
	size_t i;

	uname(&uts);
	put_map(out, 4 + sizeof(controllers) / sizeof(controllers[0]));
	put_str(out, "kernel");
	put_str(out, uts.release);
	put_str(out, "root");
	put_bool(out, priv_is_root());
	put_str(out, "cgroup");
	put_str(out, cgroup_layout());
	put_str(out, "instance");
	put_str(out, instance_name());
	for (i = 0; i < sizeof(controllers) / sizeof(controllers[0]); i++) {
		put_str(out, controllers[i].name);
		put_bool(out, cgroup_has(controllers[i].bit));
	}
}

static void
checks_answer(void)
{
	struct msg_broker_checked msg;
	struct buf all = { 0 }, host = { 0 };
	size_t i, n;

	for (n = 0; backend_table[n] != NULL; n++)
		if (probes[n].state == PROBE_UNKNOWN ||
		    probes[n].state == PROBE_RUNNING)
			return;
	if (nchecks == 0)
		return;
	put_array(&all, (uint32_t)n);
	for (i = 0; i < n; i++)
		check_pack(i, &all);
	host_pack(&host);
	msg.checks = (struct view){ all.p, all.n };
	msg.host = (struct view){ host.p, host.n };
	for (i = 0; i < nchecks; i++)
		request_send(MSG_BROKER_CHECKED, checks[i], &msg, NULL, 0);
	nchecks = 0;
	buf_free(&all);
	buf_free(&host);
}

void
probe_order(void)
{
	const struct policy *p = policy_get();
	size_t i;

	for (i = 0; i < p->norder; i++) {
		if (probe_state(p->order[i]) == PROBE_UNKNOWN)
			probe_start(p->order[i]);
		if (probe_state(p->order[i]) == PROBE_WORKS) {
			broker_ready(p->order[i]->name);
			return;
		}
		if (probe_state(p->order[i]) == PROBE_RUNNING)
			return;
	}
	broker_ready("");
}

/* NULL: it works.  Told as soon as it is known, before it is taken down. */
void
probe_result(const struct sandbox *sb, const struct error *e)
{
	size_t i = index_of(sb->backend);

	if (broker_is_stopping())
		return;
	if (e != NULL)
		probe_fail(i, e);
	else
		probes[i].state = PROBE_WORKS;
	probe_order();
	checks_answer();
	sandbox_wake_all();
}

void
probe_check(uint32_t request, bool is_fresh)
{
	struct error e = { 0 };
	size_t i;

	if (nchecks == CHECKS_MAX) {
		error_set(&e, ERR_BUSY, "%d checks are under way already",
		    CHECKS_MAX);
		request_fail(request, &e);
		return;
	}
	checks[nchecks++] = request;
	for (i = 0; backend_table[i] != NULL; i++) {
		if (is_fresh && probes[i].state != PROBE_RUNNING)
			probes[i].state = PROBE_UNKNOWN;
		if (probes[i].state == PROBE_UNKNOWN)
			probe_start(backend_table[i]);
	}
	checks_answer();
}
