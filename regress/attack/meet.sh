#!/bin/sh
# Two sandboxes of one owner meet nowhere: no file, shared memory, abstract
# socket, loopback port or System V object of one is seen in the other.
. "${srcdir:-.}/regress/sh/lib.sh"
need_root
need python3
daemon_start
cat >"$tmp/leave.py" <<'PY'
import os, socket, sys, time
for d in ("/tmp", "/dev/shm", "/workspace", "/var/tmp", "/run"):
    try:
        open(d + "/meeting", "w").close()
    except OSError:
        pass
a = socket.socket(socket.AF_UNIX)
a.bind("\0meeting")
a.listen(1)
t = socket.socket()
t.bind(("127.0.0.1", 4711))
t.listen(1)
u = socket.socket(socket.AF_UNIX)
u.bind("/tmp/meeting.sock")
print("ready", flush=True)
time.sleep(100)
PY
cat >"$tmp/look.py" <<'PY'
import os, socket, sys
found = []
for d in ("/tmp", "/dev/shm", "/workspace", "/var/tmp", "/run"):
    if os.path.exists(d + "/meeting"):
        found.append(d)
for family, name in ((socket.AF_UNIX, "\0meeting"),
                     (socket.AF_INET, ("127.0.0.1", 4711)),
                     (socket.AF_UNIX, "/tmp/meeting.sock")):
    try:
        socket.socket(family).connect(name)
        found.append(repr(name))
    except OSError:
        pass
if "meeting" in open("/proc/net/unix").read():
    found.append("/proc/net/unix")
print("met:", *found)
PY
for backend in ns bwrap; do
	need_backend $backend
	one=$(ctl create -b $backend)
	two=$(ctl create -b $backend)
	ctl exec "$one" -- /usr/bin/python3 -c "$(cat "$tmp/leave.py")" \
	    >"$tmp/ready" </dev/null &
	bg_pids="$bg_pids $!"
	wait_for grep -q ready "$tmp/ready"
	is "$(ctl exec "$two" -- /usr/bin/python3 -c "$(cat "$tmp/look.py")" \
	    </dev/null)" 'met:' $backend
	ctl rm "$one" "$two"
done
daemon_stop
