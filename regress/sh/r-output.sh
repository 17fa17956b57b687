#!/bin/sh
# Output is complete and exact: every byte, in order, the two streams apart,
# whether the program has our descriptor, or it is relayed or copied.
. "${srcdir:-.}/regress/sh/lib.sh"
rounds=${COUNT:-15}

hash() {
	sha256sum | cut -c 1-64
}

# same NAME COMMAND...: passed, relayed and copied, it is what it is here.
# sandboxctl copies what goes to a socket.
same() {
	what=$1
	shift
	wanted=$("$@" | hash)
	is "$(ctl exec "$id" -- "$@" | hash)" "$wanted" "passed: $what"
	ctl exec "$id" -- "$@" >"$tmp/file"
	is "$(hash <"$tmp/file")" "$wanted" "a file: $what"
	is "$(ctl exec --output 1G "$id" -- "$@" | hash)" "$wanted" \
	    "relayed: $what"
	is "$(through_socket exec "$id" -- "$@" | hash)" "$wanted" \
	    "copied: $what"
}

# sandboxctl with a socket as its output.
through_socket() {
	within $limit $python -c '
import os, socket, subprocess, sys
ours, its = socket.socketpair()
p = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=its)
its.close()
while True:
    data = ours.recv(65536)
    if not data:
        break
    os.write(1, data)
sys.exit(p.wait())' "$ctl" -s "$sock" "$@"
}

output() {
	[ "$backend" = host ] || exact
	streams
}

exact() {
	# Around the sizes of buffers.
	for n in 8191 8193 65535 65537 1048577; do
		same "$n bytes" sh -c "seq 1 200000 | head -c $n"
	done
	# Every value of a byte, and what is no text.
	same 'all bytes' python3 -c 'import os
os.write(1, bytes(range(256)) * 700)'
	same 'the four bytes of one character, cut' python3 -c 'import os
c = "\U0001f600".encode()
for i in range(1, 4):
    os.write(1, c[:i])
    os.write(1, c[i:])'
	same nothing true
	is "$(ctl exec --output 1G "$id" -- \
	    sh -c 'head -c 100000000 /dev/zero; printf END' | hash)" \
	    "$({ head -c 100000000 /dev/zero; printf END; } | hash)" \
	    'a line of 100 MB, relayed'
	is "$(ctl exec "$id" -- \
	    sh -c 'head -c 100000000 /dev/zero; printf END' | tail -c 3)" END
}

streams() {
	# The two streams stay apart, and nothing of ours is in them.
	for how in '' '--output 1M'; do
		# shellcheck disable=SC2086	# an option or none
		ctl exec $how "$id" -- sh -c 'for i in $(seq 100); do
			echo out $i; echo err $i >&2; done' \
		    >"$tmp/out" 2>"$tmp/err"
		is "$(cat "$tmp/out")" "$(seq -f 'out %g' 100)" stdout
		is "$(cat "$tmp/err")" "$(seq -f 'err %g' 100)" stderr
	done
	# One description for both keeps their order.
	ctl exec "$id" -- sh -c 'for i in $(seq 100); do
		echo $i; echo $i >&2; done' >"$tmp/out" 2>&1
	is "$(cat "$tmp/out")" "$(seq 100 | sed p)" 'both in one file'
	is "$(ctl exec "$id" -- sh -c 'printf "a\nb\n"' | od -c)" \
	    "$(printf 'a\nb\n' | od -c)" 'no carriage returns'

	# The end is never cut off.
	wanted=$(seq 1 5000 | hash)
	n=0
	while [ $n -lt "$rounds" ]; do
		is "$(ctl exec "$id" -- seq 1 5000 | hash)" "$wanted" \
		    "round $n"
		is "$(ctl exec --output 1M "$id" -- seq 1 5000 | hash)" \
		    "$wanted" "round $n, relayed"
		n=$((n + 1))
	done
}

each_backend output
