#!/bin/sh
# The example of sandboxd-rpc(7), a client in a few lines of python, works.
. "${srcdir:-.}/regress/sh/lib.sh"
need_msgpack
daemon_start 'backend order { ns bwrap host }' 'permit all backend host'
sed -n '/^\.Bd/,/^\.Ed/p' "$srcdir/man/sandboxd-rpc.7" | grep -v '^\.' |
    sed "s|/run/sandboxd.sock|$sock|" >"$tmp/example.py"
matches "$(cat "$tmp/example.py")" "$sock"
matches "$(within $limit $python "$tmp/example.py")" "hello"
