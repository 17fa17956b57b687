#!/bin/sh
# The front does what its clients and a broker ask, and bounds each of them.
. "${srcdir:-.}/regress/sh/lib.sh"

# The real sandboxd with another program in the place of its broker.
mkdir -m 755 "$tmp/bin" "$tmp/run"
cp "$builddir/sandboxd" "$tmp/bin/sandboxd"
cp "$builddir/regress/front/broker" "$tmp/bin/sandboxd-broker"
echo "listen on \"$tmp/sock\"" >"$conf"

# part NAME [COMMAND...]: the broker plays this part and is content.
part() {
	name=$1
	shift
	rc=0
	within $limit "$@" "$tmp/bin/sandboxd" -d -f "$conf" -r "$tmp/run/$name" \
	    </dev/null >"$tmp/log" 2>&1 || rc=$?
	is "$rc" 0 "part $name"
}

for p in hello owners connect offer tunnel events worker destroy create \
    leave nonsense many deaf mutate confined; do
	part $p
done
# A few descriptors more than the front needs for itself.
part full prlimit --nofile=60:60
