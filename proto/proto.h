/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * proto/: the wire, and errors, log and helpers that every process shares.
 * Linked into all programs, so nothing here has rights of its own, and
 * nothing here trusts the bytes it is given.  Who owns a descriptor or a
 * piece of memory is said at each prototype; a view is always borrowed.
 */

#ifndef PROTO_PROTO_H
#define PROTO_PROTO_H

#include <sys/types.h>
#include <sys/socket.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "limits.h"
#include "messages.h"

/* Borrowed bytes; p is NULL when absent. */
struct view {
	const unsigned char	*p;
	size_t			 n;
};

/* error.c */

enum err_code {
	ERR_NONE,
	ERR_INVALID,		/* malformed, or above a ceiling */
	ERR_DENIED,		/* a rule forbids it */
	ERR_NOT_FOUND,		/* also another owner's id, same text */
	ERR_CONFLICT,		/* wrong state, or exists */
	ERR_LIMIT,		/* an owner's sum or a table is used up */
	ERR_TOO_LARGE,
	ERR_BUSY,
	ERR_UNSUPPORTED,
	ERR_UNAVAILABLE,
	ERR_BACKEND,
	ERR_TIMEOUT,
	ERR_INTERNAL
};

/*
 * Passed last; untouched on success; never allocates.  message names what
 * failed and why, fix what to do; key, path and fix may be empty.
 */
struct error {
	enum err_code	 code;
	int		 sys_errno;
	char		 message[512];
	char		 key[64];
	char		 path[256];
	char		 fix[256];
};

/* All three return -1, so that a caller can `return error_set(...)`. */
int	 error_set(struct error *, enum err_code, const char *, ...)
	    __attribute__((format(printf, 3, 4)));
int	 error_sys(struct error *, enum err_code, int, const char *, ...)
	    __attribute__((format(printf, 4, 5)));	/* appends strerror */
int	 error_key(struct error *, enum err_code, const char *,
	    const char *, ...) __attribute__((format(printf, 4, 5)));
void	 error_path(struct error *, const char *);
void	 error_fix(struct error *, const char *, ...)
	    __attribute__((format(printf, 2, 3)));
/* What to do: fix, or what is true of all errors of the code. */
const char *error_advice(const struct error *);
const char *error_name(enum err_code);			/* "not_found" */
enum err_code error_code(struct view);			/* or ERR_INTERNAL */

/* log.c */

enum log_level { LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* Lines go to fd 2 as "proc: text"; text is escaped to one line. */
void	 log_init(const char *, enum log_level);
enum log_level log_level(void);
void	 log_warn(const char *, ...) __attribute__((format(printf, 1, 2)));
void	 log_info(const char *, ...) __attribute__((format(printf, 1, 2)));
void	 log_debug(const char *, ...) __attribute__((format(printf, 1, 2)));
/* "what: message; fix" */
void	 log_error(const char *, const struct error *);
void	 fatal(const char *, ...)
	    __attribute__((format(printf, 1, 2), noreturn));	/* exit 1 */

/* util.c */

void	*xcalloc(size_t, size_t);		/* fatal when out of memory */
void	*xrealloc(void *, size_t);
char	*xstrdup(const char *);
void	 fd_close(int *);			/* and set to -1; keeps errno */
int	 fd_nonblock(int);
int	 fd_pair(int, int [2]);			/* CLOEXEC, nonblocking */
int	 fd_write_all(int, const void *, size_t);	/* blocking fds only */
int64_t	 now_ms(void);				/* CLOCK_BOOTTIME */
int64_t	 wall_ms(void);				/* CLOCK_REALTIME */
void	 random_bytes(void *, size_t);
void	 id_make(char [ID_LEN + 1], const char *);	/* prefix "sb_" */
bool	 id_is_valid(const char *);
bool	 name_is_valid(const char *);	/* [A-Za-z0-9._-]{1,64}, no . - first */
/* Copy with NUL; -1 if it does not fit or holds a NUL. */
int	 text_copy(char *, size_t, struct view);
struct view view_of(const char *);
bool	 view_is(struct view, const char *);
/* Escape controls, quotes and non-ASCII for one line of a log or listing. */
char	*text_escape(char *, size_t, struct view);
/* "512M", "2G", "1.5G": bytes; "30s", "5m", "1h", "250ms": ms; "1.5": milli. */
int	 parse_size(const char *, uint64_t *, struct error *);
int	 parse_duration(const char *, uint64_t *, struct error *);
int	 parse_milli(const char *, uint64_t *, struct error *);
int	 parse_uint(const char *, uint64_t, uint64_t, uint64_t *,
	    struct error *);

/* program.c: where the sibling programs are */

/*
 * Path of a sibling program ("sandboxd-broker"): beside the running program
 * if the directory and file belong to root or to the caller and nobody else
 * may write to them (a build tree), else SANDBOXD_LIBEXECDIR or, for
 * sandboxd itself, SANDBOXD_SBINDIR.
 */
int	 program_path(char *, size_t, const char *, struct error *);

/* scan.c: is this one well-formed value within the bounds? */

enum scan_result { SCAN_BAD = -1, SCAN_MORE = 0, SCAN_DONE = 1 };

/* Zero to begin; feed the same growing buffer until not SCAN_MORE. */
struct scan {
	size_t		 pos;		/* bytes of the value walked so far */
	unsigned int	 depth;
	unsigned int	 elements;
	uint32_t	 left[SCAN_DEPTH_MAX];
};

enum scan_result scan_run(struct scan *, struct view);
bool	 scan_is_one(struct view);	/* one value, no trailing bytes */

/* pack.c: append msgpack to a growing buffer */

struct buf {
	unsigned char	*p;
	size_t		 n;
	size_t		 cap;
	bool		 has_failed;	/* out of memory; all puts ignored */
};

void	 buf_free(struct buf *);		/* frees p and zeroes */
void	 buf_add(struct buf *, const void *, size_t);
void	 put_nil(struct buf *);
void	 put_bool(struct buf *, bool);
void	 put_uint(struct buf *, uint64_t);
void	 put_int(struct buf *, int64_t);
void	 put_double(struct buf *, double);
void	 put_str(struct buf *, const char *);
void	 put_pair(struct buf *, const char *, const char *);	/* of a map */
void	 put_str_view(struct buf *, struct view);
void	 put_bin(struct buf *, struct view);
void	 put_array(struct buf *, uint32_t);
void	 put_map(struct buf *, uint32_t);
void	 put_raw(struct buf *, struct view);	/* already packed */

/* unpack.c: typed reads of scanned bytes; never call it on others */

struct cursor {
	const unsigned char	*p;
	const unsigned char	*end;
};

enum value_kind { V_NIL, V_BOOL, V_INT, V_DOUBLE, V_STR, V_BIN, V_ARRAY,
	V_MAP, V_NONE };

void	 cursor_init(struct cursor *, struct view);
enum value_kind cursor_kind(const struct cursor *);	/* V_NONE at the end */
/* Each returns 0 and moves on, or -1 and stays. */
int	 get_nil(struct cursor *);
int	 get_bool(struct cursor *, bool *);
int	 get_uint(struct cursor *, uint64_t *, uint64_t);	/* max */
int	 get_int(struct cursor *, int64_t *);
int	 get_double(struct cursor *, double *);		/* ints too */
int	 get_str(struct cursor *, struct view *, size_t);	/* no NUL */
int	 get_bin(struct cursor *, struct view *, size_t);	/* str too */
int	 get_array(struct cursor *, uint32_t *);
int	 get_map(struct cursor *, uint32_t *);
int	 get_raw(struct cursor *, struct view *);		/* any value */
int	 get_end(const struct cursor *);

/* field.c: structs from maps and arrays by table */

enum field_kind {
	F_UINT,		/* uint64_t, 0..max */
	F_INT,		/* int64_t */
	F_BOOL,		/* bool */
	F_MILLI,	/* uint64_t; a number times 1000: seconds to ms, cpus */
	F_STR,		/* struct view, text of at most max bytes */
	F_BIN,		/* struct view, bin or str of at most max bytes */
	F_MAP,		/* struct view, a packed map of at most max bytes */
	F_ARRAY,	/* struct view, a packed array of at most max bytes */
	F_RAW		/* struct view, any one value of at most max bytes */
};

struct field {
	const char	*name;
	enum field_kind	 kind;
	size_t		 offset;
	uint64_t	 max;
	uint64_t	 min;		/* F_UINT, F_MILLI */
	bool		 is_required;	/* in maps */
};

/* A packed array with exactly these fields; message frames. */
int	 field_unpack_array(const struct field *, size_t, struct view, void *,
	    struct error *);
void	 field_pack_array(const struct field *, size_t, const void *,
	    struct buf *);
/* Packs one. */
void	 field_pack(const struct field *, const void *, struct buf *);
/* Would the other side take it?  The error names the field that is not. */
int	 field_check(const struct field *, size_t, const void *,
	    struct error *);
/*
 * A packed map.  Unknown, duplicate and ill-typed keys are ERR_INVALID with
 * the key; absent or nil keys leave the struct's member as it is.
 */
int	 field_unpack_map(const struct field *, size_t, struct view, void *,
	    struct error *);
/* Value of a key of a packed map; p NULL when absent. */
struct view map_find(struct view, const char *);
int	 map_uint(struct view, const char *, uint64_t *);	/* -1 absent */
int	 map_text(struct view, const char *, char *, size_t);

/* message.c: the messages of messages.h */

enum wire_dir { DIR_FB, DIR_BF, DIR_BW, DIR_WB, DIR_WF, DIR_WA, DIR_AW,
	DIR_XA };

#define MSG_ENUM(NAME, name, dir, num, fds)	MSG_##NAME = num,
enum msg_type { MSG_LIST(MSG_ENUM) MSG_TYPE_MAX = 255 };
#undef MSG_ENUM

#define MSG_U(name, max)	uint64_t name;
#define MSG_I(name)		int64_t name;
#define MSG_B(name)		bool name;
#define MSG_V(name, max)	struct view name;
#define MSG_STRUCT(NAME, name, dir, num, fds)				\
	struct msg_##name { MSG_##NAME##_FIELDS(MSG_U, MSG_I, MSG_B,	\
	    MSG_V, MSG_V, MSG_V) };
MSG_LIST(MSG_STRUCT)
#undef MSG_STRUCT
#undef MSG_U
#undef MSG_I
#undef MSG_B
#undef MSG_V

/* AGENT_EXEC flags */
#define EXEC_PTY	1u
#define EXEC_GROUP	2u

#define AGENT_CHANNEL_FD	3	/* agent's; -s: a stream */
#define PEER_CHANNEL_FD		3	/* broker's and worker's */
#define WIRE_VERSION		1

struct frame {
	uint16_t	 type;
	uint32_t	 id;
	struct view	 body;
	int		 nfds;
	int		 fds[FRAME_FDS_MAX];
	int		*owned;		/* the chan's own list of the same */
};

/* What messages.h says of a message. */
struct msg_info {
	const char	*name;
	enum wire_dir	 dir;
	unsigned int	 fds_max;
	size_t		 nfields;
	size_t		 body_max;	/* bytes */
	const struct field *(*fields)(void);
};

const struct msg_info *msg_info(unsigned int);	/* by type, or NULL */
const char *msg_name(unsigned int);		/* "BROKER_CREATE" or "?" */
/* Unpack into the struct of the frame's type; views borrow the frame. */
int	 msg_unpack(const struct frame *, void *, struct error *);
void	 msg_pack(enum msg_type, const void *, struct buf *);
/* Struct error to and from BROKER_FAILED. */
void	 msg_from_error(const struct error *, struct msg_broker_failed *);
void	 msg_to_error(const struct msg_broker_failed *, struct error *);

/* rights.c: descriptors of one message */

/* Room for those of any message that we send or take. */
union rights {
	struct cmsghdr	 align;
	char		 bytes[CMSG_SPACE(sizeof(int) * RPC_FDS_MAX)];
};

/* The control part of a message to send; the fds stay the caller's. */
void	 rights_put(struct msghdr *, union rights *, const int *, int);
/*
 * Those that came with a received message, max at most; the caller's.  More
 * are closed, and MSG_CTRUNC says so, as when the kernel cut them.
 */
int	 rights_get(struct msghdr *, int *, int);

/* chan.c: frames over a socketpair (SOCK_SEQPACKET) or a byte stream */

struct chan;

#define CHAN_STREAM	1u	/* a byte stream: no descriptors pass */

/*
 * Takes fd, which becomes nonblocking.  accepts: directions that may come in,
 * as a mask of 1u << DIR_*; others are a bad frame.  NULL when out of memory;
 * fd is the caller's then.
 */
struct chan *chan_new(int, unsigned int, unsigned int);
void	 chan_free(struct chan *);	/* closes fd and all held fds */
int	 chan_fd(const struct chan *);
/*
 * 1: a frame (valid until the next call; fds not taken are closed by it),
 * 0: nothing now, -1: closed (ERR_UNAVAILABLE) or bad frame (ERR_INVALID).
 * Reads with MSG_DONTWAIT.  A frame whose descriptors could not be received
 * because this process has none free comes with nfds 0.
 */
int	 chan_recv(struct chan *, struct frame *, struct error *);
int	 frame_take_fd(struct frame *, int);	/* caller owns it; or -1 */
/*
 * Queue a message and send what goes now.  Always consumes the fds (closed
 * once sent, or on failure).  msg is the struct of the type.
 * ERR_BUSY when CHAN_QUEUE_MAX is reached, ERR_UNAVAILABLE when closed.
 */
int	 chan_send(struct chan *, enum msg_type, uint32_t, const void *,
	    const int *, int, struct error *);
/* As chan_send, but the fds stay the caller's: only sent, never closed. */
int	 chan_send_lent(struct chan *, enum msg_type, uint32_t, const void *,
	    const int *, int, struct error *);
int	 chan_flush(struct chan *, struct error *);	/* -1 when closed */
size_t	 chan_pending(const struct chan *);		/* unsent bytes */

/* fds.c: descriptors where there is no channel; not in the agent */

#define FDS_KEEP_MAX	32

int	 fds_send(int, const void *, size_t, const int *, int);
/* Never blocks.  Bytes, and how many fds (the caller's); or -1 and none. */
ssize_t	 fds_recv(int, void *, size_t, int *, int, int *);
/* In a child: close all from 3 on but these (-1 are skipped). */
void	 fds_close_others(const int *, size_t);
/* What is sent to it, or to one it accepts, has none, if the kernel can. */
void	 fds_refuse(int);
bool	 fd_is_unix(int, bool);		/* a stream socket; it listens */
/* A stream socket at the path, with that mode; gid 0: leave it.  Or -1. */
int	 fd_listen(const char *, mode_t, gid_t, struct error *);

/* rpc.c: MessagePack-RPC on a client's stream socket, both sides */

struct rpc;

enum rpc_kind { RPC_REQUEST, RPC_RESPONSE, RPC_NOTIFY };

struct rpc_msg {
	enum rpc_kind	 kind;
	uint32_t	 id;
	struct view	 method;
	struct view	 params;	/* the packed map; fds key included */
	struct view	 error;		/* packed map or nil */
	struct view	 result;
	int		 nfds;
	int		 fds[RPC_FDS_MAX];
	int		*owned;		/* the rpc's own list of the same */
};

struct rpc *rpc_new(int);	/* takes fd; NULL as for chan_new */
/*
 * No descriptors may come in on it, for a process that must not hold what a
 * client passes: the kernel drops them, a request that declares some is
 * answered with an error.
 */
void	 rpc_refuse_fds(struct rpc *);
void	 rpc_free(struct rpc *);
int	 rpc_fd(const struct rpc *);
/*
 * As chan_recv; a bad message is ERR_INVALID and ends the connection.  A
 * request whose params are not one map, or that did not come with the fds it
 * declares, is answered with an error here and not returned.  A response
 * that lost its descriptors has nfds 0.
 */
int	 rpc_recv(struct rpc *, struct rpc_msg *, struct error *);
int	 rpc_take_fd(struct rpc_msg *, int);
/* All consume their fds; params/result is one packed map or value. */
int	 rpc_request(struct rpc *, uint32_t, const char *, const struct buf *,
	    const int *, int, struct error *);
int	 rpc_reply(struct rpc *, uint32_t, const struct buf *, const int *, int,
	    struct error *);
int	 rpc_reply_error(struct rpc *, uint32_t, const struct error *,
	    struct error *);
int	 rpc_notify(struct rpc *, const char *, const struct buf *,
	    struct error *);
int	 rpc_flush(struct rpc *, struct error *);
/* Held, messages are queued only; let go, they are sent as one piece. */
int	 rpc_hold(struct rpc *, bool, struct error *);
size_t	 rpc_pending(const struct rpc *);
void	 rpc_error_unpack(struct view, struct error *);	/* error map */
/*
 * Bytes received and not yet parsed, and the fd, for a tunnel; frees rpc.
 * -1 and nothing done while rpc_pending is not 0.
 */
int	 rpc_detach(struct rpc *, struct buf *);

/* spec.c: the parameters of sandbox.create, a profile and the defaults */

struct spec {
	/* front only, not passed on */
	struct view	 name;
	struct view	 labels;	/* map of text to text */
	struct view	 token;
	/* judged by the broker; absent: p NULL, or SPEC_ABSENT */
	struct view	 profile;
	struct view	 backend;
	struct view	 floor;		/* none namespace kernel */
	struct view	 image;		/* "host" */
	struct view	 network;	/* none */
	struct view	 env;		/* map of text to bytes */
	struct view	 mounts;	/* array of {dst, writable, fd} */
	uint64_t	 offer;		/* of sandbox.offer, with mounts */
	uint64_t	 memory;	/* bytes */
	uint64_t	 cpus;		/* 1/1000 */
	uint64_t	 pids;
	uint64_t	 tmp;		/* bytes */
	uint64_t	 files;		/* RLIMIT_NOFILE */
	uint64_t	 ttl;		/* ms */
	uint64_t	 timeout;	/* ms, default of execs */
	uint64_t	 cpu_time;	/* ms */
	uint64_t	 output;	/* bytes */
	bool		 connect;
	bool		 best_effort;
	bool		 die_with_client;
};

#define SPEC_ABSENT	UINT64_MAX

void	 spec_init(struct spec *);
int	 spec_unpack(struct view, struct spec *, struct error *);
/* Pack as a map, front-only keys and absent values left out. */
void	 spec_pack(const struct spec *, struct buf *);

/* The numeric limits of a spec by name, for config, policy and info. */
struct spec_limit {
	const char	*name;		/* "memory" */
	enum field_kind	 kind;		/* F_UINT or F_MILLI */
	size_t		 offset;	/* in struct spec */
	bool		 is_size;	/* bytes: parse_size */
};
extern const struct spec_limit spec_limits[];	/* ends with name NULL */
/* Of a spec, by index of spec_limits. */
uint64_t *spec_value(const struct spec *, size_t);
/* Those that are not absent, as a map; seconds and cpus as doubles. */
void	 spec_limits_pack(const struct spec *, struct buf *);
/* The environment as an array of "NAME=value" bins. */
int	 spec_env_pack(const struct spec *, struct buf *, struct error *);

struct spec_mount {
	struct view	 dst;		/* absolute, no empty, . or .. parts */
	uint64_t	 fd;		/* index among those offered */
	bool		 writable;
};

/* At most MOUNTS_MAX; how many, or -1. */
int	 spec_mounts(const struct spec *, struct spec_mount *, struct error *);

/* cgroup_find.c */

#define CG_GROUPS	1u		/* freezer on v1; on v2 always there */
#define CG_PIDS		2u
#define CG_MEMORY	4u
#define CG_CPU		8u
#define CG_TREES	5

struct cgroup_place {
	int		 version;
	unsigned int	 bits;
	char		 path[PATH_LEN_MAX + 1];	/* our own group's */
};

/* From the texts of /proc/self/cgroup and mountinfo; how many. */
int	 cgroup_find(const char *, const char *, struct cgroup_place *);
/* Is the word in a list with commas or spaces that ends there? */
bool	 cgroup_list_has(const char *, const char *, const char *);

/* policy.c: the message that arms the broker */

struct policy_listen {
	struct view	 path;
	uint64_t	 mode;
	uint64_t	 gid;		/* 0: leave it */
};

struct policy_profile {
	struct view	 name;
	struct view	 spec;		/* packed */
	struct spec	 values;
};

struct policy_rule {
	bool		 permit;
	struct view	 subject;	/* all user group */
	uint64_t	 id;
	struct view	 profile;	/* empty: any */
	struct view	 backend;
};

/* The first part is the map, by its keys; the second what it unpacks to. */
struct policy {
	uint64_t	 uid, gid;	/* the front's */
	uint64_t	 base, count;	/* ids of slots */
	bool		 private;
	struct view	 override;
	struct view	 listen, order, defaults, profiles, rules;

	struct buf	 bytes;		/* all views point in here */
	struct spec	 default_spec;
	struct policy_listen *listen_rows;
	struct policy_profile *profile_rows;
	struct policy_rule *rule_rows;
	struct view	*order_rows;	/* names; override's alone if given */
	uint32_t	 nlisten, nprofile, nrule, norder;
};

/* Copies the bytes; to be freed after failure too. */
int	 policy_unpack(struct view, struct policy *, struct error *);
void	 policy_free(struct policy *);

#endif
