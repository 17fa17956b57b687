#!/bin/sh
# SPDX-License-Identifier: ISC
# Each directory uses only what design section 10 lets it use.
#
# Looks at includes, and when there is a build, at the symbols and libraries
# that the programs need.
set -eu
LC_ALL=C
export LC_ALL
cd "${srcdir:-$(dirname "$0")/..}"
build=${builddir:-build}
bad=$(mktemp)
trap 'rm -f "$bad"' EXIT

# may DIR EXPRESSION [FILE]: local and library headers, as "dir/name.h" or
# <name.h>, that files of DIR (or FILE alone in it) may include.  Directories
# not in a rule have to be reached by no one else.
may() {
	[ -d "$1" ] || return 0
	find "$1" -name '*.[chy]' ${3:+! -name "$3"} -exec \
	    grep -HnE '^#[ \t]*include' {} + |
	    sed -e 's|include "\(proto\.h\|messages\.h\|limits\.h\|loop\.h\)"|include "proto/\1"|' \
	    -e 's|include "\.\./|include "|' \
	    -e 's|include "event\.h"|include "proto/event.h"|' \
	    -e "s|include \"\([a-z_0-9]*\.h\)\"|include \"$1/\1\"|" |
	    grep -E "$checked" | grep -vE "include [\"<]($2)" |
	    sed "s|^|$1/ may not: |" >>"$bad" || :
}

# Headers that the rules are about: all local ones but config.h, and those of
# libraries.  Plain libc and kernel headers are free; <grp.h> is setgroups, and
# who asks for names is seen in the symbols.
checked='include ("[^"]*/|<(event2?|msgpack|seccomp|cap-ng|archive|jansson|netdb|pwd|lib))'

own='config\.h"|'
proto="${own}proto/(proto|messages|limits)\.h\""
event='event2/'
may proto "${own}proto/|$event" # event glue below
# list.h: the names alone, for "backend order".
may parent "$proto|proto/event\.h\"|parent/|$event|pwd\.h|backends/list\.h" \
    confine.c
may broker "$proto|proto/loop\.h\"|broker/|backends/backend\.h\"|storage/storage\.h\"" priv.c
# absent.c: what libevent refers to and the worker must not have.
may worker "$proto|proto/event\.h\"|worker/|$event|netdb\.h" confine.c
may agent "$proto|agent/" archive.c
may backends "${own}proto/(proto|limits)\.h\"|backends/|seccomp\.h"
may storage "${own}proto/(proto|limits)\.h\"|storage/"
may lib "$proto|lib/|pwd\.h"
may ctl "${own}lib/sandboxd\.h\"|ctl/|jansson\.h|ctl/sandboxd\.h\""
may gateway "${own}lib/sandboxd\.h\"|gateway/|jansson\.h|$event"

# only HEADER FILE...: nobody but these files includes it.
only() {
	header=$1
	shift
	for d in proto parent broker worker agent backends storage ctl lib; do
		[ ! -d $d ] || grep -rlE --include='*.[chy]' \
		    "^#[ \t]*include <$header" $d || :
	done | while read -r f; do
		case " $* " in
		*" $f "*)	;;
		*)		echo "$f: includes <$header" ;;
		esac
	done >>"$bad"
}

only 'cap-ng\.h' broker/priv.c
only 'seccomp\.h' parent/confine.c broker/priv.c worker/confine.c \
    backends/filter.c
only 'archive' agent/archive.c
only 'netdb' worker/absent.c
only 'msgpack'
only 'jansson' ctl/json.c ctl/print.c ctl/ctl.h ctl/output.c

# Nobody outside lists the event glue but those who may link it.
grep -lE '<event2?[./]|proto/event\.h' broker/*.[ch] agent/*.[ch] \
    backends/*.[ch] lib/*.[ch] ctl/*.[ch] 2>/dev/null |
    sed 's/$/: uses libevent/' >>"$bad" || :

# needs FILE LIBRARIES: a program's NEEDED entries are among these.
needs() {
	[ -e "$build/$1" ] || { absent="$absent $1"; return 0; }
	readelf -d "$build/$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
	    grep -vE "^($2|libc|ld-linux[-_a-z0-9]*|libasan|libubsan|libgcc_s|libm)\.so" |
	    sed "s|^|$1 needs |" >>"$bad" || :
}

# lacks FILE SYMBOLS: a program asks for none of these functions; a static
# one does not even have them.
lacks() {
	[ -e "$build/$1" ] || return 0
	if readelf -d "$build/$1" | grep -q NEEDED; then
		nm -D --undefined-only "$build/$1" | awk '{ print $2 }'
	else
		nm --defined-only "$build/$1" | awk '{ print $3 }'
	fi | sed 's/@.*//' | grep -E "^($2)$" |
	    sed "s|^|$1 uses |" >>"$bad" || :
}

absent=
if command -v readelf >/dev/null; then
	needs sandboxd 'libevent_core-2\.1|libevent-2\.1|libseccomp'
	needs sandboxd-broker 'libseccomp|libcap-ng'
	needs sandboxd-worker 'libevent_core-2\.1|libevent-2\.1|libseccomp'
	needs sandboxd-agent none
	needs sandboxctl libjansson
	needs .libs/libsandboxd.so none
	names='getpw(nam|uid|ent).*|getgr(nam|gid|ent|ouplist).*|getaddrinfo|gethostby.*|initgroups'
	lacks sandboxd-broker "event_.*|archive_.*|msgpack_.*|json_.*|$names"
	# The worker is static: what its own objects ask for.
	nm -u "$build"/worker/*.o 2>/dev/null | awk '{ print $2 }' |
	    grep -E "^(capng_.*|archive_.*|exec[lv].*|open|openat|$names)$" |
	    sed 's/^/worker uses /' >>"$bad" || :
	lacks sandboxd 'capng_.*|archive_.*|msgpack_.*|json_.*|mount|setns'
	lacks .libs/libsandboxd.so 'abort|printf|puts|fputs|__printf_chk'
	# A library neither ends its program nor talks: that is proto's, for us.
	nm -u "$build"/lib/.libs/*.o 2>/dev/null | awk '{ print $2 }' |
	    grep -E '^(_?exit|fatal|log_.*|xcalloc|xrealloc|xstrdup)$' |
	    sed 's/^/lib uses /' >>"$bad" || :
	if [ -e "$build/.libs/libsandboxd.so" ]; then
		nm -D --defined-only "$build/.libs/libsandboxd.so" |
		    awk '$2 != "A" { print $3 }' | grep -v '^sandbox_' |
		    sed 's/^/libsandboxd.so exports /' >>"$bad" || :
	fi
fi

[ -z "$absent" ] || echo "not built, not looked at:$absent"
[ ! -s "$bad" ] || { cat "$bad"; exit 1; }
