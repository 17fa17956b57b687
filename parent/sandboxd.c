/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * sandboxd, the front.  Started as root or as the user whose daemon it is,
 * and given up to nothing in ladder() below before it sees a byte of a
 * client.
 *
 * It reads the configuration, starts the broker, gives up its rights, sends
 * the broker the policy, and from then on sits between clients and broker:
 * the broker accepts a connection, says who it is and passes it on; the front
 * parses what comes in and asks the broker for what needs rights.  What it
 * asks for is judged there.  Sandbox connections go from the client straight
 * to a worker.
 *
 * Front and broker live and die together.  Neither clients nor workers can
 * end it; a bad message of theirs ends their own connection.
 */

#include "config.h"

#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "parent/parent.h"

#define CONF_FILE	SANDBOXD_SYSCONFDIR "/sandboxd.conf"
#define BOOT_LEN	16

#define BROKER_PATIENCE	20	/* seconds */

/* Descriptors: our own, a client's with its tunnel, a sandbox's. */
#define FDS_OWN		32u
#define FDS_CLIENT	3u
#define FDS_SANDBOX	2u
#define FDS_MAX		(FDS_OWN + FDS_CLIENT * CLIENTS_MAX + \
			    FDS_SANDBOX * SANDBOXES_MAX)

static struct front {
	struct conf		*conf;
	struct rundir		 rundir;
	struct start		 start;
	struct event_base	*base;
	struct event		*signals;
	pid_t			 broker;
	unsigned int		 fds_max;
	int			 status;
	bool			 is_root;
	bool			 is_foreground;
	bool			 is_ready;
	bool			 is_stopping;
	char			 boot[BOOT_LEN + 1];
	char			 backend[NAME_LEN_MAX + 1];
} front;

/*** The way down ***/

static void
ladder(void)
{
	uid_t uid = front.conf->uid;
	gid_t gid = front.conf->gid;

	/* Not dumpable, no core file, as many descriptors as we may need. */
	front.fds_max = confine_begin(FDS_MAX);
	/* An empty directory that belongs to root. */
	if (front.is_root)
		confine_root(front.rundir.front_fd);
	else if (chdir("/") == -1)
		fatal("/: %s", strerror(errno));
	/* No group, an id that nothing belongs to, no way back. */
	if (front.is_root)
		confine_ids(uid, gid);
	/* No capability, none ever again. */
	confine_caps();
	/* No file, no TCP, no signal to others, where the kernel can. */
	confine_landlock();
	/* The system calls of an event loop with messages, and no other. */
	confine_seccomp();
	/* All of this is in force. */
	confine_verify(uid, gid, front.is_root);
}

/*** What the others ask ***/

bool
front_is_inetd(void)
{
	return front.start.is_inetd;
}

const char *
front_instance(void)
{
	return front.rundir.instance;
}

const char *
front_boot(void)
{
	return front.boot;
}

const char *
front_backend(void)
{
	return front.backend;
}

bool
front_has_room(void)
{
	return FDS_OWN + FDS_CLIENT * (client_count() + 1) +
	    FDS_SANDBOX * (sandbox_count() + 1) <= front.fds_max;
}

/*** Start and end ***/

void
front_stop(int status)
{
	if (!front.is_stopping)
		front.status = status;
	front.is_stopping = true;
	event_base_loopbreak(front.base);
}

void
front_lost(const char *why)
{
	if (why != NULL)
		log_warn("broker: bad message: %s", why);
	front_stop(why != NULL ? 1 : -1);
}

void
front_ready(const char *backend)
{
	size_t i;

	front.is_ready = true;
	snprintf(front.backend, sizeof(front.backend), "%s", backend);
	for (i = 0; i < front.conf->nlistens; i++)
		log_info("listening on %s", front.conf->listens[i].path);
	if (front.start.nfds > 0 && !front.start.is_inetd)
		log_info("listening on sockets that were passed: %d",
		    front.start.nfds);
	daemon_ready();
}

static void
on_signal(evutil_socket_t fd, short what, void *arg)
{
	struct signalfd_siginfo info;

	(void)what;
	(void)arg;
	if (read(fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	log_info("signal %u: the end", info.ssi_signo);
	front_stop(0);
}

/*
 * Signals are read like messages, so that there are no handlers.  The broker
 * sees its channel close.
 */
static int
signals_open(void)
{
	sigset_t child, set;
	int fd;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	/* Ignored by who started us, it would not even be read. */
	signal(SIGTERM, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &set, NULL) == -1 ||
	    sigprocmask(SIG_BLOCK, &child, NULL) == -1 ||
	    (fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK)) == -1)
		fatal("signalfd: %s", strerror(errno));
	return fd;
}

/*
 * The broker ends its sandboxes first, which is bounded there; bounded again
 * here, since whoever started us waits for both.
 */
static int
broker_wait(bool is_ours)
{
	const struct timespec patience = { BROKER_PATIENCE, 0 };
	sigset_t child;
	pid_t pid;
	int status;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	while ((pid = waitpid(front.broker, &status, WNOHANG)) == 0) {
		if (sigtimedwait(&child, NULL, &patience) == -1 &&
		    errno == EAGAIN)
			break;
	}
	if (pid != front.broker) {
		log_warn("broker: does not end");
		return 1;
	}
	if (WIFSIGNALED(status)) {
		log_warn("broker: killed by signal %d", WTERMSIG(status));
		return 1;
	}
	/* When we go first it calls that a loss, and is right. */
	if (WEXITSTATUS(status) != 0 && !is_ours) {
		/* With 1 it said why, and that is to be the last word. */
		if (front.is_ready || WEXITSTATUS(status) != 1)
			log_warn("broker: exit status %d",
			    WEXITSTATUS(status));
		return 1;
	}
	return 0;
}

static int
serve(int channel, int signal_fd)
{
	struct buf policy = { 0 };
	int status;

	policy_pack(front.conf, &policy);
	broker_init(front.base, channel);
	client_init(front.base);
	method_init(front.base);
	event_log_init(front.boot);
	front.signals = event_new(front.base, signal_fd,
	    EV_READ | EV_PERSIST, on_signal, NULL);
	if (front.signals == NULL || event_add(front.signals, NULL) == -1)
		fatal("out of memory");
	broker_policy(&policy);
	event_base_dispatch(front.base);
	broker_end();
	status = broker_wait(front.is_ready && front.status == 0);
	/* -1: the broker went first, and says itself how. */
	if (front.status > 0)
		return front.status;
	if (!front.is_ready)
		return 1;
	return status;
}

/*** Options and configuration ***/

static void __attribute__((noreturn))
usage(void)
{
	fprintf(stderr, "usage: sandboxd [-dinvV] [-f file] [-r directory]\n");
	exit(1);
}

static void __attribute__((noreturn))
die(const struct error *e)
{
	log_error("cannot start", e);
	exit(1);
}

/*
 * Without -f: the system's file, if it is there and we are the system's
 * daemon; a private instance and a user's own have the built-in defaults.
 */
static int
configure(const char *file, const char *rundir, struct error *e)
{
	struct conf *conf;
	struct rundir r;

	conf = front.conf = conf_new();
	if (conf_override(conf, getenv("SANDBOX_BACKEND"), e) == -1)
		return -1;
	if (file == NULL && front.is_root && !front.start.is_inetd &&
	    access(CONF_FILE, F_OK) == 0)
		file = CONF_FILE;
	if (file != NULL && parse_file(file, conf, e) == -1)
		return -1;
	if (front.start.nfds > 0)
		conf->nlistens = 0;
	else if (conf->nlistens == 0 && (rundir_choose(&r, rundir, e) == -1 ||
	    conf_listen_default(conf, front.is_root, r.path, e) == -1))
		return -1;
	return conf_finish(conf, front.is_root, e);
}

static int
check(const char *file, const char *rundir, bool is_verbose)
{
	struct error e;

	if (configure(file, rundir, &e) == -1) {
		fprintf(stderr, "sandboxd: %s%s%s\n", e.message,
		    e.fix[0] != '\0' ? "; " : "", e.fix);
		return 1;
	}
	if (is_verbose)
		conf_print(front.conf);
	else
		fprintf(stderr, "configuration OK\n");
	return 0;
}

static void
boot_id(void)
{
	unsigned char bytes[BOOT_LEN / 2];
	size_t i;

	random_bytes(bytes, sizeof(bytes));
	for (i = 0; i < sizeof(bytes); i++)
		snprintf(front.boot + 2 * i, 3, "%02x", bytes[i]);
}

static int
run(const char *file, const char *rundir)
{
	struct error e;
	int channel, signal_fd;

	if ((front.start.is_inetd ? start_inetd(&front.start, &e) :
	    start_listen_fds(&front.start, &e)) == -1)
		die(&e);
	start_close_rest(&front.start);
	if (configure(file, rundir, &e) == -1)
		die(&e);
	front.conf->is_private = front.start.is_inetd;
	if (front.is_root)
		conf_front_ids(front.conf);
	if (!front.is_foreground && !front.start.is_inetd)
		daemon_begin();
	if (rundir_open(&front.rundir, rundir, front.start.is_inetd,
	    &e) == -1)
		die(&e);
	boot_id();
	signal_fd = signals_open();
	if ((front.base = event_base_new()) == NULL)
		fatal("event_base_new: %s", strerror(errno));
	front.broker = start_broker(&front.start, front.rundir.path,
	    &channel, &e);
	if (front.broker == -1)
		die(&e);
	ladder();
	return serve(channel, signal_fd);
}

int
main(int argc, char *argv[])
{
	const char *file = NULL, *rundir = NULL;
	bool is_check = false, is_verbose = false;
	int c;

	umask(077);
	start_stdio();
	while ((c = getopt(argc, argv, "df:inr:vV")) != -1) {
		switch (c) {
		case 'd':	front.is_foreground = true;	break;
		case 'f':	file = optarg;			break;
		case 'i':	front.start.is_inetd = true;	break;
		case 'n':	is_check = true;		break;
		case 'r':	rundir = optarg;		break;
		case 'v':	is_verbose = true;		break;
		case 'V':
			printf("sandboxd %s\n", SANDBOXD_VERSION);
			return 0;
		default:
			usage();
		}
	}
	if (optind != argc)
		usage();
	log_init("sandboxd", is_verbose ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO);
	front.is_root = geteuid() == 0;
	front.start.is_verbose = is_verbose;
	if (is_check)
		return check(file, rundir, is_verbose);
	return run(file, rundir);
}
