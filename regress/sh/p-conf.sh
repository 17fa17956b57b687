#!/bin/sh
# Each keyword of sandboxd.conf(5) is understood, each error named by line.
. "${srcdir:-.}/regress/sh/lib.sh"

cp -R "$srcdir/regress/conf" "$tmp/conf"
chmod -R u+w,go-w "$tmp/conf"
cd "$tmp/conf" || broken 'no directory'

for c in pass-*.conf; do
	within $limit "$builddir/sandboxd" -nv -f "$c" >out 2>err ||
	    fail "$c: $(cat err)"
	diff -u "${c%.conf}.ok" out || fail "$c is printed otherwise"
	# What is printed is a configuration, and the same one.
	within $limit "$builddir/sandboxd" -nv -f out >again 2>err ||
	    fail "$c: printed: $(cat err)"
	diff -u out again || fail "$c changes when read again"
	is "$(within $limit "$builddir/sandboxd" -n -f "$c" 2>&1)" \
	    'configuration OK' "$c"
done
for c in fail-*.conf; do
	status 1 within $limit "$builddir/sandboxd" -n -f "$c" >out 2>err
	diff -u "${c%.conf}.err" err || fail "$c: other errors"
done

# Options, and what else can be wrong at the start.
sandboxd() {
	within $limit "$builddir/sandboxd" "$@" 2>&1
}
matches "$(sandboxd -V)" '^sandboxd [0-9]'
matches "$(sandboxd -x)" '^usage: '
matches "$(sandboxd -n surplus)" '^usage: '
matches "$(sandboxd -n -f /nonexistent)" '/nonexistent: No such file'
matches "$(SANDBOX_BACKEND=xen sandboxd -n -f pass-all.conf)" \
    'unknown backend "xen".*SANDBOX_BACKEND'
is "$(SANDBOX_BACKEND=NS sandboxd -n -f pass-all.conf)" 'configuration OK'
matches "$(sandboxd -d -r relative -f pass-all.conf)" 'has to begin with "/"'
matches "$(sandboxd -i </dev/null)" 'descriptor 0 is not'

# Root reads no file that others may change.
[ "$(id -u)" = 0 ] || exit 0
chmod 666 pass-all.conf
matches "$(sandboxd -n -f pass-all.conf)" 'others may write'
chown 1 pass-lexer.conf
matches "$(sandboxd -n -f pass-lexer.conf)" 'does not belong to root'
