/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * A program in the place of sandboxd-broker that plays both sides of the
 * front: the broker on descriptor 3 and its clients.  Each step checks what
 * comes back; the first that is wrong ends it with a line on stderr and
 * status 9.
 */

#ifndef REGRESS_FRONT_PLAY_H
#define REGRESS_FRONT_PLAY_H

#include "proto.h"

#define CHECK(cond)							\
	do {								\
		if (!(cond))						\
			wrong(__FILE__, __LINE__, #cond);		\
	} while (0)

void	 wrong(const char *, int, const char *) __attribute__((noreturn));

/* The broker's side. */
extern struct chan *channel;

void	 play_start(void);
/* The next frame, which must be of this type; its fds are kept. */
struct frame *play_recv(enum msg_type, void *);
void	 play_send(enum msg_type, uint32_t, const void *, int, int);
void	 play_fail(uint32_t, enum err_code, const char *);

/* A client's side. */
struct client {
	struct rpc	*rpc;
	uint64_t	 handle;
	uint32_t	 last_id;
	struct rpc_msg	 msg;		/* the last received */
	struct error	 error;		/* of the last response */
};

void	 client_open(struct client *, uint64_t, bool);	/* uid, admin */
void	 client_close(struct client *);	/* and sees BROKER_DROP */
/*
 * Parameters: "key=s" text, "=u" unsigned, "=b" boolean, with commas between
 * them; "" for none.  Returns the request id.
 */
uint32_t client_ask(struct client *, const char *, const char *, ...);
/* The response to it; whatever notifications come before are skipped. */
struct view client_result(struct client *, uint32_t);
/* As that, but it must be this error. */
void	 client_error(struct client *, uint32_t, enum err_code);
bool	 client_next(struct client *);	/* any message; is it a response? */
/* The next event; its kind must be this. */
struct view client_event(struct client *, const char *);
bool	 client_is_served(struct client *);	/* or closed at once */
void	 client_is_closed(struct client *);	/* by the front */
int	 client_fd(struct client *, uint32_t);	/* of the last response */
/* Text of a key of a map, in a static buffer; "" when absent. */
const char *text_of(struct view, const char *);
uint64_t number_of(struct view, const char *);

/* steps.c */
extern struct chan *worker;	/* events of the sandbox made last */

void	 policy(void);
void	 ready(void);
/*
 * Answers the BROKER_CREATE that is next, of this client (or of any); its id
 * goes to the text, the worker's end of a sandbox connection to the last.
 */
void	 create_answer(const struct client *, char *, bool, int *);
void	 create(struct client *, const char *, char *);	/* name, id */
void	 destroy_answer(const char *);
void	 gone(const char *, const char *);
void	 worker_event(const char *, unsigned int);
/* Rows of a page of the list: all, after, max, more. */
uint32_t rows(struct client *, bool, const char *, uint64_t, bool *);

void	 part_mutate(void);	/* mutate.c */

#endif
