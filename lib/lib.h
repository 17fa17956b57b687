/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * What the files of lib/ share.  Runs in the client's process with the
 * client's rights; trusts the daemon to be the daemon, but not its bytes,
 * which proto/ checks.  Inside, errors are proto's struct error; they become
 * struct sandbox_error where a public function returns.
 */

#ifndef LIB_LIB_H
#define LIB_LIB_H

#include "proto.h"
#include "sandboxd.h"

#define PARAMS_DEPTH	4

/* Entries of a map, or elements of an array, without the head. */
struct params_level {
	struct buf	 body;
	uint32_t	 count;
	bool		 is_map;
};

struct sandbox_params {
	struct params_level	 levels[PARAMS_DEPTH];
	unsigned int		 depth;
	bool			 is_bad;	/* opened or closed wrongly */
};

struct sandbox_reply {
	struct sandbox_value	 value;		/* owned unless is_lent */
	int			 nfds;
	int			 fds[RPC_FDS_MAX];
	bool			 is_lent;
};

/* A request without an answer. */
struct pending {
	struct pending		*next;
	uint32_t		 id;
	sandbox_reply_fn	*fn;
	void			*arg;
};

/* Either kind of connection. */
struct peer {
	struct rpc		*rpc;		/* NULL after the end */
	struct pending		*pending;
	uint32_t		 next_id;
	struct error		 why;		/* it ended */
	bool			 is_running;	/* callbacks are */
	bool			 is_freed;	/* by one of them */
	sandbox_event_fn	*event;
	void			*event_arg;
};

struct sandbox_client {
	struct peer	 peer;
	pid_t		 child;			/* private instance, or 0 */
	int		 log_fd;		/* what it said, or -1 */
};

struct sandbox_conn {
	struct peer	 peer;
};

/* fault.c */

/* Copies out; returns -1. */
int	 fault_give(struct sandbox_error *, const struct error *);
int	 fault_memory(struct error *);

/* params.c */

/* The packed map, with "fds" when there are any; -1 when out of memory. */
int	 params_pack(const struct sandbox_params *, int, struct buf *,
	    struct error *);

/* peer.c */

/* Takes fd, also when it fails. */
int	 peer_init(struct peer *, int, struct error *);
/* Calls what is pending with the error, and closes. */
void	 peer_end(struct peer *, const struct error *);
/* Ends it; true: free what it is in, false: done when callbacks return. */
bool	 peer_free(struct peer *);
int	 peer_request(struct peer *, const char *,
	    const struct sandbox_params *, const int *, int,
	    sandbox_reply_fn *, void *, struct error *);
int	 peer_call(struct peer *, const char *, const struct sandbox_params *,
	    const int *, int, struct sandbox_reply **, struct error *);
/* 0, -1 it ended, 1 it was freed by a callback: nothing of it is left. */
int	 peer_dispatch(struct peer *, struct error *);
short	 peer_events(const struct peer *);

/* client.c */
struct sandbox_client *client_new(int, struct error *);	/* takes fd */

/* private.c */
void	 private_end(struct sandbox_client *);	/* waits for the daemon's end */

/* conn.c */
struct sandbox_conn *conn_new(int, struct error *);	/* takes fd */

#endif
