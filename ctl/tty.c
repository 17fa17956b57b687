/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The user's terminal while a command has one of its own: bytes pass as they
 * are, and the settings come back at every exit, since exits go through
 * exit(3) and signals are read, not caught.
 */

#include <sys/ioctl.h>

#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#include "ctl.h"

static struct {
	struct termios	 saved;
	int		 fd;
	bool		 is_raw;
	bool		 is_ours;	/* to be raw after a stop too */
} tty;

void
tty_restore(void)
{
	if (!tty.is_raw)
		return;
	tty.is_raw = false;
	tcsetattr(tty.fd, TCSADRAIN, &tty.saved);
}

void
tty_resume(void)
{
	struct termios raw;

	if (!tty.is_ours || tcgetattr(tty.fd, &raw) == -1)
		return;
	cfmakeraw(&raw);
	if (tcsetattr(tty.fd, TCSADRAIN, &raw) == 0)
		tty.is_raw = true;
}

void
tty_raw(int fd)
{
	if (!isatty(fd) || tcgetattr(fd, &tty.saved) == -1)
		return;
	tty.fd = fd;
	tty.is_ours = true;
	atexit(tty_restore);
	tty_resume();
}

bool
tty_size(unsigned int *rows, unsigned int *cols)
{
	struct winsize ws;
	int fd;

	for (fd = 0; fd <= 2; fd++)
		if (ioctl(fd, TIOCGWINSZ, &ws) == 0 && ws.ws_row != 0 &&
		    ws.ws_col != 0) {
			*rows = ws.ws_row;
			*cols = ws.ws_col;
			return true;
		}
	return false;
}
