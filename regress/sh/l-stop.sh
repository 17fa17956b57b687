#!/bin/sh
# stop ends the daemon, but not behind the back of sandboxes.
. "${srcdir:-.}/regress/sh/lib.sh"

daemon_start
id=$(ctl create)
status 125 ctl stop 2>"$tmp/err"
matches "$(cat "$tmp/err")" 'stop -a'
is "$(ctl ls -q)" "$id"
ctl exec "$id" -- sh -c 'echo ready; sleep 60' >"$tmp/out" 2>"$tmp/err" &
p=$!
wait_for grep -q ready "$tmp/out"
status 0 ctl stop -a
wait_for gone "$daemon_pid"
rc=0
wait $p || rc=$?
is $rc 125 'status of the command that was lost'
is "$(grep -c '^sandboxctl: ' "$tmp/err")" 1
wait_for nothing_left
status 125 ctl stop 2>"$tmp/err"
matches "$(cat "$tmp/err")" 'no daemon'
