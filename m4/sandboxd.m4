# SPDX-License-Identifier: ISC
# Copyright (c) 2026 the sandboxd authors
#
# SB_CFLAG(VAR, FLAG): add FLAG to VAR if the compiler (CC) takes it without
# a word and a program made with it links.  SB_LDFLAG is the same for the
# linker.  The answer depends on CFLAGS too: FORTIFY, for one, needs -O.

AC_DEFUN([SB_CFLAG], [
AC_MSG_CHECKING([whether $CC takes $2])
sb_save_CFLAGS=$CFLAGS
CFLAGS="$CFLAGS -Werror $2"
AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <string.h>
#include <stdio.h>]], [[char b[16]; memset(b, 0, sizeof(b)); puts(b);]])],
    [AC_MSG_RESULT([yes])
    $1="$$1 $2"],
    [AC_MSG_RESULT([no])])
CFLAGS=$sb_save_CFLAGS
])

AC_DEFUN([SB_LDFLAG], [
AC_MSG_CHECKING([whether the linker takes $2])
sb_save_LDFLAGS=$LDFLAGS
LDFLAGS="$LDFLAGS -Wl,--fatal-warnings $2"
AC_LINK_IFELSE([AC_LANG_PROGRAM()],
    [AC_MSG_RESULT([yes])
    $1="$$1 $2"],
    [AC_MSG_RESULT([no])])
LDFLAGS=$sb_save_LDFLAGS
])
