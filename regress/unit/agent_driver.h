/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * For tests: the real agent as an ordinary child process, with the test as
 * its worker.  Run by whoever runs the tests; trusts the agent to answer
 * within a generous time and asserts everything else.
 */

#ifndef AGENT_DRIVER_H
#define AGENT_DRIVER_H

#include <sys/types.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "proto.h"

#define ANSWER_MS	60000	/* only a hang takes this long */

union answer {
	struct msg_agent_hello	 hello;
	struct msg_agent_started started;
	struct msg_agent_failed	 failed;
	struct msg_agent_exited	 exited;
	struct msg_agent_killed	 killed;
	struct msg_agent_data	 data;
	struct msg_agent_credit	 credit;
	struct msg_agent_eof	 eof;
	struct msg_agent_closed	 closed;
};

struct driver {
	struct chan	*chan;
	pid_t		 pid;
	uint32_t	 next_id;
	bool		 is_stream;
	/* Streams: what came, by number; credit is given as it comes. */
	struct buf	 got[3];
	uint64_t	 credited;	/* bytes of stdin taken */
	bool		 is_eof[3];
	bool		 is_closed[3];
	bool		 gives_credit;
};

/* One command; what is not set is absent.  Zeroed by exec_init. */
struct command {
	const char	*const *argv;
	const char	*shell;		/* instead of argv */
	const char	*const *env;
	const char	*cwd;
	unsigned int	 flags;
	unsigned int	 rows, cols, cpu_time, files;
	int		 fds[3];	/* lent; -1: /dev/null */
};

struct result {
	uint64_t	 code;
	uint64_t	 signal;
	uint64_t	 user_us;
	uint64_t	 system_us;
	uint64_t	 peak;
};

int	 driver_start(void **);			/* cmocka set-ups */
int	 driver_start_stream(void **);
int	 driver_stop(void **);			/* closes the channel */

/* The next frame that is no part of a stream; its type is asserted. */
void	 driver_expect(struct driver *, enum msg_type, uint32_t,
	    union answer *);
/* Reads one frame of any type; stream frames are noted. */
enum msg_type driver_next(struct driver *, struct frame *, union answer *);
void	 driver_send(struct driver *, enum msg_type, uint32_t, const void *);

void	 command_init(struct command *);
uint32_t driver_exec(struct driver *, const struct command *);	/* sends */
/* Sends, and expects STARTED; the exec's number, and the pid. */
uint32_t driver_run(struct driver *, const struct command *, pid_t *);
void	 driver_result(struct driver *, uint32_t, struct result *);
/* Run a shell command with its stdout in a pipe: result and output. */
char	*driver_shell(struct driver *, const char *, struct result *);
void	 driver_fails(struct driver *, const struct command *, const char *,
	    int, const char *);		/* stage, errno, path */
void	 driver_signal(struct driver *, uint32_t, int);

/* Up to the end of it; freed by the caller.  Closes the descriptor. */
char	*read_all(int, size_t *);
/* Until cond(arg); asserts that it happens. */
void	 wait_until(bool (*)(void *), void *);
/* Children of a process by name, NULL any; how many, first one in *pid. */
int	 children(pid_t, const char *, pid_t *);
bool	 is_gone(pid_t);
/* It uses (nearly) no processor while nothing moves. */
void	 assert_idle(pid_t);

#endif
