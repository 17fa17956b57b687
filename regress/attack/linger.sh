#!/bin/sh
# Descriptors that block whoever closes them block nobody who serves others,
# and a full daemon is not taken for one whose backends are broken.
. "${srcdir:-.}/regress/sh/lib.sh"
need_root
need_msgpack
need_user

daemon_start 'backend order { ns }'
need_backend ns
PYTHONDONTWRITEBYTECODE=1 within $limit setpriv --reuid=$user_id \
    --regid=$user_id --clear-groups \
    $python "$srcdir/regress/attack/linger.py" "$sock" || fail 'linger.py'
wait_for eval '[ "$(children_of "$broker_pid" sandboxd-broker)" = "" ]'

# All slots are taken when somebody asks for a check.
ids=
while id=$(ctl create -q 2>/dev/null); do
	ids="$ids $id"
done
[ -n "$ids" ] || fail 'no sandbox'
ctl check >"$tmp/check" 2>&1 || :
for id in $ids; do
	ctl rm "$id"
done
is "$(ctl run -q -- echo works)" works
daemon_stop
