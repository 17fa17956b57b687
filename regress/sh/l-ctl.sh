#!/bin/sh
# Sandboxes by the command line: made, named, found, shown, waited for and
# destroyed; what is asked for twice or does not exist has a definite answer.
. "${srcdir:-.}/regress/sh/lib.sh"

daemon_start
is "$(ctl ls -q)" ''
id=$(ctl create --name box --label use=test --ttl 10m -e GREETING='a=b c')
matches "$id" '^sb_[0-9a-f]{16}$'
is "$(ctl ls -q)" "$id"
matches "$(ctl ls)" "^$id box +running "
matches "$(ctl info box)" '^labels.use +test$'
matches "$(ctl info -o json "$id")" "^\{\"id\":\"$id\".*\}\$"
is "$(ctl exec box -- sh -c 'echo "$GREETING"')" 'a=b c'
is "$(ctl exec -e GREETING=x -e HERE -e ABSENT box -- \
    sh -c 'echo "$GREETING,$HERE,${ABSENT-none}"' 2>&1)" 'x,,none'
HERE=there
export HERE
is "$(ctl exec -e HERE box -- sh -c 'echo "$HERE"')" there
is "$(ctl exec -w /tmp box -- pwd)" /tmp
is "$(ctl exec box -- pwd)" "$(ctl exec box -- sh -c 'echo "$HOME"')"

# One name, one sandbox; prefixes that fit one.
status 125 ctl create --name box 2>"$tmp/err"
matches "$(cat "$tmp/err")" '^sandboxctl: create: .*box'
is "$(ctl info "$(printf %.12s "$id")" | awk '$1 == "id" { print $2 }')" "$id"
two=$(ctl create)
status 125 ctl info sb_ 2>"$tmp/err"
is "$(grep -c '^sandboxctl: ' "$tmp/err")" 1
is "$(ctl ls -o json | grep -c '^{.*}$')" 2
is "$(ctl info "$id" box | grep -c '^id ')" 2

# It stays as it was left.
ctl exec box -- sh -c 'echo kept > note'
is "$(ctl exec box -- cat note)" kept
printf 'echo by shell\n' >"$tmp/in"
is "$(ctl shell box <"$tmp/in")" 'by shell'

# The end, waited for.
ctl wait "$two" &
p=$!
status 0 ctl rm "$two"
wait $p || fail 'wait for a sandbox'
status 0 ctl rm "$two"
status 125 ctl exec "$two" -- true 2>/dev/null
status 125 ctl rm nothing-like-that 2>"$tmp/err"
matches "$(cat "$tmp/err")" '^sandboxctl: nothing-like-that: '
status 125 ctl rm 2>/dev/null
ctl create >/dev/null
ctl create >/dev/null
status 0 ctl rm -a
is "$(ctl ls -q)" ''

# Limits that are no numbers, or not to be had, are refused by name.
status 125 ctl create --backend nonsense 2>"$tmp/err"
matches "$(cat "$tmp/err")" '^sandboxctl: create: .*backend'
status 125 ctl create --floor kernel 2>"$tmp/err"
is "$(grep -c '^sandboxctl: ' "$tmp/err")" 1
is "$(ctl ls -q)" '' 'after failed creates'
