/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * What the backends share among themselves: the last steps of a child, the
 * picture of the built-in image, and the compiler of seccomp filters.
 * Not for the broker, which uses backend.h alone.
 */

#ifndef BACKENDS_CHILD_H
#define BACKENDS_CHILD_H

#include <sys/types.h>

#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>

struct backend_create;
struct error;

/* child.c: steps in the child; each may be taken once, in this order */

/*
 * The agent's channel becomes descriptor 3, which is none of those lent; all
 * above it is closed by the exec.  Returns the agent's memfd.
 */
int	 child_descriptors(const struct backend_create *, struct error *);
int	 child_stdio(int, struct error *);	/* /dev/null; 2 is fd if >= 0 */
int	 child_limits(uint64_t, struct error *);	/* files */
/* Real, effective and saved ids, no groups; capabilities stay until drop. */
int	 child_ids(uid_t, gid_t, struct error *);
/* no_new_privs, no capabilities, no way back. */
int	 child_drop(const struct backend_create *, struct error *);
int	 child_filter(const struct sock_fprog *, struct error *);
int	 child_exec(const struct backend_create *, int, struct error *);

/* picture.c: what a sandbox of the image "host" sees */

struct picture_text {
	const char	*path;		/* no leading slash */
	const char	*text;		/* content, or target of a link */
};

struct picture_device {
	const char	*name;		/* in /dev */
	unsigned int	 minor;
	unsigned int	 major;
};

/* All end with NULL. */
extern const char *const picture_system[];	/* or links into usr */
extern const char *const picture_etc[];		/* of the host, read-only */
extern const struct picture_text picture_files[];
extern const struct picture_text picture_links[];
extern const struct picture_device picture_devices[];
extern const char *const picture_proc_masked[];
extern const char *const picture_proc_readonly[];

/*
 * What the host has at /NAME: the length of a link's target, which ends with
 * NUL; 0 for a tree; -1 when it is not there.
 */
int	 picture_target(const char *, char *, size_t);
/* Calls for each etc/java-N-openjdk: Debian keeps parts of Java there. */
int	 picture_java(int (*)(const char *, void *, struct error *), void *,
	    struct error *);
/* Whether a host directory may be seen there; says why not. */
int	 picture_destination(const char *, struct error *);

/* namespace.c */

/* Whether the kernel has user namespaces at all; -1 with cause and fix. */
int	 namespace_probe(struct error *);
/*
 * A user namespace with these maps ("0 70000 1\n"), in which no further one
 * can be made and that no process is in.  CLOEXEC, the caller's.
 */
int	 namespace_user(const char *, const char *, struct error *);

/* ns_mount.c: mounts by descriptor; real root, initial user namespace */

/*
 * The client's directories as detached mounts, the caller's; nosuid, nodev,
 * private, its owner shown as the sandbox's user.
 */
int	 ns_mount_clients(const struct backend_create *, int *, struct error *);
/*
 * In a mount namespace of its own: the picture for the slot at the id as
 * the root of it, the old root gone.  image_ns_fd maps the system trees.
 */
int	 ns_mount_prepare(uid_t, int, struct error *);
/*
 * Where that was prepared: sizes, /proc of this pid namespace, the client's
 * directories; then the root is read-only.
 */
int	 ns_mount_finish(const struct backend_create *, int *, struct error *);
/* A tmpfs of bytes, its root directory the uid's; MOUNT_ATTR_*; detached. */
int	 ns_mount_tmpfs(uint64_t, uid_t, unsigned int, struct error *);
int	 ns_mount_attach(int, int, const char *, struct error *);

/* bpf.c: the compiler of filters; knows no names */

enum bpf_op {
	TEST_NONE,
	TEST_IS,		/* (argument & mask) == value, low 32 bits */
	TEST_IS_NOT,
	TEST_NULL	/* all 64 bits are 0 */
};

struct bpf_test {
	enum bpf_op	 op;
	unsigned int	 arg;
	uint32_t	 mask;
	uint32_t	 value;
};

#define TESTS_MAX	3

/* First row whose tests all hold decides; rows of a call are together. */
struct bpf_rule {
	const char	*name;
	uint32_t	 action;	/* SECCOMP_RET_* */
	struct bpf_test	 tests[TESTS_MAX];
};

/* What happens to one call: its rules, or the action when it has none. */
struct bpf_call {
	uint32_t		 number;
	uint32_t		 action;
	const struct bpf_rule	*rules;
	size_t			 nrules;
};

struct bpf_arch {
	uint32_t		 token;		/* AUDIT_ARCH_* */
	struct bpf_call		*calls;		/* sorted here */
	size_t			 ncalls;
};

/*
 * Compiles: a call that is not named, or falls through its rules, gets other;
 * an architecture that is not named is killed.  Allocates; -1 when too big.
 */
int	 bpf_compile(struct bpf_arch *, size_t, uint32_t, struct sock_fprog *,
	    struct error *);

#endif
