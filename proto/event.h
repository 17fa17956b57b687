/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * libevent glue for channels and client connections (front and worker; the
 * broker has its own loop).  A watch owns its chan or rpc.
 */

#ifndef PROTO_EVENT_H
#define PROTO_EVENT_H

#include "proto.h"

struct event_base;
struct watch;

/* Called for every frame; may free the watch (watch_free) and return. */
typedef void chan_frame_fn(struct chan *, struct frame *, void *);
typedef void rpc_msg_fn(struct rpc *, struct rpc_msg *, void *);
/*
 * Called once when the peer is gone or sent a bad frame; error says which.
 * The watch is still the caller's to free.
 */
typedef void watch_close_fn(const struct error *, void *);

/* event.c; take the chan or rpc.  NULL when out of memory. */
struct watch *watch_chan(struct event_base *, struct chan *, chan_frame_fn *,
	    watch_close_fn *, void *);
struct watch *watch_rpc(struct event_base *, struct rpc *, rpc_msg_fn *,
	    watch_close_fn *, void *);
/* After queueing: arms the write event when bytes are pending. */
void	 watch_kick(struct watch *);
/* Stop and resume reading (back-pressure). */
void	 watch_read(struct watch *, bool);
struct chan *watch_get_chan(struct watch *);
struct rpc *watch_get_rpc(struct watch *);
/* Frees the watch and gives back its rpc; allowed inside its own callbacks. */
struct rpc *watch_detach_rpc(struct watch *);
/* Frees the chan or rpc too; allowed inside its own callbacks. */
void	 watch_free(struct watch *);

#endif
