/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * agent/: the first process inside a sandbox.  It starts commands, reaps
 * whatever becomes an orphan, and copies bytes where no descriptor can be
 * passed.  Static, single-threaded, without signal handlers; all that it
 * knows is lost with it.
 */

#ifndef AGENT_H
#define AGENT_H

#include <sys/types.h>
#include <sys/resource.h>

#include "proto.h"

#define GROUP_FDS_MAX	(FRAME_FDS_MAX - 2)
#define RELAY_ROUNDS	64		/* reads of one wake-up, for fairness */

/*
 * A descriptor in the loop.  The callback may drop and free any source,
 * since the loop takes one event at a time.
 */
struct source {
	int		 fd;		/* -1: none */
	bool		 is_set;	/* known to epoll */
	uint32_t	 events;
	void		(*fn)(void *, uint32_t);
	void		*arg;
};

/* Why and where a command did not start: AGENT_FAILED. */
enum stage { STAGE_NONE, STAGE_FORK, STAGE_GROUP, STAGE_CWD, STAGE_PTY,
	STAGE_LIMITS, STAGE_LOOKUP, STAGE_EXECVE };

/* Everything of one start; the child sees it in shared memory. */
struct spawn {
	char		**argv;		/* memory of args */
	char		**envp;
	void		*args;
	const char	*cwd;		/* NULL: stay */
	const char	*file;		/* run this; NULL: look argv[0] up */
	int		 stdio[3];	/* owned, as are groups */
	int		 groups[GROUP_FDS_MAX];
	int		 ngroups;
	bool		 has_tty;	/* stdio[0] becomes the terminal */
	uint64_t	 cpu_time;
	uint64_t	 files;
	volatile enum stage stage;	/* set by the child that failed */
	volatile int	 err;
};

struct exec {
	struct exec	*next;
	uint32_t	 id;
	uint32_t	 request;	/* of AGENT_EXEC, until answered */
	uint32_t	 kill_request;
	pid_t		 pid;		/* main process; 0: not there */
	pid_t		 keeper_pid;	/* 0: none or gone */
	struct source	 keeper;	/* its socket */
	struct pty	*pty;
	struct stream	*stream;
	bool		 has_keeper;
	bool		 is_answered;	/* STARTED or FAILED is out */
	bool		 is_ended;	/* EXITED or FAILED is out */
	bool		 is_killing;	/* KILLED is owed */
};

/* agent.c */

/* Send; a channel that is gone or full ends the agent's loop. */
void	 agent_send(enum msg_type, uint32_t, const void *);
bool	 agent_is_stream(void);
bool	 agent_is_choked(void);	/* much is queued: read no more output */
int	 source_watch(struct source *, uint32_t);	/* 0 or errno */
void	 source_forget(struct source *);
void	 source_close(struct source *);		/* forget and close */

/* exec.c */
void	 exec_request(struct frame *, const struct msg_agent_exec *);
struct exec *exec_find(uint64_t);
void	 exec_signal(const struct msg_agent_signal *);
void	 exec_kill(uint32_t, uint64_t);		/* request, exec */
void	 exec_started(struct exec *, pid_t);
void	 exec_failed(struct exec *, enum stage, int, const char *);
void	 exec_ended(struct exec *, int, const struct rusage *);
void	 exec_settle(struct exec *);	/* frees what is over */
void	 exec_reap(void);
void	 exec_purge(void);	/* kill, soon, what no exec accounts for */

/* spawn.c */

/* Needs no lock and no copy of memory; -1 with stage and err. */
pid_t	 spawn_run(struct spawn *);
const char *spawn_path(const struct spawn *);	/* what a failure is about */
void	 spawn_close(struct spawn *);		/* its descriptors */
void	 spawn_free(struct spawn *);		/* descriptors and memory */
void	 signals_block(void);
void	 signals_default(void);
/* A signalfd for SIGCHLD. */
int	 signals_open(void);
void	 signals_drain(int);

/* keeper.c: a process between the agent and an exec that has no group */
int	 keeper_start(struct exec *, struct spawn *);	/* 0 or errno */
void	 keeper_signal(struct exec *, int);
void	 keeper_kill(struct exec *);
void	 keeper_gone(struct exec *);	/* it was reaped */

/* kill.c */

/*
 * One round of killing every child of this process that skip does not
 * claim, and what can be seen below them.  Returns the number of children,
 * dead ones not yet reaped included, or -1.
 */
int	 kill_round(bool (*)(pid_t));

/* pty.c: descriptor channels; takes both descriptors */
struct pty *pty_new(struct exec *, int, int [2]);
void	 pty_free(struct pty *);
int	 pty_open(uint64_t, uint64_t, int [2]);	/* master, slave; or errno */
int	 pty_resize(int, uint64_t, uint64_t);
void	 pty_set_size(struct pty *, uint64_t, uint64_t);
void	 pty_drain(struct pty *);	/* the main process has ended */
bool	 pty_is_over(const struct pty *);
/* What has to be typed so that a reader sees the end: at most 2 bytes. */
size_t	 pty_eof_bytes(int, int, char [2]);

/* stream.c: stream channels */

/* in, out, err: our ends, -1 none.  With a pty, in and out are its master. */
struct stream *stream_new(struct exec *, const int [3], bool);
void	 stream_free(struct stream *);
void	 stream_start(struct stream *);	/* STARTED is out: data may follow */
void	 stream_set_size(struct stream *, uint64_t, uint64_t);
void	 stream_drain(struct stream *);
bool	 stream_is_over(const struct stream *);
void	 stream_data(struct stream *, struct view);
void	 stream_eof(struct stream *);
void	 stream_credit(struct stream *, uint64_t, uint64_t);
void	 stream_closed(struct stream *, uint64_t);

#endif
