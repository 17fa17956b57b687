/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Signals by name and number, as people write them.
 */

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "ctl.h"

#define SIGNAL_LAST	64

const char *
signal_name(int number)
{
	return sigabbrev_np(number);
}

int
signal_number(const char *text)
{
	const char *name;
	char *end;
	long n;

	n = strtol(text, &end, 10);
	if (end != text && *end == '\0')
		return n >= 1 && n <= SIGNAL_LAST ? (int)n : -1;
	if (strncasecmp(text, "SIG", 3) == 0)
		text += 3;
	for (n = 1; n <= SIGNAL_LAST; n++)
		if ((name = signal_name((int)n)) != NULL &&
		    strcasecmp(name, text) == 0)
			return (int)n;
	return -1;
}
