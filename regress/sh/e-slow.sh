#!/bin/sh
# Output that the daemon copies, because of a limit, is all there for a reader
# who is slow, and the command's end waits for him; who has no patience any
# more can leave.
. "${srcdir:-.}/regress/sh/lib.sh"

daemon_start 'defaults { output 16M }'
ctl create --name box >/dev/null
sum=$(seq 1 100000 | cksum)
is "$(ctl run -- seq 1 100000 | { sleep 3; cksum; })" "$sum" 'run, slowly'
is "$(ctl exec box -- seq 1 100000 | { sleep 3; cksum; })" "$sum" 'exec, slowly'
is "$(ctl run -- seq 1 100000 | cksum)" "$sum"
ctl run -- seq 1 100000 >"$tmp/out"
is "$(cksum <"$tmp/out")" "$sum" 'to a file'

# A background child is not waited for here either.
start=$(date +%s)
is "$(ctl exec box -- sh -c 'sleep 30 >/dev/null 2>&1 & echo ok')" ok
[ $(($(date +%s) - start)) -lt 20 ] || fail 'waited for a background child'

# Nobody reads: a limit of time ends it all the same.
mkfifo "$tmp/fifo"
exec 3<>"$tmp/fifo"
status 124 ctl exec --timeout 1s box -- seq 1 1000000 >"$tmp/fifo" 2>"$tmp/err"
# The command has ended, its output is stuck: two signals are enough.
"$ctl" -s "$sock" exec box -- seq 1 60000 >"$tmp/fifo" 2>"$tmp/err" &
p=$!
started() {
	ctl ls box | grep -q running
}
over() {
	[ "$(ctl exec box -- sh -c 'cat /proc/[0-9]*/comm' 2>/dev/null |
	    grep -c '^seq$')" = 0 ]
}
wait_for started
wait_for over
kill -TERM $p
wait_for sh -c "kill -TERM $p; ! kill -0 $p"
rc=0
wait $p || rc=$?
is $rc 143 'status after the second signal'
