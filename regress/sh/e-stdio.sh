#!/bin/sh
# What goes in and out of a command is exact: bytes, ends, order, and which
# of the two outputs; whatever the descriptors are, also when they are closed.
. "${srcdir:-.}/regress/sh/lib.sh"

need_msgpack
daemon_start
ctl create --name box >/dev/null

# Files, pipes and /dev/null are passed.
head -c 3000001 /dev/urandom >"$tmp/in"
ctl run -- cat <"$tmp/in" >"$tmp/out"
cmp "$tmp/in" "$tmp/out" || fail 'file to file'
ctl run -- cat <"$tmp/in" | cmp - "$tmp/in" || fail 'file to pipe'
# shellcheck disable=SC2002	# a pipe is wanted
cat "$tmp/in" | ctl exec box -- cat | cmp - "$tmp/in" || fail 'pipe to pipe'
is "$(ctl run -- sh -c 'cat; echo end' </dev/null)" end
is "$(printf 'a\0b' | ctl run -- wc -c | tr -d ' ')" 3
echo first >"$tmp/out"
ctl run -- echo second >>"$tmp/out"
is "$(cat "$tmp/out")" 'first
second'

# Two outputs stay two.
ctl run -- sh -c 'echo out; echo err >&2' >"$tmp/out" 2>"$tmp/err"
is "$(cat "$tmp/out")" out
is "$(cat "$tmp/err")" err

# A reader that leaves ends the writer.
status 0 sh -c "set -e; '$ctl' -s '$sock' run -- yes | head -n 1 >/dev/null"

# The end of a command is not the end of its pipes.
start=$(date +%s)
is "$(ctl exec box -- sh -c 'sleep 30 >/dev/null 2>&1 & echo ok')" ok
[ $(($(date +%s) - start)) -lt 20 ] || fail 'waited for a background child'
# Nor of ours: input that nobody reads and that never ends.
status 3 ctl run -- sh -c 'exit 3' <"$tmp" || :
(sleep 30 & echo $! >"$tmp/sleep"; exec 9>&-; wait) | {
	status 3 ctl run -- sh -c 'exit 3'
	kill "$(cat "$tmp/sleep")"
}

# Closed descriptors.
is "$(ctl run -- sh -c 'cat; echo out' <&-)" out
status 4 ctl run -- sh -c 'echo lost; exit 4' >&-
status 5 ctl run -- sh -c 'echo lost >&2; exit 5' 2>&-
status 6 ctl run -- sh -c 'exit 6' <&- >&- 2>&-

# Sockets are copied, with their end; both ends as descriptors 0 and 1.
cat >"$tmp/sockets.py" <<'PY'
import hashlib, os, socket, subprocess, sys, threading
data = os.urandom(1000003)
a, b = socket.socketpair()
p = subprocess.Popen(sys.argv[1:] + ["cat"], stdin=b, stdout=b)
b.close()
def send():
    a.sendall(data)
    a.shutdown(socket.SHUT_WR)
threading.Thread(target=send).start()
got = b""
while True:
    d = a.recv(65536)
    if not d:
        break
    got += d
assert p.wait() == 0
assert got == data, (len(got), len(data))
# A slow reader loses nothing that was written before the end.
a, b = socket.socketpair()
p = subprocess.Popen(sys.argv[1:] + ["head", "-c", "700001", "/dev/zero"],
    stdin=subprocess.DEVNULL, stdout=b)
b.close()
n = 0
while True:
    d = a.recv(1000)
    if not d:
        break
    n += len(d)
assert p.wait() == 0
assert n == 700001, n
PY
status 0 within $limit $python "$tmp/sockets.py" "$ctl" -s "$sock" run --
status 0 within $limit $python "$tmp/sockets.py" "$ctl" -s "$sock" exec box --

# A limit of output makes it a relayed stream; what is under it is whole.
is "$(ctl run --output 1M -- seq 1 100000 | cksum)" "$(seq 1 100000 | cksum)"
is "$(ctl run --output 1000 -- seq 1 100000 | wc -c | tr -d ' ')" 1000
is "$(ctl exec --output 9M box -- sh -c 'head -c 5000000 /dev/zero' |
    { sleep 2; wc -c; } | tr -d ' ')" 5000000
ctl exec --output 1M box -- sh -c 'echo out; echo err >&2' >"$tmp/out" \
    2>"$tmp/err"
is "$(cat "$tmp/out" "$tmp/err")" 'out
err'
