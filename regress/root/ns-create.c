/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Drives a backend without broker and worker: makes an environment with the
 * program AGENT in it, sends it one command over its channel, and prints what
 * it answers.  For tests of the picture inside and for measuring.
 *
 *	ns-create [-b backend] [-c count] [-m dir:dst] [-w dir:dst] [-u uid]
 *	    [-s] AGENT COMMAND
 *
 * -m and -w mount a host directory read-only and writable, as the client
 * uid; -c makes so many in turn and prints the time to the first byte of
 * each in microseconds; -s gives the agent -s.  Exit status: the agent's,
 * or 99 when the environment could not be made (the error is on stderr).
 */

#include "config.h"

#include <sys/types.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "backends/backend.h"
#include "proto/proto.h"

#define SLOT_BASE	0x7e000000u	/* beyond those of the shell tests */
#define CREATE_MS	20000

static struct backend_mount mounts[MOUNTS_MAX];
static struct backend_create create = { .id = "sb_0123456789abcdef",
	.user_ns_fd = -1, .image_ns_fd = -1, .net_ns_fd = -1, .ipc_ns_fd = -1,
	.uts_ns_fd = -1, .mount_ns_fd = -1, .client_ns_fd = -1,
	.tmp = 64 << 20, .files = 1024,
	.agent_fd = -1, .channel_fd = -1, .error_fd = -1, .mounts = mounts };

/* What the broker's drop does, without libcap-ng. */
static int
drop(struct error *e)
{
	struct __user_cap_header_struct head = {
	    _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2];
	int cap;

	for (cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) != -1; cap++)
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == -1)
			return error_sys(e, ERR_BACKEND, errno, "bounding");
	if (prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED |
	    SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED |
	    SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |
	    SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED, 0, 0, 0) == -1)
		return error_sys(e, ERR_BACKEND, errno, "securebits");
	memset(data, 0, sizeof(data));
	if (syscall(SYS_capset, &head, data) == -1)
		return error_sys(e, ERR_BACKEND, errno, "capset");
	return 0;
}

static int
load_agent(const char *path)
{
	struct stat st;
	int from, fd;

	fd = memfd_create("sandboxd-agent", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	from = open(path, O_RDONLY | O_CLOEXEC);
	if (from == -1 || fd == -1 || fstat(from, &st) == -1 ||
	    sendfile(fd, from, NULL, (size_t)st.st_size) != st.st_size ||
	    fchmod(fd, 0111) == -1 || fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL |
	    F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) == -1)
		err(99, "%s", path);
	close(from);
	return fd;
}

/* In a helper child, as the broker does; descriptors in a shared table. */
static void
make_namespaces(void)
{
	struct slot_namespaces s;
	struct error e = { .code = ERR_NONE };

	if (namespace_make(SLOT_BASE, &s, &e) == -1)
		errx(99, "namespaces: %s", e.message);
	create.user_ns_fd = s.user_ns_fd;
	create.image_ns_fd = s.image_ns_fd;
	create.net_ns_fd = s.net_ns_fd;
	create.ipc_ns_fd = s.ipc_ns_fd;
	create.uts_ns_fd = s.uts_ns_fd;
	create.mount_ns_fd = s.mount_ns_fd;
}

static void
close_namespaces(void)
{
	fd_close(&create.user_ns_fd);
	fd_close(&create.image_ns_fd);
	fd_close(&create.net_ns_fd);
	fd_close(&create.ipc_ns_fd);
	fd_close(&create.uts_ns_fd);
	fd_close(&create.mount_ns_fd);
}

static void
child(const struct backend *b, int error_fd)
{
	struct error e = { .code = ERR_NONE };

	b->enter(&create, &e);
	if (write(error_fd, &e, sizeof(e)) != sizeof(e))
		_exit(98);
	_exit(99);
}

/* Copies what comes from fd to stdout until its end. */
static void
copy_answer(int fd)
{
	char buf[4096];
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0)
		if (fwrite(buf, 1, (size_t)n, stdout) != (size_t)n)
			err(99, "stdout");
	fflush(stdout);
}

static int64_t
now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000LL + ts.tv_nsec / 1000;
}

/* What a helper program wrote, as an error with cause and fix. */
static void
explain(const struct backend *b, int fd)
{
	struct error e = { .code = ERR_NONE };
	char text[4096];
	ssize_t n;

	if (fd == -1 || (n = read(fd, text, sizeof(text) - 1)) <= 0)
		return;
	text[n] = '\0';
	fputs(text, stderr);
	if (b->explain != NULL) {
		b->explain(text, &e);
		fprintf(stderr, "%s; %s\n", e.message, e.fix);
	}
}

static int
run(const struct backend *b, const char *command, bool is_timed)
{
	int channel[2], errors[2], texts[2], status;
	int64_t start = now_us(), hello = 0;
	struct pollfd poll_fd;
	struct error e;
	pid_t pid;

	if (fd_pair(SOCK_STREAM, channel) == -1 ||
	    pipe2(errors, O_CLOEXEC) == -1 || pipe2(texts, O_CLOEXEC) == -1 ||
	    fcntl(channel[0], F_SETFL, 0) == -1 ||
	    fcntl(channel[1], F_SETFL, 0) == -1)
		err(99, "socketpair");
	create.channel_fd = channel[1];
	create.error_fd = texts[1];
	pid = (pid_t)syscall(SYS_clone, b->clone_flags | SIGCHLD, NULL, NULL,
	    NULL, NULL);
	if (pid == -1)
		err(99, "clone");
	if (pid == 0)
		child(b, errors[1]);
	close(channel[1]);
	close(errors[1]);
	close(texts[1]);
	/* A child that failed is told of below. */
	send(channel[0], command, strlen(command), MSG_NOSIGNAL);
	shutdown(channel[0], SHUT_WR);
	poll_fd = (struct pollfd){ channel[0], POLLIN, 0 };
	if (poll(&poll_fd, 1, CREATE_MS) != 1)
		errx(99, "no answer in time");
	hello = now_us();
	copy_answer(channel[0]);
	close(channel[0]);
	if (read(errors[0], &e, sizeof(e)) == sizeof(e))
		fprintf(stderr, "%s: %s; path \"%s\"; key \"%s\"; %s\n",
		    error_name(e.code), e.message, e.path, e.key, e.fix);
	close(errors[0]);
	if (waitpid(pid, &status, 0) != pid)
		err(99, "waitpid");
	explain(b, texts[0]);
	close(texts[0]);
	if (is_timed)
		printf("%lld\n", (long long)(hello - start));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 +
	    WTERMSIG(status);
}

static void
add_mount(char *arg, bool is_writable)
{
	struct backend_mount *m = &mounts[create.nmounts++];
	char *dst = strrchr(arg, ':');

	if (dst == NULL || create.nmounts > MOUNTS_MAX)
		errx(99, "mount %s", arg);
	*dst++ = '\0';
	m->fd = open(arg, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (m->fd == -1)
		err(99, "%s", arg);
	snprintf(m->dst, sizeof(m->dst), "%s", dst);
	m->is_writable = is_writable;
}

int
main(int argc, char **argv)
{
	const struct backend *b = backend_find("ns");
	struct error e = { .code = ERR_NONE };
	static struct sock_fprog filter;
	int c, count = 1, i, status = 0;
	bool is_timed = false;

	/* As in the broker, where 3 is the front's channel. */
	if (dup2(0, AGENT_CHANNEL_FD) == -1)
		err(99, "dup2");
	create.is_root = getuid() == 0;
	create.owner_uid = getuid();
	create.owner_gid = getgid();
	while ((c = getopt(argc, argv, "b:c:m:su:w:")) != -1) {
		switch (c) {
		case 'b':
			b = backend_find(optarg);
			break;
		case 'c':
			count = atoi(optarg);
			is_timed = true;
			break;
		case 'm':
		case 'w':
			add_mount(optarg, c == 'w');
			break;
		case 's':
			create.is_stream = true;
			break;
		case 'u':
			create.owner_uid = (uid_t)atoi(optarg);
			create.owner_gid = create.owner_uid;
			break;
		default:
			errx(99, "see the head of ns-create.c");
		}
	}
	if (argc - optind != 2 || b == NULL)
		errx(99, "usage: ns-create [options] AGENT COMMAND");
	if (b->probe(create.is_root, &e) == -1 ||
	    filter_base(&filter, &create.filter_fd, &e) == -1)
		errx(99, "%s: %s; %s", b->name, e.message, e.fix);
	create.drop = drop;
	create.filter = &filter;
	create.client_ns_fd = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	create.agent_fd = load_agent(argv[optind]);
	if ((b->features & BACKEND_USES_SLOT) != 0 && create.is_root)
		create.slot_base = SLOT_BASE;
	for (i = 0; i < count; i++) {
		if ((b->features & BACKEND_OWN_NETWORK) != 0)
			make_namespaces();
		status = run(b, argv[optind + 1], is_timed);
		close_namespaces();
	}
	return status;
}
