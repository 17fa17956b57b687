/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * One command in the foreground: start it, hand on signals and window sizes,
 * copy what could not be passed, and become its exit status.  Signals are
 * read from a descriptor, never caught, so each exit is an ordinary one.
 */

#include <sys/signalfd.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ctl.h"

#define GONE_MS		1000	/* for a result after the daemon was lost */
#define SIGNAL_BIT(n)	(1ull << (n))
#define SIGNALS_USER	(SIGNAL_BIT(SIGUSR1) | SIGNAL_BIT(SIGUSR2))

static void	 session_forward(struct session *, int);

/*** Ends ***/

int
session_status(const struct options *o, const struct sandbox_result *result)
{
	static const char *const limits[] = { "timeout", "cpu", "output",
	    "oom", "expired" };
	size_t i;

	if ((result->stdout_truncated || result->stderr_truncated) &&
	    !o->is_quiet)
		say("the output reached its limit; what came after is lost");
	for (i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		if (strcmp(result->cause, limits[i]) == 0) {
			say_limit(o, result->cause);
			return EXIT_LIMIT;
		}
	if (strcmp(result->cause, "exit") == 0 && result->code >= 0)
		return result->code;
	if (strcmp(result->cause, "signal") == 0 && result->signal > 0)
		return EXIT_SIGNAL + result->signal;
	if (strcmp(result->cause, "destroyed") == 0)
		say("the sandbox was destroyed while the command ran");
	else
		say("nobody saw how the command ended (%s)", result->cause);
	return EXIT_OWN;
}

/* The command did not start: the shell's statuses, and words, for why. */
static int
session_start_status(const struct session *s)
{
	const struct sandbox_error *error = &s->error;
	const char *what = s->exec.argv != NULL ? s->exec.argv[0] : "shell";
	bool is_lookup = strcmp(error->key, "lookup") == 0;

	if (!is_lookup && strcmp(error->key, "execve") != 0)
		return say_error(what, error);
	if (error->sys_errno != ENOENT && error->sys_errno != ENOTDIR) {
		say_error(what, error);
		return EXIT_CANNOT;
	}
	if (is_lookup && strchr(what, '/') == NULL)
		say("%s: no such command in the sandbox; give its path, or "
		    "set PATH there with -e", what);
	else
		say("%s: no such file in the sandbox, or no such interpreter; "
		    "show it with --ro", what);
	return EXIT_NOT_FOUND;
}

static void
session_fail(struct session *s, const struct sandbox_error *error)
{
	if (s->has_failed)
		return;
	s->has_failed = true;
	s->error = *error;
}

/*** Answers ***/

static void
session_ignore(struct sandbox_reply *reply, const struct sandbox_error *error,
    void *arg)
{
	(void)reply;
	(void)error;
	(void)arg;
}

static void
session_ended(struct sandbox_reply *reply, const struct sandbox_error *error,
    void *arg)
{
	struct session *s = arg;
	struct sandbox_error bad = { 0 };

	if (error != NULL) {
		session_fail(s, error);
		return;
	}
	if (sandbox_result_unpack(sandbox_reply_value(reply), &s->result,
	    &bad) == -1) {
		session_fail(s, &bad);
		return;
	}
	s->has_result = true;
	if (s->o->is_json)
		json_print_to(STDERR_FILENO, sandbox_reply_value(reply));
}

/* Asked ahead for the first exec of a new sandbox: 1, unless it was not. */
static void
session_guessed(struct sandbox_reply *reply, const struct sandbox_error *error,
    void *arg)
{
	struct session *s = arg;

	if (s->has_started && !s->is_asking)
		session_ended(reply, error, arg);
}

static void
session_wait(struct session *s)
{
	struct sandbox_error error = { 0 };

	if (s->is_fresh && s->number == 1)
		return;
	s->is_asking = true;
	if (sandbox_exec_wait_async(s->conn, s->number, session_ended, s,
	    &error) == -1)
		session_fail(s, &error);
}

static void
session_attached(struct sandbox_reply *reply,
    const struct sandbox_error *error, void *arg)
{
	struct session *s = arg;
	int i, fd, n = 0;

	s->is_attaching = false;
	if (error != NULL) {
		/* If it did not start, that says more. */
		if (s->has_started)
			session_fail(s, error);
		return;
	}
	for (i = 1; i < 3; i++) {
		if (s->exec.fds[i] != SANDBOX_FD_RELAY)
			continue;
		if ((fd = sandbox_reply_fd(reply, n++)) != -1)
			pump_open(&s->pumps[i], i, fd, false);
	}
}

/*
 * Relayed output reaches us over streams of its own.  They are asked for by
 * tag right behind the start, so that no byte is missed.
 */
static void
session_attach(struct session *s)
{
	struct sandbox_error error = { 0 };
	struct sandbox_params *params;
	int i;

	if ((params = sandbox_params_new()) == NULL)
		return;
	sandbox_params_text(params, "exec", s->tag);
	sandbox_params_open_array(params, "streams");
	for (i = 1; i < 3; i++)
		if (s->exec.fds[i] == SANDBOX_FD_RELAY)
			sandbox_params_text(params, NULL,
			    i == 1 ? "stdout" : "stderr");
	sandbox_params_close(params);
	s->is_attaching = s->is_attached = true;
	if (sandbox_conn_request(s->conn, "exec.attach", params, NULL, 0,
	    session_attached, s, &error) == -1)
		session_fail(s, &error);
	sandbox_params_free(params);
}

static void
session_started(struct sandbox_reply *reply, const struct sandbox_error *error,
    void *arg)
{
	struct session *s = arg;
	int signal;

	if (error != NULL) {
		s->is_start_failure = true;
		session_fail(s, error);
		return;
	}
	s->has_started = true;
	sandbox_value_uint(sandbox_value_get(sandbox_reply_value(reply),
	    "exec"), &s->number);
	session_wait(s);
	for (signal = 1; signal < 32; signal++)
		if (s->queued & SIGNAL_BIT(signal))
			session_forward(s, signal);
}

/*** Signals ***/

/* Those that are ignored stay so (nohup). */
static int
session_signals(struct session *s)
{
	static const int forwarded[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT,
	    SIGUSR1, SIGUSR2 };
	struct sigaction sa;
	sigset_t set;
	size_t i;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGWINCH);
	sigaddset(&set, SIGCONT);
	if (s->exec.has_pty)
		sigaddset(&set, SIGTSTP);
	for (i = 0; i < sizeof(forwarded) / sizeof(forwarded[0]); i++)
		if (sigaction(forwarded[i], NULL, &sa) == 0 &&
		    sa.sa_handler != SIG_IGN)
			sigaddset(&set, forwarded[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	s->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->signal_fd == -1)
		return say_errno(s->o->command, "signalfd");
	return 0;
}

/* Only its output is on its way still: who insists need not wait for it. */
static void
session_signalled(struct sandbox_reply *reply,
    const struct sandbox_error *error, void *arg)
{
	struct session *s = arg;
	char state[16];

	if (error == NULL && sandbox_value_text(sandbox_value_get(
	    sandbox_reply_value(reply), "state"), state, sizeof(state)) == 0 &&
	    strcmp(state, "exited") == 0)
		s->is_over = true;
}

static void
session_forward(struct session *s, int signal)
{
	struct sandbox_error error = { 0 };
	struct sandbox_params *params;

	if (!s->has_started) {
		/* For the command; who insists need not wait for it. */
		if (s->queued & ~SIGNALS_USER)
			s->interrupted = signal;
		s->queued |= SIGNAL_BIT(signal);
		return;
	}
	if (s->is_over && !(SIGNAL_BIT(signal) & SIGNALS_USER))
		s->interrupted = signal;
	if ((params = sandbox_params_new()) == NULL)
		return;
	sandbox_params_uint(params, "exec", s->number);
	sandbox_params_uint(params, "signal", (uint64_t)signal);
	sandbox_conn_request(s->conn, "exec.kill", params, NULL, 0,
	    session_signalled, s, &error);
	sandbox_params_free(params);
}

static void
session_resize(struct session *s)
{
	struct sandbox_error error = { 0 };
	struct sandbox_params *params;
	unsigned int rows, cols;

	if (!s->exec.has_pty || !s->has_started || !tty_size(&rows, &cols) ||
	    (params = sandbox_params_new()) == NULL)
		return;
	sandbox_params_uint(params, "exec", s->number);
	sandbox_params_uint(params, "rows", rows);
	sandbox_params_uint(params, "cols", cols);
	sandbox_conn_request(s->conn, "exec.resize", params, NULL, 0,
	    session_ignore, s, &error);
	sandbox_params_free(params);
}

static void
session_signal(struct session *s, int signal)
{
	if (signal == SIGWINCH)
		session_resize(s);
	else if (signal == SIGTSTP) {
		tty_restore();
		raise(SIGSTOP);
	} else if (signal == SIGCONT) {
		tty_resume();
		session_resize(s);
	} else
		session_forward(s, signal);
}

static void
session_read_signals(struct session *s)
{
	struct signalfd_siginfo info;

	while (read(s->signal_fd, &info, sizeof(info)) == sizeof(info))
		session_signal(s, (int)info.ssi_signo);
}

/*** The loop ***/

/* The daemon is lost: what the sandbox still says comes at once. */
static void
session_lost(struct session *s, const struct sandbox_error *error)
{
	s->is_lost = true;
	s->lost = *error;
}

static void
session_turn(struct session *s)
{
	struct pollfd pfds[6];
	struct sandbox_error error = { 0 };
	int i, n, pump[3];

	pfds[0] = (struct pollfd){ sandbox_conn_fd(s->conn),
	    sandbox_conn_events(s->conn), 0 };
	pfds[1] = (struct pollfd){ s->signal_fd, POLLIN, 0 };
	pfds[2] = (struct pollfd){ s->is_lost ? -1 :
	    sandbox_client_fd(s->client), POLLIN, 0 };
	for (i = 0, n = 3; i < 3; i++) {
		pump[i] = -1;
		pfds[n].revents = 0;
		if (pump_poll(&s->pumps[i], &pfds[n]))
			pump[i] = n++;
	}
	i = poll(pfds, (nfds_t)n, s->is_lost ? GONE_MS : -1);
	if (i == -1 && errno == EINTR)
		return;
	if (i == 0) {
		session_fail(s, &s->lost);
		return;
	}
	if (pfds[1].revents != 0)
		session_read_signals(s);
	for (i = 0; i < 3; i++)
		if (pump[i] != -1 && pfds[pump[i]].revents != 0)
			pump_run(&s->pumps[i]);
	if (pfds[2].revents != 0 &&
	    sandbox_client_dispatch(s->client, &error) == -1)
		session_lost(s, &error);
	if (pfds[0].revents != 0 &&
	    sandbox_conn_dispatch(s->conn, &error) == -1)
		session_fail(s, &error);
}

/* What the command wrote before it ended; a signal cuts it short. */
static void
session_drain(struct session *s, struct pump *p)
{
	struct pollfd pfds[2];
	int r, wait;

	while (pump_poll(p, &pfds[0])) {
		pfds[1] = (struct pollfd){ s->signal_fd, POLLIN, 0 };
		/* All of it is in the pipe; a stream has an end of its own. */
		wait = p->n > 0 || s->is_attached ? -1 : 0;
		r = poll(pfds, 2, wait);
		if (r == 0 || (r > 0 && pfds[1].revents != 0))
			return;
		if (r > 0)
			pump_run(p);
	}
}

static int
session_say_lost(const struct session *s)
{
	char words[300];

	sandbox_client_words(s->client, words, sizeof(words));
	say("the sandbox was lost while the command ran: %s%s%s",
	    s->error.message, words[0] == '\0' ? "" : "; last the daemon "
	    "said: ", words);
	return EXIT_OWN;
}

static int
session_end(struct session *s)
{
	if (s->interrupted != 0)
		return EXIT_SIGNAL + s->interrupted;
	if (s->has_result) {
		session_read_signals(s);
		session_drain(s, &s->pumps[1]);
		session_drain(s, &s->pumps[2]);
	}
	tty_restore();
	if (s->has_result)
		return session_status(s->o, &s->result);
	if (s->is_start_failure)
		return session_start_status(s);
	return session_say_lost(s);
}

static int
session_run(struct session *s)
{
	while (!s->has_failed && s->interrupted == 0 &&
	    (!s->has_result || s->is_attaching))
		session_turn(s);
	return session_end(s);
}

static void
session_init(struct session *s)
{
	int i;

	for (i = 0; i < 3; i++) {
		s->given[i] = -1;
		s->pumps[i].from = s->pumps[i].to = -1;
	}
}

int
session_start(struct session *s)
{
	struct sandbox_error error = { 0 };
	bool is_relayed;
	int i, status;

	session_init(s);
	if ((status = stdio_prepare(s)) != 0 ||
	    (status = session_signals(s)) != 0)
		return status;
	is_relayed = s->exec.fds[1] == SANDBOX_FD_RELAY ||
	    s->exec.fds[2] == SANDBOX_FD_RELAY;
	if (is_relayed) {
		snprintf(s->tag, sizeof(s->tag), "sandboxctl-%d-%lld",
		    (int)getpid(), (long long)time(NULL));
		s->exec.tag = s->tag;
	}
	/* In one piece: nothing is written before the attach is there. */
	sandbox_conn_hold(s->conn, 1, &error);
	if (sandbox_exec_start_async(s->conn, &s->exec, session_started, s,
	    &error) == -1)
		return say_error(s->o->command, &error);
	if (is_relayed)
		session_attach(s);
	if ((s->is_fresh && sandbox_exec_wait_async(s->conn, 1,
	    session_guessed, s, &error) == -1) ||
	    sandbox_conn_hold(s->conn, 0, &error) == -1)
		return say_error(s->o->command, &error);
	/* The other ends are the command's alone, or there is no end. */
	for (i = 0; i < 3; i++)
		if (s->given[i] != -1)
			close(s->given[i]);
	if (s->exec.has_pty)
		tty_raw(STDIN_FILENO);
	return session_run(s);
}

int
session_join(struct session *s, uint64_t number, int fds[3])
{
	int i, status;

	session_init(s);
	s->number = number;
	s->has_started = s->is_attached = true;
	if ((status = session_signals(s)) != 0)
		return status;
	for (i = 0; i < 3; i++)
		if (fds[i] != -1 && pump_open(&s->pumps[i], i, fds[i],
		    i == 0) == -1)
			return say_memory();
	session_wait(s);
	return session_run(s);
}
