#!/bin/sh
# A client cannot make its worker, which is under no limit of the sandbox,
# hoard bytes or descriptors.
. "${srcdir:-.}/regress/sh/lib.sh"
need_root
need_msgpack
daemon_start 'defaults { pids 400 }'
# A sanitizer keeps what was freed, by the hundred megabytes.
large=300000
! grep -q '^#define SANDBOXD_SANITIZERS' "$builddir/config.h" || large=1500000
PYTHONDONTWRITEBYTECODE=1 within $limit \
    $python "$srcdir/regress/attack/hoard.py" "$sock" "$broker_pid" \
    $large ||
    fail 'hoard.py'
daemon_stop
