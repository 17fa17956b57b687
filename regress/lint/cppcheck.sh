#!/bin/sh
# SPDX-License-Identifier: ISC
# cppcheck finds nothing in the product's sources.
set -eu
cd "${srcdir:-$(dirname "$0")/../..}"
command -v cppcheck >/dev/null || { echo 'no cppcheck'; exit 77; }

set --
for d in proto parent broker worker agent backends storage ctl lib; do
	[ ! -d $d ] || set -- "$@" $d
done
# It reads no system headers, and does not know the macros of this one.
queue=$(printf '#include <sys/queue.h>\n' | ${CC:-cc} -E - |
    sed -n 's/^# 1 "\(.*queue\.h\)".*/\1/p' | head -n 1)
exec cppcheck --quiet --error-exitcode=1 --std=c11 --language=c -j 2 \
    --enable=warning,portability --inline-suppr --library=posix \
    --library=gnu -D__linux__ -D_GNU_SOURCE -I . -I proto \
    -I "${builddir:-build}" ${queue:+"--include=$queue"} \
    --suppressions-list=regress/lint/cppcheck.txt "$@"
