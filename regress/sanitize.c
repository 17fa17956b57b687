/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Linked into the programs of a sanitizer build only.  They clear their
 * environment for each other, so what ASan is to do has to be in them.
 * No leak check at exit: it traces the process, which the system call
 * filters forbid; the unit tests have it.
 */

const char *__asan_default_options(void);
const char *__ubsan_default_options(void);

const char *
__asan_default_options(void)
{

	return "detect_leaks=0:handle_abort=1:exitcode=99";
}

const char *
__ubsan_default_options(void)
{

	return "print_stacktrace=1:halt_on_error=1";
}
