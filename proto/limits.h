/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Every bound of the wire and of the tables behind it, in one place
 * (design invariant 10).  Included by all processes; no code.  Sizes are
 * bytes unless the name says otherwise.  Reaching a bound is a typed error
 * for the one who reached it, never a crash and never a silent cut.
 */

#ifndef PROTO_LIMITS_H
#define PROTO_LIMITS_H

/* Frames between our processes. */
#define FRAME_BODY_MAX		(160 * 1024)	/* below SO_SNDBUF's default */
#define FRAME_FDS_MAX		8
#define CHAN_QUEUE_MAX		(4 * 1024 * 1024) /* unsent bytes, then busy */

/* MessagePack, scanned before anything is decoded. */
#define SCAN_DEPTH_MAX		16
#define SCAN_ELEMENTS_MAX	65536

/* Client connections. */
#define RPC_MESSAGE_MAX		(512 * 1024)
#define RPC_FDS_MAX		16		/* of one request */
#define RPC_FDS_QUEUE_MAX	32		/* received, not yet claimed */
#define RPC_QUEUE_MAX		(4 * 1024 * 1024)
#define RPC_PENDING_MAX		256		/* requests of a connection */
#define CLIENTS_MAX		1024
#define CLIENTS_PER_UID_MAX	128
#define CONNS_PER_SANDBOX_MAX	64

/* Names. */
#define ID_LEN			19		/* "sb_" and 16 hex digits */
#define NAME_LEN_MAX		64
#define LABELS_MAX		32
#define LABEL_LEN_MAX		256
#define PATH_LEN_MAX		4095
#define TAG_LEN_MAX		64

/* Sandboxes and execs. */
#define SANDBOXES_MAX		4096
#define MOUNTS_MAX		16		/* of one create */
#define EXECS_MAX		1024		/* running, of one sandbox */
#define RESULTS_MAX		1024		/* kept after the end */
#define ARGS_MAX		4096		/* words of argv or env */
#define ARGS_BYTES_MAX		(128 * 1024)	/* argv and env together */
#define RING_MAX		(1024 * 1024)	/* kept output of a stream */
#define GROUPS_AHEAD		4		/* exec groups made ahead */
#define EVENTS_KEPT		1024
#define PAGE_MAX		256		/* rows of one list answer */

/* Streams multiplexed on a byte channel. */
#define STREAM_CHUNK_MAX	(32 * 1024)
#define STREAM_WINDOW		(256 * 1024)	/* credit of a stream */

#endif
