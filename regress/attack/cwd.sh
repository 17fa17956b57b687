#!/bin/sh
# A working directory by a descriptor's magic link is refused or inside
# (CVE-2024-21626), also through a symlink made inside.
. "${srcdir:-.}/regress/sh/lib.sh"
need_root
daemon_start
for backend in ns bwrap; do
	need_backend $backend
	id=$(ctl create -b $backend)
	root=$(ctl exec "$id" -- stat -c %d:%i /)
	ctl exec "$id" -- ln -s /proc/self/fd/3 /tmp/link
	for dir in /proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2 \
	    /proc/self/fd/3 /proc/self/fd/4 /proc/self/fd/5 /proc/self/fd/6 \
	    /proc/self/fd/7 /proc/self/fd/8 /proc/self/fd/9 /proc/1/root \
	    /proc/1/cwd /tmp/link ../../../.. /; do
		rc=0
		out=$(ctl exec -w "$dir" "$id" -- sh -c '
			i=0
			while [ $i -lt 32 ]; do cd ..; i=$((i + 1)); done
			stat -c %d:%i .; test ! -e /root/.profile' \
		    2>"$tmp/err" </dev/null) || rc=$?
		[ $rc = 125 ] || [ $rc = 126 ] || [ $rc = 127 ] ||
		    is "$out" "$root" "$backend: cwd $dir"
	done
	ctl rm "$id"
done
daemon_stop
