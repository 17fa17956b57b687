#!/bin/sh
# What a program finds: devices that work, temporary directories with the
# right modes, files of the right owners, and tools that run.
. "${srcdir:-.}/regress/sh/lib.sh"

inside() {
	ctl exec "$id" -- sh -c "$1"
}

files() {
	[ "$backend" != host ] || return 0
	echo in >"$tmp/in"
	chmod 644 "$tmp/in"
	for d in null zero full random urandom; do
		is "$(inside "[ -c /dev/$d ] && [ -r /dev/$d ] &&
		    [ -w /dev/$d ] && echo yes")" yes "/dev/$d"
	done
	is "$(inside 'echo x >/dev/null && echo yes')" yes null
	is "$(inside 'head -c 3 /dev/zero | od -An -tx1')" ' 00 00 00' zero
	is "$(inside 'echo x 2>/dev/null >/dev/full || echo full')" full full
	is "$(inside 'head -c 9 /dev/random | wc -c')" 9 random
	is "$(inside 'head -c 9 /dev/urandom | wc -c')" 9 urandom
	is "$(inside 'echo a | cat /dev/stdin; echo b >/dev/stdout
	    echo c 3>&1 >/dev/fd/3')" "$(printf 'a\nb\nc')" 'links'
	is "$(inside 'echo x >/dev/stderr' 2>&1)" x stderr
	is "$(ctl exec --output 1M "$id" -- sh -c 'cat </dev/stdin \
	    >/dev/stdout; echo err >/dev/stderr' <"$tmp/in" 2>&1 |
	    cat)" "$(printf 'in\nerr')" 'links, relayed'
	is "$(ctl exec -t "$id" -- sh -c 'echo x >/dev/tty' </dev/null |
	    tr -d '\r')" x tty
	is "$(inside 'echo >/dev/tty' 2>/dev/null || echo none)" none \
	    'no terminal'
	is "$(inside 'script -qc "echo pty" /dev/null </dev/null' |
	    tr -d '\r')" pty 'a terminal of its own'

	for d in /tmp /var/tmp /dev/shm; do
		is "$(inside "stat -c %a $d")" 1777 "$d"
		is "$(inside "echo x >$d/f && cat $d/f && rm $d/f")" x "$d"
		matches "$(inside "findmnt -no options -T $d")" nosuid "$d"
		matches "$(inside "findmnt -no options -T $d")" nodev "$d"
	done
	is "$(inside 'pwd; echo x >f && stat -c "%U %G %a" f . && rm f')" \
	    "$(printf '/workspace\nsandbox sandbox 644\n%s' \
	    "$(inside 'stat -c "%U %G %a" .')")" workspace
	# The image's files are root's where ids can be mapped.
	is "$(inside 'stat -c %u:%g / /usr /usr/bin/env /etc/passwd /dev /tmp' |
	    sort -u)" "$(owner)" owners
	is "$(inside 'id -un; id -gn; id -Gn')" "$(printf \
	    'sandbox\nsandbox\nsandbox')" 'names'
	is "$(inside 'readlink -f /var/run')" /run
	is "$(inside 'hostname; cat /etc/hostname; getent hosts localhost |
	    wc -l')" "$(printf 'sandbox\nsandbox\n1')" 'host name'
	is "$(inside 'find / -xdev -nouser 2>/dev/null | head -n 3')" \
	    "$(nobodys)" 'files of nobody'
	tools
}

# Bubblewrap has one id to give: root's files are nobody's there.
owner() {
	if [ "$backend" = ns ]; then
		echo 0:0
	else
		printf '1000:1000\n65534:65534\n'
	fi
}
nobodys() {
	[ "$backend" = ns ] || inside 'find / -xdev -nouser 2>/dev/null |
	    head -n 3'
}

# tool COMMAND...: works as it does here, where it is here.
tool() {
	command -v "$1" >/dev/null || return 0
	case $(readlink -f "$(command -v "$1")") in
	/usr/*)	;;
	*)	return 0 ;;
	esac
	is "$(ctl exec "$id" -- "$@" 2>&1)" "$("$@" 2>&1)" "$1"
}

tools() {
	tool /usr/bin/python3 -c 'import ssl, sqlite3, ctypes, threading
import multiprocessing.pool
print(multiprocessing.pool.ThreadPool(3).map(abs, [-1, -2]))'
	tool perl -e 'use POSIX; print strftime("%Y", gmtime(0)), "\n"'
	tool node -e 'console.log([1, 2].map(x => x * 2).join())'
	tool awk 'BEGIN { print 1 + 1 }'
	tool bash -c 'echo $((2 ** 10)) <(:) | sed "s,/.*,fd,"'
	tool git --version
	tool openssl version
	tool gcc -x c -fsyntax-only /dev/null
	tool make --version
}

each_backend files
