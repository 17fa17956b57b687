#!/bin/sh
# A daemon out of descriptors or full of clients rests, says so, and recovers;
# paths that are too long are refused with words.
. "${srcdir:-.}/regress/sh/lib.sh"
need_msgpack
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE

crowd() {
	within 120 $python "$srcdir/regress/sh/crowd.py" "$sock" \
	    "$daemon_pid" "$broker_pid" >"$tmp/crowd" || fail "$1"
	[ "$(wc -l <"$tmp/log")" -lt 40 ] || fail "$1: the log is full"
	id=$(ctl create -q) || fail "$1: create afterwards"
	is "$(ctl exec "$id" -- echo alive)" alive "$1: afterwards"
	daemon_stop
}

# As many as one user may have.
daemon_start 'backend order { ns bwrap host }' 'permit all backend host'
quietly ctl check -q || skip "no backend works: $(cat "$tmp/err")"
crowd 'clients of one user'
# Few descriptors.
ulimit -n 64
daemon_start 'backend order { ns bwrap host }' 'permit all backend host'
crowd 'few descriptors'
ulimit -n "$(ulimit -H -n)" 2>/dev/null || :

# refused PATTERN OPTION...: the daemon does not start, and says why.
refused() {
	pattern=$1
	shift
	status 1 quietly within $limit "$builddir/sandboxd" -d "$@" </dev/null
	matches "$(tail -n 1 "$tmp/err")" "^(sandboxd|broker): .*($pattern)" \
	    "$*"
}

long=$tmp/$(printf '%0120d' 0)
echo "listen on \"$long\"" >"$tmp/long.conf"
refused '1 error' -f "$tmp/long.conf" -r "$run"
matches "$(cat "$tmp/err")" 'at most [0-9]+ bytes'
refused 'longer than [0-9]+ bytes' -f "$conf" -r "$long"
refused 'has to begin with "/"' -f "$conf" -r relative
refused 'No such file' -f "$tmp/none.conf" -r "$run"
mkdir -m 777 "$tmp/open"
chmod 777 "$tmp/open"
refused 'not ours alone' -f "$conf" -r "$tmp/open"
: >"$tmp/sock.file"
echo "listen on \"$tmp/sock.file\"" >"$tmp/file.conf"
refused 'is there and is no socket' -f "$tmp/file.conf" -r "$run"
daemon_start 'backend order { ns bwrap host }' 'permit all backend host'
refused 'another daemon runs in .*; ' -f "$conf" -r "$run"
echo "listen on \"$sock\"" >"$tmp/same.conf"
refused 'somebody listens' -f "$tmp/same.conf" -r "$run-2"
# Nothing is ever made where it was started from.
for p in "$daemon_pid" "$broker_pid"; do
	[ "$(readlink "/proc/$p/cwd")" != "$(pwd -P)" ] ||
	    fail 'it stays in the directory that it was started from'
done
daemon_stop
