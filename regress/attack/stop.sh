#!/bin/sh
# Signals to everybody from inside do not stop the time limit, and do not
# leave the sandbox (piston#196).
. "${srcdir:-.}/regress/sh/lib.sh"
need_root

daemon_start
for backend in ns bwrap; do
	need_backend $backend
	id=$(ctl create -b $backend)
	neighbour=$(ctl create -b $backend)
	for signal in STOP KILL TTIN QUIT TERM; do
		rc=0
		ctl exec -q --timeout 2s "$id" -- sh -c "$only_inside;
		    (kill -$signal -1); kill -$signal 0; sleep 100" \
		    >"$tmp/out" 2>&1 </dev/null || rc=$?
		[ $rc = 124 ] || [ $rc -gt 128 ] ||
		    fail "$backend: $signal: status $rc: $(cat "$tmp/out")"
		is "$(ctl exec "$id" -- echo alive)" alive "after $signal"
	done
	is "$(ctl exec "$neighbour" -- echo alive)" alive neighbour
	is "$(ctl exec "$id" -- sh -c 'ps -e 2>/dev/null | grep -c sleep' ||
	    :)" 0 'sleeps left'
	ctl rm "$id" "$neighbour"
done
daemon_stop
