#!/bin/sh
# Events tell the life of a sandbox in order, and can be had again from any
# point on.
. "${srcdir:-.}/regress/sh/lib.sh"

daemon_start
bg "$ctl" -s "$sock" events -o json >"$tmp/live"
id=$(ctl create)
# Whether it listens yet shows when something comes.
wait_for sh -c "'$ctl' -s '$sock' exec $id -- true && [ -s '$tmp/live' ]"
status 3 ctl exec "$id" -- sh -c 'exit 3'
ctl rm "$id"
wait_for grep -q '"kind":"destroyed"' "$tmp/live"
matches "$(cat "$tmp/live")" '"kind":"exit".*"code":3'

# All of it again: created, started, exec, exit, ..., destroyed.
bg "$ctl" -s "$sock" events --since 0 >"$tmp/none"
seq=$(sed -n '1s/.*"seq":\([0-9]*\).*/\1/p' "$tmp/live")
[ "$seq" -ge 1 ] || fail "first seq is '$seq'"
bg "$ctl" -s "$sock" events --since 1 >"$tmp/again"
wait_for grep -q destroyed "$tmp/again"
kinds=$(awk '{ print $3 }' "$tmp/again" | uniq | tr '\n' ' ')
matches "$kinds" '^(created )?started exec exit .*destroyed $'
matches "$(cat "$tmp/again")" \
    "^[0-9]+ +2[0-9-]+T[0-9:]+Z exit +$id .*code=3"
