/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * What the worker gives up before it reads its first byte: capabilities,
 * limits, system calls.  The broker has set ids and root directory already,
 * since a worker could not.  Anything that fails here is fatal; a call that
 * is not listed kills the process, and with it the sandbox.
 */

#include "config.h"

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <seccomp.h>
#include <string.h>
#include <unistd.h>

#include "worker.h"

#define FILES_MAX	16384
#define DATA_MAX	(1024ul * 1024 * 1024)

#define CALL(name)	SCMP_SYS(name)

/* Calls that are allowed whatever their arguments. */
static const int calls[] = {
	/* The loop. */
	CALL(epoll_wait), CALL(epoll_pwait), CALL(epoll_pwait2),
	CALL(epoll_ctl),
	/* Whether a peer of an attached stream has left. */
	CALL(poll), CALL(ppoll),
	/* Channels and connections, with descriptors. */
	CALL(recvmsg), CALL(sendmsg), CALL(recvfrom), CALL(sendto),
	CALL(getsockopt), CALL(setsockopt),
	/* Streams. */
	CALL(read), CALL(readv), CALL(write), CALL(writev), CALL(splice),
	/* For commands to open again by /dev/stdout: our own pipes. */
	CALL(pipe2), CALL(fchmod),
	/* Of what type a passed descriptor is. */
	CALL(fstat), CALL(newfstatat),
	CALL(close),
	/* The sandbox's end of life. */
	CALL(timerfd_create), CALL(timerfd_settime),
	/* Time, where there is no vDSO for it. */
	CALL(clock_gettime), CALL(gettimeofday),
	/* Memory; mmap and mprotect are below. */
	CALL(brk), CALL(munmap), CALL(mremap), CALL(madvise),
	CALL(getrandom),
	/* The C library: locks, signals, restarts. */
	CALL(futex), CALL(rt_sigaction), CALL(rt_sigprocmask),
	CALL(rt_sigreturn), CALL(restart_syscall), CALL(sched_yield),
	CALL(rseq),
	/* The end; getpid, gettid and tgkill for abort. */
	CALL(getpid), CALL(gettid), CALL(exit), CALL(exit_group),
#ifdef SANDBOXD_SANITIZERS
	/* Reports, and their stack traces. */
	CALL(sigaltstack), CALL(readlink), CALL(readlinkat), CALL(openat),
	CALL(open), CALL(lseek), CALL(dup2), CALL(dup3),
	CALL(sched_getaffinity), CALL(getrlimit), CALL(prlimit64),
	CALL(prctl), CALL(process_vm_readv), CALL(getcwd), CALL(getuid),
	CALL(access), CALL(stat), CALL(clock_nanosleep), CALL(nanosleep),
#endif
};

/* fcntl: flags of our own ends, passed descriptors' modes, pipe sizes. */
static const int fcntls[] = {
	F_GETFL, F_SETFL, F_GETFD, F_SETFD, F_DUPFD_CLOEXEC, F_SETPIPE_SZ
};

static const struct {
	int		 resource;
	rlim_t		 max;
} limits[] = {
	{ RLIMIT_CORE,		0 },
	{ RLIMIT_NPROC,		0 },
	{ RLIMIT_MEMLOCK,	0 },
	{ RLIMIT_MSGQUEUE,	0 },
	{ RLIMIT_RTPRIO,	0 },
	/* RLIMIT_FSIZE stays: output may be copied to a client's file. */
#ifndef SANDBOXD_SANITIZERS
	{ RLIMIT_DATA,		DATA_MAX },
#endif
};

static void
confine_limits(void)
{
	struct rlimit	 r;
	size_t		 i;

	for (i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		r.rlim_cur = r.rlim_max = limits[i].max;
		if (setrlimit(limits[i].resource, &r) == -1)
			fatal("setrlimit: %s", strerror(errno));
	}
	/* As many descriptors as there may be, but a known number. */
	if (getrlimit(RLIMIT_NOFILE, &r) == -1)
		fatal("getrlimit: %s", strerror(errno));
	if (r.rlim_max > FILES_MAX)
		r.rlim_max = FILES_MAX;
	r.rlim_cur = r.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &r) == -1)
		fatal("setrlimit: %s", strerror(errno));
}

/* The broker has left none; this is for a worker that root starts by hand. */
static void
confine_capabilities(void)
{
	struct __user_cap_header_struct	 head = {
		.version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct	 data[2];

	memset(data, 0, sizeof(data));
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capset, &head, data) == -1 ||
	    syscall(SYS_capget, &head, data) == -1)
		fatal("capabilities: %s", strerror(errno));
	if (data[0].permitted != 0 || data[1].permitted != 0 ||
	    data[0].inheritable != 0 || data[1].inheritable != 0)
		fatal("capabilities are left");
}

static int
confine_arguments(scmp_filter_ctx ctx)
{
	const uint64_t	 mask = UINT32_MAX;
	size_t		 i;
	int		 r = 0;

	for (i = 0; r == 0 && i < sizeof(fcntls) / sizeof(fcntls[0]); i++)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, CALL(fcntl), 1,
		    SCMP_A1(SCMP_CMP_MASKED_EQ, mask, (uint64_t)fcntls[i]));
	/* How much is left in a pipe at the end. */
	if (r == 0)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, CALL(ioctl), 1,
		    SCMP_A1(SCMP_CMP_MASKED_EQ, mask, FIONREAD));
	/* A client's end of an attached input. */
	if (r == 0)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, CALL(socketpair), 1,
		    SCMP_A0(SCMP_CMP_MASKED_EQ, mask, AF_UNIX));
	/* Memory, never code. */
	if (r == 0)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, CALL(mmap), 1,
		    SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	if (r == 0)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, CALL(mprotect), 1,
		    SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	/* abort, of this process only. */
	if (r == 0)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, CALL(tgkill), 1,
		    SCMP_A0(SCMP_CMP_MASKED_EQ, mask, (uint64_t)getpid()));
	return r;
}

static void
confine_calls(void)
{
	scmp_filter_ctx	 ctx;
	size_t		 i;
	int		 r = 0;

	/* Other architectures' calls are killed by libseccomp's default. */
	if ((ctx = seccomp_init(SCMP_ACT_KILL_PROCESS)) == NULL)
		fatal("seccomp: out of memory");
	for (i = 0; r == 0 && i < sizeof(calls) / sizeof(calls[0]); i++) {
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, calls[i], 0);
		/* A call that this architecture does not have. */
		if (r == -EDOM)
			r = 0;
	}
	if (r == 0)
		r = confine_arguments(ctx);
	if (r == 0)
		r = seccomp_load(ctx);
	if (r != 0)
		fatal("seccomp: %s", strerror(-r));
	seccomp_release(ctx);
}

void
confine(void)
{
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == -1 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1 ||
	    prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		fatal("prctl: %s", strerror(errno));
	(void)prctl(PR_SET_NAME, "sandboxd-worker", 0, 0, 0);
	confine_capabilities();
	confine_limits();
	confine_calls();
}
