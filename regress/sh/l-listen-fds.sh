#!/bin/sh
# Sockets that a service manager passes are used, and nothing else in their
# place is believed.
. "${srcdir:-.}/regress/sh/lib.sh"

[ "$(id -u)" != 0 ] || take_uids
daemon_conf 'backend order { ns bwrap host }' 'permit all backend host'
sed -i '/^listen/d' "$conf"

# passed KIND PID: sandboxd with descriptor 3 of that kind.
cat >"$tmp/passed.py" <<'END'
import os, socket, sys
kind, pid, path = sys.argv[1:4]
if kind == "dgram":
	s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
else:
	s = socket.socket(socket.AF_UNIX)
s.bind(path)
if kind == "good":
	s.listen(16)
if s.fileno() != 3:
	os.dup2(s.fileno(), 3)
os.set_inheritable(3, True)
os.environ["LISTEN_FDS"] = "1"
os.environ["LISTEN_PID"] = str(os.getpid()) if pid == "own" else pid
os.execv(sys.argv[4], sys.argv[4:])
END
passed() {
	within $limit python3 "$tmp/passed.py" "$1" "$2" "$tmp/$1" \
	    "$builddir/sandboxd" -d -f "$conf" -r "$run" >"$tmp/log" 2>&1
}
need python3

status 1 passed dgram own
matches "$(cat "$tmp/log")" 'descriptor 3 is not a listening unix stream'
status 1 passed stream own
matches "$(cat "$tmp/log")" 'descriptor 3 is not a listening unix stream'

python3 "$tmp/passed.py" good own "$tmp/good" "$builddir/sandboxd" -d \
    -f "$conf" -r "$run" </dev/null >"$tmp/log" 2>&1 9>&- &
daemon_pid=$!
wait_for daemon_ready
broker_pid=$(children_of $daemon_pid sandboxd-broker)
matches "$(cat "$tmp/log")" 'listening on sockets that were passed: 1'
matches "$(within $limit "$ctl" -s "$tmp/good" run -- echo hello)" hello
daemon_stop

# Those of another process are not ours: descriptor 3 is closed.
echo "listen on \"$sock\"" >>"$conf"
python3 "$tmp/passed.py" stream2 1 "$tmp/stream2" "$builddir/sandboxd" -d \
    -f "$conf" -r "$run" </dev/null >"$tmp/log" 2>&1 9>&- &
daemon_pid=$!
wait_for daemon_ready
broker_pid=$(children_of $daemon_pid sandboxd-broker)
matches "$(cat "$tmp/log")" "listening on $sock"
