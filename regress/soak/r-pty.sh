#!/bin/sh
# With a terminal no short command is without its output, and the size is
# there before the first instruction.
. "${srcdir:-.}/regress/sh/lib.sh"
rounds=${COUNT:-500}

pty() {
	n=0
	while [ $n -lt "$rounds" ]; do
		is "$(ctl exec -t "$id" -- sh -c 'stty size; echo hi' \
		    </dev/null | tr -d '\r')" "$(printf '24 80\nhi')" \
		    "round $n"
		n=$((n + 1))
	done
}

each_backend pty
