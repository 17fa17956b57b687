/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Runs a fuzzer without libFuzzer: on the files and directories named, or on
 * all wire vectors and the fuzzer's own corpus (regress/fuzz/corpus/NAME),
 * each whole, cut at each byte, and with single bits and bytes changed.
 * Run by whoever runs the tests.
 */

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"

#define FILE_MAX	65536u
#define CHANGED_MAX	512u		/* bytes of a file that are changed */

static unsigned long	nfiles;
static unsigned long	ninputs;

/* On a block of exactly n bytes, so that an overrun is seen. */
static void
run(const uint8_t *data, size_t n)
{
	uint8_t *copy;

	if ((copy = malloc(n == 0 ? 1 : n)) == NULL)
		exit(99);
	memcpy(copy, data, n);
	LLVMFuzzerTestOneInput(copy, n);
	free(copy);
	ninputs++;
}

static void
run_variants(uint8_t *data, size_t n)
{
	static const uint8_t values[] = { 0x80, 0xc1, 0xdd, 0xff };
	uint8_t old;
	size_t i, j;

	run(data, n);
	for (i = 0; i < n && i < CHANGED_MAX; i++)
		run(data, i);
	for (i = 0; i < n && i < CHANGED_MAX; i++) {
		old = data[i];
		for (j = 0; j < 8; j++) {
			data[i] = old ^ (uint8_t)(1u << j);
			run(data, n);
		}
		for (j = 0; j < sizeof(values); j++) {
			data[i] = values[j];
			run(data, n);
		}
		data[i] = old;
	}
}

static int
visit(const char *path, const struct stat *st, int what, struct FTW *at)
{
	static uint8_t data[FILE_MAX];
	ssize_t n;
	int fd;

	(void)st;
	if (what != FTW_F || path[at->base] == '.' ||
	    strstr(path + at->base, ".py") != NULL)
		return 0;
	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) == -1)
		return 0;
	n = read(fd, data, sizeof(data));
	close(fd);
	if (n >= 0) {
		nfiles++;
		run_variants(data, (size_t)n);
	}
	return 0;
}

int
main(int argc, char *argv[])
{
	const char *src = getenv("srcdir"), *name;
	char path[4096];
	int i;

	for (i = 1; i < argc; i++)
		nftw(argv[i], visit, 16, FTW_PHYS);
	if (argc == 1) {
		if (src == NULL)
			src = ".";
		snprintf(path, sizeof(path), "%s/regress/wire", src);
		nftw(path, visit, 16, FTW_PHYS);
		if ((name = strstr(argv[0], "fuzz_")) != NULL) {
			while (strstr(name + 1, "fuzz_") != NULL)
				name = strstr(name + 1, "fuzz_");
			snprintf(path, sizeof(path),
			    "%s/regress/fuzz/corpus/%s", src,
			    name + strlen("fuzz_"));
			nftw(path, visit, 16, FTW_PHYS);
		}
	}
	printf("%lu files, %lu inputs\n", nfiles, ninputs);
	return nfiles == 0 ? 99 : 0;
}
