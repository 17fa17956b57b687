/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The one list of messages between our processes.  The enum of types, the
 * structs, the field tables, names, directions, sizes and descriptor counts
 * all come from it (proto/message.c).
 *
 * A frame is a 16-byte header (proto/chan.c) and one msgpack
 * array with exactly the fields named here, in this order.  Worker and agent
 * messages are append-only within a major version.
 *
 * Field verbs: U(name, max) unsigned up to max; I(name) signed 64 bit;
 * B(name) boolean; S(name, max) text without NUL, at most max bytes;
 * D(name, max) bytes; R(name, max) any one msgpack value, at most max bytes
 * packed.  A text, bytes or value field is a borrowed view in the struct.
 *
 * MSG(NAME, name, direction, id, fds): direction is who sends to whom (F front,
 * B broker, W worker, A agent); id is the fixed number on the wire; fds is
 * the most descriptors that may ride along.  An answer carries the request
 * id of its request; messages that are no answers have request id 0 or
 * start one.
 */

#ifndef PROTO_MESSAGES_H
#define PROTO_MESSAGES_H

#define MSG_LIST(MSG)                                                    \
	/* Front and broker: see contract in broker/broker.h */		\
	MSG(BROKER_POLICY,     broker_policy,     FB,  1, 0)              \
	MSG(BROKER_READY,      broker_ready,      BF,  2, 0)              \
	MSG(BROKER_CLIENT,     broker_client,     BF,  3, 1)              \
	MSG(BROKER_DROP,       broker_drop,       FB,  4, 0)              \
	MSG(BROKER_CREATE,     broker_create,     FB,  5, 0)              \
	MSG(BROKER_CREATED,    broker_created,    BF,  6, 2)              \
	MSG(BROKER_CONNECT,    broker_connect,    FB,  7, 0)              \
	MSG(BROKER_CONNECTED,  broker_connected,  BF,  8, 1)              \
	MSG(BROKER_DESTROY,    broker_destroy,    FB,  9, 0)              \
	MSG(BROKER_DESTROYED,  broker_destroyed,  BF, 10, 0)              \
	MSG(BROKER_OFFER,      broker_offer,      FB, 11, 0)              \
	MSG(BROKER_OFFERED,    broker_offered,    BF, 12, 1)              \
	MSG(BROKER_CHECK,      broker_check,      FB, 13, 0)              \
	MSG(BROKER_CHECKED,    broker_checked,    BF, 14, 0)              \
	MSG(BROKER_GONE,       broker_gone,       BF, 15, 0)              \
	MSG(BROKER_FAILED,     broker_failed,     BF, 16, 0)              \
	/* Broker and worker */						\
	MSG(WORKER_START,      worker_start,      BW, 32, 2)              \
	MSG(WORKER_READY,      worker_ready,      WB, 33, 0)              \
	MSG(WORKER_CONN,       worker_conn,       BW, 34, 1)              \
	MSG(WORKER_HANGUP,     worker_hangup,     BW, 35, 0)              \
	MSG(WORKER_GROUPS,     worker_groups,     WB, 36, 0)              \
	MSG(WORKER_GROUP,      worker_group,      BW, 37, 1)              \
	MSG(WORKER_KILL,       worker_kill,       WB, 38, 0)              \
	MSG(WORKER_KILLED,     worker_killed,     BW, 39, 0)              \
	MSG(WORKER_DONE,       worker_done,       WB, 40, 0)              \
	MSG(WORKER_END,        worker_end,        BW, 41, 0)              \
	MSG(WORKER_OVER,       worker_over,       WB, 42, 0)              \
	/* Worker and front */						\
	MSG(WORKER_EVENT,      worker_event,      WF, 48, 0)              \
	/* Worker and agent */						\
	MSG(AGENT_HELLO,       agent_hello,       AW, 64, 0)              \
	MSG(AGENT_EXEC,        agent_exec,        WA, 65, 4)              \
	MSG(AGENT_STARTED,     agent_started,     AW, 66, 0)              \
	MSG(AGENT_FAILED,      agent_failed,      AW, 67, 0)              \
	MSG(AGENT_EXITED,      agent_exited,      AW, 68, 0)              \
	MSG(AGENT_SIGNAL,      agent_signal,      WA, 69, 0)              \
	MSG(AGENT_RESIZE,      agent_resize,      WA, 70, 0)              \
	MSG(AGENT_KILL,        agent_kill,        WA, 71, 0)              \
	MSG(AGENT_KILLED,      agent_killed,      AW, 72, 0)              \
	MSG(AGENT_DATA,        agent_data,        XA, 73, 0)              \
	MSG(AGENT_CREDIT,      agent_credit,      XA, 74, 0)              \
	MSG(AGENT_EOF,         agent_eof,         XA, 75, 0)              \
	MSG(AGENT_CLOSED,      agent_closed,      XA, 76, 0)

/* The whole policy, once, before anything else: see policy_unpack(). */
#define MSG_BROKER_POLICY_FIELDS(U, I, B, S, D, R)			\
	R(policy, 131072)
/* The listeners are open.  backend: the first one that works, or "". */
#define MSG_BROKER_READY_FIELDS(U, I, B, S, D, R)			\
	S(backend, NAME_LEN_MAX)
/*
 * A client connected; fd: its socket.  handle is random and dies with the
 * connection.
 */
#define MSG_BROKER_CLIENT_FIELDS(U, I, B, S, D, R)			\
	U(handle, UINT64_MAX) U(uid, UINT32_MAX) U(gid, UINT32_MAX)	\
	U(pid, INT32_MAX) B(is_admin)
/* The front is done with this client. */
#define MSG_BROKER_DROP_FIELDS(U, I, B, S, D, R)			\
	U(handle, UINT64_MAX)
/* spec: the map of sandbox.create (spec_unpack), front-only keys left out. */
#define MSG_BROKER_CREATE_FIELDS(U, I, B, S, D, R)			\
	U(handle, UINT64_MAX) S(id, ID_LEN) R(spec, 131072)
/*
 * info: map as sandbox.info answers (backend protections limits created
 * expires owner state).  fds: the front's end of the event channel of the
 * worker, then the sandbox connection if the spec said connect.
 */
#define MSG_BROKER_CREATED_FIELDS(U, I, B, S, D, R)			\
	S(id, ID_LEN) R(info, 16384)
#define MSG_BROKER_CONNECT_FIELDS(U, I, B, S, D, R)			\
	U(handle, UINT64_MAX) S(id, ID_LEN)
/* fd: the client's end of a new sandbox connection. */
#define MSG_BROKER_CONNECTED_FIELDS(U, I, B, S, D, R)			\
	S(id, ID_LEN)
#define MSG_BROKER_DESTROY_FIELDS(U, I, B, S, D, R)			\
	U(handle, UINT64_MAX) S(id, ID_LEN)
/* Sent when all is gone; unknown ids are an answer too (idempotent). */
#define MSG_BROKER_DESTROYED_FIELDS(U, I, B, S, D, R)			\
	S(id, ID_LEN)
/* A socket over which this client passes directories for its next create. */
#define MSG_BROKER_OFFER_FIELDS(U, I, B, S, D, R)			\
	U(handle, UINT64_MAX)
#define MSG_BROKER_OFFERED_FIELDS(U, I, B, S, D, R)			\
	U(offer, UINT32_MAX)
/* Probe results; is_fresh: probe again. */
#define MSG_BROKER_CHECK_FIELDS(U, I, B, S, D, R)			\
	U(handle, UINT64_MAX) B(is_fresh)
/* checks: array of maps {name, works, chosen, cause, fix}; host: a map. */
#define MSG_BROKER_CHECKED_FIELDS(U, I, B, S, D, R)			\
	R(checks, 32768) R(host, 32768)
/* A sandbox ended that nobody asked to end, or by its ttl. */
#define MSG_BROKER_GONE_FIELDS(U, I, B, S, D, R)			\
	S(id, ID_LEN) S(cause, 32) S(text, 512)
/* The answer to a request that failed. */
#define MSG_BROKER_FAILED_FIELDS(U, I, B, S, D, R)			\
	U(code, 64) U(sys_errno, 4096) S(message, 511) S(key, 63)	\
	S(path, 255) S(fix, 255)

/*
 * First message to a worker.  fds: the agent's channel, the event channel
 * to the front.  is_stream: the agent's channel is a byte stream.
 * has_groups: exec groups come from the broker.  ends: CLOCK_BOOTTIME
 * milliseconds of the hard end of life, 0 none.  Limits of execs: 0 is none.
 * env: array of "NAME=value" bins, the sandbox's environment.
 */
#define MSG_WORKER_START_FIELDS(U, I, B, S, D, R)			\
	S(id, ID_LEN) B(is_stream) B(has_groups) U(ends, INT64_MAX)	\
	U(timeout, INT64_MAX) U(cpu_time, INT64_MAX) U(output, INT64_MAX) \
	U(files, UINT32_MAX) R(env, ARGS_BYTES_MAX)
/* The agent said hello. */
#define MSG_WORKER_READY_FIELDS(U, I, B, S, D, R)			\
	U(version, 65535)
/* fd: the worker's end of a new sandbox connection. */
#define MSG_WORKER_CONN_FIELDS(U, I, B, S, D, R)			\
	U(handle, UINT64_MAX)
/* The client behind handle left: close what was issued for it. */
#define MSG_WORKER_HANGUP_FIELDS(U, I, B, S, D, R)			\
	U(handle, UINT64_MAX)
/* Make count more exec groups. */
#define MSG_WORKER_GROUPS_FIELDS(U, I, B, S, D, R)			\
	U(count, GROUPS_AHEAD)
/* fd: a descriptor that a process joins the group by writing "0" to. */
#define MSG_WORKER_GROUP_FIELDS(U, I, B, S, D, R)			\
	U(group, UINT32_MAX)
/* Kill everything in the group; answered by WORKER_KILLED. */
#define MSG_WORKER_KILL_FIELDS(U, I, B, S, D, R)			\
	U(group, UINT32_MAX)
/* After the kill; is_empty false: something did not die in a second. */
#define MSG_WORKER_KILLED_FIELDS(U, I, B, S, D, R)			\
	U(group, UINT32_MAX) B(is_empty)
/* No further exec in this group: remove it when it is empty. */
#define MSG_WORKER_DONE_FIELDS(U, I, B, S, D, R)			\
	U(group, UINT32_MAX)
/* The sandbox ends; running execs get this cause. */
#define MSG_WORKER_END_FIELDS(U, I, B, S, D, R)				\
	S(cause, 32)
/* The worker asks that the sandbox end (agent lost, expired, timeout). */
#define MSG_WORKER_OVER_FIELDS(U, I, B, S, D, R)			\
	S(cause, 32) S(text, 512)

/* kind: exec, exit; info: map for the event. */
#define MSG_WORKER_EVENT_FIELDS(U, I, B, S, D, R)			\
	S(kind, 32) U(exec, UINT32_MAX) R(info, 8192)

#define MSG_AGENT_HELLO_FIELDS(U, I, B, S, D, R)			\
	U(version, 65535)
/*
 * Start a command.  argv: array of bins, at least one; with is_shell one
 * string for /bin/sh -c.  env: array of "NAME=value" bins, complete.
 * flags: EXEC_PTY, EXEC_GROUP (the last fd is a group to join).  Descriptor
 * channel: fds stdin, stdout, stderr (with EXEC_PTY stdin, stdout), then the
 * group.  Stream channel: no stdio descriptors, AGENT_DATA instead.
 * cpu_time: seconds of RLIMIT_CPU, 0 none.  files: RLIMIT_NOFILE, 0 none.
 * cwd: empty is /workspace, or where there is none (backend host) /.
 */
#define MSG_AGENT_EXEC_FIELDS(U, I, B, S, D, R)				\
	U(exec, UINT32_MAX) R(argv, ARGS_BYTES_MAX) B(is_shell)		\
	R(env, ARGS_BYTES_MAX) D(cwd, PATH_LEN_MAX) U(flags, 255)	\
	U(rows, 65535) U(cols, 65535) U(cpu_time, UINT32_MAX)		\
	U(files, UINT32_MAX)
/* execve succeeded. */
#define MSG_AGENT_STARTED_FIELDS(U, I, B, S, D, R)			\
	U(exec, UINT32_MAX) U(pid, INT32_MAX)
/* It did not; stage: fork group cwd pty limits lookup execve. */
#define MSG_AGENT_FAILED_FIELDS(U, I, B, S, D, R)			\
	U(exec, UINT32_MAX) S(stage, 16) U(sys_errno, 4096)		\
	D(path, PATH_LEN_MAX)
/* The main process ended: code, or signal when not 0.  Microseconds. */
#define MSG_AGENT_EXITED_FIELDS(U, I, B, S, D, R)			\
	U(exec, UINT32_MAX) U(code, 255) U(signal, 127) B(has_core)	\
	U(user_us, INT64_MAX) U(system_us, INT64_MAX) U(peak, INT64_MAX)
/* To the process group of the main process. */
#define MSG_AGENT_SIGNAL_FIELDS(U, I, B, S, D, R)			\
	U(exec, UINT32_MAX) U(signal, 64)
#define MSG_AGENT_RESIZE_FIELDS(U, I, B, S, D, R)			\
	U(exec, UINT32_MAX) U(rows, 65535) U(cols, 65535)
/* Without groups: kill all that the exec started; answered by KILLED. */
#define MSG_AGENT_KILL_FIELDS(U, I, B, S, D, R)				\
	U(exec, UINT32_MAX)
#define MSG_AGENT_KILLED_FIELDS(U, I, B, S, D, R)			\
	U(exec, UINT32_MAX)
/* Stream channels only.  stream: 0 stdin, 1 stdout, 2 stderr. */
#define MSG_AGENT_DATA_FIELDS(U, I, B, S, D, R)				\
	U(exec, UINT32_MAX) U(stream, 2) D(data, STREAM_CHUNK_MAX)
/* The receiver of a stream took bytes: the sender may send as many more. */
#define MSG_AGENT_CREDIT_FIELDS(U, I, B, S, D, R)			\
	U(exec, UINT32_MAX) U(stream, 2) U(bytes, STREAM_WINDOW)
/* No more bytes of this stream will be sent. */
#define MSG_AGENT_EOF_FIELDS(U, I, B, S, D, R)				\
	U(exec, UINT32_MAX) U(stream, 2)
/* Nobody reads this stream any more. */
#define MSG_AGENT_CLOSED_FIELDS(U, I, B, S, D, R)			\
	U(exec, UINT32_MAX) U(stream, 2)

#endif
