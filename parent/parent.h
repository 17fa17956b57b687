/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * parent/: the front, program sandboxd.  It parses what clients send and
 * keeps what grants nothing: names, labels, events, who waits for what.
 * After confine.c is through it runs as _sandboxd in an empty root with a
 * short list of system calls.  It does not trust clients or workers; what
 * the broker says it believes, since the broker could do all this alone.
 */

#ifndef PARENT_PARENT_H
#define PARENT_PARENT_H

#include <sys/queue.h>
#include <sys/types.h>

#include "proto/event.h"

struct event_base;

#define LISTENS_MAX		8
#define ORDER_MAX		8
#define PROFILES_MAX		128
#define RULES_MAX		512
#define SOCKET_PATH_MAX		107	/* sun_path */
#define SLOT_IDS		65536u
#define REQUESTS_MAX		16384	/* unanswered, of all clients */
#define GONE_KEPT		256	/* ended sandboxes remembered */
#define EVENT_INFO_MAX		2048	/* bytes that a worker adds to one */

/* conf.c: what sandboxd.conf says, and the built-in defaults */

struct conf_listen {
	char		 path[SOCKET_PATH_MAX + 1];
	unsigned int	 mode;
	bool		 has_group;
	gid_t		 gid;
	char		*group;		/* as written */
};

struct conf_profile {
	char		 name[NAME_LEN_MAX + 1];
	struct spec	 spec;
};

enum rule_subject { SUBJECT_ALL, SUBJECT_USER, SUBJECT_GROUP };

struct conf_rule {
	bool		 is_permit;
	enum rule_subject subject;
	uint32_t	 id;
	char		*who;		/* as written */
	char		*profile;	/* NULL: any */
	const char	*backend;	/* NULL: any */
};

struct conf {
	char		*user;		/* NULL: _sandboxd if it exists */
	uid_t		 uid;		/* the front's, after conf_finish */
	gid_t		 gid;
	uint32_t	 base;
	uint32_t	 count;
	struct conf_listen listens[LISTENS_MAX];
	size_t		 nlistens;
	const char	*order[ORDER_MAX];
	size_t		 norder;
	const char	*override;	/* SANDBOX_BACKEND */
	struct spec	 defaults;
	struct conf_profile profiles[PROFILES_MAX];
	size_t		 nprofiles;
	struct conf_rule rules[RULES_MAX];
	size_t		 nrules;
	bool		 is_private;
};

/* Lives as long as the process; the texts in it are never freed. */
struct conf *conf_new(void);
int	 conf_override(struct conf *, const char *, struct error *);
int	 conf_listen_add(struct conf *, const char *, struct error *);
int	 conf_listen_mode(struct conf *, const char *, struct error *);
int	 conf_listen_group(struct conf *, const char *, struct error *);
int	 conf_user(struct conf *, const char *, struct error *);
int	 conf_uids(struct conf *, const char *, const char *, struct error *);
int	 conf_order_add(struct conf *, const char *, struct error *);
int	 conf_profile_add(struct conf *, const char *, struct error *);
int	 conf_spec_set(struct spec *, const char *, const char *,
	    struct error *);
int	 conf_rule_who(struct conf_rule *, enum rule_subject, const char *,
	    struct error *);
int	 conf_rule_profile(const struct conf *, struct conf_rule *,
	    const char *, struct error *);
int	 conf_rule_backend(struct conf_rule *, const char *, struct error *);
int	 conf_rule_add(struct conf *, const struct conf_rule *,
	    struct error *);
/* With root or without, and the run directory. */
int	 conf_listen_default(struct conf *, bool, const char *,
	    struct error *);
/*
 * Fills in what was not said (with root or without) and checks the whole:
 * the range of ids meets nobody's.
 */
int	 conf_finish(struct conf *, bool, struct error *);
/* With root: the ids of the front, if there is no user for it. */
void	 conf_front_ids(struct conf *);

/* conf_print.c: the configuration back as text, for -nv */
void	 conf_print(const struct conf *);

/* lex.c */
int	 lex_open(const char *, struct error *);	/* pushes a file */
void	 lex_macro(const char *, const char *);
unsigned int lex_end(void);	/* of all files; the number of errors */
int	 yylex(void);
/* Prints "FILE:LINE: text" for the token last read; counts it. */
void	 yyerror(const char *, ...) __attribute__((format(printf, 1, 2)));

/* parse.y */
int	 parse_file(const char *, struct conf *, struct error *);

/* policy.c: the message that arms the broker */
void	 policy_pack(const struct conf *, struct buf *);

/* rundir.c */

#define RUNDIR_MAX	80	/* socket paths below it have to fit */

struct rundir {
	char		 path[RUNDIR_MAX + 1];
	char		 instance[NAME_LEN_MAX + 1];	/* for hello */
	int		 front_fd;	/* becomes our root */
};

/*
 * choose only fills in path and instance.  open makes or checks the run
 * directory: given (or NULL), or a new one for a private instance; it belongs
 * to us and nobody else may write to it.
 */
int	 rundir_choose(struct rundir *, const char *, struct error *);
int	 rundir_open(struct rundir *, const char *, bool, struct error *);

/* start.c: descriptors at start, and the broker's */

struct start {
	int		 fds[LISTENS_MAX];	/* sockets for the broker */
	int		 nfds;
	bool		 is_inetd;		/* fds[0] is the one client */
	bool		 is_verbose;
};

void	 start_stdio(void);		/* 0, 1 and 2 are open */
/* Takes LISTEN_FDS out of the environment. */
int	 start_listen_fds(struct start *, struct error *);
int	 start_inetd(struct start *, struct error *);
/* Closes every descriptor that nobody named. */
void	 start_close_rest(const struct start *);
/* fork and exec; *fd is our end of the channel.  Closes the sockets. */
pid_t	 start_broker(struct start *, const char *, int *, struct error *);

/* daemon.c */

/*
 * Goes into the background; what is logged until daemon_ready() still goes
 * to the caller's stderr, and its exit status says how the start went.
 */
void	 daemon_begin(void);
void	 daemon_ready(void);

/* confine.c: each is fatal when it fails, except where it says */

/* Not dumpable; the most descriptors wanted, and allowed. */
unsigned int confine_begin(unsigned int);
void	 confine_root(int);		/* chroot to it; closes it */
void	 confine_ids(uid_t, gid_t);	/* and no way back */
void	 confine_caps(void);
void	 confine_landlock(void);	/* where the kernel has it */
void	 confine_seccomp(void);
/* Reads back what is in force; with root or without. */
void	 confine_verify(uid_t, gid_t, bool);

/* sandboxd.c */
void	 front_ready(const char *);	/* the broker listens; its backend */
void	 front_stop(int);		/* leave the loop with this status */
void	 front_lost(const char *);	/* the broker is gone, or mad */
bool	 front_is_inetd(void);
/* Descriptors are left for one more client or sandbox. */
bool	 front_has_room(void);
/* For hello. */
const char *front_instance(void);
const char *front_boot(void);
const char *front_backend(void);

/* client.c: control connections, and the requests not yet answered */

struct client;
struct request;
struct sandbox;

/*
 * The answer to a request to the broker; failed is NULL when it succeeded
 * and msg is the struct of the answer.  Has to see that the request is
 * answered or waits elsewhere.
 */
typedef void broker_answer_fn(struct request *, const void *, struct frame *,
	    const struct error *);

/*
 * One request of a client until it is answered: on the client's list as long
 * as there is a client, and on at most one other, of broker_wrap.c or of the
 * sandbox that it waits for.
 */
struct request {
	LIST_ENTRY(request)	 of_client;
	LIST_ENTRY(request)	 of_wait;
	bool			 is_waiting;	/* on an of_wait list */
	struct client		*client;	/* NULL: it left */
	uint32_t		 rpc_id;
	uint32_t		 broker_id;	/* asked the broker, or 0 */
	enum msg_type		 reply;		/* expected from it */
	broker_answer_fn	*answer;
	char			 id[ID_LEN + 1]; /* the sandbox meant, or "" */
	bool			 has_connect;	/* create with connect */
	bool			 has_tunnel;	/* connect with tunnel */
	bool			 is_destroy;	/* waits as a destroyer */
};
LIST_HEAD(request_list, request);

void	 client_init(struct event_base *);
/* Takes fd. */
void	 client_add(const struct msg_broker_client *, int);
unsigned int client_count(void);
uint64_t client_handle(const struct client *);
uid_t	 client_uid(const struct client *);
bool	 client_is_admin(const struct client *);
bool	 client_may_see(const struct client *, uid_t);
/* Requests not yet answered. */
unsigned int client_requests(const struct client *);
/* Nothing is read any more until false. */
void	 client_hold(struct client *, bool);
/* The connection becomes a sandbox connection; takes fd. */
void	 client_tunnel(struct client *, int);
void	 client_subscribe(struct client *, uint64_t);	/* from seq on */
void	 client_events(void);		/* there are new ones */
/* A request is freed by the first two; they take buffer and fd (or -1). */
void	 request_reply(struct request *, struct buf *, int);
void	 request_fail(struct request *, const struct error *);
void	 request_wait(struct request *, struct request_list *);
unsigned int request_count(void);	/* of all, those without client too */

/* method.c: the table of methods */
void	 method_init(struct event_base *);
void	 method_call(struct request *, const struct rpc_msg *);
/* The broker says that a sandbox is no more. */
void	 method_gone(const struct msg_broker_gone *);

/* broker_wrap.c: one function per request to the broker */

/* Takes fd. */
void	 broker_init(struct event_base *, int);
void	 broker_end(void);		/* closes the channel */
/* Answered by front_ready(); consumes the buffer. */
void	 broker_policy(struct buf *);
void	 broker_drop(uint64_t);
/* The sandbox is the request's id; the request is answered by the function. */
int	 broker_create(struct request *, struct view, broker_answer_fn *,
	    struct error *);
int	 broker_connect(struct request *, broker_answer_fn *, struct error *);
int	 broker_destroy(struct request *, broker_answer_fn *, struct error *);
int	 broker_offer(struct request *, broker_answer_fn *, struct error *);
int	 broker_check(struct request *, bool, broker_answer_fn *,
	    struct error *);

/* sandbox.c: the records */

enum sandbox_state { SB_CREATING, SB_RUNNING, SB_DESTROYING, SB_GONE };
enum sandbox_event { SB_EV_CREATED, SB_EV_CONNECT, SB_EV_DESTROY,
	SB_EV_REFUSED, SB_EV_GONE };

struct sandbox {
	char			 id[ID_LEN + 1];
	char			 name[NAME_LEN_MAX + 1];	/* or "" */
	char			 token[NAME_LEN_MAX + 1];	/* or "" */
	uid_t			 owner;
	enum sandbox_state	 state;
	struct buf		 labels;	/* packed map */
	struct buf		 info;		/* pairs of the broker's */
	uint32_t		 ninfo;
	struct watch		*events;	/* from the worker, or NULL */
	struct request_list	 waiting;	/* for its end */
	struct request_list	 retries;	/* create with the same token */
};

/* What is remembered of one that is gone. */
struct gone {
	char		 id[ID_LEN + 1];
	char		 name[NAME_LEN_MAX + 1];
	char		 cause[32];
	uid_t		 owner;
};

/* A new id; the name is free among the owner's, or ERR_CONFLICT. */
struct sandbox *sandbox_new(uid_t, const struct spec *, struct error *);
/* With a cause it is remembered as gone.  Nobody waits for it any more. */
void	 sandbox_free(struct sandbox *, const char *);
unsigned int sandbox_count(void);
/* Moves on, or -1: ERR_CONFLICT says in which state it is. */
int	 sandbox_step(struct sandbox *, enum sandbox_event, struct error *);
struct sandbox *sandbox_find(const char *);	/* by whole id, of anybody */
struct sandbox *sandbox_find_token(uid_t, const char *);
/*
 * By id, name, or unique prefix of either, among what this uid, or an admin,
 * may see; NULL with ERR_NOT_FOUND, or ERR_CONFLICT when more than one fits.
 */
struct sandbox *sandbox_lookup(uid_t, bool, struct view, struct error *);
const struct gone *sandbox_lookup_gone(uid_t, bool, struct view);
/* The next behind this id in order of id, of the uid or of anybody. */
struct sandbox *sandbox_next(const char *, uid_t, bool);
/* Takes over what the broker says; -1: it is no map. */
int	 sandbox_set_info(struct sandbox *, struct view);
/* A map with everything, and count pairs more that are packed already. */
void	 sandbox_pack(const struct sandbox *, const struct buf *, uint32_t,
	    struct buf *);
/* Takes fd: the worker's events. */
void	 sandbox_watch(struct sandbox *, struct event_base *, int);
/* What its worker said before the end, which came another way. */
void	 sandbox_drain(struct sandbox *);

/* event_log.c: the last events, for those who ask later */

struct event_entry {
	uint64_t	 seq;
	uid_t		 owner;
	struct buf	 params;	/* of the notification */
};

void	 event_log_init(const char *);		/* boot */
uint64_t event_log_last(void);			/* seq of the newest, or 0 */
uint64_t event_log_dropped(void);		/* newest that is gone, or 0 */
/* The first with this seq or a later one, or NULL. */
const struct event_entry *event_log_from(uint64_t);
/* kind, owner, sandbox, exec (0 none), info: a packed map, or absent. */
void	 event_log_add(const char *, uid_t, const char *, uint64_t,
	    struct view);

/* pairs.c: maps made of parts */

/*
 * Appends the pairs of a packed map, but for keys in the list, which ends
 * with NULL; -1 if it is no map with text keys.
 */
int	 pairs_add(struct buf *, uint32_t *, struct view,
	    const char *const *);
void	 pairs_put_uint(struct buf *, const char *, uint64_t);
void	 pairs_put_str(struct buf *, const char *, const char *);

/* tunnel.c: bytes both ways, unread */

struct tunnel;

/*
 * Takes both descriptors, and the buffer's bytes, which go to the second
 * first.  done is called at most once, when both directions are through or
 * one is broken, and must not free the tunnel.  NULL when out of memory.
 */
struct tunnel *tunnel_new(struct event_base *, int, int, struct buf *,
	    void (*)(void *), void *);
void	 tunnel_free(struct tunnel *);

#endif
