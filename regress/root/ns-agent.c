/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * A tiny agent for ns-create: static, the first process inside.  Reads one
 * command from descriptor 3.  "check" looks at the picture and answers a line
 * "bad NAME" for everything that is not as sandboxd-backends(7) says, and
 * "checked N"; anything else runs in /bin/sh with the channel as its output.
 * "check bwrap" and "check host" leave out what these do otherwise.
 */

#include <sys/types.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHANNEL		3

extern char **environ;

static bool is_bwrap;

static bool
has_status(const char *name, const char *value)
{
	char line[512];
	size_t n = strlen(name);
	bool is_same = false;
	FILE *f = fopen("/proc/self/status", "re");

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, name, n) == 0 && line[n] == ':') {
			line[strcspn(line, "\n")] = '\0';
			is_same = strcmp(line + n + 2, value) == 0;
		}
	if (f != NULL)
		fclose(f);
	return is_same;
}

static bool
ids(void)
{
	return has_status("Uid", "1000\t1000\t1000\t1000") &&
	    has_status("Gid", "1000\t1000\t1000\t1000") &&
	    getgroups(0, NULL) == 0;
}

static bool
capabilities(void)
{
	static const char none[] = "0000000000000000";

	return has_status("CapInh", none) && has_status("CapPrm", none) &&
	    has_status("CapEff", none) && has_status("CapBnd", none) &&
	    has_status("CapAmb", none);
}

static bool
fences(void)
{
	return has_status("NoNewPrivs", "1") && has_status("Seccomp", "2") &&
	    (is_bwrap || prctl(PR_GET_SECUREBITS, 0, 0, 0, 0) != 0);
}

static bool
first_process(void)
{
	return getpid() == 1;
}

static bool
not_dumpable(void)
{
	return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0;
}

static bool
descriptors(void)
{
	int fd;

	for (fd = 0; fd <= CHANNEL; fd++)
		if (fcntl(fd, F_GETFD) == -1)
			return false;
	for (; fd < 1024; fd++) {
		char path[64], target[256] = "";

		if (fcntl(fd, F_GETFD) == -1)
			continue;
		/* bwrap's agent was run through its own descriptor. */
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		if (!is_bwrap || readlink(path, target, sizeof(target) - 1) ==
		    -1 || strstr(target, "sandboxd-agent") == NULL)
			return false;
	}
	return true;
}

static bool
environment(void)
{
	int n = 0;

	while (environ[n] != NULL)
		n++;
	return n == 0 || (is_bwrap && n == 1 &&
	    strncmp(environ[0], "PWD=", 4) == 0);
}

static bool
limits(void)
{
	struct rlimit core, lock, files;

	return getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_max == 1 &&
	    getrlimit(RLIMIT_MEMLOCK, &lock) == 0 && lock.rlim_max == 0 &&
	    getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_max == 1024 &&
	    files.rlim_cur == 1024;
}

static bool
where(void)
{
	char cwd[4096];
	mode_t mask = umask(022);

	return getcwd(cwd, sizeof(cwd)) != NULL && strcmp(cwd, "/") == 0 &&
	    mask == 022;
}

static bool
root_entries(void)
{
	static const char known[] = " bin dev etc lib lib32 lib64 libx32 proc "
	    "run sbin sys tmp usr var workspace . .. ";
	struct dirent *entry;
	char word[300];
	bool is_good = true;
	DIR *dir = opendir("/");

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		snprintf(word, sizeof(word), " %s ", entry->d_name);
		if (strstr(known, word) == NULL)
			is_good = false;
	}
	if (dir != NULL)
		closedir(dir);
	return dir != NULL && is_good;
}

static bool
is_flagged(const char *path, unsigned long want, unsigned long not_want)
{
	struct statvfs st;

	return statvfs(path, &st) == 0 && (st.f_flag & want) == want &&
	    (st.f_flag & not_want) == 0;
}

static bool
read_only(void)
{
	static const char *const paths[] = { "/", "/etc", "/usr", "/usr/bin",
	    "/proc/sys", "/dev", "/sys" };
	size_t i;

	for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		/* bwrap leaves /proc/sys, where nobody inside may write. */
		if (!is_flagged(paths[i], ST_RDONLY, 0) &&
		    !(is_bwrap && strcmp(paths[i], "/proc/sys") == 0))
			return false;
	return is_flagged("/usr", ST_NOSUID | ST_NODEV, 0);
}

static bool
is_owned(const char *path, uid_t uid, mode_t mode)
{
	struct stat st;

	return stat(path, &st) == 0 && st.st_uid == uid && st.st_gid == uid &&
	    (st.st_mode & 07777) == mode;
}

/* Whether the mount at this point maps ids. */
static bool
is_mapped(const char *path)
{
	char line[4096], point[2048];
	bool is_found = false;
	FILE *f = fopen("/proc/self/mountinfo", "re");

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "%*s %*s %*s %*s %2047s", point) == 1 &&
		    strcmp(point, path) == 0)
			is_found = strstr(line, "idmapped") != NULL;
	if (f != NULL)
		fclose(f);
	return is_found;
}

static bool
owners(void)
{
	/* One id is mapped in bwrap's namespace: root is nobody there. */
	if (is_bwrap)
		return true;
	/* A file system that cannot map ids: its root is nobody. */
	if (!is_mapped("/usr"))
		return is_owned("/", 0, 0755) && is_owned("/etc", 0, 0755);
	return is_owned("/", 0, 0755) && is_owned("/etc", 0, 0755) &&
	    is_owned("/etc/passwd", 0, 0444) && is_owned("/dev", 0, 0755) &&
	    is_owned("/dev/null", 0, 0666) && is_owned("/usr", 0, 0755) &&
	    is_owned("/usr/bin/env", 0, 0755) && is_owned("/sys", 0, 0555);
}

static bool
scratch(void)
{
	static const char *const paths[] = { "/tmp", "/var/tmp", "/dev/shm",
	    "/run", "/workspace" };
	char name[64];
	size_t i;
	int fd;

	for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		if (!is_flagged(paths[i], ST_NOSUID | ST_NODEV, ST_RDONLY))
			return false;
		snprintf(name, sizeof(name), "%s/file", paths[i]);
		fd = open(name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
		if (fd == -1 || write(fd, "x", 1) != 1 || unlink(name) == -1)
			return false;
		close(fd);
	}
	return is_owned("/workspace", 1000, 0755) &&
	    (is_bwrap || is_owned("/tmp", 0, 01777));
}

/* 64 MiB each, as ns-create asks for. */
static bool
sizes(void)
{
	struct statvfs tmp, work;

	return statvfs("/tmp", &tmp) == 0 &&
	    statvfs("/workspace", &work) == 0 &&
	    tmp.f_blocks * tmp.f_frsize <= 66ul << 20 &&
	    tmp.f_blocks * tmp.f_frsize >= 64ul << 20 &&
	    work.f_blocks * work.f_frsize == 64ul << 20;
}

static bool
devices(void)
{
	static const char *const names[] = { "null", "zero", "full", "random",
	    "urandom" };
	char path[64], byte;
	struct stat st;
	size_t i;
	int fd;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "/dev/%s", names[i]);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd == -1 || fstat(fd, &st) == -1 || !S_ISCHR(st.st_mode) ||
		    (i != 0 && read(fd, &byte, 1) != 1) ||
		    (i == 2) != (write(fd, "x", 1) == -1))
			return false;
		close(fd);
	}
	return stat("/dev/tty", &st) == 0 && S_ISCHR(st.st_mode) &&
	    access("/dev/console", F_OK) == -1 &&
	    access("/dev/fd/3", F_OK) == 0 && access("/dev/stdin", F_OK) == 0;
}

static bool
terminal(void)
{
	char name[64] = "";
	struct stat st;
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), slave;

	if (master == -1 || unlockpt(master) == -1 ||
	    ptsname_r(master, name, sizeof(name)) != 0 ||
	    strcmp(name, "/dev/pts/0") != 0)
		return false;
	slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave == -1 || fstat(slave, &st) == -1 || st.st_uid != 1000)
		return false;
	close(slave);
	close(master);
	return (st.st_mode & 0777) == 0620;
}

static bool
is_empty(const char *path)
{
	struct dirent *entry;
	int n = 0;
	DIR *dir = opendir(path);

	while (dir != NULL && (entry = readdir(dir)) != NULL)
		n++;
	if (dir != NULL)
		closedir(dir);
	return dir != NULL && n == 2;
}

static bool
reads_nothing(const char *path)
{
	char byte;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool is_nothing = fd == -1 || read(fd, &byte, 1) <= 0;

	if (fd != -1)
		close(fd);
	return is_nothing;
}

static bool
masks(void)
{
	return is_empty("/sys") && reads_nothing("/proc/kcore") &&
	    reads_nothing("/proc/keys") && reads_nothing("/proc/timer_list") &&
	    reads_nothing("/proc/sched_debug") &&
	    (access("/proc/acpi", F_OK) == -1 || is_empty("/proc/acpi")) &&
	    open("/proc/sys/kernel/hostname", O_WRONLY | O_CLOEXEC) == -1 &&
	    open("/proc/sysrq-trigger", O_WRONLY | O_CLOEXEC) == -1;
}

static bool
no_secrets(void)
{
	static const char *const paths[] = { "/etc/shadow", "/etc/sudoers",
	    "/etc/machine-id", "/etc/ssl/private", "/root", "/home",
	    "/var/lib", "/run/lock", "/boot", "/etc/ssh", "/mnt", "/opt" };
	size_t i;

	for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (access(paths[i], F_OK) == 0)
			return false;
	return true;
}

/* Only mounts that the manual names; the old root's are gone. */
static bool
mount_points(void)
{
	static const char *const known[] = { "/", "/dev", "/proc", "/sys",
	    "/run", "/tmp", "/usr", "/var/tmp", "/workspace", "/etc", "/bin",
	    "/sbin", "/lib", "/lib32", "/lib64", "/libx32" };
	char line[4096], point[2048];
	bool is_good = true;
	FILE *f = fopen("/proc/self/mountinfo", "re");
	size_t i, n;

	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		if (sscanf(line, "%*s %*s %*s %*s %2047s", point) != 1)
			is_good = false;
		for (i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
			n = strlen(known[i]);
			if (strncmp(point, known[i], n) == 0 &&
			    (point[n] == '\0' || (point[n] == '/' && n > 1)))
				break;
		}
		if (i == sizeof(known) / sizeof(known[0]) ||
		    strstr(line, " shared:") != NULL ||
		    strstr(line, " master:") != NULL)
			is_good = false;
	}
	if (f != NULL)
		fclose(f);
	return f != NULL && is_good;
}

static bool
network(void)
{
	struct ifreq request = { .ifr_name = "lo" };
	char line[512];
	int lines = 0, fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	FILE *f = fopen("/proc/net/dev", "re");

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		lines++;
	if (f != NULL)
		fclose(f);
	if (fd == -1 || ioctl(fd, SIOCGIFFLAGS, &request) == -1)
		return false;
	close(fd);
	return lines == 3 && (request.ifr_flags & IFF_UP) != 0;
}

static bool
names(void)
{
	char host[64] = "", group[256] = "";
	FILE *f = fopen("/proc/self/cgroup", "re");
	bool is_root = true;

	while (f != NULL && fgets(group, sizeof(group), f) != NULL)
		if (strstr(group, ":/\n") == NULL)
			is_root = false;
	if (f != NULL)
		fclose(f);
	return gethostname(host, sizeof(host)) == 0 &&
	    strcmp(host, "sandbox") == 0 && is_root;
}

static bool
set_id(void)
{
	int fd = open("/tmp/set", O_CREAT | O_RDWR | O_CLOEXEC, 04755);

	if (fd != -1 || errno != EPERM)
		return false;
	fd = open("/tmp/set", O_CREAT | O_RDWR | O_CLOEXEC, 0755);
	return fd != -1 && fchmod(fd, 04755) == -1 && errno == EPERM &&
	    chmod("/tmp/set", 0700) == 0 && close(fd) == 0 &&
	    unlink("/tmp/set") == 0;
}

static bool
core_limit(void)
{
	struct rlimit zero = { 0, 0 }, now;

	return setrlimit(RLIMIT_CORE, &zero) == 0 &&
	    getrlimit(RLIMIT_CORE, &now) == 0 && now.rlim_cur == 1;
}

static bool
programs(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", "exec /usr/bin/env true",
		    (char *)NULL);
		_exit(99);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid &&
	    WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static const struct {
	const char	*name;
	bool		 (*holds)(void);
} checks[] = {
	{ "ids", ids }, { "capabilities", capabilities },
	{ "fences", fences }, { "first process", first_process },
	{ "not dumpable", not_dumpable }, { "descriptors", descriptors },
	{ "environment", environment }, { "limits", limits },
	{ "where", where }, { "root entries", root_entries },
	{ "read-only", read_only }, { "owners", owners },
	{ "scratch", scratch }, { "sizes", sizes }, { "devices", devices },
	{ "terminal", terminal }, { "masks", masks },
	{ "no secrets", no_secrets }, { "mount points", mount_points },
	{ "network", network }, { "names", names }, { "set-id", set_id },
	{ "core limit", core_limit }, { "programs", programs },
};

static int
check(void)
{
	size_t i, n = sizeof(checks) / sizeof(checks[0]);
	int status = 0;

	for (i = 0; i < n; i++)
		if (!checks[i].holds()) {
			dprintf(CHANNEL, "bad %s (%s)\n", checks[i].name,
			    strerror(errno));
			status = 1;
		}
	dprintf(CHANNEL, "checked %zu\n", n);
	return status;
}

int
main(int argc, char **argv)
{
	char command[4096];
	size_t used = 0;
	ssize_t n;

	while ((n = read(CHANNEL, command + used, sizeof(command) - used - 1)) >
	    0)
		used += (size_t)n;
	command[used] = '\0';
	if (strcmp(command, "hello") == 0) {
		dprintf(CHANNEL, "hello%s%s\n", argc > 1 ? " " : "",
		    argc > 1 ? argv[1] : "");
		return 0;
	}
	is_bwrap = strcmp(command, "check bwrap") == 0;
	if (is_bwrap || strcmp(command, "check") == 0)
		return check();
	dup2(CHANNEL, 1);
	dup2(CHANNEL, 2);
	close(CHANNEL);
	setenv("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", 1);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	return 127;
}
