#!/bin/sh
# make install puts everything under DESTDIR, keeps an edited configuration,
# and uninstall takes it all away again.
. "${srcdir:-.}/regress/sh/lib.sh"

prefix=$(sed -n 's/^prefix = //p' "$builddir/Makefile")
dest=$tmp/dest
unset MAKEFLAGS MFLAGS MAKELEVEL
say_make() {
	within 120 make -s -C "$builddir" DESTDIR="$dest" "$@" \
	    >"$tmp/make" 2>&1 || fail "make $*: $(tail -n 5 "$tmp/make")"
}

say_make install
for f in sbin/sandboxd bin/sandboxctl lib/libsandboxd.so lib/libsandboxd.a \
    libexec/sandboxd/sandboxd-broker libexec/sandboxd/sandboxd-worker \
    libexec/sandboxd/sandboxd-agent include/sandboxd.h \
    lib/pkgconfig/sandboxd.pc lib/systemd/system/sandboxd.service \
    lib/systemd/system/sandboxd-boxes.service lib/sysusers.d/sandboxd.conf \
    lib/tmpfiles.d/sandboxd.conf etc/sandboxd.conf \
    share/bash-completion/completions/sandboxctl; do
	[ -s "$dest$prefix/$f" ] || fail "$f was not installed"
done
matches "$(cat "$dest$prefix/lib/systemd/system/sandboxd.service")" \
    "^ExecStart=$prefix/sbin/sandboxd "
# The group comes with sysusers, which did not run here.
sed 's/ group sandbox$//' "$dest$prefix/etc/sandboxd.conf" >"$conf"
status 0 "$dest$prefix/sbin/sandboxd" -n -f "$conf"

echo '# mine' >>"$dest$prefix/etc/sandboxd.conf"
say_make install
matches "$(tail -n 1 "$dest$prefix/etc/sandboxd.conf")" mine
say_make uninstall
is "$(cd "$dest$prefix" && find . ! -type d)" ./etc/sandboxd.conf \
    'after uninstall'
