#!/bin/sh
# Two private instances and a daemon run side by side; none sees or disturbs
# another, and a second daemon on one run directory refuses to start.
. "${srcdir:-.}/regress/sh/lib.sh"
daemon_start
id=$(ctl create)
one=$tmp/one two=$tmp/two
mkfifo "$one" "$two"
SANDBOXD_SOCKET=$tmp/none
export SANDBOXD_SOCKET
private() {
	env -u SANDBOXD_SOCKET XDG_RUNTIME_DIR="$tmp" timeout -k 5 $limit \
	    "$ctl" "$@"
}
if [ -S /run/sandboxd.sock ]; then
	skip 'a daemon of this machine listens on the default socket'
fi
private run -- sh -c 'echo one; cat' <"$one" >"$tmp/out1" 2>"$tmp/err1" &
p1=$!
private run -- sh -c 'echo two; cat' <"$two" >"$tmp/out2" 2>"$tmp/err2" &
p2=$!
bg_pids="$bg_pids $p1 $p2"
exec 7>"$one" 8>"$two"
wait_for grep -q one "$tmp/out1"
wait_for grep -q two "$tmp/out2"
is "$(ctl ls -q)" "$id" 'the daemon lists its own only'
rc=0
timeout 30 "$builddir/sandboxd" -d -f "$conf" -r "$run" >"$tmp/second" 2>&1 ||
    rc=$?
[ $rc != 0 ] && [ $rc != 124 ] || fail "a second daemon: status $rc"
is "$(ctl exec "$id" -- echo alive)" alive 'the daemon, after that'
exec 7>&-
wait $p1 || fail 'first private instance'
is "$(ctl exec "$id" -- echo alive)" alive 'the daemon'
echo more >&8
exec 8>&-
wait $p2 || fail 'second private instance'
is "$(cat "$tmp/out2")" "two
more" 'second private instance'
ctl rm "$id"
daemon_stop
