#!/bin/sh
# A command is over when its main process ends; what it leaves behind lives
# until the sandbox ends, and is not killed by its next line of output.
. "${srcdir:-.}/regress/sh/lib.sh"

# A service that writes on when asked to, and says how it fared.
service='mkfifo $D/go$$ && echo $$ >$D/name
	(trap "echo PIPE >$D/sig" PIPE
	read line <$D/go$$
	i=0
	while [ $i -lt 3000 ]; do
		echo "a line of the log that is rather long" || break
		i=$((i + 1))
	done
	echo $i >$D/wrote) &
	echo started'

lives() {
	is "$(ctl exec -e D="$dir" "$id" -- sh -c 'rm -f $D/sig $D/wrote
	    echo >$D/go$(cat $D/name)
	    until [ -s $D/wrote ]; do sleep 0.01; done
	    cat $D/wrote $D/sig 2>/dev/null')" 3000 "$1"
}

# Are there so many?  On the host there may be others besides.
sleepers() {
	n=$(ctl exec "$id" -- sh -c "ps -eo args= | grep -c '^sleep $nap'")
	[ "$n" = "$1" ]
}

background() {
	nap=10$$
	dir=/tmp
	if [ "$backend" = host ]; then
		mkdir "$tmp/inside"
		dir=$tmp/inside
	fi
	# Over at once, though a child has the output open.
	ctl exec "$id" -- sh -c 'sleep '$nap' & echo ok' >"$tmp/out"
	is "$(cat "$tmp/out")" ok 'a file'
	is "$(ctl exec --output 1M "$id" -- sh -c 'sleep '$nap' & echo ok')" \
	    ok relayed
	mkfifo "$tmp/fifo.$backend"
	bg cat "$tmp/fifo.$backend"
	cat_pid=$bg_pid
	ctl exec "$id" -- sh -c 'sleep '$nap' & echo ok' >"$tmp/fifo.$backend"
	# The child is still a writer of our pipe.
	! gone "$cat_pid" || fail 'the end of a pipe that is open'

	# Not killed by SIGPIPE when nobody listens any more.
	is "$(ctl exec --output 1M -e D="$dir" "$id" -- sh -c "$service")" started
	lives 'relayed with a limit'
	number=$(ctl exec -d -e D="$dir" "$id" -- sh -c "$service")
	status 0 ctl wait "$number"
	is "$(ctl attach "$number")" started
	lives detached
	is "$(socket_out exec "$id" -- sh -c 'sleep '$nap' & echo ok')" \
	    ok 'copied'
	# It is all there until the sandbox ends.
	wait_for sleepers 4
	status 0 sleepers 4
}

# With a socket as output: sandboxctl leaves when the command is over.
socket_out() {
	within $limit $python -c '
import os, socket, subprocess, sys
ours, its = socket.socketpair()
p = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=its)
its.close()
p.wait()
os.write(1, ours.recv(65536))' "$ctl" -s "$sock" "$@"
}

each_backend background
