/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The front's way down: each function takes something away for good, and is
 * fatal when that fails.  sandboxd.c calls them in order; what is in force at
 * the end is read back.  Run with root's rights at first, or the user's; no
 * input but our own.  seccomp is the wall, Landlock a second fence where the
 * kernel has it.
 */

#include "config.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "parent/parent.h"

static int	 status_fd = -1;	/* /proc/self/status, for the end */

/*** Limits and identity ***/

static void
limit(int what, rlim_t soft, const char *name)
{
	struct rlimit rl = { soft, soft };

	if (setrlimit(what, &rl) == -1)
		fatal("limit %s: %s", name, strerror(errno));
}

unsigned int
confine_begin(unsigned int fds)
{
	struct rlimit rl;

	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == -1)
		fatal("prctl: %s", strerror(errno));
	if (getrlimit(RLIMIT_NOFILE, &rl) == -1)
		fatal("getrlimit: %s", strerror(errno));
	if (rl.rlim_max > fds)
		rl.rlim_max = fds;
	limit(RLIMIT_NOFILE, rl.rlim_max, "of descriptors");
	limit(RLIMIT_CORE, 0, "of core files");
	status_fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	if (status_fd == -1)
		fatal("/proc/self/status: %s", strerror(errno));
	return (unsigned int)rl.rlim_max;
}

void
confine_root(int fd)
{
	if (fchdir(fd) == -1 || chroot(".") == -1 || chdir("/") == -1)
		fatal("chroot: %s", strerror(errno));
	close(fd);
}

void
confine_ids(uid_t uid, gid_t gid)
{
	int cap;

	/* While it is still allowed: nothing can be gained by an exec. */
	for (cap = 0; prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0; cap++)
		;
	if (errno != EINVAL)	/* the kernel knows no more */
		fatal("capability %d: %s", cap, strerror(errno));
	if (setgroups(0, NULL) == -1 || setresgid(gid, gid, gid) == -1 ||
	    setresuid(uid, uid, uid) == -1)
		fatal("ids %u:%u: %s", uid, gid, strerror(errno));
	if (setresuid(0, 0, 0) != -1 || setresgid(0, 0, 0) != -1)
		fatal("root can be regained");
}

void
confine_caps(void)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct none[2];

	memset(none, 0, sizeof(none));
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == -1 &&
	    errno != EINVAL)
		fatal("ambient capabilities: %s", strerror(errno));
	if (syscall(SYS_capset, &header, none) == -1)
		fatal("capset: %s", strerror(errno));
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		fatal("no_new_privs: %s", strerror(errno));
	/* Changing ids may have made us dumpable. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == -1)
		fatal("prctl: %s", strerror(errno));
}

/*** Landlock ***/

/* Of linux/landlock.h, which may be older than the kernel we run on. */
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset	444
#endif
#ifndef SYS_landlock_restrict_self
#define SYS_landlock_restrict_self	446
#endif
#define LANDLOCK_VERSION	1u	/* CREATE_RULESET_VERSION */

struct landlock {
	uint64_t	 fs;
	uint64_t	 net;
	uint64_t	 scoped;
};

/* What each ABI knows; all of it is handled, and nothing allowed. */
static const struct landlock landlock_abis[] = {
	{ (1u << 13) - 1, 0, 0 },		/* 1: files */
	{ (1u << 14) - 1, 0, 0 },		/* 2: refer */
	{ (1u << 15) - 1, 0, 0 },		/* 3: truncate */
	{ (1u << 15) - 1, 3, 0 },		/* 4: TCP */
	{ (1u << 16) - 1, 3, 0 },		/* 5: ioctl of devices */
	{ (1u << 16) - 1, 3, 3 },		/* 6: signals, sockets */
};

void
confine_landlock(void)
{
	const long known = sizeof(landlock_abis) / sizeof(landlock_abis[0]);
	long abi, fd;

	abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
	    LANDLOCK_VERSION);
	if (abi <= 0) {
		log_debug("no Landlock here: %s", strerror(errno));
		return;
	}
	if (abi > known)
		abi = known;
	fd = syscall(SYS_landlock_create_ruleset, &landlock_abis[abi - 1],
	    sizeof(landlock_abis[0]), 0);
	if (fd == -1 || syscall(SYS_landlock_restrict_self, (int)fd, 0) == -1)
		fatal("Landlock: %s", strerror(errno));
	close((int)fd);
}

/*** seccomp ***/

#define ANY	-1		/* no condition */

/* arg: which argument must be value, after mask if that is not 0. */
struct rule {
	int		 nr;
	int		 arg;
	uint64_t	 value;
	uint64_t	 mask;
};

#define CALL(name)		{ SCMP_SYS(name), ANY, 0, 0 }
#define ONLY(name, arg, value)	{ SCMP_SYS(name), arg, value, 0 }
#define LACKS(name, arg, bits)	{ SCMP_SYS(name), arg, 0, bits }

#define PROT_EXEC_BIT	4u

static const struct rule rules[] = {
	/* The event loop of libevent. */
	CALL(epoll_wait), CALL(epoll_pwait), CALL(epoll_pwait2),
	CALL(epoll_ctl),
	/* Channels and client sockets: descriptors come with the bytes. */
	CALL(recvmsg), CALL(sendmsg),
	/* Tunnels, signalfd, log lines, the status that is read back. */
	CALL(read), CALL(write), CALL(sendto), CALL(recvfrom),
	CALL(shutdown), CALL(close),
	/* A new channel: buffers as large as a frame, no descriptors in. */
	CALL(getsockopt),
	ONLY(setsockopt, 1, 1 /* SOL_SOCKET */),
	ONLY(fcntl, 1, F_GETFL), ONLY(fcntl, 1, F_SETFL),
	ONLY(fcntl, 1, F_GETFD), ONLY(fcntl, 1, F_SETFD),
	/* Memory, none of it executable. */
	CALL(brk), CALL(munmap), CALL(mremap), CALL(madvise),
	LACKS(mmap, 2, PROT_EXEC_BIT), LACKS(mprotect, 2, PROT_EXEC_BIT),
	/* Where the vDSO has no answer; ids. */
	CALL(clock_gettime), CALL(gettimeofday), CALL(time),
	CALL(getrandom), CALL(getpid),
	/* How the broker ended, and the wait for that. */
	CALL(wait4), CALL(rt_sigtimedwait),
	/* Ours, when it comes to that: abort() and the return from it. */
	CALL(rt_sigprocmask), CALL(rt_sigaction), CALL(rt_sigreturn),
	CALL(restart_syscall), CALL(gettid), CALL(tgkill), CALL(futex),
	CALL(exit), CALL(exit_group),
#ifdef SANDBOXD_SANITIZERS
	/* Reports: symbols, stacks, memory maps.  Never in a release. */
	CALL(open), CALL(openat), CALL(readlink), CALL(readlinkat),
	CALL(stat), CALL(fstat), CALL(newfstatat), CALL(lseek),
	CALL(pread64), CALL(ioctl), CALL(sigaltstack), CALL(prctl),
	CALL(sched_yield), CALL(nanosleep), CALL(clock_nanosleep),
	CALL(getrlimit), CALL(prlimit64), CALL(getrusage), CALL(getuid),
	CALL(geteuid), CALL(getppid), CALL(mmap), CALL(mprotect),
	CALL(sched_getaffinity), CALL(access), CALL(uname), CALL(pipe2),
	CALL(writev), CALL(readv), CALL(process_vm_readv),
#endif
};

static int
rule_add(scmp_filter_ctx ctx, const struct rule *rule)
{
	if (rule->arg == ANY)
		return seccomp_rule_add(ctx, SCMP_ACT_ALLOW, rule->nr, 0);
	if (rule->mask == 0)
		return seccomp_rule_add(ctx, SCMP_ACT_ALLOW, rule->nr, 1,
		    SCMP_CMP((unsigned int)rule->arg, SCMP_CMP_EQ,
		    rule->value));
	return seccomp_rule_add(ctx, SCMP_ACT_ALLOW, rule->nr, 1,
	    SCMP_CMP((unsigned int)rule->arg, SCMP_CMP_MASKED_EQ, rule->mask,
	    rule->value));
}

void
confine_seccomp(void)
{
	scmp_filter_ctx ctx;
	size_t i;
	int rc;

	if ((ctx = seccomp_init(SCMP_ACT_KILL_PROCESS)) == NULL)
		fatal("seccomp: out of memory");
	/* Other architectures, x32 too, are not added: they kill. */
	rc = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH,
	    SCMP_ACT_KILL_PROCESS);
	for (i = 0; rc == 0 && i < sizeof(rules) / sizeof(rules[0]); i++) {
		/* Negative: a call that this architecture lacks. */
		if (rules[i].nr >= 0)
			rc = rule_add(ctx, &rules[i]);
	}
	if (rc == 0)
		rc = seccomp_load(ctx);
	if (rc != 0)
		fatal("seccomp: %s", strerror(-rc));
	seccomp_release(ctx);
}

/*** Reading back ***/

/* The text behind "NAME:\t" of the status must be this. */
static void
status_is(const char *status, const char *name, const char *wanted)
{
	const char *line, *value;
	size_t n = strlen(name);

	for (line = status; line != NULL && *line != '\0';) {
		if (strncmp(line, name, n) == 0 && line[n] == ':') {
			value = line + n + 1 + strspn(line + n + 1, " \t");
			n = strcspn(value, "\n");
			while (n > 0 && value[n - 1] == ' ')
				n--;
			if (n == strlen(wanted) &&
			    strncmp(value, wanted, n) == 0)
				return;
			fatal("confinement: %s is %.*s, not %s", name, (int)n,
			    value, wanted);
		}
		if ((line = strchr(line, '\n')) != NULL)
			line++;
	}
	fatal("confinement: the kernel does not show %s", name);
}

void
confine_verify(uid_t uid, gid_t gid, bool is_root)
{
	static char status[16384];
	static const char none[] = "0000000000000000";
	char ids[64];
	ssize_t n;

	n = read(status_fd, status, sizeof(status) - 1);
	if (n <= 0)
		fatal("confinement: /proc/self/status cannot be read");
	fd_close(&status_fd);
	snprintf(ids, sizeof(ids), "%u\t%u\t%u\t%u", uid, uid, uid, uid);
	status_is(status, "Uid", ids);
	snprintf(ids, sizeof(ids), "%u\t%u\t%u\t%u", gid, gid, gid, gid);
	status_is(status, "Gid", ids);
	status_is(status, "CapInh", none);
	status_is(status, "CapPrm", none);
	status_is(status, "CapEff", none);
	status_is(status, "CapAmb", none);
	status_is(status, "NoNewPrivs", "1");
	status_is(status, "Seccomp", "2");
	if (is_root) {
		status_is(status, "CapBnd", none);
		status_is(status, "Groups", "");
	}
}
