#!/bin/sh
# Orphans are reaped inside, the daemon has no defunct children, and short
# commands are never lost.
. "${srcdir:-.}/regress/sh/lib.sh"
rounds=${COUNT:-60}

zombies() {
	ps -eo stat=,ppid= | awk -v a="$daemon_pid" -v b="$broker_pid" \
	    '/^Z/ && ($2 == a || $2 == b)' | wc -l
}

no_zombies() {
	[ "$(zombies)" = 0 ]
}

no_orphans() {
	[ "$(ctl exec "$id" -- sh -c "ps -eo stat=,args= | grep -c '^Z'")" = 0 ]
}

reap() {
	# Each has two children that outlive it for a moment.
	ctl exec "$id" -- sh -c "i=0
	    while [ \$i -lt $((rounds * 20)) ]; do
		(true & true & exit) &
		i=\$((i + 1))
		[ \$((i % 50)) != 0 ] || wait
	    done; wait"
	[ "$backend" = host ] || wait_for no_orphans

	# All their results are right while orphans are reaped besides.
	n=0
	while [ $n -lt "$rounds" ]; do
		status $((n % 100)) ctl exec "$id" -- \
		    sh -c "(true &) ; exit $((n % 100))"
		n=$((n + 1))
	done
	n=0
	while [ $n -lt $((rounds / 10)) ]; do
		other=$(ctl create -q -b "$backend")
		status 3 ctl exec "$other" -- sh -c 'sleep 1000 & exit 3'
		ctl rm "$other"
		n=$((n + 1))
	done
	wait_for no_zombies
}

each_backend reap
