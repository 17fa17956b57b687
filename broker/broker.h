/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The broker: the only process with rights.  It accepts clients, judges
 * requests of the front against its own policy, and makes and unmakes
 * sandboxes.  It never trusts the front's word, a worker's or an agent's,
 * never resolves a path that one of them or a client controls, and never
 * waits: everything that may block happens in a child.
 *
 * All of it is one thread around loop_run(); each file keeps its own state
 * in static variables.  Descriptors are CLOEXEC and the holder's to close.
 */

#ifndef BROKER_H
#define BROKER_H

#include <sys/queue.h>
#include <sys/types.h>

#include "backends/backend.h"
#include "proto/proto.h"

/* loop.c */

/* A descriptor in the loop; lies in what it belongs to. */
struct watcher {
	int		 fd;		/* -1: not in the loop */
	void		 (*fn)(void *, uint32_t);
	void		*arg;
};

struct timer {
	TAILQ_ENTRY(timer) entry;
	bool		 is_set;
	int64_t		 at;		/* now_ms() */
	void		 (*fn)(void *);
	void		*arg;
};

void	 loop_init(void);
/* Events of epoll; 0 is hang-up and error only. */
void	 loop_add(struct watcher *, int, uint32_t, void (*)(void *, uint32_t),
	    void *);
void	 loop_change(struct watcher *, uint32_t);
void	 loop_del(struct watcher *);	/* the fd stays open; twice is fine */
void	 timer_set(struct timer *, int64_t, void (*)(void *), void *);
void	 timer_clear(struct timer *);
/* One event at a time, so a callback may free anything; until loop_end. */
void	 loop_run(void);
void	 loop_end(int);
int	 loop_status(void);

/* proc.c: children */

struct proc {
	LIST_ENTRY(proc) entry;
	pid_t		 pid;		/* 0: none, or reaped */
	int		 pidfd;
	void		 (*exited)(void *, int);	/* wait status */
	void		*arg;
};

/*
 * As fork with clone flags; cgroup_fd -1, or the group to be born in.
 * Returns 0 in the child, which has default signals and must not return, and
 * 1 in the parent.
 */
int	 proc_fork(struct proc *, uint64_t, int, void (*)(void *, int), void *,
	    struct error *);
void	 proc_kill(const struct proc *);		/* SIGKILL */
void	 proc_forget(struct proc *);	/* still reaped, nobody told */
void	 proc_reap(void);		/* on SIGCHLD */
/* In a child: close all from 3 on but these (-1 are skipped). */
void	 proc_close_others(const int *, size_t);
/* In a child: fd becomes descriptor 3, the only one from 3 on. */
void	 proc_only_channel(int);
/* Descriptors between a broker and its own children. */
int	 fds_send(int, const void *, size_t, const int *, int);
ssize_t	 fds_recv(int, void *, size_t, int *, int, int *);

/* peer.c: a channel in the loop */

struct peer {
	struct chan	*chan;
	struct watcher	 watcher;
	bool		 is_writing;
	void		 (*frame)(void *, struct frame *);
	void		 (*lost)(void *, const struct error *);
	void		*arg;
};

/* Takes the chan.  After lost() nothing more comes. */
void	 peer_open(struct peer *, struct chan *, void (*)(void *,
	    struct frame *), void (*)(void *, const struct error *), void *);
void	 peer_close(struct peer *);
/* Consumes the fds.  A peer that cannot take it is lost soon. */
void	 peer_send(struct peer *, enum msg_type, uint32_t, const void *,
	    const int *, int);

/* priv.c */

void	 priv_init(void);	/* rlimits, capabilities, no_new_privs */
bool	 priv_is_root(void);
int	 priv_drop(struct error *);	/* of struct backend_create */
int	 priv_proc_fd(void);		/* a /proc that hides nobody */

/* instance.c: run directory and lock */

void	 instance_init(const char *);
const char *instance_name(void);	/* of cgroups: "main", "x-1a2b3c4d" */
int	 instance_dir(void);		/* descriptor of the run directory */
int	 instance_empty_dir(void);	/* nothing in it, for workers' root */
int	 instance_subdir(const char *, mode_t);
void	 instance_sweep(void);		/* dead private instances */
void	 instance_remove(bool);		/* what we made; the directory too */

/* policy.c, judge.c */

struct policy_listen {
	struct view	 path;
	uint64_t	 mode;
	uint64_t	 gid;		/* UINT32_MAX: none */
};

struct policy_profile {
	struct view	 name;
	struct view	 packed;
	struct spec	 spec;
};

struct policy_rule {
	bool		 permit;
	struct view	 subject;	/* all user group */
	uint64_t	 id;
	struct view	 profile;
	struct view	 backend;
};

#define BACKENDS_MAX	16

struct policy {
	struct buf	 bytes;		/* all views point in here */
	uint64_t	 uid;		/* the front's */
	uint64_t	 gid;
	uint64_t	 base;
	uint64_t	 count;
	bool		 is_private;
	const struct backend *order[BACKENDS_MAX];
	size_t		 norder;
	struct spec	 defaults;
	struct policy_listen *listens;
	struct policy_profile *profiles;
	struct policy_rule *rules;
	uint32_t	 nlistens;
	uint32_t	 nprofiles;
	uint32_t	 nrules;
};

int	 policy_unpack(struct view, struct error *);	/* once */
const struct policy *policy_get(void);		/* NULL before */
const struct policy_profile *policy_profile_find(struct view);

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

int	 judge_spec(const struct policy *, struct view, struct judged *,
	    struct error *);
/* May this subject have this backend, and is it above the floor? */
int	 judge_backend(const struct policy *, const struct subject *,
	    const struct judged *, const struct backend *, bool,
	    struct error *);

/* accept.c */

void	 accept_adopt(int);		/* a listening socket of LISTEN_FDS */
void	 accept_client_later(int);	/* inetd's client, handed out by start */
int	 accept_listen(struct error *);	/* after the policy */
void	 accept_start(void);		/* when ready */
void	 accept_end(void);

/* client.c: handles */

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
void	 client_drop(struct client *);
int	 client_offer(struct client *, struct offer *, struct error *);
int	 client_take_offer(struct client *, uint64_t, struct error *);
void	 offer_release(int);		/* closes it in a child */
/* In a child: the client's mount namespace, opened with its own rights. */
int	 client_mount_ns(const struct client *);

/* slot.c */

struct slot {
	TAILQ_ENTRY(slot) entry;
	unsigned int	 number;
	uid_t		 base;
	int		 lock_fd;
	bool		 has_namespaces;
	struct slot_namespaces ns;
	struct error	 error;		/* why it has none */
	struct proc	 helper;
	struct watcher	 watcher;
	int		 helper_fd;
	struct worker	*worker;	/* a spare one, or NULL */
};

int	 slot_init(const struct policy *, struct error *);
bool	 slot_holds(uid_t);		/* is the id of a slot */
/* 1 and the slot, 0 when one is being made (sandbox_wake follows), or -1. */
int	 slot_take(bool, struct slot **, struct error *);
/* Back to the stock if nothing foreign ran in it, else let go. */
void	 slot_give(struct slot *, bool);
void	 slot_fill(void);		/* make some ahead */
void	 slot_end(void);
void	 slot_close_namespaces(struct slot *);

/* claim.c */

struct sandbox;
int	 claim_write(const struct sandbox *, struct error *);
int	 claim_meet(const struct sandbox *, int *, struct error *);
void	 claim_remove(const struct sandbox *);

/* cgroup.c, cgroup_find.c */

#define CG_GROUPS	1u		/* freezer on v1; on v2 always there */
#define CG_PIDS		2u
#define CG_MEMORY	4u
#define CG_CPU		8u
#define CG_TREES	5

struct cgroup_place {
	int		 version;
	unsigned int	 controllers;
	char		 path[PATH_LEN_MAX + 1];	/* our own group's */
};

/* From the texts of /proc/self/cgroup and mountinfo; how many. */
int	 cgroup_find(const char *, const char *, struct cgroup_place *);
void	 cgroup_init(const char *);
void	 cgroup_end(void);
bool	 cgroup_has(unsigned int);	/* CG_GROUPS: exec groups work */
const char *cgroup_layout(void);	/* "v1" "v2" "hybrid" "none" */
void	 cgroup_sweep(const char *);	/* everything of an instance */
int	 cgroup_make(const char *, struct error *);
int	 cgroup_limit(const char *, struct spec *, unsigned int, struct error *);
/* To be written "0" to by the child; how many.  v2: the directory to clone. */
int	 cgroup_join_fds(const char *, int [CG_TREES], int *, struct error *);
bool	 cgroup_holds(const char *, pid_t);	/* read back */
int	 cgroup_group_make(const char *, uint32_t);	/* fd to join by, or -1 */
/* name: "sb_.../x/3"; a round of killing.  All below it too. */
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

/* group.c: exec groups of a sandbox */

#define GROUPS_MAX	(2 * EXECS_MAX)

enum group_state { GROUP_LIVE, GROUP_KILLING, GROUP_DONE };

struct exec_group {
	uint32_t	 number;
	enum group_state state;
	bool		 is_done;	/* after the kill */
	int64_t		 deadline;
};

struct groups {
	struct exec_group	*table;
	size_t		 n;
	size_t		 cap;
	uint32_t	 last;
	int64_t		 pause;
	struct timer	 timer;
};

void	 group_make(struct sandbox *, uint64_t);
void	 group_kill(struct sandbox *, uint32_t);
void	 group_done(struct sandbox *, uint32_t);
void	 group_end(struct sandbox *);

/* steps.c: a row of steps, each with its undo */

enum step_result { STEP_DONE, STEP_WAIT, STEP_FAILED };

/*
 * run and undo are called again after STEP_WAIT until they are done.  undo
 * is called for a step that failed or never finished too; it cannot fail.
 */
struct step {
	const char	*name;
	bool		 is_probed;	/* part of a probe too */
	enum step_result (*run)(struct sandbox *, struct error *);
	enum step_result (*undo)(struct sandbox *);
};

struct steps {
	const struct step *table;
	size_t		 n;
	size_t		 at;
	bool		 is_probe;
	bool		 is_undoing;
};

/* DONE: at the end, or at the start when undoing. */
enum step_result steps_go(struct steps *, struct sandbox *, struct error *);
void	 steps_undo(struct steps *);

/* sandbox.c: the table of sandboxes, and how they end */

enum sandbox_state { SB_CREATING, SB_RUNNING, SB_ENDING };

#define WAITERS_MAX	64

struct sandbox {
	TAILQ_ENTRY(sandbox) entry;
	char		 id[ID_LEN + 1];
	enum sandbox_state state;
	struct steps	 steps;
	bool		 is_awake;	/* in sandbox_wake */
	bool		 is_announced;	/* the front knows it */
	uint32_t	 request;	/* of the create */
	struct error	 error;		/* why it failed */
	char		 cause[32];	/* why it ended */
	char		 text[512];
	bool		 is_asked;	/* somebody asked for the end */
	uint32_t	 waiters[WAITERS_MAX];	/* destroy requests */
	size_t		 nwaiters;

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
	uint32_t	*mount_fds;	/* index among those passed */
	uint32_t	 nmounts;
	int		 offer_fd;

	/* what the steps made */
	struct slot	*slot;
	int		 meet_fd;	/* rendezvous, listening */
	struct worker	*worker;
	bool		 is_stream;
	int		 agent_fd;	/* the worker's end */
	int		 child_fd;	/* the agent's end */
	int		 event_fd;	/* the worker's end */
	int		 front_fd;	/* the front's end */
	struct peer	 hello;		/* the agent's channel of a probe */
	struct proc	 child;
	int		 exit_status;	/* of the child */
	pid_t		 agent_pid;
	int		 agent_pidfd;
	struct watcher	 agent_watcher;
	int		 error_fd;
	struct watcher	 error_watcher;
	char		 child_text[sizeof(struct error) + 64];
	size_t		 ntext;
	bool		 is_launched;
	bool		 is_ready;
	bool		 has_ended;	/* WORKER_END is sent */
	int64_t		 patience;	/* until when to be kind */
	int64_t		 pause;		/* between looks whether it is gone */
	struct timer	 timer;		/* looks again at the step */
	struct timer	 ttl;
	struct groups	 groups;
	uint64_t	 conns[CONNS_PER_SANDBOX_MAX];	/* handles */
	size_t		 nconns;
};

struct sandbox *sandbox_new(const char *);	/* NULL: too many */
struct sandbox *sandbox_find(struct view);
struct sandbox *sandbox_next(const struct sandbox *);	/* NULL: first */
bool	 sandbox_is_for(const struct sandbox *, const struct client *);
void	 sandbox_wake(struct sandbox *);	/* go on with the steps */
void	 sandbox_wake_all(void);	/* what is being made */
void	 sandbox_wake_in(struct sandbox *, int64_t);
/* Idempotent; is_asked: no GONE is sent.  The sandbox may be freed. */
void	 sandbox_end(struct sandbox *, bool, const char *, const char *, ...)
	    __attribute__((format(printf, 4, 5)));
void	 sandbox_hangup(uint64_t);
/* The sandbox connection's client end; the worker gets the other. */
int	 sandbox_connect(struct sandbox *, uint64_t, int *, struct error *);
size_t	 sandbox_count(void);

/* create.c, environment.c, launch.c, verify.c: the steps */

/* Before a struct error on the error pipe; other text is a helper's. */
#define LAUNCH_MAGIC	"\001sandboxd-error"

extern const struct step create_steps[];
extern const size_t create_nsteps;

enum step_result environment_run(struct sandbox *, struct error *);
enum step_result environment_undo(struct sandbox *);
enum step_result ready_run(struct sandbox *, struct error *);
enum step_result ready_undo(struct sandbox *);

void	 launch_init(void);
/* The child of environment_run.  Never returns. */
void	 launch_child(struct sandbox *, const int *, int, int)
	    __attribute__((noreturn));
/* Is the agent held by everything that was promised?  From outside. */
int	 verify_agent(const struct sandbox *, struct error *);

/* probe.c */

enum probe_state { PROBE_UNKNOWN, PROBE_RUNNING, PROBE_WORKS, PROBE_FAILED };

enum probe_state probe_state(const struct backend *);
const struct error *probe_error(const struct backend *);
void	 probe_start(const struct backend *);
void	 probe_order(void);	/* the order until one works, then ready */
void	 probe_result(const struct sandbox *, const struct error *);
void	 probe_check(uint32_t, bool);	/* answers BROKER_CHECK */

/* request.c: the front */

void	 request_init(int);
void	 request_send(enum msg_type, uint32_t, const void *, const int *, int);
void	 request_fail(uint32_t, const struct error *);

/* broker.c */

void	 broker_ready(const char *);	/* told once */
void	 broker_stop(int);	/* end all, then exit with the status */
bool	 broker_is_stopping(void);
void	 broker_stop_check(void);
const char *broker_hook(const char *);	/* of a test build, or NULL */

#endif
