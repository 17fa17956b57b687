#!/bin/sh
# The README's first session prints what the README says it prints.
. "${srcdir:-.}/regress/sh/lib.sh"

# A private instance wants no daemon on the default socket.
if [ -S /run/sandboxd.sock ]; then
	skip 'a daemon of this machine listens on the default socket'
fi
ctl_alone check -q >"$tmp/check" 2>&1 ||
    skip "no backend works here: $(tail -n 1 "$tmp/check")"

# The session: indented lines below its heading; commands begin with "$ ".
sed -n '/^## A first session/,/^## A service/s/^    //p' \
    "$srcdir/README.md" >"$tmp/wanted"
[ "$(grep -c '^\$ ' "$tmp/wanted")" -ge 4 ] || fail 'no session in the README'

cd "$srcdir" || broken 'no source directory'
# ./dev run builds first; here the build that is tested runs.
grep '^\$ ' "$tmp/wanted" | sed 's/^\$ //' >"$tmp/commands"
while IFS= read -r line; do
	printf '$ %s\n' "$line"
	printf '%s\n' "$line" | sed "s|\./dev run|'$ctl' run|g" >"$tmp/one"
	within $limit sh "$tmp/one" 2>&1 </dev/null
done <"$tmp/commands" >"$tmp/got"
if ! diff -u "$tmp/wanted" "$tmp/got"; then
	fail 'the session differs'
fi
