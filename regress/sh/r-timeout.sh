#!/bin/sh
# A limit of time ends all that the command started, wherever it went, and
# a command cannot stop those who would end it.
. "${srcdir:-.}/regress/sh/lib.sh"

# Nothing with these words in its command line is alive in the sandbox.
nobody() {
	! ctl exec "$id" -- sh -c "ps -eo args= | grep '^sleep $nap'"
}

# ends CAUSE-STATUS OPTION TEXT: a shell command ends by its limit.
ends() {
	status "$1" quietly ctl exec "$2" "$id" -- sh -c "$3" </dev/null
	status 0 nobody
}

timeouts() {
	nap=2$$
	ends 124 --timeout=100ms "sleep $nap"
	ends 124 --timeout=100ms "sleep $nap & sleep $nap & wait"
	ends 124 --timeout=100ms "setsid sleep $nap & sleep $nap"
	# Twice forked, a session of its own, its parent gone.
	ends 124 --timeout=200ms "(setsid sh -c 'sleep $nap & exit' &)
	    sleep $nap"
	ends 124 --timeout=100ms "trap '' TERM INT HUP; nohup sleep $nap"
	ends 124 --timeout=100ms "exec >&- 2>&- <&-; exec sleep $nap"
	ends 124 --timeout=100ms 'while :; do :; done'
	ends 124 --cpu-time=1s 'while :; do :; done'
	# Time is not processor time.
	status 0 ctl exec --cpu-time 1s "$id" -- sleep 1.2
	# Relayed, with a child that writes without end.
	ends 124 --timeout=200ms "yes >/dev/null & yes | cat; sleep $nap"
	status 124 quietly ctl exec --timeout 100ms --output 1K "$id" -- yes

	# Another command of the sandbox is not touched by that.
	y=$(ctl exec -d -i "$id" -- sh -c 'read line; exit 8')
	ends 124 --timeout=100ms "sleep $nap"
	echo | ctl attach -i "$y" || is $? 8 'the other command'

	# A kill of all, asked for.
	x=$(ctl exec -d "$id" -- sh -c "setsid sleep $nap & sleep $nap")
	status 0 ctl kill -a --signal KILL "$x"
	status 137 ctl wait "$x"
	status 0 nobody
}

# What a program inside may signal is no more than the sandbox.
stops() {
	timeouts
	case $backend in
	ns|bwrap) ;;
	*)	return 0 ;;
	esac
	# Without control groups it is one of the stopped who would kill, and
	# the whole sandbox ends for it.
	[ "$(id -u)" = 0 ] || return 0
	for how in 'kill -STOP 0' 'kill -STOP -1' 'kill -STOP 1'; do
		status 124 quietly ctl exec --timeout 200ms "$id" -- \
		    sh -c "$only_inside; $how; sleep 1000"
		is "$(ctl exec "$id" -- echo alive)" alive "after $how"
	done
	quietly ctl exec "$id" -- \
	    sh -c "$only_inside; kill -KILL -1; kill -KILL 1" || :
	is "$(ctl exec "$id" -- echo alive)" alive 'after kill'
}

each_backend stops
