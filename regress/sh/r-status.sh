#!/bin/sh
# How a command ended is what its caller gets: its own status, 128 and the
# signal, and other numbers, with words, for what is not its own.
. "${srcdir:-.}/regress/sh/lib.sh"
rounds=${COUNT:-30}

# ends STATUS PATTERN OPTION... -- COMMAND...: exec ends so, and says that.
ends() {
	wanted_status=$1 pattern=$2
	shift 2
	status "$wanted_status" ctl exec "$@" 2>"$tmp/err"
	if [ -n "$pattern" ]; then
		matches "$(cat "$tmp/err")" "^sandboxctl: $pattern" "$*"
		is "$(wc -l <"$tmp/err")" 1 "lines about $*"
	else
		is "$(cat "$tmp/err")" '' "$*"
	fi
}

statuses() {
	for n in 0 1 7 126 127 128 255; do
		ends $n '' "$id" -- sh -c "exit $n"
	done
	for s in HUP:1 INT:2 QUIT:3 ILL:4 ABRT:6 FPE:8 KILL:9 SEGV:11 \
	    PIPE:13 ALRM:14 TERM:15 USR1:10; do
		ends $((128 + ${s#*:})) '' "$id" -- sh -c "kill -${s%:*} \$\$"
	done
	ends 134 '' "$id" -- python3 -c 'import os; os.abort()'
	ends 139 '' "$id" -- python3 -c 'import ctypes; ctypes.string_at(0)'

	# It never ran.
	ends 127 'no-such: .*; ' "$id" -- no-such
	ends 127 '/no/such: .*; ' "$id" -- /no/such
	ends 127 'no-such: .*; ' -e PATH=/nowhere "$id" -- no-such
	ends 126 '/etc/passwd: .*Permission denied' "$id" -- /etc/passwd
	ends 126 '/usr: .*Permission denied' "$id" -- /usr
	ctl exec "$id" -- sh -c 'printf "#!/no/interpreter\n" >/tmp/a.'"$$"'
	    printf nonsense >/tmp/b.'"$$; chmod +x /tmp/[ab].$$"
	ends 127 "/tmp/a.$$: .*; " "$id" -- /tmp/a.$$
	ends 126 "/tmp/b.$$: .*Exec format error" "$id" -- /tmp/b.$$
	ctl exec "$id" -- rm -f /tmp/a.$$ /tmp/b.$$
	ends 125 'true: cwd: /no/such: No such file' -w /no/such "$id" -- true
	ends 125 'true: cwd: /etc/passwd: Not a directory' -w /etc/passwd \
	    "$id" -- true
	ends 125 '.*cwd' -w '' "$id" -- true
	ends 124 'time limit of 0.1 s reached' --timeout 0.1s "$id" -- \
	    sleep 1000

	# The same, asked for later; only KILL has to be waited for.
	x=$(ctl exec -d "$id" -- sh -c 'exit 9')
	status 9 ctl wait "$x"
	status 9 ctl wait "$x"
	status 9 ctl attach "$x"
	status 0 ctl kill "$x"
	status 0 ctl kill -a "$x"
	x=$(ctl exec -d "$id" -- sleep 1000)
	status 0 ctl kill --signal USR1 "$x"
	status 138 ctl wait "$x"
	x=$(ctl exec -d "$id" -- sh -c 'trap "" TERM; while :; do sleep 1; done')
	status 0 ctl kill "$x"
	status 0 ctl kill -a --signal KILL "$x"
	status 137 ctl wait "$x"

	# At the very end a signal may find nobody: that is no error.
	n=0
	while [ $n -lt "$rounds" ]; do
		x=$(ctl exec -d "$id" -- true)
		ctl kill "$x" >"$tmp/err" 2>&1 ||
		    fail "round $n: $(cat "$tmp/err")"
		rc=0
		ctl wait "$x" || rc=$?
		[ $rc = 0 ] || is $rc 143 "round $n"
		n=$((n + 1))
	done

	# What is not there leaves nothing behind.
	before=$(ctl ls "$id" | wc -l)
	n=0
	while [ $n -lt "$rounds" ]; do
		status 127 ctl exec "$id" -- no-such 2>"$tmp/err"
		n=$((n + 1))
	done
	is "$(ctl ls "$id" | wc -l)" "$before" 'records of what never ran'
}

# Signals that sandboxctl gets are the command's.
forwarded() {
	for s in HUP INT QUIT USR1 USR2 TERM; do
		mkfifo "$tmp/ready"
		# A background command of sh ignores INT and QUIT.
		bg $python -c 'import os, signal, sys
for s in (signal.SIGINT, signal.SIGQUIT):
    signal.signal(s, signal.SIG_DFL)
os.dup2(os.open(sys.argv[1], os.O_WRONLY), 1)
os.execv(sys.argv[2], sys.argv[2:])' "$tmp/ready" "$ctl" -s "$sock" \
		    exec "$id" -- sh -c "trap 'exit 42' $s; echo; while :; do
		    sleep 0.01; done"
		read -r line <"$tmp/ready"
		kill -$s "$bg_pid"
		status 42 wait "$bg_pid"
		rm "$tmp/ready"
	done
}

all() {
	statuses
	forwarded
}

each_backend all
