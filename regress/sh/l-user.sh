#!/bin/sh
# Without root: an ordinary user runs a command in a sandbox of his own
# daemon, and the isolation is the one that is named.
. "${srcdir:-.}/regress/sh/lib.sh"
need bwrap
[ "$(id -u)" != 0 ] || need_user
as_user "$builddir/sandboxctl" check -q -b bwrap >"$tmp/check" 2>&1 ||
    skip "no bwrap for this user here: $(tail -n 1 "$tmp/check")"

user_ctl() {
	as_user timeout -k 5 $limit "$builddir/sandboxctl" "$@" 2>"$tmp/err"
}
is "$(user_ctl run -b bwrap -- echo hello)" hello "$(cat "$tmp/err")"
is "$(echo in | user_ctl run -b bwrap -- cat)" in "$(cat "$tmp/err")"
is "$(user_ctl run -b bwrap -- sh -c 'cat /proc/self/status' |
    grep -c -e '^Seccomp:.2$' -e '^NoNewPrivs:.1$' -e '^CapEff:.0*$')" 3
rc=0
user_ctl run -b ns -- true || rc=$?
is $rc 125 'ns without root'
