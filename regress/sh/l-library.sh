#!/bin/sh
# The installed library, header and pkg-config file are all that a program
# needs: the example is built with them and does what it says; by C++ too.
. "${srcdir:-.}/regress/sh/lib.sh"

need cc pkg-config
grep -q 'fsanitize' "$builddir/config.status" 2>/dev/null &&
    grep -q '^#define SANDBOXD_SANITIZERS' "$builddir/config.h" &&
    skip 'the library of a sanitizer build wants a program of the same'
prefix=$(sed -n 's/^prefix = //p' "$builddir/Makefile")
dest=$tmp/dest
unset MAKEFLAGS MFLAGS MAKELEVEL
within 120 make -s -C "$builddir" DESTDIR="$dest" install >"$tmp/make" 2>&1 ||
    fail "make install: $(tail -n 5 "$tmp/make")"
lib=$dest$prefix/lib

PKG_CONFIG_PATH=$lib/pkgconfig
PKG_CONFIG_SYSROOT_DIR=$dest
export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR
is "$(pkg-config --modversion sandboxd)" \
    "$(sed -n 's/^#define PACKAGE_VERSION "\(.*\)"/\1/p' "$builddir/config.h")"
cp "$srcdir/lib/example.c" "$tmp/example.c"
cd "$tmp" || broken 'no directory'
# shellcheck disable=SC2046	# words are wanted
cc -Wall -Wextra -Werror -o example example.c \
    $(pkg-config --cflags --libs sandboxd) || fail 'cannot build the example'

# Its symbols are ours alone.
nm -D --defined-only "$lib/libsandboxd.so" |
    awk '$2 != "A" && $3 !~ /^sandbox_/ { print $3 }' >strangers
is "$(cat strangers)" '' 'symbols with other names'
# Whatever the header declares is there, and in the manual; and the reverse.
sed -n 's/.*[ \t*]\(sandbox_[a-z_]*\)(.*/\1/p' \
    "$dest$prefix/include/sandboxd.h" | grep -v '_fn$' | sort -u >declared
nm -D --defined-only "$lib/libsandboxd.so" | awk '$3 ~ /^sandbox_/ {print $3}' |
    sort -u >defined
diff declared defined || fail 'header and library differ'
while read -r name; do
	grep -q "^\.Fn $name\( \|\$\)\|^\.Fo $name\$" \
	    "$srcdir/man/libsandboxd.3" ||
	    fail "$name is not in libsandboxd(3)"
done <declared

LD_LIBRARY_PATH=$lib
export LD_LIBRARY_PATH
status 1 ./example 2>err
matches "$(cat err)" '^open: no daemon at /run/sandboxd.sock' ||
    [ -S /run/sandboxd.sock ]
daemon_start
SANDBOXD_SOCKET=$sock
export SANDBOXD_SOCKET
uid=$(ctl run -- id -u)
# It asks for a limit, which needs control groups.
if ctl run --pids 16 -- true 2>err; then
	is "$(within $limit ./example)" "$uid
cause exit, code 3"
else
	matches "$(cat err)" 'pids cannot be limited'
	status 1 within $limit ./example 2>err
	matches "$(cat err)" '^create: pids cannot be limited'
fi
is "$(ctl ls -q)" ''

if command -v c++ >/dev/null; then
	printf '#include <sandboxd.h>\nint main() { return 0; }\n' >x.cc
	c++ -Wall -Wextra -Werror "-I$dest$prefix/include" -c x.cc ||
	    fail 'the header is no C++'
fi
