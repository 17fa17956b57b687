#!/bin/sh
# The picture inside is the documented one, on ns and bwrap, with no broker
# round them; the host's mounts are the same afterwards.
. "${srcdir:-.}/regress/sh/lib.sh"
need_root
create=$builddir/regress/root/ns-create
agent=$builddir/regress/root/ns-agent

mounts() {
	cut -d ' ' -f 4- /proc/self/mountinfo | sort
}

before=$(mounts)
is "$("$create" "$agent" check)" 'checked 24' ns
is "$("$create" "$agent" hello)" hello 'ns, descriptors'
is "$("$create" -s "$agent" hello)" 'hello -s' 'ns, stream'
status 7 "$create" "$agent" 'exit 7' >/dev/null
# Ordinary programs run.
is "$("$create" "$agent" 'ls /bin/sh; echo a | sed s/a/b/; id -un')" '/bin/sh
b
sandbox'
is "$("$create" -b host -u $user_id "$agent" 'id -u; id -G; pwd')" "$user_id
$user_id
/" host
if command -v bwrap >/dev/null; then
	is "$("$create" -b bwrap "$agent" 'check bwrap' 2>&1)" 'checked 24' \
	    'bwrap as root'
	is "$("$create" -b bwrap -s "$agent" hello)" 'hello -s' \
	    'bwrap, stream'
	if as_user test -x "$create"; then
		is "$(as_user "$create" -b bwrap "$agent" 'check bwrap' 2>&1)" \
		    'checked 24' 'bwrap as a user'
	fi
fi
is "$(mounts)" "$before" 'the mounts of the host'
