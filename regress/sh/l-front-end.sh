#!/bin/sh
# Front and broker live and die together, and the exit status says how.
. "${srcdir:-.}/regress/sh/lib.sh"

mkdir -m 755 "$tmp/bin" "$tmp/run"
cp "$builddir/sandboxd" "$tmp/bin/sandboxd"
cp "$builddir/regress/front/broker" "$tmp/bin/sandboxd-broker"
echo "listen on \"$tmp/sock\"" >"$conf"

front() {
	part=$1
	shift
	within $limit "$tmp/bin/sandboxd" "$@" -f "$conf" \
	    -r "$tmp/run/$part" </dev/null >"$tmp/log" 2>&1
}

status 1 front refuse -d
matches "$(cat "$tmp/log")" 'no such luck'
status 1 front vanish -d
matches "$(cat "$tmp/log")" 'broker: exit status 3'
status 1 front badframe -d
matches "$(cat "$tmp/log")" 'broker: bad message'

# In the background the caller gets the error, or leaves when all is up.
status 1 front refuse
matches "$(cat "$tmp/log")" 'no such luck'
status 0 front stay
pid=$(pgrep -f "^sandboxd-broker -r $tmp/run/stay")
front_pid=$(ps -o ppid= -p "$pid" | tr -d ' ')
kill -TERM "$front_pid"
wait_for gone "$front_pid"
wait_for gone "$pid"

# A signal in the foreground is a clean end.
: >"$tmp/log"
"$tmp/bin/sandboxd" -d -f "$conf" -r "$tmp/run/stay" </dev/null \
    >"$tmp/log" 2>&1 &
front_pid=$!
wait_for grep -q 'listening on' "$tmp/log"
kill -TERM "$front_pid"
status 0 wait "$front_pid"
