/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The base seccomp filter: what a program inside may ask of the kernel.
 * Everything inside runs under it, the agent too.  Three kinds of calls:
 * allowed, refused with EPERM because programs should be told so, and all
 * others, which do not exist (ENOSYS), so that a new kernel's calls are not
 * open before somebody looked at them and libraries fall back.  The old
 * asynchronous io (io_setup) is one of them: all of a host share one number.
 *
 * Compiled by the broker once at its start.  Arguments that the kernel takes
 * as int are compared by their low 32 bits, as the kernel does; what is
 * behind a pointer cannot be seen, so clone3 and openat2 do not exist.
 * Numbers with the x32 bit are beyond all ranges and do not exist either.
 */

#include "config.h"

#include <sys/types.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/backend.h"
#include "backends/child.h"
#include "proto/proto.h"

#define ALLOW		SECCOMP_RET_ALLOW
#define REFUSE(number)	(SECCOMP_RET_ERRNO | (number))
#define PRETEND		REFUSE(0)	/* succeeds without effect */

#define INT(n, v)	{ TEST_IS, (n), UINT32_MAX, (uint32_t)(v) }
#define NOT(n, v)	{ TEST_IS_NOT, (n), UINT32_MAX, (uint32_t)(v) }
#define BITS(n, m, v)	{ TEST_IS, (n), (m), (v) }
#define ANY(n, m)	{ TEST_IS_NOT, (n), (m), 0 }
#define ZERO(n)		{ TEST_NULL, (n), 0, 0 }

#define INET		BITS(0, ~(uint32_t)(AF_INET ^ AF_INET6), AF_INET)
#define TYPE(v)		BITS(1, TYPE_MASK, (v))

#define NAMESPACES	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | \
			CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | \
			CLONE_NEWNET)
#define NEWTIME		0x80	/* CLONE_NEWTIME: part of clone's signal */
#define SETID		(S_ISUID | S_ISGID)
#define TMPFILE		(O_TMPFILE & ~O_DIRECTORY)
#define TYPE_MASK	0xf	/* SOCK_TYPE_MASK of the kernel */
#define BTRFS_TYPE	0x9400	/* _IOC_TYPE of btrfs's, in place */
#define WHO_PROCESS	1	/* IOPRIO_WHO_PROCESS */
#define CALL_SOCKET	1	/* of socketcall */
#define CALL_SOCKETPAIR	8

#define NCALLS_MAX	640

static const char *const allowed[] = {
	/* Files, by name and by descriptor. */
	"access", "chdir", "chown", "chown32", "close", "close_range",
	"copy_file_range", "dup", "dup2", "dup3", "faccessat", "faccessat2",
	"fadvise64", "fadvise64_64", "arm_fadvise64_64", "fallocate",
	"fchdir", "fchown", "fchown32", "fchownat", "fcntl", "fcntl64",
	"fdatasync", "fgetxattr", "flistxattr", "flock", "fremovexattr",
	"fsetxattr", "fstat", "fstat64", "fstatat64", "fstatfs",
	"fstatfs64", "fsync", "ftruncate", "ftruncate64", "futimesat",
	"getcwd", "getdents", "getdents64", "getxattr", "lchown", "lchown32",
	"lgetxattr", "link", "linkat", "listxattr", "llistxattr", "_llseek",
	"lremovexattr", "lseek", "lsetxattr", "lstat", "lstat64", "mkdir",
	"mkdirat", "name_to_handle_at", "newfstatat", "pipe", "pipe2",
	"pread64", "preadv", "preadv2", "pwrite64", "pwritev", "pwritev2",
	"read", "readahead", "readlink", "readlinkat", "readv",
	"removexattr", "rename", "renameat", "renameat2", "rmdir",
	"sendfile", "sendfile64", "setxattr", "splice", "stat", "stat64",
	"statfs", "statfs64", "statx", "symlink", "symlinkat", "sync",
	"sync_file_range", "sync_file_range2", "syncfs", "tee", "truncate",
	"truncate64", "umask", "unlink", "unlinkat", "utime", "utimensat",
	"utimensat_time64", "utimes", "vmsplice", "write", "writev",
	/* Waiting for them. */
	"epoll_create", "epoll_create1", "epoll_ctl", "epoll_pwait",
	"epoll_pwait2", "epoll_wait", "eventfd", "eventfd2",
	"inotify_add_watch", "inotify_init", "inotify_init1",
	"inotify_rm_watch", "_newselect", "poll", "ppoll", "ppoll_time64",
	"pselect6",
	"pselect6_time64", "select", "signalfd", "signalfd4",
	"timerfd_create", "timerfd_gettime", "timerfd_gettime64",
	"timerfd_settime", "timerfd_settime64",
	/* Memory. */
	"brk", "cachestat", "madvise", "membarrier", "memfd_create",
	"mincore", "mlock", "mlock2", "mlockall", "mmap", "mmap2",
	"mprotect", "mremap", "msync", "munlock", "munlockall", "munmap",
	"map_shadow_stack", "mseal", "pkey_alloc", "pkey_free",
	"pkey_mprotect", "remap_file_pages",
	/* Processes and threads; tracing only among themselves. */
	"arch_prctl", "capget", "capset", "execve", "execveat", "exit",
	"exit_group", "fork", "futex", "futex_requeue", "futex_time64",
	"futex_wait", "futex_waitv", "futex_wake", "getcpu", "getpgid",
	"getpgrp", "getpid", "getppid", "getpriority", "getrlimit",
	"get_robust_list", "getrusage", "getsid", "get_thread_area",
	"gettid", "ioprio_get", "nice", "pidfd_open", "prctl",
	"process_vm_readv", "process_vm_writev", "ptrace", "rseq",
	"sched_getaffinity", "sched_getattr", "sched_getparam",
	"sched_get_priority_max", "sched_get_priority_min",
	"sched_getscheduler", "sched_rr_get_interval",
	"sched_rr_get_interval_time64", "sched_yield", "set_robust_list",
	"set_thread_area", "set_tid_address", "set_tls", "setpgid",
	"setsid", "times", "ugetrlimit", "vfork", "wait4", "waitid",
	"waitpid",
	/* Fences that a program puts round itself. */
	"landlock_add_rule", "landlock_create_ruleset",
	"landlock_restrict_self", "seccomp",
	/* Ids: without capabilities nothing changes. */
	"getegid", "getegid32", "geteuid", "geteuid32", "getgid",
	"getgid32", "getgroups", "getgroups32", "getresgid", "getresgid32",
	"getresuid", "getresuid32", "getuid", "getuid32", "setfsgid",
	"setfsgid32", "setfsuid", "setfsuid32", "setgid", "setgid32",
	"setgroups", "setgroups32", "setregid", "setregid32", "setresgid",
	"setresgid32", "setresuid", "setresuid32", "setreuid", "setreuid32",
	"setuid", "setuid32",
	/* Signals. */
	"kill", "pause", "pidfd_send_signal", "restart_syscall",
	"rt_sigaction", "rt_sigpending", "rt_sigprocmask",
	"rt_sigqueueinfo", "rt_sigreturn", "rt_sigsuspend",
	"rt_sigtimedwait", "rt_sigtimedwait_time64", "rt_tgsigqueueinfo",
	"sigaction", "sigaltstack", "signal", "sigpending", "sigprocmask",
	"sigreturn", "sigsuspend", "tgkill", "tkill",
	/* Time; the kernel refuses to set it. */
	"adjtimex", "alarm", "clock_adjtime", "clock_adjtime64",
	"clock_getres", "clock_getres_time64", "clock_gettime",
	"clock_gettime64", "clock_nanosleep", "clock_nanosleep_time64",
	"getitimer", "gettimeofday", "nanosleep", "setitimer", "time",
	"timer_create", "timer_delete", "timer_getoverrun", "timer_gettime",
	"timer_gettime64", "timer_settime", "timer_settime64",
	/* Sockets once they are made, and System V and POSIX objects. */
	"accept", "accept4", "bind", "connect", "getpeername",
	"getsockname", "getsockopt", "ipc", "listen", "mq_getsetattr",
	"mq_notify", "mq_open", "mq_timedreceive",
	"mq_timedreceive_time64", "mq_timedsend", "mq_timedsend_time64",
	"mq_unlink", "msgctl", "msgget", "msgrcv", "msgsnd", "recv",
	"recvfrom", "recvmmsg", "recvmmsg_time64", "recvmsg", "semctl",
	"semget", "semop", "semtimedop", "semtimedop_time64", "send",
	"sendmmsg", "sendmsg", "sendto", "setsockopt", "shmat", "shmctl",
	"shmdt", "shmget", "shutdown",
	/* The rest. */
	"cacheflush", "getrandom", "sysinfo", "uname",
};

static const char *const refused[] = {
	/* Mounts and roots. */
	"chroot", "fsconfig", "fsmount", "fsopen", "fspick", "mount",
	"mount_setattr", "move_mount", "open_tree", "pivot_root", "umount",
	"umount2",
	/* Other namespaces, other files than names reach. */
	"fanotify_init", "open_by_handle_at", "pidfd_getfd", "setns",
	/* Large kernel surface with little use inside. */
	"add_key", "bpf", "io_uring_enter", "io_uring_register",
	"io_uring_setup", "keyctl", "kcmp", "lookup_dcookie", "mbind",
	"migrate_pages", "modify_ldt", "move_pages", "perf_event_open",
	"request_key", "set_mempolicy", "get_mempolicy", "userfaultfd",
	"vm86", "vm86old",
	/* The whole machine. */
	"acct", "clock_settime", "clock_settime64", "create_module",
	"delete_module", "finit_module", "init_module", "ioperm", "iopl",
	"kexec_file_load", "kexec_load", "quotactl", "quotactl_fd",
	"reboot", "setdomainname", "sethostname", "settimeofday", "stime",
	"swapoff", "swapon", "syslog", "vhangup",
};

static const struct bpf_rule rules[] = {
	/* Set-id bits would outlive the sandbox in a client's directory. */
	{ "chmod", REFUSE(EPERM), { ANY(1, SETID) } },
	{ "chmod", ALLOW, { { 0 } } },
	{ "fchmod", REFUSE(EPERM), { ANY(1, SETID) } },
	{ "fchmod", ALLOW, { { 0 } } },
	{ "fchmodat", REFUSE(EPERM), { ANY(2, SETID) } },
	{ "fchmodat", ALLOW, { { 0 } } },
	{ "fchmodat2", REFUSE(EPERM), { ANY(2, SETID) } },
	{ "fchmodat2", ALLOW, { { 0 } } },
	{ "creat", REFUSE(EPERM), { ANY(1, SETID) } },
	{ "creat", ALLOW, { { 0 } } },
	{ "mknod", REFUSE(EPERM), { ANY(1, SETID) } },
	{ "mknod", ALLOW, { { 0 } } },
	{ "mknodat", REFUSE(EPERM), { ANY(2, SETID) } },
	{ "mknodat", ALLOW, { { 0 } } },
	/* The mode is rubbish unless a file is made. */
	{ "open", REFUSE(EPERM), { ANY(1, O_CREAT | TMPFILE), ANY(2, SETID) } },
	{ "open", ALLOW, { { 0 } } },
	{ "openat", REFUSE(EPERM),
	    { ANY(2, O_CREAT | TMPFILE), ANY(3, SETID) } },
	{ "openat", ALLOW, { { 0 } } },

	{ "clone", REFUSE(EPERM), { ANY(0, NAMESPACES) } },
	{ "clone", ALLOW, { { 0 } } },
	{ "unshare", REFUSE(EPERM), { ANY(0, NAMESPACES | NEWTIME) } },
	{ "unshare", ALLOW, { { 0 } } },
	{ "personality", ALLOW, { INT(0, PER_LINUX) } },
	{ "personality", ALLOW, { INT(0, PER_LINUX32) } },
	{ "personality", ALLOW, { INT(0, ADDR_NO_RANDOMIZE) } },
	{ "personality", ALLOW, { INT(0, 0xffffffff) } },
	{ "personality", REFUSE(EPERM), { { 0 } } },

	/*
	 * All inside have one uid, so limits and priorities of other
	 * processes could be set, those of the first process too.  A core
	 * limit below 1 would let a core go to a host's core pattern pipe.
	 */
	{ "prlimit64", ALLOW, { ZERO(2) } },
	{ "prlimit64", REFUSE(EPERM), { NOT(0, 0) } },
	{ "prlimit64", PRETEND, { INT(1, RLIMIT_CORE), ZERO(3) } },
	{ "prlimit64", REFUSE(EPERM), { INT(1, RLIMIT_CORE) } },
	{ "prlimit64", ALLOW, { { 0 } } },
	{ "setrlimit", PRETEND, { INT(0, RLIMIT_CORE) } },
	{ "setrlimit", ALLOW, { { 0 } } },
	{ "setpriority", REFUSE(EPERM), { NOT(0, PRIO_PROCESS) } },
	{ "setpriority", REFUSE(EPERM), { NOT(1, 0) } },
	{ "setpriority", ALLOW, { { 0 } } },
	{ "ioprio_set", REFUSE(EPERM), { NOT(0, WHO_PROCESS) } },
	{ "ioprio_set", REFUSE(EPERM), { NOT(1, 0) } },
	{ "ioprio_set", ALLOW, { { 0 } } },
	{ "sched_setaffinity", REFUSE(EPERM), { NOT(0, 0) } },
	{ "sched_setaffinity", ALLOW, { { 0 } } },
	{ "sched_setattr", REFUSE(EPERM), { NOT(0, 0) } },
	{ "sched_setattr", ALLOW, { { 0 } } },
	{ "sched_setparam", REFUSE(EPERM), { NOT(0, 0) } },
	{ "sched_setparam", ALLOW, { { 0 } } },
	{ "sched_setscheduler", REFUSE(EPERM), { NOT(0, 0) } },
	{ "sched_setscheduler", ALLOW, { { 0 } } },

	/* Input for another's terminal; a line discipline loads a module. */
	{ "ioctl", REFUSE(EPERM), { INT(1, TIOCSTI) } },
	{ "ioctl", REFUSE(EPERM), { INT(1, TIOCLINUX) } },
	{ "ioctl", REFUSE(EPERM), { INT(1, TIOCCONS) } },
	{ "ioctl", REFUSE(EPERM), { INT(1, TIOCSETD) } },
	/* A nested subvolume escapes quota and snapshot; a clone does not. */
	{ "ioctl", ALLOW, { INT(1, FICLONE) } },
	{ "ioctl", ALLOW, { INT(1, FICLONERANGE) } },
	{ "ioctl", ALLOW, { INT(1, FIDEDUPERANGE) } },
	{ "ioctl", REFUSE(EPERM), { BITS(1, 0xff00, BTRFS_TYPE) } },
	{ "ioctl", ALLOW, { { 0 } } },

	/* Families and protocols that load no module. */
	{ "socket", ALLOW, { INT(0, AF_UNIX) } },
	{ "socket", ALLOW, { INET, TYPE(SOCK_STREAM), INT(2, 0) } },
	{ "socket", ALLOW, { INET, TYPE(SOCK_STREAM), INT(2, IPPROTO_TCP) } },
	{ "socket", ALLOW, { INET, TYPE(SOCK_DGRAM), INT(2, 0) } },
	{ "socket", ALLOW, { INET, TYPE(SOCK_DGRAM), INT(2, IPPROTO_UDP) } },
	{ "socket", REFUSE(EPERM), { TYPE(SOCK_RAW) } },
	{ "socket", REFUSE(EPROTONOSUPPORT), { INET } },
	{ "socket", REFUSE(EAFNOSUPPORT), { { 0 } } },
	{ "socketpair", ALLOW, { INT(0, AF_UNIX) } },
	{ "socketpair", REFUSE(EAFNOSUPPORT), { { 0 } } },
	/* Its arguments are behind a pointer: no new sockets by this way. */
	{ "socketcall", REFUSE(EAFNOSUPPORT), { INT(0, CALL_SOCKET) } },
	{ "socketcall", REFUSE(EAFNOSUPPORT), { INT(0, CALL_SOCKETPAIR) } },
	{ "socketcall", ALLOW, { { 0 } } },
};

#define NRULES	(sizeof(rules) / sizeof(rules[0]))

/*
 * i386 has both a multiplexer and calls of their own for these; libseccomp
 * gives no number but a mark for the multiplexed ones.
 */
static const struct {
	const char	*name;
	uint32_t	 number;
} direct[] = {
	{ "socket", 359 }, { "socketpair", 360 }, { "bind", 361 },
	{ "connect", 362 }, { "listen", 363 }, { "accept4", 364 },
	{ "getsockopt", 365 }, { "setsockopt", 366 }, { "getsockname", 367 },
	{ "getpeername", 368 }, { "sendto", 369 }, { "sendmsg", 370 },
	{ "recvfrom", 371 }, { "recvmsg", 372 }, { "shutdown", 373 },
	{ "semget", 393 }, { "semctl", 394 }, { "shmget", 395 },
	{ "shmctl", 396 }, { "shmat", 397 }, { "shmdt", 398 },
	{ "msgget", 399 }, { "msgsnd", 400 }, { "msgrcv", 401 },
	{ "msgctl", 402 },
};

/* The call's number there, or -1: it has none. */
static int64_t
find_number(uint32_t token, const char *name)
{
	size_t i;
	int number = seccomp_syscall_resolve_name_arch(token, name);

	if (number >= 0)
		return number;
	if (token != SCMP_ARCH_X86)
		return -1;
	for (i = 0; i < sizeof(direct) / sizeof(direct[0]); i++)
		if (strcmp(direct[i].name, name) == 0)
			return direct[i].number;
	return -1;
}

static void
add_call(struct bpf_arch *arch, const char *name, uint32_t action,
    const struct bpf_rule *rule, size_t nrules)
{
	int64_t number = find_number(arch->token, name);

	if (number == -1)
		return;
	arch->calls[arch->ncalls].number = (uint32_t)number;
	arch->calls[arch->ncalls].action = action;
	arch->calls[arch->ncalls].rules = rule;
	arch->calls[arch->ncalls].nrules = nrules;
	arch->ncalls++;
}

static void
add_all(struct bpf_arch *arch)
{
	size_t i, n;

	for (i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
		add_call(arch, allowed[i], ALLOW, NULL, 0);
	for (i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		add_call(arch, refused[i], REFUSE(EPERM), NULL, 0);
	for (i = 0; i < NRULES; i += n) {
		for (n = 1; i + n < NRULES; n++)
			if (strcmp(rules[i].name, rules[i + n].name) != 0)
				break;
		add_call(arch, rules[i].name, REFUSE(EPERM), &rules[i], n);
	}
}

/* INET tests for two families at once. */
_Static_assert((AF_INET & (AF_INET ^ AF_INET6)) == 0 &&
    (AF_INET | (AF_INET ^ AF_INET6)) == AF_INET6 &&
    ((AF_INET ^ AF_INET6) & ((AF_INET ^ AF_INET6) - 1)) == 0,
    "AF_INET and AF_INET6 do not differ in one bit");
_Static_assert(sizeof(allowed) / sizeof(allowed[0]) +
    sizeof(refused) / sizeof(refused[0]) + NRULES <= NCALLS_MAX,
    "NCALLS_MAX is too small");

/* A sealed copy of the program, for bwrap to read. */
static int
write_program(const struct sock_fprog *program, struct error *e)
{
	size_t n = program->len * sizeof(program->filter[0]);
	int fd = memfd_create("sandboxd-filter", MFD_CLOEXEC |
	    MFD_ALLOW_SEALING);

	if (fd == -1)
		return error_sys(e, ERR_INTERNAL, errno, "memfd_create");
	if (write(fd, program->filter, n) != (ssize_t)n ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW |
	    F_SEAL_WRITE) == -1) {
		error_sys(e, ERR_INTERNAL, errno, "seccomp filter's memfd");
		close(fd);
		return -1;
	}
	return fd;
}

int
filter_base(struct sock_fprog *program, int *fd, struct error *e)
{
	struct bpf_arch archs[2] = { { 0 } };
	size_t i, n = 1;
	int status;

	archs[0].token = seccomp_arch_native();
	if (archs[0].token == SCMP_ARCH_X86_64)
		archs[n++].token = SCMP_ARCH_X86;
	else if (archs[0].token == SCMP_ARCH_AARCH64)
		archs[n++].token = SCMP_ARCH_ARM;
	for (i = 0; i < n; i++) {
		archs[i].calls = xcalloc(NCALLS_MAX, sizeof(struct bpf_call));
		add_all(&archs[i]);
	}
	status = bpf_compile(archs, n, REFUSE(ENOSYS), program, e);
	for (i = 0; i < n; i++)
		free(archs[i].calls);
	if (status == -1)
		return -1;
	if ((*fd = write_program(program, e)) == -1) {
		free(program->filter);
		return -1;
	}
	return 0;
}
