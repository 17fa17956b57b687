/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * A hostile program for the inside of a sandbox: tries what programs of this
 * kind were broken by, and prints one line per attempt, "refused NAME" or
 * "ALLOWED NAME"; the exit status is 1 if anything was allowed.
 * Run by regress/attack/inside.sh as the sandbox's user.  It refuses to run
 * anywhere else: an attempt that succeeds on a host changes the host.  Even
 * inside, an attempt on another process only sets values that already are.
 */

#include <sys/types.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

/* Newer than the headers of the oldest supported system. */
#define NR_OPEN_TREE		428
#define NR_MOVE_MOUNT		429
#define NR_FSOPEN		430
#define NR_PIDFD_OPEN		434
#define NR_CLONE3		435
#define NR_PIDFD_GETFD		438
#define NR_MOUNT_SETATTR	442
#define NR_FCHMODAT2		452
#define NR_IO_URING_SETUP	425
#define X32_BIT			0x40000000L
#define FAMILY_VSOCK		40

struct attempt {
	const char	*name;
	bool		 (*succeeds)(void);
};

static long
status_field(const char *name, int base)
{
	char line[256];
	long value = -1;
	size_t n = strlen(name);
	FILE *f = fopen("/proc/self/status", "re");

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, name, n) == 0 && line[n] == ':')
			value = (long)strtoull(line + n + 1, NULL, base);
	if (f != NULL)
		fclose(f);
	return value;
}

static bool
is_inside(void)
{
	char host[64] = "";

	gethostname(host, sizeof(host) - 1);
	return strcmp(host, "sandbox") == 0 && getuid() == 1000 &&
	    status_field("Seccomp", 10) == 2 &&
	    status_field("NoNewPrivs", 10) == 1;
}

/*** What was inherited ***/

static bool
has_capability(void)
{
	return status_field("CapInh", 16) != 0 ||
	    status_field("CapPrm", 16) != 0 ||
	    status_field("CapEff", 16) != 0 ||
	    status_field("CapBnd", 16) != 0 ||
	    status_field("CapAmb", 16) != 0;
}

static bool
has_descriptor(void)
{
	int fd;

	for (fd = 3; fd < 4096; fd++)
		if (fcntl(fd, F_GETFD) != -1)
			return true;
	return false;
}

static bool
has_group(void)
{
	gid_t groups[64];
	int i, n = getgroups(64, groups);

	for (i = 0; i < n; i++)
		if (groups[i] != getgid())
			return true;
	return n < 0;
}

static bool
has_secret(void)
{
	return getenv("SECRET") != NULL;
}

static bool
leaves_root(void)
{
	struct stat a, b;
	int i;

	if (stat("/", &a) == -1 || chdir("/workspace") == -1)
		return true;
	for (i = 0; i < 64; i++)
		if (chdir("..") == -1)
			return true;
	return stat(".", &b) == -1 || a.st_dev != b.st_dev ||
	    a.st_ino != b.st_ino;
}

static bool
may_dump_core(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_CORE, &limit) == -1 || limit.rlim_max > 1;
}

/*** Becoming somebody else ***/

static bool
becomes_root(void)
{
	return setuid(0) == 0 || setresuid(0, 0, 0) == 0 || setgid(0) == 0 ||
	    seteuid(0) == 0;
}

static bool
sets_groups(void)
{
	gid_t none = 0;

	return setgroups(1, &none) == 0;
}

static bool
makes_namespace(void)
{
	static const int kinds[] = { CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWPID,
	    CLONE_NEWNET, CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWCGROUP };
	size_t i;
	pid_t pid;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (unshare(kinds[i]) == 0)
			return true;
		pid = (pid_t)syscall(SYS_clone, kinds[i] | SIGCHLD, 0, 0, 0, 0);
		if (pid == 0)
			_exit(0);
		if (pid > 0)
			return true;
	}
	return false;
}

static bool
makes_namespace_clone3(void)
{
	unsigned long long args[8] = { CLONE_NEWUSER, 0, 0, 0, SIGCHLD };
	long pid = syscall(NR_CLONE3, args, sizeof(args));

	if (pid == 0)
		_exit(0);
	return pid > 0 || errno != ENOSYS;
}

static bool
joins_namespace(void)
{
	static const char *const names[] = { "user", "mnt", "net", "pid",
	    "ipc", "uts" };
	char path[64];
	size_t i;
	int fd;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "/proc/1/ns/%s", names[i]);
		if ((fd = open(path, O_RDONLY | O_CLOEXEC)) == -1)
			continue;
		if (setns(fd, 0) == 0)
			return true;
		close(fd);
	}
	return false;
}

/*** Mounts ***/

static bool
mounts(void)
{
	return mount("none", "/tmp", "tmpfs", 0, "") == 0 ||
	    mount("none", "/tmp", "proc", 0, "") == 0 ||
	    mount("none", "/tmp", "cgroup", 0, "memory") == 0 ||
	    mount("none", "/tmp", "cgroup2", 0, "") == 0 ||
	    mount(NULL, "/usr", NULL, MS_REMOUNT | MS_BIND, NULL) == 0 ||
	    umount2("/proc", MNT_DETACH) == 0 || chroot("/tmp") == 0 ||
	    syscall(SYS_pivot_root, "/tmp", "/tmp") == 0;
}

static bool
mounts_by_descriptor(void)
{
	return syscall(NR_FSOPEN, "tmpfs", 0) >= 0 ||
	    syscall(NR_OPEN_TREE, -100, "/tmp", 1) >= 0 ||
	    syscall(NR_MOVE_MOUNT, -100, "/tmp", -100, "/workspace", 0) == 0 ||
	    syscall(NR_MOUNT_SETATTR, -100, "/tmp", 0, NULL, 0) == 0;
}

/*** The first process ***/

static bool
reads_agent(void)
{
	DIR *dir;

	if (open("/proc/1/mem", O_RDWR | O_CLOEXEC) != -1 ||
	    open("/proc/1/exe", O_WRONLY | O_CLOEXEC) != -1 ||
	    open("/proc/1/environ", O_RDONLY | O_CLOEXEC) != -1)
		return true;
	if ((dir = opendir("/proc/1/fd")) != NULL) {
		closedir(dir);
		return true;
	}
	return chdir("/proc/1/root") == 0 || chdir("/proc/1/cwd") == 0;
}

static bool
traces_agent(void)
{
	char byte;
	struct iovec to = { &byte, 1 }, from = { (void *)0x400000, 1 };
	int fd = (int)syscall(NR_PIDFD_OPEN, 1, 0);

	return ptrace(PTRACE_ATTACH, 1, 0, 0) == 0 ||
	    ptrace(PTRACE_SEIZE, 1, 0, 0) == 0 ||
	    process_vm_readv(1, &to, 1, &from, 1, 0) >= 0 ||
	    (fd >= 0 && syscall(NR_PIDFD_GETFD, fd, 3, 0) >= 0);
}

/* Sets what is already set: harmless even where it is allowed. */
static bool
limits_agent(void)
{
	struct rlimit limit;
	cpu_set_t set;

	if (prlimit(1, RLIMIT_CPU, NULL, &limit) == 0 &&
	    prlimit(1, RLIMIT_CPU, &limit, NULL) == 0)
		return true;
	if (sched_getaffinity(1, sizeof(set), &set) == 0 &&
	    sched_setaffinity(1, sizeof(set), &set) == 0)
		return true;
	return setpriority(PRIO_PROCESS, 1, 0) == 0;
}

/* A first process ignores these; that the sandbox lives on shows it. */
static bool
kills_agent(void)
{
	kill(1, SIGKILL);
	kill(1, SIGSTOP);
	kill(1, SIGSEGV);
	usleep(20000);
	return kill(1, 0) == -1 && errno == ESRCH;
}

/*** Terminals ***/

static bool
pushes_input(void)
{
	static const char *const names[] = { "/dev/tty", "/dev/console",
	    "/dev/pts/0" };
	size_t i;
	int fd;

	for (i = 0; i < 3; i++) {
		if (syscall(SYS_ioctl, (int)i, TIOCSTI, "x") == 0 ||
		    syscall(SYS_ioctl, (int)i, 0x100000000L | TIOCSTI,
		    "x") == 0)
			return true;
		if ((fd = open(names[i], O_RDWR | O_CLOEXEC | O_NOCTTY)) == -1)
			continue;
		if (syscall(SYS_ioctl, fd, TIOCSTI, "x") == 0 ||
		    syscall(SYS_ioctl, fd, 0x100000000L | TIOCSTI, "x") == 0 ||
		    syscall(SYS_ioctl, fd, TIOCLINUX, "\2") == 0)
			return true;
		close(fd);
	}
	return false;
}

/*** Kernel surface ***/

static bool
calls_x32(void)
{
	return syscall(X32_BIT | SYS_getpid) >= 0 ||
	    syscall(X32_BIT | SYS_mount, "none", "/tmp", "tmpfs", 0, "") == 0;
}

#if defined(__x86_64__)
/* umount2 by the 32-bit entry; a filter that kills is a refusal too. */
static bool
calls_i386(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		long answer = 52;

		__asm__ volatile("int $0x80" : "+a"(answer) :
		    "b"(0), "c"(0) : "memory");
		_exit(answer == -EPERM || answer == -ENOSYS ? 0 : 1);
	}
	if (waitpid(pid, &status, 0) != pid)
		return true;
	return WIFEXITED(status) && WEXITSTATUS(status) != 0;
}
#endif

static const struct {
	const char	*name;
	long		 nr;
} calls[] = {
	{ "bpf", SYS_bpf }, { "perf_event_open", SYS_perf_event_open },
	{ "userfaultfd", SYS_userfaultfd }, { "keyctl", SYS_keyctl },
	{ "add_key", SYS_add_key }, { "request_key", SYS_request_key },
	{ "kexec_load", SYS_kexec_load }, { "init_module", SYS_init_module },
	{ "finit_module", SYS_finit_module },
	{ "delete_module", SYS_delete_module },
	{ "open_by_handle_at", SYS_open_by_handle_at },
	{ "swapon", SYS_swapon }, { "swapoff", SYS_swapoff },
	{ "reboot", SYS_reboot }, { "settimeofday", SYS_settimeofday },
	{ "clock_settime", SYS_clock_settime }, { "acct", SYS_acct },
	{ "quotactl", SYS_quotactl }, { "syslog", SYS_syslog },
	{ "sethostname", SYS_sethostname }, { "vhangup", SYS_vhangup },
	{ "io_uring_setup", NR_IO_URING_SETUP }, { "io_setup", SYS_io_setup },
#if defined(__x86_64__)
	{ "iopl", SYS_iopl }, { "ioperm", SYS_ioperm },
#endif
};

static bool
makes_calls(void)
{
	bool has_made = false;
	size_t i;

	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (syscall(calls[i].nr, 0, 0, 0, 0, 0, 0) == -1 &&
		    (errno == EPERM || errno == ENOSYS || errno == EACCES))
			continue;
		printf("reached %s: %s\n", calls[i].name, strerror(errno));
		has_made = true;
	}
	return has_made;
}

static bool
opens_sockets(void)
{
	static const int families[] = { FAMILY_VSOCK, AF_NETLINK, AF_PACKET,
	    AF_ALG, AF_KEY, AF_BLUETOOTH, AF_TIPC, AF_CAN };
	size_t i;

	for (i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		if (socket(families[i], SOCK_RAW, 0) != -1 ||
		    socket(families[i], SOCK_DGRAM, 0) != -1 ||
		    socket(families[i], SOCK_STREAM, 0) != -1)
			return true;
	return socket(AF_INET, SOCK_RAW, 1) != -1;
}

static bool
makes_setid(void)
{
	int fd = open("/tmp/setid", O_RDWR | O_CREAT | O_CLOEXEC, 0700);

	return chmod("/tmp/setid", 04755) == 0 || fchmod(fd, 02755) == 0 ||
	    fchmodat(AT_FDCWD, "/tmp/setid", 06755, 0) == 0 ||
	    syscall(NR_FCHMODAT2, AT_FDCWD, "/tmp/setid", 04755, 0) == 0;
}

static bool
makes_device(void)
{
	return mknod("/tmp/device", S_IFCHR | 0666, 0x103) == 0 ||
	    mknod("/workspace/device", S_IFBLK | 0666, 0x800) == 0;
}

/*** The host's files ***/

static bool
opens_any(const char *const *paths, int flags)
{
	bool has_opened = false;
	int fd;

	for (; *paths != NULL; paths++) {
		char byte;

		if ((fd = open(*paths, flags | O_CLOEXEC | O_NONBLOCK)) == -1)
			continue;
		/* A mask by an empty file or /dev/null reads nothing. */
		if ((flags & O_ACCMODE) != O_RDONLY || read(fd, &byte, 1) > 0) {
			printf("opened %s\n", *paths);
			has_opened = true;
		}
		close(fd);
	}
	return has_opened;
}

static bool
writes_kernel(void)
{
	static const char *const paths[] = { "/proc/sys/kernel/core_pattern",
	    "/proc/sys/kernel/hostname", "/proc/sys/vm/drop_caches",
	    "/proc/sys/net/ipv4/ip_forward",
	    "/proc/sys/user/max_user_namespaces",
	    "/proc/irq/default_smp_affinity",
	    "/proc/1/oom_score_adj", NULL };

	return opens_any(paths, O_WRONLY);
}

static bool
reads_kernel(void)
{
	static const char *const paths[] = { "/proc/kcore", "/proc/keys",
	    "/proc/kmsg", "/proc/timer_list", "/proc/sched_debug",
	    "/proc/kallsyms_", "/sys/kernel/debug/x", "/sys/firmware/dmi/x",
	    "/dev/mem", "/dev/kmsg", "/dev/sda", "/dev/vda", "/dev/loop0",
	    "/dev/fuse", "/dev/kvm", "/dev/net/tun", NULL };

	return opens_any(paths, O_RDONLY);
}

static bool
reads_host(void)
{
	static const char *const paths[] = { "/etc/shadow", "/etc/gshadow",
	    "/etc/sudoers", "/etc/machine-id", "/etc/ssh/ssh_host_rsa_key",
	    "/var/lib/dpkg/status", "/root/.bashrc", "/run/sandboxd.sock",
	    "/boot/grub/grub.cfg", NULL };

	return opens_any(paths, O_RDONLY);
}

static bool
writes_system(void)
{
	static const char *const paths[] = { "/usr/bin/env", "/bin/sh",
	    "/etc/passwd", "/etc/group", "/etc/hosts", "/etc/ld.so.cache",
	    NULL };

	return opens_any(paths, O_WRONLY) ||
	    open("/usr/new", O_CREAT | O_WRONLY | O_CLOEXEC, 0600) != -1 ||
	    open("/etc/new", O_CREAT | O_WRONLY | O_CLOEXEC, 0600) != -1 ||
	    mkdir("/new", 0700) == 0 || rename("/etc", "/etd") == 0;
}

static bool
sees_cgroups(void)
{
	return access("/sys/fs/cgroup/cgroup.procs", W_OK) == 0 ||
	    access("/sys/fs/cgroup/memory/tasks", F_OK) == 0;
}

static bool
sees_processes(void)
{
	struct dirent *entry;
	struct stat st;
	DIR *dir = opendir("/proc");
	char path[512];
	bool has_seen = false;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		if (atoi(entry->d_name) < 1)
			continue;
		snprintf(path, sizeof(path), "/proc/%s", entry->d_name);
		if (stat(path, &st) == 0 && st.st_uid != getuid() &&
		    st.st_uid != 0 && st.st_uid != 65534)
			has_seen = true;
		if (atoi(entry->d_name) > 100000)
			has_seen = true;
	}
	if (dir != NULL)
		closedir(dir);
	return has_seen;
}

static const struct attempt attempts[] = {
	{ "a capability in any of the five sets", has_capability },
	{ "a descriptor beyond 0, 1 and 2", has_descriptor },
	{ "a supplementary group", has_group },
	{ "the daemon's environment", has_secret },
	{ "leaving the root by dot-dot", leaves_root },
	{ "a core file", may_dump_core },
	{ "becoming root", becomes_root },
	{ "setting groups", sets_groups },
	{ "a new namespace", makes_namespace },
	{ "a new namespace by clone3", makes_namespace_clone3 },
	{ "joining a namespace", joins_namespace },
	{ "a mount", mounts },
	{ "a mount by descriptor", mounts_by_descriptor },
	{ "reading the agent", reads_agent },
	{ "tracing the agent", traces_agent },
	{ "limits of the agent", limits_agent },
	{ "killing the agent", kills_agent },
	{ "pushing terminal input", pushes_input },
	{ "x32 system calls", calls_x32 },
#if defined(__x86_64__)
	{ "i386 system calls", calls_i386 },
#endif
	{ "dangerous system calls", makes_calls },
	{ "odd socket families", opens_sockets },
	{ "set-id bits", makes_setid },
	{ "device nodes", makes_device },
	{ "writing kernel settings", writes_kernel },
	{ "reading kernel state", reads_kernel },
	{ "reading the host's files", reads_host },
	{ "writing system files", writes_system },
	{ "cgroups", sees_cgroups },
	{ "other processes", sees_processes },
};

int
main(void)
{
	size_t i;
	int status = 0;

	if (!is_inside()) {
		fprintf(stderr, "inside: not in a sandbox, refusing to run\n");
		return 99;
	}
	for (i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++) {
		bool is_allowed = attempts[i].succeeds();

		printf("%s %s\n", is_allowed ? "ALLOWED" : "refused",
		    attempts[i].name);
		fflush(stdout);
		if (is_allowed)
			status = 1;
	}
	return status;
}
