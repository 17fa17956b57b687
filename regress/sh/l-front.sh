#!/bin/sh
# The front does what its clients and a broker ask, and bounds each of them.
. "${srcdir:-.}/regress/sh/lib.sh"

# The real sandboxd with another program in the place of its broker.
mkdir -m 755 "$tmp/bin" "$tmp/run"
cp "$builddir/sandboxd" "$tmp/bin/sandboxd"
cp "$builddir/regress/front/broker" "$tmp/bin/sandboxd-broker"
echo "listen on \"$tmp/sock\"" >"$conf"

# part NAME: the broker plays this part and is content.
part() {
	rc=0
	within $limit "$tmp/bin/sandboxd" -d -f "$conf" -r "$tmp/run/$1" \
	    </dev/null >"$tmp/log" 2>&1 || rc=$?
	is "$rc" 0 "part $1"
}

for name in hello owners connect offer tunnel events worker destroy create \
    leave nonsense many deaf confined; do
	part $name
done
(
	# A few descriptors more than the front needs for itself.
	ulimit -n 60
	part full
)
