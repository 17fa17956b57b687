#!/bin/sh
# Whatever a client sends, it gets an answer with code, words and advice, and
# nobody else notices.
. "${srcdir:-.}/regress/sh/lib.sh"
need_msgpack
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE

daemon_start 'backend order { ns bwrap host }' 'permit all backend host'
quietly ctl check -q || skip "no backend works: $(cat "$tmp/err")"
within 250 $python "$srcdir/regress/sh/odd.py" "$sock" || fail 'odd values'
! gone "$daemon_pid" || fail 'the front has ended'
! gone "$broker_pid" || fail 'the broker has ended'
daemon_stop
