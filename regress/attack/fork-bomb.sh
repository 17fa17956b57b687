#!/bin/sh
# A fork bomb meets its limit, the time limit ends it, the sandbox and its
# neighbour go on, and nothing of it survives.
. "${srcdir:-.}/regress/sh/lib.sh"
need_root
daemon_start 'defaults { pids 64 }'
for backend in ns bwrap; do
	need_backend $backend
	id=$(ctl create -b $backend)
	neighbour=$(ctl create -b $backend)
	rc=0
	ctl exec -q --timeout 2s "$id" -- sh -c \
	    'b() { b | b & b; }; b 2>/dev/null; sleep 100' \
	    >/dev/null 2>&1 </dev/null &
	bomb=$!
	is "$(ctl exec "$neighbour" -- sh -c 'echo $((6 * 7))')" 42 neighbour
	wait $bomb || rc=$?
	# The main shell may die of the bomb before its time is over.
	[ $rc = 124 ] || [ $rc = 2 ] || [ $rc -gt 128 ] || fail "status $rc"
	ctl rm "$id"
	ctl rm "$neighbour"
done
daemon_stop
