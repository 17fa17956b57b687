#!/bin/sh
# SPDX-License-Identifier: ISC
# The built programs carry the protections that configure asked for.
#
# A lost -O2 or a flag dropped on the way shows only in the binary, so this
# looks at those and not at the flags.
set -eu
LC_ALL=C
export LC_ALL
cd "${builddir:-$(dirname "$0")/../build}" 2>/dev/null ||
    { echo 'no build to look at'; exit 77; }
command -v readelf >/dev/null || { echo 'no readelf'; exit 77; }
if grep -q '^#define SANDBOXD_SANITIZERS' config.h; then
	echo 'a sanitizer build has other protections'
	exit 77
fi
failed=0

bad() {
	echo "$file: $*"
	failed=1
}

# has WHAT PATTERN / hasnt WHAT PATTERN: in the headers of the file.
has() {
	printf '%s\n' "$elf" | grep -Eq "$2" || bad "no $1"
}

hasnt() {
	! printf '%s\n' "$elf" | grep -Eq "$2" || bad "has $1"
}

common() {
	elf=$(readelf -hldW "$file" 2>/dev/null)
	has 'read-only relocations (RELRO)' 'GNU_RELRO'
	has 'no-execute stack' 'GNU_STACK .* RW '
	hasnt 'a segment both writable and executable' 'LOAD .* RWE '
	hasnt 'a run path' 'RPATH|RUNPATH'
	nm=$(nm -D "$file" 2>/dev/null; nm "$file" 2>/dev/null) || :
	printf '%s\n' "$nm" | grep -q '__stack_chk_fail' ||
	    bad 'no stack protector'
}

dynamic() {
	has 'position independence (PIE)' 'Type: *DYN'
	has 'binding at start (BIND_NOW)' 'BIND_NOW|FLAGS_1.*NOW'
	printf '%s\n' "$nm" | grep -Eq '__[a-z]+_chk(@|$)' ||
	    bad 'no _FORTIFY_SOURCE'
}

for file in sandboxd sandboxd-broker sandboxd-worker sandboxctl; do
	[ -e $file ] || { echo "$file is not built"; failed=1; continue; }
	common
	dynamic
done

file=.libs/libsandboxd.so
if [ -e $file ]; then
	common
	dynamic
fi

file=sandboxd-agent
if [ -e $file ]; then
	common
	hasnt 'a loader: it must be static' 'INTERP'
	hasnt 'needed libraries' 'NEEDED'
else
	echo "$file is not built"
	failed=1
fi

exit $failed
