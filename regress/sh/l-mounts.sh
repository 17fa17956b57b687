#!/bin/sh
# --ro and --rw show directories of the user's, where and how they say.
. "${srcdir:-.}/regress/sh/lib.sh"

daemon_start
need_backend "$(ctl version -o json | sed 's/.*"backend":"\([^"]*\)".*/\1/')"
mkdir "$tmp/in" "$tmp/out" "$tmp/a:b"
chmod 755 "$tmp/in" "$tmp/a:b"
chmod 777 "$tmp/out"
echo hello >"$tmp/in/file"
echo colon >"$tmp/a:b/file"

cd "$tmp/in" || exit 99
is "$(ctl run --ro .:/workspace -- cat file)" hello
is "$(ctl run --ro "$tmp/in:/data" -- cat /data/file)" hello
is "$(ctl run --ro "$tmp/a:b:/data" -- cat /data/file)" colon
status 1 ctl run --ro .:/data -- sh -c 'echo x > /data/new || exit 1' \
    2>"$tmp/err"
matches "$(cat "$tmp/err")" 'Read-only file system'
ctl run --rw "$tmp/out:/out" --ro .:/in -- sh -c 'cp /in/file /out/copy'
is "$(cat "$tmp/out/copy")" hello

# What cannot be shown is refused before anything starts.
status 125 ctl run --ro /no/such:/data -- true 2>"$tmp/err"
matches "$(cat "$tmp/err")" \
    '^sandboxctl: run: --ro /no/such: .*: No such file or directory$'
status 125 ctl run --ro "$tmp/in/file:/data" -- true 2>"$tmp/err"
matches "$(cat "$tmp/err")" 'Not a directory'
status 125 ctl run --ro "$tmp/in:/data/../x" -- true 2>"$tmp/err"
is "$(grep -c '^sandboxctl: ' "$tmp/err")" 1
status 125 ctl create --rw "$tmp/in:relative" 2>"$tmp/err"
is "$(ctl ls -q)" ''
