#!/bin/sh
# Standard input reaches the program whole, and so does its end; a program
# that does not read it is none the worse; nor is any of descriptors 0 to 2
# needed.
. "${srcdir:-.}/regress/sh/lib.sh"
rounds=${COUNT:-30}

# Standard input that stays open without a byte.
mkfifo "$tmp/open"
bg sh -c "exec sleep 1000 >'$tmp/open'"

# socket_in COMMAND...: with a socket, which sandboxctl has to copy.
socket_in() {
	within $limit $python -c '
import socket, subprocess, sys
ours, its = socket.socketpair()
p = subprocess.Popen(sys.argv[1:], stdin=its)
its.close()
ours.sendall(b"through a socket\n")
ours.shutdown(socket.SHUT_WR)
sys.exit(p.wait())' "$@"
}

closed() {
	for fds in '<&-' '>&-' '2>&-' '<&- >&-' '<&- 2>&-' '>&- 2>&-' \
	    '<&- >&- 2>&-'; do
		is "$(eval "ctl exec '$id' -- sh -c 'exit 5' $fds"
		    echo $?)" 5 "closed: $fds"
		is "$(eval "ctl exec --output 1M '$id' -- sh -c 'exit 5' $fds"
		    echo $?)" 5 "closed, relayed: $fds"
	done
	is "$(ctl exec "$id" -- cat <&-)" '' 'stdin closed'
	is "$(ctl exec "$id" -- sh -c 'echo out; echo err >&2' 2>&-)" out \
	    'stderr closed'
	is "$(ctl exec "$id" -- sh -c 'echo out; echo err >&2' 3>&1 >&- \
	    2>&3)" err 'stdout closed'
}

stdin() {
	is "$(printf 'hello\n' | ctl exec "$id" -- cat)" hello
	is "$(printf 'hello\n' | ctl exec --output 1M "$id" -- cat)" hello
	is "$(socket_in "$ctl" -s "$sock" exec "$id" -- cat)" \
	    'through a socket'
	is "$(ctl exec "$id" -- sha256sum <"$ctl")" "$(sha256sum <"$ctl")"
	# shellcheck disable=SC2002	# a pipe is what is wanted
	is "$(cat "$ctl" | ctl exec --output 1G "$id" -- cat | sha256sum)" \
	    "$(sha256sum <"$ctl")" 'all of a pipe'

	# It ends while its input is open and nobody will ever write.
	status 3 ctl exec "$id" -- sh -c 'exit 3' <"$tmp/open"
	status 124 ctl exec --timeout 100ms "$id" -- sleep 1000 <"$tmp/open"
	is "$(ctl exec "$id" -- head -c 3 </dev/zero | od -An -tx1)" \
	    ' 00 00 00' 'a device is copied'
	is "$(yes | ctl exec "$id" -- head -n 1)" y 'the rest is not read'
	# It may close it, and the writer learns of it.
	{ yes 2>/dev/null; echo $? >"$tmp/yes"; } |
	    ctl exec "$id" -- sh -c 'exec <&-; exit 4' >/dev/null || :
	wait_for test -s "$tmp/yes"

	n=0
	while [ $n -lt "$rounds" ]; do
		is "$(ctl exec "$id" -- cat </dev/null)" '' "round $n: null"
		is "$(: | ctl exec "$id" -- cat)" '' "round $n: empty"
		is "$(: | ctl exec --output 1M "$id" -- cat)" '' \
		    "round $n: empty, relayed"
		n=$((n + 1))
	done
	closed
}

each_backend stdin

# The daemon itself, started without any.
"$builddir/sandboxd" -d -f "$conf" -r "$run" <&- >&- 2>&- &
daemon_pid=$!
wait_for ctl version -q -s "$sock"
broker_pid=$(children_of $daemon_pid sandboxd-broker)
id=$(ctl create -q)
is "$(echo in | ctl exec "$id" -- cat)" in "a daemon without descriptors"
