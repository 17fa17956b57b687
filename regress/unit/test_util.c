/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * util, error, log and program: numbers with units, names, ids, texts that
 * may be shown, and which sibling programs are trusted.
 */

#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "regress/wire/wire.h"

/*** Numbers ***/

typedef int parse_fn(const char *, uint64_t *, struct error *);

struct number {
	parse_fn	*parse;
	const char	*text;
	int64_t		 value;		/* -1: refused */
};

static const struct number numbers[] = {
	{ parse_size, "0", 0 },
	{ parse_size, "4096", 4096 },
	{ parse_size, "512M", 512ll << 20 },
	{ parse_size, "1.5G", 3ll << 29 },
	{ parse_size, "2T", 2ll << 40 },
	{ parse_size, "1.0001K", 1024 },
	{ parse_size, "", -1 },
	{ parse_size, "M", -1 },
	{ parse_size, ".5M", -1 },
	{ parse_size, "1.M", -1 },
	{ parse_size, "-1", -1 },
	{ parse_size, "+1", -1 },
	{ parse_size, " 1", -1 },
	{ parse_size, "1 ", -1 },
	{ parse_size, "1MB", -1 },
	{ parse_size, "1m", -1 },
	{ parse_size, "0x10", -1 },
	{ parse_size, "1e3", -1 },
	{ parse_size, "1.1.1", -1 },
	{ parse_size, "8388607T", 8388607ll << 40 },
	{ parse_size, "8388608T", -1 },
	{ parse_size, "9999999999999999999", -1 },
	{ parse_size, "99999999999999999999999999999999", -1 },
	{ parse_duration, "30s", 30000 },
	{ parse_duration, "30", 30000 },
	{ parse_duration, "250ms", 250 },
	{ parse_duration, "1.5s", 1500 },
	{ parse_duration, "5m", 300000 },
	{ parse_duration, "1h", 3600000 },
	{ parse_duration, "1d", 86400000 },
	{ parse_duration, "1w", -1 },
	{ parse_duration, "1M", -1 },
	{ parse_duration, "s", -1 },
	{ parse_milli, "1.5", 1500 },
	{ parse_milli, "2", 2000 },
	{ parse_milli, "0.001", 1 },
	{ parse_milli, "0.0001", 0 },
	{ parse_milli, "1.5s", -1 },
	{ parse_milli, "nan", -1 },
	{ parse_milli, "1.0000000001", -1 },
};

static void
numbers_with_units_exact(void **state)
{
	const struct number *n;
	struct error e = { 0 };
	uint64_t value;
	int r;

	(void)state;
	for (n = numbers; n < numbers + sizeof(numbers) /
	    sizeof(numbers[0]); n++) {
		value = 77;
		r = n->parse(n->text, &value, &e);
		if (r != (n->value == -1 ? -1 : 0))
			fail_msg("'%s': %d", n->text, r);
		assert_true(value == (n->value == -1 ? 77 :
		    (uint64_t)n->value));
	}
	assert_int_equal(e.code, ERR_INVALID);
	assert_true(e.fix[0] != '\0');
}

static void
uint_in_range_only(void **state)
{
	struct error e;
	uint64_t v = 0;

	(void)state;
	assert_int_equal(parse_uint("10", 1, 10, &v, &e), 0);
	assert_int_equal(v, 10);
	assert_int_equal(parse_uint("11", 1, 10, &v, &e), -1);
	assert_int_equal(parse_uint("0", 1, 10, &v, &e), -1);
	assert_int_equal(parse_uint("", 0, 10, &v, &e), -1);
	assert_int_equal(parse_uint("1x", 0, 10, &v, &e), -1);
	assert_int_equal(parse_uint("-1", 0, UINT64_MAX, &v, &e), -1);
	assert_int_equal(parse_uint("9999999999999999999", 0, UINT64_MAX, &v,
	    &e), 0);
	assert_int_equal(parse_uint("99999999999999999999", 0, UINT64_MAX,
	    &v, &e), -1);
}

/*** Names, ids, texts ***/

static void
names_and_ids_checked(void **state)
{
	char a[ID_LEN + 1], b[ID_LEN + 1], name[NAME_LEN_MAX + 2];

	(void)state;
	id_make(a, "sb_");
	id_make(b, "sb_");
	assert_true(id_is_valid(a));
	assert_string_not_equal(a, b);
	assert_false(id_is_valid("sb_0123456789ABCDEF"));
	assert_false(id_is_valid("sb_0123456789abcde"));
	assert_false(id_is_valid("sb_0123456789abcdef0"));
	assert_false(id_is_valid("sn_0123456789abcdef"));
	assert_false(id_is_valid(""));
	assert_true(name_is_valid("a.b_c-1"));
	assert_false(name_is_valid(""));
	assert_false(name_is_valid(".."));
	assert_false(name_is_valid("-rf"));
	assert_false(name_is_valid("a/b"));
	assert_false(name_is_valid("a b"));
	memset(name, 'n', sizeof(name));
	name[NAME_LEN_MAX + 1] = '\0';
	assert_false(name_is_valid(name));
	name[NAME_LEN_MAX] = '\0';
	assert_true(name_is_valid(name));
}

static void
texts_copied_whole_or_not(void **state)
{
	char out[4] = "zzz";

	(void)state;
	assert_int_equal(text_copy(out, sizeof(out), view_of("abcd")), -1);
	assert_int_equal(text_copy(out, sizeof(out), (struct view){
	    (const unsigned char *)"a\0b", 3 }), -1);
	assert_string_equal(out, "zzz");
	assert_int_equal(text_copy(out, sizeof(out), view_of("abc")), 0);
	assert_string_equal(out, "abc");
	assert_int_equal(text_copy(out, sizeof(out), view_of(NULL)), 0);
	assert_string_equal(out, "");
	assert_false(view_is(view_of(NULL), ""));
	assert_true(view_is(view_of(""), ""));
	assert_false(view_is(view_of("ab"), "a"));
}

static void
texts_escaped_to_one_line(void **state)
{
	char out[40], small[6];

	(void)state;
	assert_string_equal(text_escape(out, sizeof(out),
	    view_of("a\n\t\x1b[\"'\\\xc3\xa9 z")),
	    "a\\n\\t\\x1b[\\\"\\'\\\\\\xc3\\xa9 z");
	/* Cut between escapes, never inside one. */
	assert_string_equal(text_escape(small, sizeof(small),
	    view_of("ab\x1b")), "ab");
	assert_string_equal(text_escape(small, sizeof(small),
	    view_of("a\x1b\x1b")), "a\\x1b");
}

static void
error_texts_can_be_shown(void **state)
{
	struct error e;
	char long_text[1000];

	(void)state;
	assert_int_equal(error_set(&e, ERR_INVALID, "a\x1b\n%s",
	    "\xc3\xa9\xff\xc3(\xe2\x82\xac\xed\xa0\x80\xf0\x9f\x98\x80\xc0"),
	    -1);
	assert_string_equal(e.message,
	    "a??\xc3\xa9?" "?(\xe2\x82\xac???\xf0\x9f\x98\x80?");
	memset(long_text, 'x', sizeof(long_text));
	long_text[sizeof(long_text) - 1] = '\0';
	/* Cut inside a character: still UTF-8. */
	memcpy(long_text + 510, "\xc3\xa9", 2);
	error_key(&e, ERR_INVALID, long_text, "%s", long_text);
	assert_int_equal(strlen(e.message), 511);
	assert_int_equal(e.message[510], '?');
	assert_int_equal(strlen(e.key), 63);
	assert_string_equal(e.fix, "");
	error_sys(&e, ERR_BACKEND, ENOENT, "open");
	assert_string_equal(e.message, "open: No such file or directory");
	assert_int_equal(e.sys_errno, ENOENT);
	assert_string_equal(e.key, "");
	assert_int_equal(error_set(NULL, ERR_INVALID, "x"), -1);
}

static void
error_names_both_ways(void **state)
{
	int code;

	(void)state;
	for (code = ERR_INVALID; code <= ERR_INTERNAL; code++)
		assert_int_equal(error_code(view_of(error_name(
		    (enum err_code)code))), code);
	assert_int_equal(error_code(view_of("none")), ERR_INTERNAL);
	assert_int_equal(error_code(view_of("x")), ERR_INTERNAL);
	assert_string_equal(error_name((enum err_code)99), "internal");
}

/*** Log ***/

/* What fn writes on descriptor 2, in a child; its exit status in status. */
static char *
stderr_of(void (*fn)(void), char out[4096], int *status)
{
	ssize_t n, got = 0;
	pid_t pid;
	int p[2];

	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	if ((pid = fork()) == 0) {
		dup2(p[1], STDERR_FILENO);
		fn();
		_exit(0);
	}
	close(p[1]);
	while ((n = read(p[0], out + got, 4095 - (size_t)got)) > 0)
		got += n;
	out[got] = '\0';
	close(p[0]);
	assert_int_equal(waitpid(pid, status, 0), pid);
	return out;
}

static void
log_lines(void)
{
	struct error e;
	char big[5000];

	log_init("worker", LOG_LEVEL_INFO);
	error_set(&e, ERR_BACKEND, "no");
	error_fix(&e, "yes");
	log_debug("not this");
	log_info("one\ntwo \x1b[31m \"q\" \\ \xc3\xa9");
	log_error("create", &e);
	memset(big, 'x', sizeof(big));
	big[sizeof(big) - 1] = '\0';
	log_warn("%s", big);
	errno = ENOENT;
	log_warn("errno stays");
	if (errno == ENOENT)
		fatal("the end");
}

static void
log_is_one_line_each(void **state)
{
	char out[4096], *big;
	int status;

	(void)state;
	stderr_of(log_lines, out, &status);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	assert_int_equal(strncmp(out,
	    "worker: one\\ntwo \\x1b[31m \"q\" \\ \\xc3\\xa9\n"
	    "worker: create: no; yes\n"
	    "worker: xxxx", 40), 0);
	big = strstr(out, "worker: xxxx");
	assert_non_null(big);
	assert_string_equal(strchr(big, '\n') + 1,
	    "worker: errno stays\nworker: the end\n");
}

/*** Sibling programs ***/

static char	dir[4096];

static bool
is_beside(const char *name)
{
	char path[8192], wanted[8192];
	struct error e;

	snprintf(wanted, sizeof(wanted), "%s/%s", dir, name);
	return program_path(path, sizeof(path), name, &e) == 0 &&
	    strcmp(path, wanted) == 0;
}

static void
program_beside_only_if_ours(void **state)
{
	char name[64], path[8192];
	struct error e;
	struct stat st;
	mode_t mode;
	ssize_t n;
	int fd;

	(void)state;
	n = readlink("/proc/self/exe", dir, sizeof(dir) - 1);
	assert_true(n > 0);
	dir[n] = '\0';
	*strrchr(dir, '/') = '\0';
	assert_int_equal(stat(dir, &st), 0);
	if ((st.st_mode & 022) != 0 || st.st_uid != geteuid())
		skip();
	snprintf(name, sizeof(name), "test-program-%d", (int)getpid());
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_false(is_beside(name));
	fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0755);
	assert_true(fd != -1);
	for (mode = 0; mode < 01000; mode++) {
		assert_int_equal(fchmod(fd, mode), 0);
		assert_int_equal(is_beside(name), (mode & 022) == 0 &&
		    (mode & 0100) != 0);
	}
	unlink(path);
	close(fd);
	/* A link may lead anywhere. */
	assert_int_equal(symlink("/bin/true", path), 0);
	assert_false(is_beside(name));
	unlink(path);
	assert_int_equal(program_path(path, sizeof(path), name, &e), -1);
	assert_int_equal(e.code, ERR_UNAVAILABLE);
	assert_true(e.fix[0] != '\0' && e.path[0] == '/');
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_with_units_exact),
		cmocka_unit_test(uint_in_range_only),
		cmocka_unit_test(names_and_ids_checked),
		cmocka_unit_test(texts_copied_whole_or_not),
		cmocka_unit_test(texts_escaped_to_one_line),
		cmocka_unit_test(error_texts_can_be_shown),
		cmocka_unit_test(error_names_both_ways),
		cmocka_unit_test(log_is_one_line_each),
		cmocka_unit_test(program_beside_only_if_ours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
