#!/bin/sh
# SIGKILL of agent, worker, bwrap, broker or front is reported at once and is
# never a success; agent, worker and bwrap take nobody else's sandbox along.
. "${srcdir:-.}/regress/sh/lib.sh"
need_root

# Which of our processes runs as uid $1 and is called $2.
process_of() {
	ps -e -o uid= -o pid= -o comm= |
	    awk -v uid="$1" -v name="$(printf %.15s "$2")" \
	    '$1 == uid && $3 == name { print $2; exit }'
}

# start BACKEND: a sandbox with a long exec; its uid tells its slot.
start() {
	id=$(ctl create -b "$1")
	: >"$tmp/up"
	ctl exec "$id" -- sh -c "echo up; exec sleep 300.$$" >"$tmp/up" \
	    2>"$tmp/err" </dev/null &
	exec_pid=$!
	bg_pids="$bg_pids $exec_pid"
	wait_for grep -q up "$tmp/up"
	wait_for sleeper
	uid=$(sleeper)
}

sleeper() {
	ps -e -o uid= -o args= | awk -v arg="300.$$" \
	    '$2 == "sleep" && $3 == arg { print $1; n = 1; exit }
	    END { exit !n }'
}

# The exec's client came back, not with success, and said something.
ended() {
	rc=0
	wait $exec_pid || rc=$?
	[ $rc != 0 ] || fail "$1: a false success"
	[ -s "$tmp/err" ] || fail "$1: no word about it"
}

sandbox_gone() {
	! ctl info "$id" >/dev/null 2>&1
}

no_sleeper() {
	! sleeper >/dev/null
}

daemon_start
for backend in ns bwrap; do
	need_backend $backend
	neighbour=$(ctl create -b $backend)
	for victim in sandboxd-agent sandboxd-worker bwrap; do
		[ $victim != bwrap ] || [ $backend = bwrap ] || continue
		start $backend
		who=$uid
		[ $victim != sandboxd-worker ] || who=$((uid - 1000 + 60001))
		pid=$(process_of $who $victim)
		[ -n "$pid" ] || fail "$backend: no $victim of uid $who"
		kill -KILL "$pid"
		ended "$backend, $victim"
		wait_for sandbox_gone
		wait_for no_sleeper
		is "$(ctl exec "$neighbour" -- echo alive)" alive \
		    "$backend, $victim: neighbour"
	done
	ctl rm "$neighbour"
done
daemon_stop

for backend in ns bwrap; do
	for victim in front broker; do
		daemon_start
		start $backend
		[ $victim != front ] || kill -KILL "$daemon_pid"
		[ $victim != broker ] || kill -KILL "$broker_pid"
		ended "$backend, $victim"
		wait_for gone "$daemon_pid"
		wait_for gone "$broker_pid"
		wait_for no_sleeper
		# A broker that was killed swept nothing: the next one does.
		: >"$tmp/log"
		daemon_start
		daemon_stop
	done
done
