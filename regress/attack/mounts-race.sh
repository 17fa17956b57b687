#!/bin/sh
# A program inside that swaps directories for symlinks in a writable host
# directory, while more sandboxes get that directory, brings no other
# directory of the host in (CVE-2021-30465, CVE-2024-45310).
. "${srcdir:-.}/regress/sh/lib.sh"
need_root
need python3
mkdir -p "$tmp/shared/a/sub" "$tmp/secret"
echo secret >"$tmp/secret/canary"
ln -s "$tmp/secret" "$tmp/shared/b"
chmod 700 "$tmp/secret"
daemon_start
for backend in ns bwrap; do
	need_backend $backend
	id=$(ctl create -b $backend --rw "$tmp/shared:/shared")
	ctl exec -d "$id" -- /usr/bin/python3 -c '
import ctypes, os
libc = ctypes.CDLL(None)
os.chdir("/shared")
while True:
    libc.renameat2(-100, b"a", -100, b"b", 2)' >/dev/null
	i=0
	while [ $i -lt 25 ]; do
		rc=0
		out=$(ctl run -b $backend --rw "$tmp/shared:/shared" \
		    --ro "$tmp/shared:/shared/a/sub" -- sh -c \
		    'cat /shared/*/canary /shared/*/*/canary' 2>/dev/null \
		    </dev/null) || rc=$?
		is "$out" '' "$backend: read on the host"
		i=$((i + 1))
	done
	ctl rm "$id"
done
is "$(find "$tmp/secret" | wc -l)" 2 'names in the canary directory'
daemon_stop
