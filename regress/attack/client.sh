#!/bin/sh
# A hostile client ends its own connections at most: the same processes
# answer afterwards, a sandbox of another client lives on, and no descriptor
# is kept.
. "${srcdir:-.}/regress/sh/lib.sh"
need_msgpack
daemon_start
id=$(ctl create)

descriptors() {
	for p in $daemon_pid $broker_pid; do
		find "/proc/$p/fd" -mindepth 1 | wc -l
	done
}

same_descriptors() {
	[ "$(descriptors)" = "$before" ]
}

# With root, two slots wait ready, each with a mount namespace.
stocked() {
	[ "$(id -u)" != 0 ] || [ "$(find "/proc/$broker_pid/fd" -mindepth 1 \
	    -lname 'mnt:*' | wc -l)" = 2 ]
}

ctl exec "$id" -- true
ctl info "$id" >/dev/null
wait_for stocked
before=$(descriptors)
is "$(within 200 $python "$srcdir/regress/attack/client.py" "$sock" 1)" \
    'served to the end' 'the hostile client'
! gone "$daemon_pid" || fail 'the front is gone'
! gone "$broker_pid" || fail 'the broker is gone'
is "$(ctl exec "$id" -- echo alive)" alive
wait_for same_descriptors
[ "$(wc -c <"$tmp/log")" -lt 200000 ] || fail 'the log grew without bound'
ctl rm "$id"
daemon_stop
