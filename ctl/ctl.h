/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * sandboxctl(1): the command line, an ordinary client of libsandboxd.  Runs
 * as the user with the user's rights and environment.  Trusts the daemon;
 * what programs write passes through untouched, and what the daemon says of
 * them is made printable first.
 */

#ifndef CTL_CTL_H
#define CTL_CTL_H

#include <sys/types.h>

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/sandboxd.h"

/* Our own exit statuses; others are the command's. */
#define EXIT_LIMIT	124	/* a limit was reached */
#define EXIT_OWN	125	/* we failed */
#define EXIT_CANNOT	126	/* the command cannot be executed */
#define EXIT_NOT_FOUND	127	/* there is no such command */
#define EXIT_SIGNAL	128	/* plus the signal */

#define COPY_SIZE	(64 * 1024)
#define MOUNTS		16

/* Words of an option that may be given many times. */
struct list {
	const char	**words;	/* ends with NULL, or NULL */
	size_t		 n;
};

/* --ro and --rw in the order given. */
struct mount_option {
	const char	*text;
	bool		 is_writable;
};

/* Numbers are 0 when not given. */
struct options {
	const char		*command;	/* what we were asked to do */
	const char		*socket;
	const char		*backend;
	const char		*floor;
	const char		*image;
	const char		*name;
	const char		*network;
	const char		*profile;
	const char		*cwd;
	const char		*format;
	const char		*signal;
	struct list		 env;
	struct list		 labels;
	struct mount_option	 mounts[MOUNTS];
	int			 nmounts;
	bool			 has_pty;
	bool			 is_detached;
	bool			 is_interactive;
	bool			 is_json;
	bool			 is_quiet;
	bool			 is_verbose;
	bool			 is_all;
	bool			 is_fresh;
	bool			 list_commands;
	bool			 list_options;
	uint64_t		 timeout;	/* ms */
	uint64_t		 cpu_time;	/* ms */
	uint64_t		 ttl;		/* ms */
	uint64_t		 output;	/* bytes */
	uint64_t		 memory;	/* bytes */
	uint64_t		 tmp;		/* bytes */
	uint64_t		 cpus;		/* 1/1000 */
	uint64_t		 pids;
	uint64_t		 files;
	uint64_t		 since;
};

/* What to do, by name; the one table of commands is in sandboxctl.c. */
struct command {
	const char	*name;
	const char	*operands;	/* for the usage line */
	const char	*help;
	const char	*options;	/* keys of the table in option.c */
	int		 min;		/* operands */
	int		 max;		/* -1: any number */
	/*
	 * Operands among which options are looked for; what follows is a
	 * command with options of its own.  -1: all.
	 */
	int		 head;
	int		 (*run)(struct options *, char **);
};

struct option {
	char		 key;		/* in the lists of commands */
	bool		 is_letter;	/* key is a short option too */
	const char	*name;		/* --name, or NULL */
	const char	*arg;		/* of the help, NULL: takes none */
	const char	*help;
	int		 (*set)(struct options *, const struct option *,
			    const char *);
	size_t		 offset;	/* in struct options */
};

/* sandboxctl.c */
extern const struct command commands[];		/* ends with name NULL */
const struct command *command_find(const char *);

/* option.c */
extern const struct option options_table[];	/* ends with key 0 */
/*
 * Reads options from words for a command (NULL: those before it).  Moves the
 * operands to the front of the array and returns how many; -1: complained.
 */
int	 option_parse(struct options *, const struct command *, char **);

/* help.c */
int	 help_run(struct options *, char **);
void	 help_usage(const struct command *);		/* to stderr, short */

/* say.c */

/* One line on stderr, "sandboxctl: ...", controls made visible. */
void	 say(const char *, ...) __attribute__((format(printf, 1, 2)));
/* "sandboxctl: what: message; fix"; returns EXIT_OWN. */
int	 say_error(const char *, const struct sandbox_error *);
int	 say_errno(const char *, const char *);	/* "what: why: strerror" */
int	 say_memory(void);
void	 say_limit(const struct options *, const char *);	/* a cause */
/* Prints to stdout, controls of what the daemon says made visible. */
/* Width of a column; -1: the last one, 0: no column, may be empty. */
void	 print_text(struct sandbox_value, int);
void	 print_flat(const char *, struct sandbox_value);	/* key: value */
/* Writes out what was printed: EXIT_OWN if that fails, else the status. */
int	 print_end(int);

/* json.c */
void	 json_print(struct sandbox_value);	/* one line on stdout */
void	 json_print_to(int, struct sandbox_value);	/* a descriptor */

/* connect.c */
struct sandbox_client *connect_daemon(const struct options *);
/* For run and check: starts a private one when there is none. */
struct sandbox_client *connect_any(const struct options *);
/* Splits "ID/N"; exec 0 when there is none.  -1: complained. */
int	 connect_operand(const char *, char **, uint64_t *);
/* A sandbox connection; id gets the full id; NULL: complained. */
struct sandbox_conn *connect_sandbox(const struct options *,
	    struct sandbox_client *, const char *, char *);

/* create.c */
int	 create_run(struct options *, char **);
int	 run_run(struct options *, char **);

/* exec.c */
int	 exec_run(struct options *, char **);
int	 shell_run(struct options *, char **);
int	 kill_run(struct options *, char **);
int	 wait_run(struct options *, char **);
int	 attach_run(struct options *, char **);
void	 exec_fill(const struct options *, struct sandbox_exec *);

/* list.c */
/* Called for each row of a list; returns an exit status, 0 to go on. */
typedef int row_fn(const struct options *, struct sandbox_value, void *);
int	 list_execs(const struct options *, struct sandbox_conn *, row_fn *,
	    void *);
int	 ls_run(struct options *, char **);
int	 info_run(struct options *, char **);
int	 rm_run(struct options *, char **);
int	 events_run(struct options *, char **);

/* server.c */
int	 check_run(struct options *, char **);
int	 stop_run(struct options *, char **);
int	 version_run(struct options *, char **);

/* signal.c */
int	 signal_number(const char *);		/* "TERM", "15"; or -1 */
const char *signal_name(int);			/* "TERM", or NULL */

/* tty.c */
void	 tty_raw(int);				/* restored at exit */
void	 tty_restore(void);
void	 tty_resume(void);			/* raw again, after a stop */
bool	 tty_size(unsigned int *, unsigned int *);

/* copy.c: bytes between one of our descriptors and a pipe or socket */

struct pump {
	int		 from;		/* -1 when it is over */
	int		 to;
	bool		 is_input;	/* from is the user's, to is ours */
	unsigned char	*buf;
	size_t		 off;
	size_t		 n;
};

/* One of 0 to 2, and the other end, which it takes; -1: no memory. */
int	 pump_open(struct pump *, int, int, bool);
void	 pump_close(struct pump *);
bool	 pump_poll(const struct pump *, struct pollfd *); /* false: over */
void	 pump_run(struct pump *);		/* poll said so */

/* session.c: one command in the foreground */

struct session {
	const struct options	*o;
	struct sandbox_client	*client;
	struct sandbox_conn	*conn;
	struct sandbox_exec	 exec;
	uint64_t		 number;
	char			 tag[64];
	bool			 is_fresh;	/* nobody else used it */
	bool			 has_started;
	bool			 is_asking;	/* for the result */
	bool			 has_result;
	bool			 has_failed;
	bool			 is_start_failure;
	bool			 is_attaching;
	bool			 is_attached;	/* its streams have an end */
	bool			 is_lost;	/* the daemon is */
	bool			 is_over;	/* its output is not */
	struct sandbox_error	 lost;
	struct sandbox_result	 result;
	struct sandbox_error	 error;
	struct pump		 pumps[3];
	int			 given[3];	/* sent, then closed; or -1 */
	int			 signal_fd;
	uint64_t		 queued;	/* signals, before it started */
	int			 interrupted;	/* by this signal, meanwhile */
};

/* Starts s->exec and stays until its end: the exit status. */
int	 session_start(struct session *);
/* The same for an exec that runs already, with attached streams. */
int	 session_join(struct session *, uint64_t, int [3]);
/* Exit status of a result, with a word on stderr for limits. */
int	 session_status(const struct options *, const struct sandbox_result *);

/* stdio.c */
/* What to pass as descriptors 0 to 2, with pumps for those that cannot be. */
int	 stdio_prepare(struct session *);
void	 stdio_open_closed(void);		/* 0 to 2 are never ours */

#endif
