/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The broker, the only process with rights: what its files share; broker.c
 * has the theory.  One thread around loop_run(); each file keeps its own
 * state in static variables.  Descriptors are CLOEXEC and the holder's to
 * close.  Nobody's word is trusted, and nothing here may block.
 */

#ifndef BROKER_H
#define BROKER_H

#include "config.h"

#include <sys/queue.h>
#include <sys/types.h>

#include "backends/backend.h"
#include "proto/loop.h"

#define NITEMS(table)	(sizeof(table) / sizeof((table)[0]))

#ifdef SANDBOXD_TEST_HOOKS
#define broker_hook(name)	getenv(name)
#else
#define broker_hook(name)	NULL
#endif

struct client;
struct sandbox;

/* broker.c */

void	 broker_ready(const char *);	/* the chosen backend; told once */
void	 broker_stop(int);	/* end all, then exit with the status */
bool	 broker_is_stopping(void);
void	 broker_stop_check(void);

/* proc.c: children */

struct proc {
	LIST_ENTRY(proc) entry;
	pid_t		 pid;		/* 0: none, or reaped */
	int		 pidfd;
	void		 (*exited)(void *, int);	/* status; or NULL */
	void		*arg;
};

/*
 * As fork, with clone flags and a v2 group (or -1) to be born in.  Returns 0
 * in the child, which has default signals and must not return, and 1 in the
 * parent.
 */
int	 proc_fork(struct proc *, uint64_t, int, void (*)(void *, int), void *,
	    struct error *);
void	 proc_kill(const struct proc *);	/* SIGKILL */
void	 proc_forget(struct proc *);	/* still reaped, nobody told */
void	 proc_reap(void);		/* on SIGCHLD */

/* priv.c */

void	 priv_init(void);	/* rlimits, capabilities, no_new_privs */
bool	 priv_is_root(void);
int	 priv_drop(struct error *);	/* in a child: all of them */
int	 priv_proc_fd(void);		/* a /proc that hides nobody */

/* instance.c: run directory and lock */

void	 instance_init(const char *);
const char *instance_name(void);	/* of cgroups: "main", "x-1a2b3c4d" */
void	 instance_sweep(void);
void	 instance_remove(bool);		/* all, as it is private */
int	 instance_claim(const struct sandbox *, struct error *);
int	 instance_meet(struct sandbox *, struct error *);
int	 instance_disclaim(struct sandbox *);

/* policy.c */

#define BACKENDS_MAX	16

/* Who asks. */
struct subject {
	uid_t		 uid;
	gid_t		 gid;
	gid_t		*groups;
	size_t		 ngroups;
};

/* What a request came to; views borrow request and policy. */
struct judged {
	struct spec	 spec;
	unsigned int	 asked;		/* limits not from defaults, by index */
};

int	 policy_set(struct view, struct error *);
const struct policy *policy_get(void);	/* NULL before */
const struct backend *policy_backend(size_t);	/* of the order; or NULL */
int	 policy_judge(struct view, struct judged *, struct error *);
/* May this subject have this backend, and is it above the floor? */
int	 policy_judge_backend(const struct subject *, const struct judged *,
	    const struct backend *, bool, struct error *);

/* client.c: handles, and accepting */

#define OFFERS_MAX	4

struct offer {
	uint32_t	 id;
	int		 fd;
};

struct client {
	LIST_ENTRY(client) entry;
	uint64_t	 handle;
	struct subject	 who;
	pid_t		 pid;
	int		 pidfd;		/* -1: kernel too old */
	bool		 is_admin;
	int		 fd;		/* to see the hang-up; never read */
	struct watcher	 watcher;
	struct offer	 offers[OFFERS_MAX];
	uint32_t	 last_offer;
};

void	 client_new(int);		/* takes an accepted socket */
struct client *client_find(uint64_t);
void	 client_drop(void *);		/* a client */
int	 client_offer(struct client *, struct offer *, struct error *);
int	 client_take_offer(struct client *, uint64_t, struct error *);
void	 offer_release(int, uid_t);	/* closes it in a child */
void	 accept_adopt(int, bool);	/* inherited: a client, or listening */
int	 accept_listen(const struct policy *, struct error *);
void	 accept_start(void);
void	 accept_end(void);

/* slot.c */

struct slot {
	TAILQ_ENTRY(slot) entry;
	unsigned int	 number;
	uid_t		 base;
	int		 lock_fd;
	struct slot_namespaces ns;
	struct error	 error;		/* why it has none */
	struct proc	 helper;
	struct watcher	 watcher;
	int		 helper_fd;	/* -1: done */
	struct worker	*worker;	/* a spare one, or NULL */
};

#define SLOT_REST_MS	20

int	 slot_init(const struct policy *, struct error *);
bool	 slot_holds(uid_t);
/* STEP_DONE, STEP_WAIT when one is being made (it wakes all), or -1. */
int	 slot_take(bool, struct slot **, struct error *);
void	 slot_give(struct slot *);	/* never used again */
void	 slot_fill(int64_t);		/* make some ahead, in ms */
void	 slot_end(void);

/* cgroup.c */

void	 cgroup_init(const char *);
void	 cgroup_end(void);
bool	 cgroup_has(unsigned int);	/* CG_GROUPS: exec groups work */
const char *cgroup_layout(void);	/* "v1" "v2" "hybrid" "none" */
void	 cgroup_sweep(const char *);	/* everything of an instance */
int	 cgroup_make(const char *, struct error *);
int	 cgroup_limit(const char *, struct spec *, unsigned int,
	    struct error *);
/* To be written "0" to by the child; how many.  v2: the group to clone to. */
int	 cgroup_join_fds(const char *, int [CG_TREES], int *, struct error *);
bool	 cgroup_holds(const char *, pid_t);
int	 cgroup_exec_make(const char *, uint32_t);	/* fd to join it by */
/* A group and all below it; kill is one round. */
void	 cgroup_kill(const char *);
bool	 cgroup_is_empty(const char *);
int	 cgroup_remove(const char *);	/* 0 gone, -1 busy */

/* worker.c */

struct worker {
	struct proc	 proc;
	struct peer	 peer;
	struct sandbox	*sandbox;
	struct slot	*slot;		/* of a spare one */
};

void	 worker_init(void);
struct worker *worker_new(const struct slot *, struct error *);
int	 worker_start(struct worker *, struct sandbox *, struct error *);
void	 worker_send(struct worker *, enum msg_type, const void *, int);
void	 worker_free(struct worker *);	/* kills it if it lives */
void	 group_make(struct sandbox *, uint64_t);
void	 group_end(struct sandbox *);	/* no more looking at them */

struct exec_group {
	uint32_t	 number;
	bool		 is_done;	/* no further exec in it */
	int64_t		 deadline;	/* of killing it, 0 none */
};

struct groups {
	struct exec_group *table;
	size_t		 n, cap, at;
	uint32_t	 last;
	int64_t		 pause;
	struct timer	 timer;
};

/* steps.c */

#define STEP_DONE	0
#define STEP_WAIT	1		/* called again when woken; or -1 */

/* undo is called for a step that failed or never finished too. */
struct step {
	const char	*name;
	bool		 is_probed;	/* part of a probe too */
	int		 (*run)(struct sandbox *, struct error *);
	int		 (*undo)(struct sandbox *);	/* cannot fail */
};

struct steps {
	const struct step *table;
	size_t		 n, at;
	bool		 is_probe;
	bool		 is_undoing;
	const char	*fail_at;	/* in tests */
};

/* DONE: at the end, or at the start when undoing. */
int	 steps_go(struct steps *, struct sandbox *, struct error *);
void	 steps_undo(struct steps *);

/* sandbox.c */

enum sandbox_state { SB_CREATING, SB_RUNNING, SB_ENDING };

#define WAITERS_MAX	64

struct sandbox {
	TAILQ_ENTRY(sandbox) entry;
	char		 id[ID_LEN + 1];
	enum sandbox_state state;
	struct steps	 steps;
	bool		 is_awake;	/* in sandbox_wake */
	bool		 is_announced;	/* the front knows it */
	bool		 is_asked;	/* somebody asked for the end */
	uint32_t	 request;	/* of the create */
	struct error	 error;		/* why it failed */
	char		 cause[32];	/* why it ended */
	char		 text[512];
	uint32_t	 waiters[WAITERS_MAX];	/* destroy requests */
	size_t		 nwaiters;
	struct timer	 timer;		/* of the step; then of the ttl */

	/* who and what */
	uint64_t	 handle;
	uid_t		 uid;
	gid_t		 gid;
	struct buf	 request_spec;	/* judged borrows it */
	struct judged	 judged;
	const struct backend *backend;
	int64_t		 created;	/* wall_ms() */
	int64_t		 ends;		/* now_ms(), 0 never */
	struct backend_mount *mounts;
	int		 nmounts;
	int		 offer_fd;

	/* what the steps made */
	struct slot	*slot;
	struct worker	*worker;
	bool		 is_stream;
	int		 agent_fd;	/* the worker's end */
	int		 child_fd;	/* the agent's */
	int		 event_fd;	/* the worker's end */
	int		 front_fd;	/* the front's */
	struct peer	 hello;		/* the agent's channel of a probe */
	struct proc	 child;
	bool		 is_launched;
	int		 exit_status;	/* of the child */
	pid_t		 agent_pid;
	int		 agent_pidfd;	/* if it is not the child */
	struct watcher	 agent_watcher;
	int		 error_fd;
	struct watcher	 error_watcher;
	char		 child_text[sizeof(struct error) + 64];
	size_t		 ntext;
	bool		 is_ready;
	int		 meet_fd;	/* rendezvous, listening */
	struct groups	 groups;
	uint64_t	 conns[CONNS_PER_SANDBOX_MAX];	/* handles */
	size_t		 nconns;

	/* on the way down */
	bool		 has_ended;	/* the worker knows */
	int64_t		 patience;	/* until when to be kind */
	int64_t		 pause;		/* between looks whether it is gone */
};

struct sandbox *sandbox_new(const char *);	/* NULL: too many */
struct sandbox *sandbox_find(struct view);
struct sandbox *sandbox_next(const struct sandbox *);	/* NULL: first */
/* Go on with the steps: now, in ms, all that are being made. */
void	 sandbox_wake(struct sandbox *);
void	 sandbox_wake_in(struct sandbox *, int64_t);
void	 sandbox_wake_all(void);
/* is_asked: no GONE is sent.  Idempotent; the sandbox may be freed. */
void	 sandbox_end(struct sandbox *, bool, const char *, const char *, ...)
	    __attribute__((format(printf, 4, 5)));
int	 sandbox_connect(struct sandbox *, uint64_t, int *, struct error *);
void	 sandbox_hangup(uint64_t);

/* create.c, environment.c: the steps */

extern const struct step create_steps[];
extern const size_t create_nsteps;

void	 environment_init(void);
int	 environment_run(struct sandbox *, struct error *);
int	 environment_undo(struct sandbox *);
int	 ready_run(struct sandbox *, struct error *);
int	 ready_undo(struct sandbox *);
int	 verify_run(struct sandbox *, struct error *);

/* probe.c */

enum probe_state { PROBE_UNKNOWN, PROBE_RUNNING, PROBE_WORKS, PROBE_FAILED };

struct probe {
	enum probe_state state;
	bool		 has_worked;
	struct error	 error;
};

struct probe *probe_of(const struct backend *);
enum probe_state probe_start(const struct backend *);
void	 probe_order(void);
void	 probe_result(const struct sandbox *, const struct error *);
int	 probe_check(uint32_t, bool, struct error *);	/* BROKER_CHECK */

/* request.c: the front */

void	 request_init(int);
void	 request_send(enum msg_type, uint32_t, const void *, const int *, int);
void	 request_fail(uint32_t, const struct error *);

#endif
