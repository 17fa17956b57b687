#!/bin/sh
# A hostile program is refused in everything it tries, on ns and bwrap, with
# and without a terminal; the sandbox and its neighbour live on.
. "${srcdir:-.}/regress/sh/lib.sh"
need_root
canary=$tmp/canary
echo canary >"$canary"

attack() {
	id=$(ctl create -b "$1")
	neighbour=$(ctl create -b "$1")
	ctl exec "$id" -- sh -c 'cat >/tmp/inside; chmod 700 /tmp/inside' \
	    <"$builddir/regress/attack/inside"
	rc=0
	# shellcheck disable=SC2086	# an option or none
	ctl exec $2 "$id" -- /tmp/inside >"$tmp/out" 2>&1 || rc=$?
	if [ $rc != 0 ] || grep -v '^refused ' "$tmp/out"; then
		cat "$tmp/out"
		fail "$1 $2: status $rc"
	fi
	[ "$(grep -c '^refused ' "$tmp/out")" -ge 29 ] || fail 'attempts missing'
	is "$(ctl exec "$id" -- echo alive)" alive "$1: the sandbox itself"
	is "$(ctl exec "$neighbour" -- echo alive)" alive "$1: its neighbour"
	ctl rm "$id" "$neighbour"
}

SECRET=x daemon_start
for backend in ns bwrap; do
	need_backend $backend
	attack $backend ''
	attack $backend -t
done
is "$(cat "$canary")" canary 'the canary'
daemon_stop
