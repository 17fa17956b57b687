#!/bin/sh
# A taken-over front gains nothing beyond the users connected at that moment,
# and nothing after they leave; a broken frame from it ends the broker.
. "${srcdir:-.}/regress/sh/lib.sh"
need_root
need_msgpack
take_uids
rc=0
within 200 $python "$srcdir/regress/attack/takeover.py" \
    "$builddir/sandboxd-broker" "$run" "$sock" "$uids_base" ns \
    >"$tmp/out" 2>"$tmp/log" || rc=$?
if [ $rc != 0 ]; then
	cat "$tmp/out"
	fail "status $rc"
fi
wait_for nothing_left
