#!/bin/sh
# python3-msgpack alone drives the daemon: create, connect, exec, read output,
# destroy and events, with descriptors and through the tunnel.
. "${srcdir:-.}/regress/sh/lib.sh"
need_msgpack

PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
if [ "$(id -u)" != 0 ]; then
	daemon_start 'backend order { bwrap }'
	need_backend bwrap
else
	daemon_start
fi
for how in fds tunnel; do
	within $limit $python "$srcdir/regress/sh/rpc-session.py" "$sock" \
	    $how || fail "session: $how"
done
