#!/bin/sh
# A create that fails at any of its steps is an error with that step's name
# and leaves nothing behind: no group, process, claim, socket or slot.
. "${srcdir:-.}/regress/sh/lib.sh"
need_root
need_hooks

groups() {
	find /sys/fs/cgroup -type d -path "*/sandboxd-${run##*/}-*/sb_*"
}

# Processes with an id of our slots; the front and spare workers apart.
busy() {
	ps -e -o uid= -o stat= -o comm= | awk -v lo="$uids_base" \
	    -v n="$uids_count" '$1 >= lo && $1 < lo + n && $2 !~ /^Z/ &&
	    $3 !~ /^sandboxd(-worker)?$/ { print $3 }'
}

clean() {
	[ -z "$(groups)$(busy)" ] &&
	    [ -z "$(ls "$run/claims")$(ls "$run/meet")" ]
}

for backend in ns bwrap; do
	for step in policy slot cgroup channels worker environment ready \
	    verify claim; do
		SANDBOXD_TEST_FAIL=$step
		export SANDBOXD_TEST_FAIL
		daemon_start "backend order { $backend }"
		unset SANDBOXD_TEST_FAIL
		need_backend $backend
		# More often than there are slots: each is given back.
		for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18; do
			rc=0
			ctl create >"$tmp/out" 2>&1 || rc=$?
			[ $rc = 125 ] || fail "$step: status $rc"
			grep -q "step $step failed" "$tmp/out" ||
			    fail "$step: $(cat "$tmp/out")"
			[ $backend = ns ] || break
		done
		is "$(ctl ls -q)" '' "$step: listed"
		wait_for clean
		daemon_stop
	done
done
