#!/bin/sh
# sandboxctl ends as the command ended; its own failures have their own
# statuses, one line each that says what to do, and never the command's.
. "${srcdir:-.}/regress/sh/lib.sh"

daemon_start
id=$(ctl create --name box)

# ends STATUS COMMAND...: the same by run and in a sandbox that is there.
ends() {
	want=$1
	shift
	status "$want" ctl run -- "$@" 2>"$tmp/err" </dev/null
	status "$want" ctl exec box -- "$@" 2>>"$tmp/err" </dev/null
}

ends 0 true
ends 1 false
ends 7 sh -c 'exit 7'
ends 255 sh -c 'exit 255'
is "$(cat "$tmp/err")" '' 'stderr of commands that ended'
ends 143 sh -c 'kill -TERM $$'
ends 137 sh -c 'kill -KILL $$'
ends 134 sh -c 'kill -ABRT $$'

ends 127 no-such-command
matches "$(cat "$tmp/err")" '^sandboxctl: no-such-command: no such command'
is "$(grep -vc '^sandboxctl: ' "$tmp/err")" 0 'lines of somebody else'
ends 127 /no/such/file
ends 126 /etc/passwd
matches "$(cat "$tmp/err")" 'Permission denied'
ends 126 /
status 125 ctl exec -w /no/such box -- true 2>"$tmp/err"
matches "$(cat "$tmp/err")" '/no/such.*No such file'

# A command's own 124 to 127 pass as they are.
for n in 124 125 126 127; do
	ends $n sh -c "exit $n"
done
is "$(cat "$tmp/err")" ''

# Limits.
status 124 ctl exec --timeout 300ms box -- sleep 60 2>"$tmp/err"
is "$(cat "$tmp/err")" 'sandboxctl: time limit of 0.3 s reached'
status 124 ctl run --timeout 300ms -- sleep 60 2>"$tmp/err"
is "$(cat "$tmp/err")" 'sandboxctl: time limit of 0.3 s reached'
status 124 ctl run --cpu-time 1s -- sh -c 'while :; do :; done' 2>"$tmp/err"
matches "$(cat "$tmp/err")" 'processor time limit of 1 s reached'

# Destroyed under the command: not its fault, not a success.
ctl exec box -- sh -c 'echo here; sleep 60' >"$tmp/out" 2>"$tmp/err" &
p=$!
wait_for grep -q here "$tmp/out"
status 0 ctl rm box
rc=0
wait $p || rc=$?
is $rc 125 'status when the sandbox is destroyed'
matches "$(cat "$tmp/err")" '^sandboxctl: the sandbox was '
status 125 ctl exec box -- true 2>"$tmp/err"
matches "$(cat "$tmp/err")" "no sandbox|$id"

# What is wrong with the command line is found before anything starts.
for words in 'run' 'run --bad true' 'run --timeout x true' 'exec' 'nonsense' \
    'run --timeout' 'ls --tty' 'kill --signal NOPE x/1' 'info x/y' \
    'run --memory 0 true'; do
	# shellcheck disable=SC2086	# words are wanted
	status 125 ctl $words 2>"$tmp/err"
	is "$(grep -c '^sandboxctl: ' "$tmp/err")" 1 "lines for '$words'"
done
