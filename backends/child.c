/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The last steps of a child of the broker on its way to be an agent, shared
 * by the backends.  Runs in the child with the rights it still has; each
 * step takes some away.  Nothing of the client or of an image is read here.
 */

#include "config.h"

#include <sys/types.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/seccomp.h>
#include <unistd.h>

#include "backends/backend.h"
#include "backends/child.h"
#include "proto/proto.h"

#define FD_FIRST	10	/* copies go above stdio and the channel */

int
child_descriptors(const struct backend_create *c, struct error *e)
{
	int agent_fd, channel_fd;

	agent_fd = fcntl(c->agent_fd, F_DUPFD_CLOEXEC, FD_FIRST);
	channel_fd = fcntl(c->channel_fd, F_DUPFD_CLOEXEC, FD_FIRST);
	if (agent_fd == -1 || channel_fd == -1)
		return error_sys(e, ERR_INTERNAL, errno, "dup of descriptors");
	if (dup2(channel_fd, AGENT_CHANNEL_FD) == -1)
		return error_sys(e, ERR_INTERNAL, errno, "dup of the channel");
	/* Not closed: the broker's error pipe has to last to the exec. */
	if (syscall(SYS_close_range, AGENT_CHANNEL_FD + 1, ~0U,
	    CLOSE_RANGE_CLOEXEC) == -1)
		return error_sys(e, ERR_INTERNAL, errno, "close_range");
	return agent_fd;
}

int
child_stdio(int error_fd, struct error *e)
{
	int fd, i, null_fd;
	struct stat st;

	null_fd = open("/dev/null", O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (null_fd == -1 || fstat(null_fd, &st) == -1)
		return error_sys(e, ERR_BACKEND, errno, "open of /dev/null");
	if (!S_ISCHR(st.st_mode))
		return error_set(e, ERR_BACKEND, "/dev/null is no device");
	for (i = 0; i <= 2; i++) {
		fd = i == 2 && error_fd >= 0 ? error_fd : null_fd;
		/* Descriptors of the same number would keep CLOEXEC. */
		if (fd == i ? fcntl(fd, F_SETFD, 0) == -1 : dup2(fd, i) == -1)
			return error_sys(e, ERR_INTERNAL, errno, "dup2");
	}
	if (null_fd > 2)
		close(null_fd);
	return 0;
}

static int
set_limit(int which, uint64_t soft_max, uint64_t hard_max, struct error *e)
{
	struct rlimit limit;

	if (getrlimit(which, &limit) == -1)
		return error_sys(e, ERR_INTERNAL, errno, "getrlimit");
	/* Never above what we have: a broker may lack CAP_SYS_RESOURCE. */
	if (limit.rlim_max > hard_max)
		limit.rlim_max = hard_max;
	limit.rlim_cur = soft_max < limit.rlim_max ? soft_max : limit.rlim_max;
	if (setrlimit(which, &limit) == -1)
		return error_sys(e, ERR_BACKEND, errno, "setrlimit %d", which);
	return 0;
}

int
child_limits(uint64_t files, struct error *e)
{
	static const struct {
		int		 which;
		uint64_t	 max;
	} limits[] = {
		/*
		 * Too little for a core file, and the one value that a
		 * pipe in the host's core_pattern respects.
		 */
		{ RLIMIT_CORE, 1 },
		/* Memory that the memory group cannot take back. */
		{ RLIMIT_MEMLOCK, 0 },
		{ RLIMIT_MSGQUEUE, 0 },
		{ RLIMIT_NICE, 0 },
		{ RLIMIT_RTPRIO, 0 },
	};
	size_t i;

	for (i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		if (set_limit(limits[i].which, limits[i].max, limits[i].max,
		    e) == -1)
			return -1;
	if (files == 0)
		return 0;
	return set_limit(RLIMIT_NOFILE, files, files, e);
}

/* Those the change of ids took from the effective set come back. */
static int
raise_effective(void)
{
	struct __user_cap_header_struct head = {
	    _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2];
	int i;

	if (syscall(SYS_capget, &head, data) == -1)
		return -1;
	for (i = 0; i < 2; i++)
		data[i].effective = data[i].permitted;
	return (int)syscall(SYS_capset, &head, data);
}

int
child_ids(uid_t uid, gid_t gid, struct error *e)
{
	gid_t rgid, egid, sgid;
	uid_t ruid, euid, suid;

	/* Emptying the bounding set needs a capability after the change. */
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == -1 ||
	    setresgid(gid, gid, gid) == -1 || setresuid(uid, uid, uid) == -1)
		return error_sys(e, ERR_BACKEND, errno,
		    "becoming uid %u, gid %u", uid, gid);
	if (getresuid(&ruid, &euid, &suid) == -1 ||
	    getresgid(&rgid, &egid, &sgid) == -1 || ruid != uid ||
	    euid != uid || suid != uid || rgid != gid || egid != gid ||
	    sgid != gid || getgroups(0, NULL) != 0)
		return error_set(e, ERR_BACKEND,
		    "ids are not uid %u, gid %u alone", uid, gid);
	if (raise_effective() == -1)
		return error_sys(e, ERR_BACKEND, errno, "capset");
	return 0;
}

int
child_drop(const struct backend_create *c, struct error *e)
{
	uid_t uid = getuid();

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		return error_sys(e, ERR_BACKEND, errno, "no_new_privs");
	if (!c->is_root)
		return 0;
	if (c->drop(e) == -1)
		return -1;
	/* CVE-2020-5291: what seems dropped has to stay so. */
	if (uid != 0 && (setresuid(0, 0, 0) != -1 || setresgid(0, 0, 0) != -1 ||
	    setgroups(0, NULL) != -1))
		return error_set(e, ERR_BACKEND, "could become root again");
	return 0;
}

int
child_filter(const struct sock_fprog *filter, struct error *e)
{
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, filter) == -1) {
		error_sys(e, ERR_BACKEND, errno, "seccomp filter");
		error_fix(e, "use a kernel with CONFIG_SECCOMP_FILTER");
		return -1;
	}
	return 0;
}

int
child_exec(const struct backend_create *c, int agent_fd, struct error *e)
{
	char *argv[] = { "sandboxd-agent", c->is_stream ? "-s" : NULL, NULL };
	char *envp[] = { NULL };

	syscall(SYS_execveat, agent_fd, "", argv, envp, AT_EMPTY_PATH);
	return error_sys(e, ERR_BACKEND, errno, "exec of the agent");
}
