/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * worker/: one process per sandbox, with an id of its own and nothing to
 * open.  It serves exec.* to whoever holds a sandbox connection, keeps the
 * output of relayed execs, and enforces their limits.  Trusts the broker;
 * trusts neither its clients' bytes nor a byte from the agent.
 */

#ifndef WORKER_WORKER_H
#define WORKER_WORKER_H

#include <sys/queue.h>
#include <sys/uio.h>

#include <event2/event.h>
#include <event2/event_struct.h>

#include "proto/event.h"

#define READ_MAX	(64 * 1024)	/* bytes of one read of a stream */
#define READ_TURN	(256 * 1024)	/* bytes of one stream in one turn */
#define STDIN_QUEUE_MAX	(2 * 1024 * 1024) /* bytes of exec.write waiting */
#define HELD_MAX	(32 * 1024 * 1024) /* bytes of requests that wait */
#define SINKS_MAX	512		/* attached streams of the sandbox */
#define SOURCES_MAX	2048		/* into it, passed ones too */
#define ENV_PACKED_KEEP	8192
#define DRAIN_QUIET_MS	100
#define DRAIN_MAX_MS	1000
#define KILL_MAX_MS	1000
#define START_MAX_MS	30000		/* the agent's answer to AGENT_EXEC */
#define END_MAX_MS	500		/* replies on their way at the end */

struct worker;
struct conn;
struct exec;
struct output;
struct input;

/* ring.c: the last bytes of a stream, named by their offset in it. */

struct ring {
	unsigned char	*p;
	size_t		 cap;		/* a power of two, or 0 */
	uint64_t	 start;		/* first byte still there */
	uint64_t	 end;		/* bytes ever added */
};

/*
 * Room for new bytes, at most max and without touching those from hold on:
 * fills in at most two parts and returns how many.  Grows by itself.
 */
int	 ring_space(struct ring *, uint64_t, size_t, struct iovec [2]);
void	 ring_commit(struct ring *, size_t);
/* Adds all of it; makes room whatever the budget says.  -1: no memory. */
int	 ring_add(struct ring *, uint64_t, struct view);
/* Bytes from an offset that is in the ring, at most max; parts as above. */
int	 ring_peek(const struct ring *, uint64_t, size_t, struct iovec [2]);
void	 ring_free(struct ring *);	/* forgets the bytes, not the offsets */
size_t	 ring_total(void);		/* bytes held by all rings */

#define RING_BUDGET	(32 * 1024 * 1024) /* of all rings together */

/* deadline.c */

int64_t	 clock_ms(void);		/* CLOCK_MONOTONIC */
int64_t	 clock_us(void);
void	 deadline_update(struct exec *);	/* after a change of a time */
void	 deadline_free(struct exec *);
void	 deadline_starting(struct worker *);	/* some exec is */
/* The sandbox's own end of life, CLOCK_BOOTTIME milliseconds. */
void	 deadline_sandbox(struct worker *, uint64_t);

/* relay streams */

enum stream_mode { MODE_NULL, MODE_FD, MODE_RELAY };
enum full_mode { FULL_DISCARD, FULL_KILL, FULL_BLOCK };

/* The far end of a copy; its kind says how it may be read or written. */
enum end_kind {
	END_OWN,		/* a pipe or socket made here, nonblocking */
	END_FIFO,		/* a client's: never blocks only in splice */
	END_FILE		/* a client's file or /dev/null */
};

/* Where output goes: an attached client, or a passed descriptor. */
struct sink {
	TAILQ_ENTRY(sink)	 entry;
	struct output		*out;
	struct conn		*conn;		/* NULL: passed */
	enum end_kind		 kind;
	int			 fd;
	int			 pipe[2];	/* END_FIFO: on the way */
	size_t			 in_pipe;
	struct event		 ev;		/* writable */
	struct event		 gone_ev;	/* END_OWN: reader left */
	uint64_t		 offset;	/* next byte to write */
	uint64_t		 ends_at;
};
TAILQ_HEAD(sink_list, sink);

struct output {
	struct exec		*exec;
	unsigned int		 which;		/* 1, 2 */
	enum stream_mode	 mode;		/* what the client asked */
	int			 fd;		/* read end, or -1 */
	struct event		 ev;
	struct ring		 ring;
	struct sink_list	 sinks;
	uint64_t		 acked;		/* FULL_BLOCK: taken */
	uint64_t		 granted;	/* stream: may still come */
	bool			 has_ev;
	bool			 is_big;	/* pipe widened */
	bool			 is_eof;
	bool			 is_truncated;
	bool			 is_paused;
	bool			 is_dropped;	/* nobody wants its bytes */
	bool			 is_pushing;
	bool			 wants_push;
};

/* Where input comes from, besides exec.write. */
struct source {
	TAILQ_ENTRY(source)	 entry;
	struct input		*in;
	struct conn		*conn;		/* NULL: passed */
	enum end_kind		 kind;
	int			 fd;
	int			 pipe[2];
	struct event		 ev;
};
TAILQ_HEAD(source_list, source);

TAILQ_HEAD(pending_list, pending);

struct input {
	struct exec		*exec;
	int			 fd;		/* write end, or -1 */
	struct event		 ev;
	unsigned char		*p;		/* read from a source */
	size_t			 off;
	size_t			 n;
	uint64_t		 credit;	/* stream: may still be sent */
	struct source_list	 sources;
	struct pending_list	 writes;
	size_t			 queued;	/* bytes of writes */
	bool			 has_ev;
	bool			 wants_eof;
	bool			 is_closed;
};

/* output.c */
struct output *output_new(struct exec *, unsigned int, enum stream_mode);
int	 output_open(struct output *, int *, struct error *);
void	 output_begin(struct output *);	/* start to read */
void	 output_free(struct output *);
int	 output_data(struct output *, struct view, struct error *);
void	 output_eof(struct output *);
void	 output_push(struct output *);	/* to the readers */
void	 output_pull(struct output *);	/* read what is there now */
void	 output_moved(struct output *);	/* a reader took bytes */
void	 output_end(struct output *);	/* the exec is over */
/* Every passed descriptor has all that was read; drained: at the end, too. */
bool	 output_is_flushed(const struct output *);
bool	 output_is_drained(const struct output *);
bool	 output_is_full(const struct output *);
uint64_t output_last(const struct output *);
void	 output_drop(struct output *);	/* its passed reader left */
void	 output_conn_closed(struct output *, const struct conn *);

/* sink.c */
int	 sink_new(struct output *, struct conn *, enum end_kind, int, uint64_t,
	    struct error *);			/* takes fd */
void	 sink_free(struct sink *);
void	 sink_push(struct sink *);		/* may free it */
bool	 sink_is_flushed(const struct sink *);

/* input.c */
struct input *input_new(struct exec *);
int	 input_open(struct input *, int *, struct error *);
void	 input_begin(struct input *);
void	 input_free(struct input *);
void	 input_conn_closed(struct input *, const struct conn *);
void	 input_pump(struct input *);
int	 input_credit(struct input *, uint64_t, struct error *);
void	 input_close(struct input *);		/* nobody reads it */
bool	 input_is_open(const struct input *);
bool	 input_is_busy(const struct input *);

/* source.c */
int	 source_new(struct input *, struct conn *, enum end_kind, int,
	    struct error *);			/* takes fd */
void	 source_free(struct source *);
void	 source_resume(struct source *);

/* exec.c */

enum exec_state {
	EXEC_WAITING,		/* for a group */
	EXEC_STARTING,		/* the agent was asked */
	EXEC_RUNNING,
	EXEC_DRAINING,		/* main process ended */
	EXEC_OVER		/* result is there */
};

/* What the agent is asked for; views are borrowed until launched. */
struct launch {
	struct view	 argv;		/* packed array */
	struct view	 env;
	struct view	 cwd;
	bool		 is_shell;
	uint64_t	 rows;
	uint64_t	 cols;
	uint64_t	 cpu_time;	/* seconds */
	int		 fds[4];	/* stdio, group */
	int		 nfds;
	struct buf	 kept;		/* memory of the views */
};

struct exec {
	TAILQ_ENTRY(exec)	 entry;		/* of waiting, or of over */
	struct worker		*worker;
	struct conn		*conn;		/* that started it, or NULL */
	uint32_t		 id;
	enum exec_state		 state;
	pid_t			 pid;		/* inside */
	char			*tag;
	struct launch		*launch;	/* EXEC_WAITING */
	struct input		*in;		/* relayed */
	struct output		*out[2];	/* relayed: stdout, stderr */
	enum stream_mode	 mode[3];
	struct pending_list	 pendings;
	uint32_t		 group;
	bool			 has_group;
	bool			 is_done;	/* the broker knows */
	bool			 has_pty;
	bool			 kill_on_close;
	bool			 is_killing;	/* asked, not yet answered */
	bool			 is_forced;	/* finished without the agent */
	bool			 is_stdin_null;	/* stream: EOF at the start */
	enum full_mode		 full;
	uint64_t		 timeout_ms;
	uint64_t		 cpu_ms;
	uint64_t		 output_max;
	uint64_t		 produced;	/* kept, of both streams */
	uint64_t		 moved;		/* any byte read or written */
	uint64_t		 seen;		/* moved, when last looked */
	/* clock_ms of what is due, 0 none */
	int64_t			 start_by;
	int64_t			 deadline;
	int64_t			 kill_by;
	int64_t			 quiet_by;
	int64_t			 drain_by;
	struct event		*timer;
	/* the result */
	const char		*forced;	/* cause that wins */
	const char		*cause;
	int64_t			 began_us;
	int64_t			 started_ms;	/* wall clock */
	int64_t			 wall_us;
	int64_t			 user_us;
	int64_t			 system_us;
	int64_t			 peak;
	int			 code;
	int			 signal;
	bool			 has_core;
	bool			 has_status;
};
TAILQ_HEAD(exec_queue, exec);

struct exec *exec_new(struct worker *, struct conn *, struct error *);
struct exec *exec_find(struct worker *, uint64_t);	/* any state */
struct exec *exec_find_tag(struct worker *, struct view);
struct exec *exec_find_group(struct worker *, uint64_t);
struct exec *exec_after(struct worker *, uint64_t);	/* next one, or NULL */
void	 exec_free(struct exec *);
/* Takes launch's descriptors; later failures reach the starter. */
int	 exec_launch(struct exec *, struct launch *, struct error *);
void	 exec_launch_next(struct worker *);	/* a group came */
void	 exec_started(struct exec *, pid_t);
void	 exec_failed(struct exec *, const struct error *);
void	 exec_exited(struct exec *, const struct msg_agent_exited *);
void	 exec_drain(struct exec *);		/* over, if drained */
void	 exec_finish(struct exec *);
/* Everything the exec started; cause NULL: as any signal. */
void	 exec_kill(struct exec *, const char *);
void	 exec_killed(struct exec *, bool);
void	 exec_tick(struct exec *);		/* something is due */
void	 exec_end_all(struct worker *, const char *);
void	 exec_conn_closed(struct worker *, struct conn *);
/* Not yet there for anybody but its starter. */
bool	 exec_is_early(const struct exec *);

/* result.c: maps for answers and events */
void	 result_pack(const struct exec *, struct buf *);
void	 result_info(const struct exec *, struct buf *);
void	 result_started(const struct exec *, struct buf *);
/* To the front. */
void	 result_event(const struct exec *, const char *);
const char *result_mode(enum stream_mode);

/* group.c: exec groups made ahead */

struct group {
	uint32_t	 id;
	int		 fd;
};

int	 group_take(struct worker *, uint32_t *, int *);	/* or -1 */
void	 group_give(struct worker *, uint32_t, int);	/* from the broker */
void	 group_refill(struct worker *);
void	 group_done(struct exec *);

/* conn.c: sandbox connections */

enum pending_kind {
	PEND_START, PEND_WAIT, PEND_READ, PEND_WRITE, PEND_KILL, PEND_DEFER
};

/* A request that is answered later. */
struct pending {
	TAILQ_ENTRY(pending)	 of_conn;
	TAILQ_ENTRY(pending)	 of_exec;
	struct conn		*conn;
	struct exec		*exec;
	struct pending_list	*list;	/* of_exec is in it, or NULL */
	enum pending_kind	 kind;
	uint32_t		 id;
	/* PEND_READ */
	struct output		*out;
	uint64_t		 offset;
	uint64_t		 max;
	struct event		*timer;
	/* PEND_WRITE: what is left of p; PEND_DEFER: the params */
	const struct method	*method;
	unsigned char		*p;
	size_t			 n;
	size_t			 off;
	size_t			 held;		/* bytes of HELD_MAX */
	bool			 eof;
};

struct conn {
	TAILQ_ENTRY(conn)	 entry;
	struct worker		*worker;
	uint64_t		 handle;
	struct watch		*watch;
	struct pending_list	 pendings;
	unsigned int		 npendings;
	bool			 is_dead;	/* freed by the reaper */
};
TAILQ_HEAD(conn_list, conn);

/* One request as a method sees it. */
struct call {
	struct conn	*conn;
	struct exec	*exec;		/* named by it, when it must */
	uint32_t	 id;
	struct view	 params;
	struct rpc_msg	*msg;		/* NULL when deferred */
};

int	 conn_new(struct worker *, int, uint64_t);	/* takes fd */
void	 conn_hangup(struct worker *, uint64_t);
void	 conn_free_all(struct worker *);
bool	 conn_all_flushed(const struct worker *);
void	 conn_reply(struct conn *, uint32_t, const struct buf *, const int *,
	    int);				/* takes the fds */
void	 conn_fail(struct conn *, uint32_t, const struct error *);
struct pending *pending_new(struct conn *, struct exec *,
	    struct pending_list *, enum pending_kind, uint32_t,
	    struct error *);
/* Keeps a copy of the bytes with it. */
int	 pending_hold(struct pending *, struct view, struct error *);
void	 pending_reply(struct pending *, const struct buf *);	/* frees */
void	 pending_fail(struct pending *, const struct error *);	/* frees */
void	 pending_free(struct pending *);

/* method.c */
struct method {
	const char	*name;
	/* 0: answered or will be; -1: the error is the answer. */
	int		(*run)(struct call *, struct error *);
	bool		 names_exec;
};
const struct method *method_find(struct view);
void	 method_call(const struct method *, struct call *);

/* start.c */
int	 start_call(struct call *, struct error *);
void	 start_reply(struct exec *);

/* env.c: packed arrays of "NAME=value" */
void	 env_base(struct worker *, struct view);	/* the sandbox's */
int	 env_pack(struct worker *, struct view, bool, struct buf *,
	    struct error *);

/* io.c: attach, read and write */
int	 attach_call(struct call *, struct error *);
int	 read_call(struct call *, struct error *);
int	 write_call(struct call *, struct error *);
void	 read_moved(struct output *);		/* bytes or the end came */

/* agent_wrap.c */
void	 agent_frame(struct chan *, struct frame *, void *);
int	 agent_exec(struct exec *, const struct launch *, struct error *);
void	 agent_gone(const struct error *, void *);
void	 agent_signal(struct exec *, int);
void	 agent_resize(struct exec *, uint64_t, uint64_t);
void	 agent_kill(struct exec *);
int	 agent_data(struct exec *, struct view);	/* 1, 0 later, -1 */
void	 agent_credit(struct exec *, unsigned int, uint64_t);
void	 agent_eof(struct exec *, unsigned int);
void	 agent_closed(struct exec *, unsigned int);

/* worker.c */

enum worker_state {
	WORKER_NEW,		/* before WORKER_START */
	WORKER_STARTED,		/* waits for the agent's hello */
	WORKER_LIVE,
	WORKER_LOST,		/* asked for the end, waits for it */
	WORKER_ENDING		/* replies on their way */
};

struct worker {
	enum worker_state	 state;
	struct event_base	*base;
	struct watch		*broker;
	struct watch		*agent;		/* NULL when lost */
	struct watch		*front;		/* NULL when lost */
	char			 id[ID_LEN + 1];
	bool			 is_stream;
	bool			 has_groups;
	uint64_t		 timeout_ms;	/* of execs; 0 none */
	uint64_t		 cpu_ms;
	uint64_t		 output_max;
	uint64_t		 files;
	struct buf		 env;		/* packed, base and sandbox's */
	int			 null_fd;	/* /dev/null, or -1 */
	bool			 null_writes;
	struct group		 groups[GROUPS_AHEAD];
	unsigned int		 ngroups;
	unsigned int		 nasked;
	struct exec_queue	 waiting;	/* for a group */
	struct exec_queue	 over;		/* as they ended */
	unsigned int		 nwaiting;
	struct exec		**execs;	/* by rising id */
	size_t			 nexecs;
	size_t			 execs_cap;
	unsigned int		 nlive;		/* not over */
	uint32_t		 last_id;
	struct conn_list	 conns;
	unsigned int		 nconns;
	struct event		*reap;		/* dead connections */
	struct event		*end;		/* after WORKER_OVER or _END */
	struct event		*life;		/* timerfd of the end of life */
	struct event		*retry;		/* agent's queue was full */
	struct event		*starting;	/* answers to AGENT_EXEC */
	int			 life_fd;
	int64_t			 end_by;
	char			 cause[33];	/* of the end */
};

/* The sandbox must end: tells the broker, once. */
void	 worker_over(struct worker *, const char *, const char *, ...)
	    __attribute__((format(printf, 3, 4)));
void	 worker_tell(struct worker *, enum msg_type, uint32_t, const void *);

/* confine.c */
void	 confine(void);				/* fatal when it cannot */

#endif
