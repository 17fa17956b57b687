#!/bin/sh
# run and check start a daemon of their own only where there is none to be
# expected; everything else says which daemon it missed and what to do.
. "${srcdir:-.}/regress/sh/lib.sh"

# Nothing but run and check; nothing with a socket that was named.
for words in create ls 'exec x true' 'rm x' 'wait x' events stop; do
	# shellcheck disable=SC2086	# words are wanted
	status 125 ctl $words 2>"$tmp/err"
	matches "$(cat "$tmp/err")" \
	    "^sandboxctl: [a-z]+: no daemon at $sock; .*sandboxd" "$words"
done
for words in 'run true' check; do
	# shellcheck disable=SC2086	# words are wanted
	status 125 ctl $words 2>"$tmp/err"
	matches "$(cat "$tmp/err")" "no daemon at $sock"
	SANDBOXD_SOCKET=$sock
	export SANDBOXD_SOCKET
	# shellcheck disable=SC2086	# words are wanted
	status 125 ctl_alone $words 2>"$tmp/err"
	matches "$(cat "$tmp/err")" "no daemon at $sock"
	unset SANDBOXD_SOCKET
done
long=$tmp/$(printf '%0120d' 0)
status 125 ctl_alone -s "$long" ls 2>"$tmp/err"
matches "$(cat "$tmp/err")" 'socket path of [0-9]+ bytes'

# Nobody listens any more: retried, then said.
$python -c 'import socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])' "$sock"
status 125 ctl run true 2>"$tmp/err"
matches "$(cat "$tmp/err")" "no daemon answers at $sock"

# No permission: which group to join.
if [ "$(id -u)" = 0 ]; then
	rm "$sock"
	daemon_start
	chmod 660 "$sock"
	chgrp 0 "$sock"
	need_user
	status 125 as_user "$ctl" -s "$sock" ls 2>"$tmp/err"
	matches "$(cat "$tmp/err")" \
	    "cannot connect to $sock: Permission denied; .*group root"
	daemon_stop
fi

# By itself, with the directory of a user's sockets empty.
[ ! -S /run/sandboxd.sock ] ||
    skip 'a daemon of this machine listens on the default socket'
XDG_RUNTIME_DIR=$tmp/xdg
export XDG_RUNTIME_DIR
mkdir -m 700 "$XDG_RUNTIME_DIR"
ctl_alone check -q >"$tmp/check" 2>&1 ||
    skip "no backend works here: $(tail -n 1 "$tmp/check")"
is "$(echo in | ctl_alone run -- sh -c 'cat; echo out')" 'in
out'
status 9 ctl_alone run -- sh -c 'exit 9'
is "$(ctl_alone run -v -- true 2>&1 | grep -c 'starting a private one')" 1
# Its daemon keeps none of our descriptors: this ends when the command does.
is "$(ctl_alone run -- echo x 2>&1)" x
# Two at once are two.
ctl_alone run -- sh -c 'sleep 1; echo a' >"$tmp/a" &
p=$!
ctl_alone run -- sh -c 'sleep 1; echo b' >"$tmp/b"
wait $p
is "$(cat "$tmp/a" "$tmp/b")" 'a
b'
matches "$(ctl_alone check)" ' works'
# A daemon on the user's socket is used, and nothing else is started.
mv "$sock" "$tmp/gone" 2>/dev/null || :
sock=$XDG_RUNTIME_DIR/sandboxd.sock
daemon_start
id=$(ctl_alone create)
matches "$(ctl_alone ls -q)" "$id"
ctl_alone run -- true
status 0 ctl_alone rm "$id"
