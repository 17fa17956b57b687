#!/bin/sh
# A detached command runs on by itself; its output can be seen from the
# beginning, its end waited for, its input given, by whoever attaches.
. "${srcdir:-.}/regress/sh/lib.sh"

daemon_start
id=$(ctl create --name box)

x=$(ctl exec -d box -- sh -c 'echo one; echo two >&2; exit 5')
is "$x" "$id/1"
status 5 ctl wait "$x"
rc=0
ctl attach "$x" >"$tmp/out" 2>"$tmp/err" || rc=$?
is $rc 5 'status of attach'
is "$(cat "$tmp/out")" one
is "$(cat "$tmp/err")" two
# Again, from the beginning.
is "$(ctl attach "$x" 2>/dev/null || :)" one

# While it runs: what was, and what comes.
x=$(ctl exec -d box -- sh -c 'echo was; until [ -e go ]; do sleep 0.05; done
    echo comes')
ctl attach "$x" >"$tmp/out" &
p=$!
wait_for grep -q was "$tmp/out"
ctl exec box -- touch go
wait $p || fail 'attach'
is "$(cat "$tmp/out")" 'was
comes'

# Input, with its end; and a second reader sees the same.
x=$(ctl exec -d -i box -- sh -c 'cat; echo end')
is "$(printf 'abc\n' | ctl attach -i "$x")" 'abc
end'
is "$(ctl attach "$x")" 'abc
end'
# Without -i there is none.
x=$(ctl exec -d box -- cat)
status 0 ctl wait "$x"
status 125 ctl attach -i "$x" </dev/null 2>"$tmp/err"
matches "$(cat "$tmp/err")" '^sandboxctl: .*stdin'
status 125 ctl attach box 2>"$tmp/err"
matches "$(cat "$tmp/err")" 'give ID/N'

# More than is kept, to a reader who is there: all of it.
x=$(ctl exec -d -i box -- sh -c 'read x; seq 1 500000')
is "$(echo | ctl attach -i "$x" | cksum)" "$(seq 1 500000 | cksum)"

# The one who started it has long gone; it still runs.
x=$(ctl exec -d box -- sleep 60)
matches "$(ctl info "$x")" '^state +running$'
matches "$(ctl ls box)" "^${x##*/} +running"
status 0 ctl kill "$x"
status 143 ctl wait "$x"
matches "$(ctl info "$x")" '^result.signal +15$'
matches "$(ctl info -o json "$x")" '^\{.*"signal":15.*\}$'
