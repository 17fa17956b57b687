#!/bin/sh
# The whole session of l-rpc-python.sh works over a byte channel to the agent,
# as in a virtual machine: the client sees no difference.
. "${srcdir:-.}/regress/sh/lib.sh"
need_msgpack
need_hooks

PYTHONDONTWRITEBYTECODE=1
SANDBOXD_TEST_STREAM=1
export PYTHONDONTWRITEBYTECODE SANDBOXD_TEST_STREAM
if [ "$(id -u)" != 0 ]; then
	daemon_start 'backend order { bwrap }'
	need_backend bwrap
else
	daemon_start
fi
id=$(ctl create)
# The agent has -s; inside it is pid 1, whose words are for all to see.
matches "$(ctl exec "$id" -- sh -c 'tr "\0" " " </proc/1/cmdline')" \
    ' -s $' 'the kind of channel'
ctl rm "$id" >/dev/null
for how in fds tunnel; do
	within $limit $python "$srcdir/regress/sh/rpc-session.py" "$sock" \
	    $how || fail "session: $how"
done
