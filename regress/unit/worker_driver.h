/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * For tests: the real worker as a child process, with the test as its
 * broker, its front, its clients and, if wanted, its agent.  Run by whoever
 * runs the tests; asserts everything it is told.
 */

#ifndef WORKER_DRIVER_H
#define WORKER_DRIVER_H

#include <sys/types.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "proto.h"

#define ANSWER_MS	60000	/* only a hang takes this long */
#define FRAMES_MAX	64
#define REPLIES_MAX	300

#define WITH_AGENT	1u	/* the real one, else the test plays it */
#define WITH_STREAM	2u	/* a byte channel to the agent */
#define WITH_GROUPS	4u	/* /dev/null is a group that all can join */
#define KEEPS_GROUPS	8u	/* but the test gives them out */

union message {
	struct msg_worker_start	 worker_start;
	struct msg_worker_ready	 worker_ready;
	struct msg_worker_groups worker_groups;
	struct msg_worker_group	 worker_group;
	struct msg_worker_kill	 worker_kill;
	struct msg_worker_killed worker_killed;
	struct msg_worker_done	 worker_done;
	struct msg_worker_end	 worker_end;
	struct msg_worker_over	 worker_over;
	struct msg_worker_event	 worker_event;
	struct msg_agent_hello	 agent_hello;
	struct msg_agent_exec	 agent_exec;
	struct msg_agent_started agent_started;
	struct msg_agent_failed	 agent_failed;
	struct msg_agent_exited	 agent_exited;
	struct msg_agent_signal	 agent_signal;
	struct msg_agent_kill	 agent_kill;
	struct msg_agent_killed	 agent_killed;
	struct msg_agent_data	 agent_data;
	struct msg_agent_credit	 agent_credit;
	struct msg_agent_eof	 agent_eof;
	struct msg_agent_closed	 agent_closed;
};

/* A frame that came and was not yet asked for. */
struct kept {
	struct frame	 frame;
	struct buf	 body;
};

/* One channel that the test holds an end of. */
struct side {
	struct chan	*chan;
	struct kept	 kept[FRAMES_MAX];
	unsigned int	 n;
	bool		 is_gone;
};

struct reply {
	uint32_t	 id;
	bool		 is_error;
	struct buf	 value;
	int		 fds[RPC_FDS_MAX];
	int		 nfds;
};

struct client {
	struct rpc	*rpc;
	struct reply	 replies[REPLIES_MAX];
	unsigned int	 n;
	uint32_t	 next;
	bool		 is_gone;
};

struct limits {
	uint64_t	 ends;
	uint64_t	 timeout;
	uint64_t	 cpu_time;
	uint64_t	 output;
};

struct driver {
	unsigned int	 flags;
	pid_t		 pid;
	pid_t		 agent_pid;
	struct side	 broker;
	struct side	 front;
	struct side	 agent;		/* without WITH_AGENT */
	struct client	 client;
	uint32_t	 next_group;
};

struct driver *driver_new(unsigned int, const struct limits *);
/* Ends the sandbox, and expects the worker to exit with 0. */
void	 driver_free(struct driver *);
void	 driver_wait_exit(struct driver *);
/* Set-up and tear-down of a test: a real agent, and how it is reached. */
int	 driver_agent(void **);
int	 driver_agent_stream(void **);
int	 driver_agent_groups(void **);
int	 driver_tear_down(void **);
#define DRIVER_TEST(f, suffix, set_up)					\
	{ #f suffix, f, set_up, driver_tear_down, NULL }
/* A further client, with a handle. */
void	 client_open(struct driver *, struct client *, uint64_t);
void	 client_close(struct client *);

/* Waits for a frame of that type, others are kept; borrowed until the next. */
void	 side_expect(struct driver *, struct side *, enum msg_type,
	    union message *, int *);
void	 side_send(struct side *, enum msg_type, const void *, int);
void	 side_wait_gone(struct driver *, struct side *);
/* Everything that comes in is taken; until cond. */
void	 driver_until(struct driver *, bool (*)(void *), void *);
void	 driver_run(struct driver *, int);	/* one round, milliseconds */

/*
 * Sends a request whose params are written in JSON, with 'single' quotes;
 * the descriptors are lent.  Returns its id.
 */
uint32_t client_send(struct client *, const char *, const int *, int,
	    const char *, ...) __attribute__((format(printf, 5, 6)));
/* The answer to it; freed by reply_free. */
void	 client_reply(struct driver *, struct client *, uint32_t,
	    struct reply *);
bool	 client_has_reply(struct client *, uint32_t);
/* Sends on the driver's client and gives the answer. */
void	 driver_call(struct driver *, struct reply *, const char *,
	    const char *, ...) __attribute__((format(printf, 4, 5)));
/* An answer that must be an error of that code and key. */
void	 driver_refuses(struct driver *, enum err_code, const char *,
	    const char *, const char *, ...)
	    __attribute__((format(printf, 5, 6)));
void	 reply_free(struct reply *);
uint64_t reply_uint(const struct reply *, const char *);
int	 reply_int(const struct reply *, const char *);	/* -1: absent */
bool	 reply_bool(const struct reply *, const char *);
const char *reply_text(const struct reply *, const char *);	/* static */
int	 reply_fd(struct reply *, int);
void	 reply_is_error(const struct reply *, enum err_code, const char *);

/* exec.start of a shell command, cwd "/"; more params may follow. */
uint32_t driver_start(struct driver *, const char *, const char *);
void	 driver_result(struct driver *, uint32_t, struct reply *);
/* Expects that the exec ended with this code and cause exit. */
void	 driver_exits(struct driver *, uint32_t, int);
/* All of a relayed stream by exec.read. */
char	*driver_read(struct driver *, uint32_t, const char *, size_t *);

/* A descriptor of a relayed stream, from an offset on. */
int	 attach(struct driver *, uint32_t, const char *, uint64_t);
void	 detach(int);

/* From a descriptor while the driver runs; to its end, or len bytes. */
char	*driver_read_fd(struct driver *, int, size_t, size_t *);
void	 driver_write_fd(struct driver *, int, const void *, size_t);
/* worker_json.c */
void	 json_pack(const char *, struct buf *);

/* One descriptor of /dev/null. */
int	 dev_null(void);

#endif
