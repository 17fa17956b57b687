/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * What a sandbox of the built-in image "host" sees: the host's programs and
 * what they need to run, and a small /etc of our own.  Tables for ns_mount.c
 * and bwrap.c, so that the picture is one.  Runs in the child; of the host
 * it trusts / and /etc as the administrator made them.
 */

#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backends/child.h"
#include "proto/proto.h"

/* Each is a link into usr, or a directory of its own, or not there. */
const char *const picture_system[] = {
	"usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", NULL
};

/* No secrets: of ssl and pki only what is public. */
const char *const picture_etc[] = {
	"etc/ld.so.cache", "etc/alternatives", "etc/ssl/certs",
	"etc/ssl/openssl.cnf",
	"etc/pki/tls/certs", "etc/pki/tls/cert.pem",
	"etc/pki/tls/openssl.cnf", "etc/pki/ca-trust/extracted",
	"etc/crypto-policies", NULL
};

const struct picture_text picture_files[] = {
	{ "etc/passwd",
	    "root:x:0:0:root:/root:/bin/sh\n"
	    "sandbox:x:1000:1000:sandbox:/workspace:/bin/sh\n"
	    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n" },
	{ "etc/group",
	    "root:x:0:\n"
	    "sandbox:x:1000:\n"
	    "nogroup:x:65534:\n" },
	{ "etc/hosts",
	    "127.0.0.1\tlocalhost sandbox\n"
	    "::1\tlocalhost sandbox ip6-localhost ip6-loopback\n" },
	{ "etc/hostname", "sandbox\n" },
	{ "etc/nsswitch.conf",
	    "passwd: files\n"
	    "group: files\n"
	    "shadow: files\n"
	    "hosts: files\n"
	    "services: files\n"
	    "protocols: files\n" },
	{ "etc/resolv.conf", "# no network\n" },
	{ NULL, NULL }
};

const struct picture_text picture_links[] = {
	{ "etc/mtab", "/proc/self/mounts" },
	{ "etc/os-release", "../usr/lib/os-release" },
	{ "var/run", "../run" },
	{ NULL, NULL }
};

const struct picture_device picture_devices[] = {
	{ "null", 3, 1 }, { "zero", 5, 1 }, { "full", 7, 1 },
	{ "random", 8, 1 }, { "urandom", 9, 1 }, { "tty", 0, 5 },
	{ NULL, 0, 0 }
};

/* Nothing of these may be read. */
const char *const picture_proc_masked[] = {
	"kcore", "keys", "timer_list", "sched_debug", "latency_stats",
	"acpi", "scsi", "asound", NULL
};

/* Nothing in these may be written, whoever asks. */
const char *const picture_proc_readonly[] = {
	"sys", "sysrq-trigger", "bus", "fs", "irq", NULL
};

int
picture_target(const char *name, char *target, size_t cap)
{
	char host[32];
	ssize_t n;

	snprintf(host, sizeof(host), "/%s", name);
	n = readlink(host, target, cap - 1);
	if (n == -1)
		return errno == ENOENT ? -1 : 0;
	target[n] = '\0';
	return (int)n;
}

int
picture_java(int (*add)(const char *, void *, struct error *), void *arg,
    struct error *e)
{
	struct dirent *entry;
	unsigned int version;
	char path[64];
	int n, status = 0;
	DIR *dir;

	/* A short directory; to read all of /etc would take longer. */
	if ((dir = opendir("/usr/lib/jvm")) == NULL)
		return 0;
	while (status == 0 && (entry = readdir(dir)) != NULL) {
		n = 0;
		if (sscanf(entry->d_name, "java-%u-openjdk-%n", &version,
		    &n) != 1 || n == 0)
			continue;
		snprintf(path, sizeof(path), "etc/java-%u-openjdk", version);
		status = add(path, arg, e);
	}
	closedir(dir);
	return status;
}

int
picture_destination(const char *path, struct error *e)
{
	static const char *const ours[] = { "/proc", "/dev", "/sys" };
	const char *p;
	size_t i, n;

	if (path[0] != '/' || path[1] == '\0')
		return error_key(e, ERR_INVALID, "mounts",
		    "a directory cannot be mounted on \"%s\"", path);
	for (i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		n = strlen(ours[i]);
		if (strncmp(path, ours[i], n) == 0 &&
		    (path[n] == '\0' || path[n] == '/'))
			return error_key(e, ERR_INVALID, "mounts",
			    "%s: nothing may be mounted in %s", path, ours[i]);
	}
	/* Checked by the broker; checked again because it is cheap. */
	for (p = path; *p != '\0'; p += n) {
		p++;
		n = strcspn(p, "/");
		if (n == 0 || (n == 1 && p[0] == '.') ||
		    (n == 2 && p[0] == '.' && p[1] == '.'))
			return error_key(e, ERR_INVALID, "mounts",
			    "%s: empty, \".\" or \"..\" part", path);
	}
	return 0;
}
