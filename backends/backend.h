/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * What a backend is: a way to start an isolated environment with the agent
 * in it.  A backend knows no clients, wire, execs, files or snapshots, and
 * keeps no state.  One const struct per backends/NAME.c, named in
 * backends/sources.am; table.c holds them all.
 *
 * The broker makes a child for every environment; everything that can block,
 * walks a path or mounts happens in that child, with a deadline, and the
 * broker's loop never waits for it.
 */

#ifndef BACKENDS_BACKEND_H
#define BACKENDS_BACKEND_H

#include <sys/types.h>

#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>

struct error;

enum backend_level { LEVEL_NONE, LEVEL_NAMESPACE, LEVEL_KERNEL };

#define BACKEND_NEEDS_ROOT	1u
#define BACKEND_USES_SLOT	2u	/* runs as a slot's ids, when root */
#define BACKEND_PASSES_FDS	4u	/* channel takes descriptors */
#define BACKEND_OWN_NETWORK	8u	/* wants net, ipc, uts ones ahead */

/* Ids inside a slot: first id plus these. */
#define SLOT_SIZE	65536u
#define SLOT_ROOT	0u
#define SLOT_USER	1000u		/* inside: 1000 */
#define SLOT_WORKER	60001u
#define SLOT_HELPER	60002u

/* A host directory to be seen inside. */
struct backend_mount {
	int		 fd;		/* opened by the client */
	char		 dst[4096];	/* absolute, no "." or ".." parts */
	bool		 is_writable;
};

/* All a child needs.  The descriptors are lent; -1 when absent. */
struct backend_create {
	const char	*id;		/* "sb_..." */
	bool		 is_root;	/* the broker is real root */
	uid_t		 owner_uid;	/* the client's real ids */
	gid_t		 owner_gid;
	uid_t		 slot_base;	/* first id of the slot, 0 without */
	int		 user_ns_fd;	/* 0 and 1000 mapped to the slot's */
	int		 image_ns_fd;	/* only 0 mapped: for system trees */
	int		 net_ns_fd;	/* fresh, lo up */
	int		 ipc_ns_fd;
	int		 uts_ns_fd;	/* hostname "sandbox" */
	int		 mount_ns_fd;	/* the picture, but /proc and mounts */
	int		 client_ns_fd;	/* its mount namespace, or -1 */
	uint64_t	 tmp;		/* bytes of /tmp and /workspace each */
	uint64_t	 files;		/* RLIMIT_NOFILE inside */
	int		 agent_fd;	/* the agent: sealed memfd, 0111 */
	int		 channel_fd;	/* becomes the agent's descriptor 3 */
	bool		 is_stream;	/* the agent gets -s */
	int		 error_fd;	/* bwrap: its stderr goes here */
	const struct sock_fprog *filter;	/* base seccomp filter */
	int		 filter_fd;	/* memfd with the same as bytes */
	const struct backend_mount *mounts;
	int		 nmounts;
	/*
	 * Empties all five capability sets and locks securebits; the caller
	 * has its final ids.  capability code is the broker's (priv.c).
	 */
	int		 (*drop)(struct error *);
};

struct backend {
	const char		*name;		/* config keyword */
	unsigned int		 features;
	enum backend_level	 level;
	unsigned long		 clone_flags;	/* CLONE_NEW*, for the child */
	/*
	 * Cheap preconditions, at start and for server.check: is the program
	 * there, are namespaces allowed.  0, or -1 with the exact cause and
	 * its fix.  Whether it really works is tried by the broker with a
	 * whole environment (probe.c).
	 */
	int	(*probe)(bool, struct error *);		/* is_root */
	/*
	 * Runs in the child, single-threaded, already in its cgroup, with
	 * signals at default and an empty environment.  Ends in exec of the
	 * agent inside every protection; returns -1 with the error.
	 */
	int	(*enter)(const struct backend_create *, struct error *);
	/*
	 * The pid of the agent when the child is not the agent itself
	 * (bwrap): found from the child's pid; -1 if not there yet.  NULL:
	 * the child is the agent.
	 */
	pid_t	(*agent_pid)(pid_t);
	/*
	 * Turns what a failed helper program wrote into a cause with a fix;
	 * NULL when the backend runs no helper.
	 */
	void	(*explain)(const char *, struct error *);
	/* Words for sandbox.info: what protects, ends with NULL. */
	const char *const	*protections;
};

/* launch.c: the child of a create, and what it became */

/* Before a struct error on error_fd; other text there is a helper's. */
#define LAUNCH_MAGIC	"\001sandboxd-error"

/* A sealed memfd of the agent for agent_fd, at start; or -1. */
int	 launch_load_agent(struct error *);

struct backend_launch {
	const struct backend	*backend;
	struct backend_create	*create;	/* its mounts are set here */
	struct backend_mount	*mounts;	/* fd: index of those offered */
	int			 offer_fd;	/* where they wait, or -1 */
	int			 joins[8];	/* groups: each gets a "0" */
	int			 njoins;
	int			 proc_fd;	/* a /proc that hides nobody */
	pid_t			 client_pid;
	int			 client_pidfd;	/* or -1 */
};

/*
 * In the child.  Enters its groups, lets go of all that is not in the struct,
 * receives the client's directories and opens its mount namespace, then
 * enters the backend.  May block; an error goes to error_fd.
 */
void	 launch_child(struct backend_launch *) __attribute__((noreturn));
/*
 * What that child wrote (bytes, room for a NUL), whether it lives, its wait
 * status: the error, and -1.
 */
int	 launch_explain(const struct backend *, char *, size_t, bool, int,
	    struct error *);
/*
 * In the broker, of the agent's pid: does the kernel show the ids, no
 * capability, no_new_privs and the filter?  -1 with what is missing.
 */
int	 verify_agent(const struct backend *, const struct backend_create *,
	    pid_t, int, struct error *);

/* table.c */
extern const struct backend *const backend_table[];	/* ends with NULL */
const struct backend *backend_find(const char *);	/* or NULL */

/* filter.c: compiled once at start of the daemon */

/*
 * The base seccomp filter for all inside.  Allocates; 0, or -1 with the
 * error.  filter_fd: a sealed memfd with the same program as bytes.
 */
int	 filter_base(struct sock_fprog *, int *, struct error *);

/* namespace.c: made ahead, in helper children; may block for milliseconds */

struct slot_namespaces {
	int	 user_ns_fd;
	int	 image_ns_fd;
	int	 net_ns_fd;
	int	 ipc_ns_fd;
	int	 uts_ns_fd;
	int	 mount_ns_fd;
};

/*
 * Makes the namespaces of the slot that begins at the id: user.max_user_
 * namespaces 0 before its map is written; lo up; hostname set; the picture
 * of the image "host" as the root.  All descriptors CLOEXEC and the caller's.
 * Runs in a child of the broker, which passes them on.
 */
int	 namespace_make(uid_t, struct slot_namespaces *, struct error *);
/* launch.c: that child; the broker, when its end is readable; the end. */
void	 launch_namespaces(uid_t, int) __attribute__((noreturn));
int	 launch_namespaces_recv(int, struct slot_namespaces *, struct error *);
void	 launch_namespaces_close(struct slot_namespaces *);
void	 launch_namespaces_lend(const struct slot_namespaces *,
	    struct backend_create *);

#endif
