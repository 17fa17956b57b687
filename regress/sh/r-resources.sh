#!/bin/sh
# The daemon's processes keep nothing of what is over, whether it succeeded
# or failed, and do nothing when nothing moves.
. "${srcdir:-.}/regress/sh/lib.sh"
need_msgpack
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE

resources() {
	[ "$backend" != host ] || return 0
	within 200 $python "$srcdir/regress/sh/resources.py" "$sock" \
	    "${COUNT:-20}" "$backend" "$daemon_pid" "$broker_pid" ||
	    fail "$backend"
}

each_backend resources
