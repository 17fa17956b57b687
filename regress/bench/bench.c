/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Takes samples for regress/bench/run.sh: does one thing N times and prints
 * what each took, in microseconds, one a line.
 * Run by hand or by `make bench`, with the caller's rights.  It speaks the
 * clients' wire by itself, so that only the daemon is measured; it trusts the
 * daemon that the script started.
 */

#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <err.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "proto/proto.h"

extern char **environ;

static uint32_t next_id;

static double
now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e6 + ts.tv_nsec / 1e3;
}

static void
command_once(char *const argv[])
{
	posix_spawn_file_actions_t fa;
	pid_t pid;
	int status;

	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&fa, 1, "/dev/null", O_WRONLY, 0);
	if (posix_spawnp(&pid, argv[0], &fa, NULL, argv, environ) != 0)
		err(1, "%s", argv[0]);
	if (waitpid(pid, &status, 0) == -1 || status != 0)
		errx(1, "%s: status %d", argv[0], status);
	posix_spawn_file_actions_destroy(&fa);
}

static struct rpc *
rpc_dial(const char *path)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	struct rpc *r;
	int fd;

	if (strlen(path) >= sizeof(sun.sun_path))
		errx(1, "%s: too long", path);
	memcpy(sun.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd == -1 || connect(fd, (void *)&sun, sizeof(sun)) == -1)
		err(1, "%s", path);
	r = rpc_new(fd);
	if (r == NULL)
		errx(1, "out of memory");
	return r;
}

/* One request and its answer; consumes fds; *m is valid until the next. */
static void
rpc_call(struct rpc *r, const char *method, struct buf *params,
    const int *fds, int nfds, struct rpc_msg *m)
{
	struct error e = { 0 };
	struct pollfd p = { .fd = rpc_fd(r), .events = POLLIN };
	int n;

	if (rpc_request(r, ++next_id, method, params, fds, nfds, &e) == -1)
		errx(1, "%s: %s", method, e.message);
	buf_free(params);
	for (;;) {
		n = rpc_recv(r, m, &e);
		if (n == -1)
			errx(1, "%s: %s", method, e.message);
		if (n == 1 && m->kind == RPC_RESPONSE && m->id == next_id)
			break;
		if (n == 0)
			poll(&p, 1, -1);
	}
	if (m->error.n > 1) {
		rpc_error_unpack(m->error, &e);
		errx(1, "%s: %s", method, e.message);
	}
}

static void
hello_once(struct rpc *r)
{
	struct rpc_msg m;
	struct buf params = { 0 };

	put_map(&params, 0);
	rpc_call(r, "hello", &params, NULL, 0, &m);
}

static struct rpc *
sandbox_dial(struct rpc *control, const char *id)
{
	struct rpc_msg m;
	struct buf params = { 0 };
	struct rpc *r;

	put_map(&params, 1);
	put_str(&params, "id");
	put_str(&params, id);
	rpc_call(control, "sandbox.connect", &params, NULL, 0, &m);
	r = rpc_new(rpc_take_fd(&m, 0));
	if (r == NULL)
		errx(1, "sandbox.connect: no descriptor");
	return r;
}

static void
exec_once(struct rpc *r, const char *file)
{
	struct rpc_msg m;
	struct buf params = { 0 };
	uint64_t exec_id;
	int fd, i;
	static const char *const streams[] = { "stdout", "stderr" };

	put_map(&params, 4);
	put_str(&params, "argv");
	put_array(&params, 1);
	put_bin(&params, view_of(file));
	for (i = 0; i < 2; i++) {
		put_str(&params, streams[i]);
		put_str(&params, i == 0 ? "fd" : "null");
	}
	put_str(&params, "fds");
	put_uint(&params, 1);
	fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	rpc_call(r, "exec.start", &params, &fd, 1, &m);
	if (map_uint(m.result, "exec", &exec_id) == -1)
		errx(1, "exec.start: no exec");
	memset(&params, 0, sizeof(params));
	put_map(&params, 1);
	put_str(&params, "exec");
	put_uint(&params, exec_id);
	rpc_call(r, "exec.wait", &params, NULL, 0, &m);
}

static void
usage(void)
{

	fprintf(stderr, "usage: bench command N COMMAND...\n"
	    "       bench hello N SOCKET\n"
	    "       bench exec N SOCKET SANDBOX FILE\n");
	exit(1);
}

int
main(int argc, char *argv[])
{
	struct rpc *r = NULL;
	double t, *samples;
	long i, n;

	if (argc < 4 || (n = atol(argv[2])) <= 0)
		usage();
	if (strcmp(argv[1], "hello") == 0)
		r = rpc_dial(argv[3]);
	else if (strcmp(argv[1], "exec") == 0 && argc == 6)
		r = sandbox_dial(rpc_dial(argv[3]), argv[4]);
	else if (strcmp(argv[1], "command") != 0)
		usage();
	samples = xcalloc(n, sizeof(*samples));
	for (i = 0; i < n; i++) {
		t = now_us();
		if (r == NULL)
			command_once(argv + 3);
		else if (argc == 6)
			exec_once(r, argv[5]);
		else
			hello_once(r);
		samples[i] = now_us() - t;
	}
	for (i = 0; i < n; i++)
		printf("%.1f\n", samples[i]);
	return 0;
}
