#!/bin/sh
# Signals that reach sandboxctl reach the command, even when they come before
# it has quite started; and a signal to a command that ended is no error.
. "${srcdir:-.}/regress/sh/lib.sh"

need_msgpack
daemon_start
ctl create --name box >/dev/null

# Shells start background commands with INT and QUIT ignored; Python does not.
cat >"$tmp/signals.py" <<'PY'
import signal, subprocess, sys
for name in "INT TERM HUP QUIT USR1 USR2".split():
    p = subprocess.Popen(sys.argv[1:] + ["sh", "-c",
        'trap "echo got %s; exit 3" %s; echo ready;'
        'while :; do sleep 0.05; done' % (name, name)],
        stdout=subprocess.PIPE)
    assert p.stdout.readline() == b"ready\n"
    p.send_signal(getattr(signal, "SIG" + name))
    rest = p.stdout.read()
    assert rest == b"got %s\n" % name.encode(), (name, rest)
    assert p.wait() == 3, name
# Not caught: the command dies of it, and so it shows.
p = subprocess.Popen(sys.argv[1:] + ["sh", "-c", "echo ready; exec sleep 60"],
    stdout=subprocess.PIPE)
p.stdout.readline()
p.send_signal(signal.SIGTERM)
assert p.wait() == 128 + 15
# At the moment of the end: the status of the command or the signal's.
for i in range(30):
    p = subprocess.Popen(sys.argv[1:] + ["true"])
    p.send_signal(signal.SIGTERM)
    assert p.wait() in (0, 128 + 15, -15), p.returncode
PY
status 0 within $limit $python "$tmp/signals.py" "$ctl" -s "$sock" run --
status 0 within $limit $python "$tmp/signals.py" "$ctl" -s "$sock" exec box --

# SIGKILL takes the command with it.
"$ctl" -s "$sock" exec box -- sh -c 'echo ready; exec sleep 61' >"$tmp/out" &
p=$!
wait_for grep -q ready "$tmp/out"
n=$(ctl ls -q box | tail -n 1)
kill -KILL $p
status 137 ctl wait "box/$n"

# kill: by name, by number, all that was started, and what is over already.
x=$(ctl exec -d box -- sleep 60)
status 0 ctl kill "$x"
status 143 ctl wait "$x"
status 0 ctl kill "$x"
x=$(ctl exec -d box -- sleep 60)
status 0 ctl kill --signal sigusr1 "$x"
status 138 ctl wait "$x"
x=$(ctl exec -d box -- sh -c 'sleep 60 & sleep 60 & wait')
status 0 ctl kill -a "$x"
status 137 ctl wait "$x"
y=$(ctl exec -d box -- sleep 60)
status 0 ctl kill box
status 143 ctl wait "$y"
is "$(ctl ls box | grep -c running)" 0 'running after kill'
status 125 ctl kill box/999 2>"$tmp/err"
matches "$(cat "$tmp/err")" '^sandboxctl: box/999: no such exec'
