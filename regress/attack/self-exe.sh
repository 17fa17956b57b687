#!/bin/sh
# A program that is a script for /proc/self/exe, and a loop that tries to
# write to every executable it can see, change no program of the host
# (CVE-2019-5736).
. "${srcdir:-.}/regress/sh/lib.sh"
need_root
sums() {
	sha256sum "$builddir"/sandboxd-agent "$builddir"/sandboxd-worker \
	    /usr/bin/bwrap /bin/sh /bin/true 2>/dev/null
}
before=$(sums)
daemon_start
for backend in ns bwrap; do
	need_backend $backend
	id=$(ctl create -b $backend)
	ctl exec "$id" -- sh -c 'printf "#!/proc/self/exe\n" >/tmp/x
		chmod 700 /tmp/x'
	ctl exec -d "$id" -- sh -c 'while :; do
		for exe in /proc/[0-9]*/exe; do
			(echo bad >"$exe") 2>/dev/null && : >/tmp/written
		done
	done' >/dev/null
	i=0
	while [ $i -lt 40 ]; do
		ctl exec "$id" -- /tmp/x >/dev/null 2>&1 </dev/null || :
		i=$((i + 1))
	done
	status 1 ctl exec "$id" -- test -e /tmp/written
	ctl rm "$id"
done
is "$(sums)" "$before" 'programs of the host'
daemon_stop
