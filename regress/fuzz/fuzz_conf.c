/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * sandboxd.conf(5): any file is either reported with its lines or becomes a
 * policy message that is whole.
 */

#include <sys/mman.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fuzz.h"
#include "parent/parent.h"

/* What a configuration says is kept for good. */
const char *__asan_default_options(void);

const char *
__asan_default_options(void)
{
	return "detect_leaks=0";
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static FILE *null;
	struct conf *conf = conf_new();
	struct buf b = { 0 };
	struct error e = { 0 };
	char path[64];
	int fd;

	/* The errors; reports of sanitizers go to descriptor 2 itself. */
	if (null == NULL && (null = fopen("/dev/null", "w")) != NULL)
		stderr = null;
	fd = memfd_create("conf", MFD_CLOEXEC);
	CHECK(fd != -1 && write(fd, data, n) == (ssize_t)n);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (parse_file(path, conf, &e) == 0) {
		policy_pack(conf, &b);
		CHECK(scan_is_one((struct view){ b.p, b.n }));
		buf_free(&b);
	} else
		CHECK(e.message[0] != '\0');
	close(fd);
	free(conf);
	return 0;
}
