/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * libsandboxd: the client side of sandboxd(8), for programs that run
 * untrusted commands.  See libsandboxd(3).
 *
 * The library never prints, never exits, installs no signal handler and
 * keeps no global state; two handles may be used by two threads, one handle
 * by one thread at a time.  Functions that can fail return 0, or -1 with
 * *error filled in; error is the last argument, may not be NULL, and is
 * untouched on success.  Running out of memory is such a failure.  All
 * descriptors that it opens are close-on-exec.  Descriptors and strings that
 * are passed in stay the caller's.
 */

#ifndef SANDBOXD_H
#define SANDBOXD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*** Errors ***/

enum sandbox_code {
	SANDBOX_NONE,
	SANDBOX_INVALID,	/* malformed, or above a ceiling */
	SANDBOX_DENIED,		/* a rule forbids it */
	SANDBOX_NOT_FOUND,
	SANDBOX_CONFLICT,	/* wrong state, or exists */
	SANDBOX_LIMIT,		/* a sum or a table is used up */
	SANDBOX_TOO_LARGE,
	SANDBOX_BUSY,
	SANDBOX_UNSUPPORTED,
	SANDBOX_UNAVAILABLE,	/* no daemon, or the connection is gone */
	SANDBOX_BACKEND,	/* the isolation could not be set up */
	SANDBOX_TIMEOUT,
	SANDBOX_INTERNAL	/* here or in the daemon; out of memory too */
};

/*
 * message says what failed and why, fix what to do about it; key names the
 * parameter at fault, or for an exec that did not start the stage; key, path
 * and fix may be empty, sys_errno 0.
 */
struct sandbox_error {
	enum sandbox_code	 code;
	int			 sys_errno;
	char			 message[512];
	char			 key[64];
	char			 path[256];
	char			 fix[256];
};

/* "not_found" */
const char *sandbox_error_name(enum sandbox_code);
/* Version of the library, "0.1.0". */
const char *sandbox_version(void);

/*** Values: what the daemon answers ***/

/*
 * A borrowed view of a value inside a reply; data NULL when absent.  All
 * accessors accept absent values and values of another kind, and answer -1,
 * 0 or an absent value.
 */
struct sandbox_value {
	const void	*data;
	size_t		 len;
};

enum sandbox_kind {
	SANDBOX_ABSENT,
	SANDBOX_NIL,
	SANDBOX_BOOL,
	SANDBOX_INT,
	SANDBOX_DOUBLE,
	SANDBOX_TEXT,
	SANDBOX_BYTES,
	SANDBOX_ARRAY,
	SANDBOX_MAP
};

enum sandbox_kind sandbox_value_kind(struct sandbox_value);
int	 sandbox_value_bool(struct sandbox_value, bool *);
int	 sandbox_value_int(struct sandbox_value, int64_t *);
int	 sandbox_value_uint(struct sandbox_value, uint64_t *);
int	 sandbox_value_double(struct sandbox_value, double *);	/* ints too */
/* Text or bytes, borrowed, without a NUL at the end. */
int	 sandbox_value_bytes(struct sandbox_value, const void **, size_t *);
/* Text with a NUL into a buffer; -1 if it does not fit or holds a NUL. */
int	 sandbox_value_text(struct sandbox_value, char *, size_t);
/* Elements of an array, pairs of a map. */
size_t	 sandbox_value_count(struct sandbox_value);
/* The value of a key of a map, or absent. */
struct sandbox_value sandbox_value_get(struct sandbox_value, const char *);

/* Walks an array or a map. */
struct sandbox_iter {
	const void	*data;
	size_t		 len;
	size_t		 left;
	bool		 is_map;
};

void	 sandbox_iter_init(struct sandbox_iter *, struct sandbox_value);
/* False at the end.  Key is absent for arrays, and may be NULL. */
bool	 sandbox_iter_next(struct sandbox_iter *, struct sandbox_value *,
	    struct sandbox_value *);

/*** Parameters: what the daemon is asked ***/

/*
 * A map under construction.  Nothing here fails: running out of memory is
 * remembered and reported by the request.  key is NULL inside an array.
 * Keys and what they mean: sandboxd-rpc(7).
 */
struct sandbox_params;

struct sandbox_params *sandbox_params_new(void);	/* NULL: no memory */
void	 sandbox_params_free(struct sandbox_params *);
void	 sandbox_params_text(struct sandbox_params *, const char *,
	    const char *);
void	 sandbox_params_bytes(struct sandbox_params *, const char *,
	    const void *, size_t);
void	 sandbox_params_uint(struct sandbox_params *, const char *, uint64_t);
void	 sandbox_params_double(struct sandbox_params *, const char *, double);
void	 sandbox_params_bool(struct sandbox_params *, const char *, bool);
/* Until the matching close, what is added goes into the inner one. */
void	 sandbox_params_open_map(struct sandbox_params *, const char *);
void	 sandbox_params_open_array(struct sandbox_params *, const char *);
void	 sandbox_params_close(struct sandbox_params *);

/* "512M", "1.5G"; "30s", "5m", "250ms" in milliseconds; "1.5" as 1500. */
int	 sandbox_parse_size(const char *, uint64_t *, struct sandbox_error *);
int	 sandbox_parse_duration(const char *, uint64_t *,
	    struct sandbox_error *);
int	 sandbox_parse_milli(const char *, uint64_t *, struct sandbox_error *);

/*** Replies ***/

struct sandbox_reply;

/* The result; valid as long as the reply. */
struct sandbox_value sandbox_reply_value(const struct sandbox_reply *);
/* Takes descriptor n of the reply, or -1; those not taken are closed. */
int	 sandbox_reply_fd(struct sandbox_reply *, int);
void	 sandbox_reply_free(struct sandbox_reply *);

/*
 * Called once for each request that was sent: error NULL and the reply, or
 * the error and reply NULL.  The reply is freed when the callback returns.
 * A callback may send further requests, and when it was dispatched may free
 * its handle; it may not call a blocking function on the same handle.
 */
typedef void sandbox_reply_fn(struct sandbox_reply *,
	    const struct sandbox_error *, void *);
/* Called for each event after sandbox_client_subscribe(). */
typedef void sandbox_event_fn(struct sandbox_value, void *);

/*** The control connection ***/

struct sandbox_client;
struct sandbox_conn;

/*
 * Connect to the daemon at the path, or when it is NULL to $SANDBOXD_SOCKET,
 * $XDG_RUNTIME_DIR/sandboxd.sock or /run/sandboxd.sock, the first that there
 * is.  A daemon that is just starting (connection refused) is waited for two
 * seconds.  SANDBOX_UNAVAILABLE with sys_errno ENOENT: there is no socket;
 * with sys_errno EACCES the error names the group to join.
 */
int	 sandbox_client_open(const char *, struct sandbox_client **,
	    struct sandbox_error *);
/* Whether sandbox_client_open(NULL) would look at default places only. */
bool	 sandbox_client_is_default(void);
/*
 * Start a daemon of our own, which ends with this connection and all its
 * sandboxes with it.  sandbox_client_free() waits for its end; a program that
 * will not wait just exits.
 */
int	 sandbox_client_private(struct sandbox_client **,
	    struct sandbox_error *);
/* The last line of a private daemon's log; empty if there is none. */
void	 sandbox_client_words(const struct sandbox_client *, char *, size_t);
/* Takes a connected socket, also when it fails. */
int	 sandbox_client_from_fd(int, struct sandbox_client **,
	    struct sandbox_error *);
/* NULL is ignored.  Requests without an answer get SANDBOX_UNAVAILABLE. */
void	 sandbox_client_free(struct sandbox_client *);

/*
 * For event loops: wait until the descriptor is ready for the events (those
 * of poll(2)), then dispatch, which calls the callbacks of what arrived and
 * never blocks.  -1 when the connection is gone, after all callbacks.
 */
int	 sandbox_client_fd(const struct sandbox_client *);
short	 sandbox_client_events(const struct sandbox_client *);
int	 sandbox_client_dispatch(struct sandbox_client *,
	    struct sandbox_error *);

/*
 * Any method of the front.  params may be NULL.  fds are duplicated.  With
 * a callback: returns when it is queued.  On -1 the callback is not called.
 */
int	 sandbox_client_request(struct sandbox_client *, const char *,
	    const struct sandbox_params *, const int *, int,
	    sandbox_reply_fn *, void *, struct sandbox_error *);
/* Blocking: waits for the answer, which the caller frees. */
int	 sandbox_client_call(struct sandbox_client *, const char *,
	    const struct sandbox_params *, const int *, int,
	    struct sandbox_reply **, struct sandbox_error *);

/* Who is there.  Answers the map of hello in the reply. */
int	 sandbox_client_hello(struct sandbox_client *, struct sandbox_reply **,
	    struct sandbox_error *);
/*
 * Create a sandbox.  With conn the sandbox connection comes back in the same
 * round trip.  id receives "sb_..." (SANDBOX_ID_SIZE bytes); reply, which
 * may be NULL, what sandbox.info answers.
 */
#define SANDBOX_ID_SIZE		20
int	 sandbox_client_create(struct sandbox_client *,
	    struct sandbox_params *, char *, struct sandbox_conn **,
	    struct sandbox_reply **, struct sandbox_error *);
/*
 * Offer directories for the mounts of the next create: gives the number for
 * its "offer" key; the directories are sent in order.
 */
int	 sandbox_client_offer(struct sandbox_client *, const int *, int,
	    uint64_t *, struct sandbox_error *);
/*
 * A sandbox connection to a sandbox, by id, name or unique prefix.  It ends
 * with the control connection.
 */
int	 sandbox_client_connect(struct sandbox_client *, const char *, char *,
	    struct sandbox_conn **, struct sandbox_error *);
/*
 * The same for transports that carry no descriptors: the client itself
 * becomes the sandbox connection.  Consumes the client, also on failure.
 */
int	 sandbox_client_tunnel(struct sandbox_client *, const char *,
	    struct sandbox_conn **, struct sandbox_error *);
/* Destroying what is gone already is success. */
int	 sandbox_client_destroy(struct sandbox_client *, const char *,
	    struct sandbox_error *);
int	 sandbox_client_info(struct sandbox_client *, const char *,
	    struct sandbox_reply **, struct sandbox_error *);
/* Until the sandbox is gone; the reply has its id and the cause. */
int	 sandbox_client_wait(struct sandbox_client *, const char *,
	    struct sandbox_reply **, struct sandbox_error *);
/*
 * Events from the one after since on (0: only new ones) go to the callback
 * while the client is dispatched or a blocking call waits.
 */
int	 sandbox_client_subscribe(struct sandbox_client *, uint64_t,
	    sandbox_event_fn *, void *, struct sandbox_error *);

/*** The sandbox connection ***/

int	 sandbox_conn_from_fd(int, struct sandbox_conn **,
	    struct sandbox_error *);
void	 sandbox_conn_free(struct sandbox_conn *);
int	 sandbox_conn_fd(const struct sandbox_conn *);
short	 sandbox_conn_events(const struct sandbox_conn *);
int	 sandbox_conn_dispatch(struct sandbox_conn *, struct sandbox_error *);
/* Any method of the worker; as for the control connection. */
int	 sandbox_conn_request(struct sandbox_conn *, const char *,
	    const struct sandbox_params *, const int *, int,
	    sandbox_reply_fn *, void *, struct sandbox_error *);
/*
 * While held, requests wait; let go, they are sent in one piece: no byte of
 * output comes between a start and the attach behind it.
 */
int	 sandbox_conn_hold(struct sandbox_conn *, int,
    struct sandbox_error *);
int	 sandbox_conn_call(struct sandbox_conn *, const char *,
	    const struct sandbox_params *, const int *, int,
	    struct sandbox_reply **, struct sandbox_error *);

/*** Commands ***/

/* In place of a descriptor. */
#define SANDBOX_FD_NULL		(-1)	/* reads nothing, writes to nowhere */
#define SANDBOX_FD_RELAY	(-2)	/* kept by the daemon: attach, read */

struct sandbox_exec {
	const char *const	*argv;	/* ends with NULL; or shell */
	const char		*shell;	/* for /bin/sh -c */
	const char *const	*env;	/* "NAME=value" ..., NULL; or NULL */
	const char		*cwd;	/* NULL: /workspace */
	/*
	 * stdin, stdout, stderr: FIFOs, regular files or /dev/null, or one
	 * of the values above.  With has_pty the terminal's input and output
	 * are the first two.
	 */
	int			 fds[3];
	bool			 has_pty;
	unsigned int		 rows;
	unsigned int		 cols;
	const char		*tag;	/* a name of the caller's, or NULL */
	uint64_t		 timeout_ms;	/* 0: the sandbox's */
	uint64_t		 cpu_time_ms;
	uint64_t		 output;	/* bytes; relayed streams */
	const char		*output_full;	/* discard, kill, block; NULL */
	bool			 kill_on_disconnect;
};

/* All that is known when it ended. */
struct sandbox_result {
	uint64_t	 exec;
	int		 code;		/* exit code, or -1 */
	int		 signal;	/* that ended it, or 0 */
	char		 cause[16];	/* exit signal timeout cpu output ... */
	double		 wall;		/* seconds */
	double		 user;
	double		 system;
	uint64_t	 peak;		/* bytes */
	bool		 stdout_truncated;
	bool		 stderr_truncated;
	bool		 has_core;
};

/* No streams, nothing else set. */
void	 sandbox_exec_init(struct sandbox_exec *);
/*
 * Start a command; returns when execve(2) has succeeded.  When it failed,
 * error.key is the stage, sys_errno its error, path what it was about.
 */
int	 sandbox_exec_start(struct sandbox_conn *, const struct sandbox_exec *,
	    uint64_t *, struct sandbox_error *);
int	 sandbox_exec_start_async(struct sandbox_conn *,
	    const struct sandbox_exec *, sandbox_reply_fn *, void *,
	    struct sandbox_error *);
/* Blocking until it ended. */
int	 sandbox_exec_wait(struct sandbox_conn *, uint64_t,
	    struct sandbox_result *, struct sandbox_error *);
int	 sandbox_exec_wait_async(struct sandbox_conn *, uint64_t,
	    sandbox_reply_fn *, void *, struct sandbox_error *);
/* start and wait. */
int	 sandbox_exec_run(struct sandbox_conn *, const struct sandbox_exec *,
	    struct sandbox_result *, struct sandbox_error *);
/*
 * A signal to the main process's group, or SIGKILL to all that the command
 * started.  What has ended already is success.
 */
int	 sandbox_exec_kill(struct sandbox_conn *, uint64_t, int, bool,
	    struct sandbox_error *);
int	 sandbox_exec_resize(struct sandbox_conn *, uint64_t, unsigned int,
	    unsigned int, struct sandbox_error *);
/*
 * Descriptors for relayed streams, from a byte offset of the output on.
 * fds: three, in: -1 for streams that are not wanted, anything else for those
 * that are; out: the descriptors, the caller's.
 */
int	 sandbox_exec_attach(struct sandbox_conn *, uint64_t, uint64_t,
	    int [3], struct sandbox_error *);
/*
 * Relayed output from *offset on into a buffer; waits up to wait_ms for some.
 * *len in: size, out: bytes got.  *offset moves on, over what was lost too.
 */
int	 sandbox_exec_read(struct sandbox_conn *, uint64_t, int, uint64_t *,
	    void *, size_t *, unsigned int, bool *, struct sandbox_error *);
/* Relayed input; waits for room; eof: this is the end. */
int	 sandbox_exec_write(struct sandbox_conn *, uint64_t, const void *,
	    size_t, bool, struct sandbox_error *);
/* From the answer to exec.wait, or the result of exec.info. */
int	 sandbox_result_unpack(struct sandbox_value, struct sandbox_result *,
	    struct sandbox_error *);

#ifdef __cplusplus
}
#endif

#endif
