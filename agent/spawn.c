/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Starting one command: a child that shares the agent's memory until it has
 * called execve, as vfork does, but on a stack of its own.  The agent (or a
 * keeper) runs it, and is stopped meanwhile; so the child must not allocate,
 * and what it writes to struct spawn is the answer.  The directory and the
 * file to run are the sandbox's; whatever they turn out to be, the child
 * owns three descriptors and nothing else when it looks.
 */

#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent.h"

#define CWD_DEFAULT	"/workspace"
#define PATH_DEFAULT	"/usr/local/bin:/usr/bin:/bin"
#define KERNEL_SIGNALS	64

/* The kernel's set: libc's leaves out signals that it keeps for itself. */
typedef uint64_t kernel_sigset;

static _Alignas(16) char stack[16 * 1024];
static char candidate[PATH_LEN_MAX + 1];	/* child: the file tried */

static void
signals_set(kernel_sigset set)
{
	(void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &set, NULL,
	    sizeof(set));
}

void
signals_block(void)
{
	signals_set(~(kernel_sigset)0);
}

/*
 * Children inherit the dispositions: nothing is ignored.  Asked of the kernel,
 * since the library keeps the first real-time signals to itself, and whoever
 * started us may have ignored them.
 */
void
signals_default(void)
{
	static const unsigned long	dfl[4];	/* all zero: SIG_DFL */
	int				i;

	for (i = 1; i <= KERNEL_SIGNALS; i++)
		(void)syscall(SYS_rt_sigaction, i, dfl, NULL,
		    sizeof(kernel_sigset));
}

int
signals_open(void)
{
	sigset_t	set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

void
signals_drain(int fd)
{
	struct signalfd_siginfo	si[4];

	while (read(fd, si, sizeof(si)) == (ssize_t)sizeof(si))
		;
}

static void __attribute__((noreturn))
child_fail(struct spawn *s, enum stage stage, int err)
{
	s->err = err;
	s->stage = stage;
	_exit(127);
}

static void
child_groups(struct spawn *s)
{
	int	i;

	for (i = 0; i < s->ngroups; i++)
		if (write(s->groups[i], "0", 1) != 1)
			child_fail(s, STAGE_GROUP, errno);
}

/* None of the sources is below 3: see agent_descriptors. */
static void
child_stdio(struct spawn *s)
{
	int	i;

	if (setsid() == -1)
		child_fail(s, STAGE_FORK, errno);
	if (s->has_tty && ioctl(s->stdio[0], TIOCSCTTY, 0) == -1)
		child_fail(s, STAGE_PTY, errno);
	for (i = 0; i < 3; i++)
		if (dup2(s->stdio[s->has_tty ? 0 : i], i) == -1)
			child_fail(s, STAGE_FORK, errno);
	/* All are close-on-exec; chdir must not reach them through /proc. */
	(void)syscall(SYS_close_range, 3, ~0U, 0);
}

/*
 * The host itself has no workspace: there it stays where the agent is, in /.
 * A directory outside the root, reached by some descriptor, has no path:
 * the kernel then says "(unreachable)" (CVE-2024-21626).
 */
static void
child_cwd(struct spawn *s)
{
	if (s->cwd != NULL ? chdir(s->cwd) == -1 :
	    chdir(CWD_DEFAULT) == -1 && errno != ENOENT)
		child_fail(s, STAGE_CWD, errno);
	if (syscall(SYS_getcwd, candidate, sizeof(candidate)) == -1)
		child_fail(s, STAGE_CWD, errno);
	if (candidate[0] != '/')
		child_fail(s, STAGE_CWD, ENOENT);
}

/* Never above what this process may have. */
static void
child_limit(struct spawn *s, int resource, uint64_t soft, uint64_t hard)
{
	struct rlimit	r;

	if (getrlimit(resource, &r) == -1)
		child_fail(s, STAGE_LIMITS, errno);
	if (r.rlim_max == RLIM_INFINITY || r.rlim_max > hard)
		r.rlim_max = hard;
	r.rlim_cur = soft < r.rlim_max ? soft : r.rlim_max;
	if (setrlimit(resource, &r) == -1)
		child_fail(s, STAGE_LIMITS, errno);
}

/* As execvp, but never a shell for what the kernel cannot run. */
static void
child_lookup(struct spawn *s, const char *path)
{
	const char	*name = s->argv[0], *end;
	size_t		 n, len = strlen(name);
	int		 err = ENOENT;

	for (; path != NULL; path = *end == ':' ? end + 1 : NULL) {
		end = path + strcspn(path, ":");
		n = (size_t)(end - path);
		if (n + 1 + len >= sizeof(candidate))
			continue;
		memcpy(candidate, path, n);
		if (n > 0)
			candidate[n++] = '/';
		memcpy(candidate + n, name, len + 1);
		(void)execve(candidate, s->argv, s->envp);
		if (errno == EACCES)
			err = EACCES;
		else if (errno != ENOENT && errno != ENOTDIR &&
		    errno != ENAMETOOLONG && errno != ELOOP) {
			s->file = candidate;
			child_fail(s, STAGE_EXECVE, errno);
		}
	}
	child_fail(s, STAGE_LOOKUP, err);
}

static void
child_exec(struct spawn *s)
{
	const char	*path = PATH_DEFAULT;
	char		**env;

	if (s->file != NULL) {
		(void)execve(s->file, s->argv, s->envp);
		child_fail(s, STAGE_EXECVE, errno);
	}
	for (env = s->envp; *env != NULL; env++)
		if (strncmp(*env, "PATH=", 5) == 0) {
			path = *env + 5;
			break;
		}
	if (s->argv[0][0] == '\0')
		child_fail(s, STAGE_LOOKUP, ENOENT);
	child_lookup(s, path);
}

static int
child_main(void *arg)
{
	struct spawn	*s = arg;

	child_groups(s);
	child_stdio(s);
	child_cwd(s);
	if (s->cpu_time != 0)
		child_limit(s, RLIMIT_CPU, s->cpu_time, s->cpu_time + 1);
	if (s->files != 0)
		child_limit(s, RLIMIT_NOFILE, s->files, s->files);
	signals_set(0);
	child_exec(s);
	return 127;
}

pid_t
spawn_run(struct spawn *s)
{
	pid_t	pid;

	s->stage = STAGE_NONE;
	pid = clone(child_main, stack + sizeof(stack),
	    CLONE_VM | CLONE_VFORK | SIGCHLD, s);
	if (pid == -1) {
		s->stage = STAGE_FORK;
		s->err = errno;
		return -1;
	}
	if (s->stage == STAGE_NONE)
		return pid;
	while (waitpid(pid, NULL, 0) == -1 && errno == EINTR)
		;
	return -1;
}

const char *
spawn_path(const struct spawn *s)
{
	switch (s->stage) {
	case STAGE_CWD:
		return s->cwd != NULL ? s->cwd : CWD_DEFAULT;
	case STAGE_LOOKUP:
		return s->argv[0];
	case STAGE_EXECVE:
		return s->file != NULL ? s->file : "";
	case STAGE_PTY:
		return "/dev/ptmx";
	case STAGE_NONE:
	case STAGE_FORK:
	case STAGE_GROUP:
	case STAGE_LIMITS:
		break;
	}
	return "";
}

void
spawn_close(struct spawn *s)
{
	int	i;

	for (i = 0; i < 3; i++)
		fd_close(&s->stdio[i]);
	for (i = 0; i < s->ngroups; i++)
		fd_close(&s->groups[i]);
	s->ngroups = 0;
}

void
spawn_free(struct spawn *s)
{
	spawn_close(s);
	free(s->args);
	s->args = NULL;
}
