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
exec cppcheck --quiet --error-exitcode=1 --std=c11 --language=c -j 2 \
    --enable=warning,portability --inline-suppr --library=posix \
    --library=gnu -D__linux__ -D_GNU_SOURCE -I . -I "${builddir:-build}" \
    --suppress=missingIncludeSystem --suppress=unmatchedSuppression \
    --suppress=normalCheckLevelMaxBranches "$@"
