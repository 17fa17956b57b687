#!/bin/sh
# The environment is the documented one and what was asked for, byte by byte;
# nothing of the daemon's or the caller's; each exec has its own session.
. "${srcdir:-.}/regress/sh/lib.sh"

base='HOME=/workspace
LANG=C.UTF-8
LOGNAME=sandbox
PATH=/usr/local/bin:/usr/bin:/bin
SHELL=/bin/sh
USER=sandbox'

# env_of OPTION...: sorted, without what the way to it may add.
env_of() {
	MINE=client ctl exec "$@" -- env | sort
}

environment() {
	is "$(env_of "$id")" "$base" 'the base'
	is "$(env_of -e A=1 -e HOME=/x "$id")" \
	    "$(printf '%s\nA=1' "$base" | sed 's,^HOME=.*,HOME=/x,' | sort)" \
	    'overrides'
	is "$(env_of -e MINE "$id" | grep '^MINE')" MINE=client 'from here'
	is "$(env_of -e NOT_SET_HERE "$id")" "$base" 'not set here'
	is "$(ctl exec -e 'odd name!=a=b=c' -e EMPTY= -e "$(printf \
	    'BYTES=\377\001\n2')" "$id" -- env | sort | od -c)" \
	    "$({ echo "$base"; printf 'odd name!=a=b=c\nEMPTY=\n'
	    printf 'BYTES=\377\001\n2\n'; } | sort | od -c)" 'odd ones'
	is "$(ctl exec -e PATH=/nowhere "$id" -- /usr/bin/env | grep ^PATH)" \
	    PATH=/nowhere
	is "$(TERM=vt100 ctl exec -t "$id" -- sh -c 'echo "$TERM"' \
	    </dev/null | tr -d '\r')" vt100 'with a terminal'
	# Another sandbox's environment, and this exec's beside it.
	other=$(ctl create -q -b "$backend" -e OF_BOX=1 -e PATH=/bin)
	is "$(env_of -e OF_EXEC=2 "$other")" \
	    "$(printf '%s\nOF_BOX=1\nOF_EXEC=2' "$base" |
	    sed 's,^PATH=.*,PATH=/bin,' | sort)" "the sandbox's"
	is "$(env_of "$id")" "$base" 'not the other sandbox'"'s"
	ctl rm "$other"

	# Files and signals are as for a fresh login; the session is its own.
	is "$(ctl exec "$id" -- sh -c 'umask; ulimit -c')" "$(printf \
	    '0022\n0')" 'umask, core files'
	[ "$backend" = host ] ||
	    is "$(ctl exec "$id" -- cat /proc/self/oom_score_adj)" 0 \
	    oom_score_adj
	is "$(ctl exec "$id" -- sed -n 's/^Sig\(Blk\|Ign\)://p' \
	    /proc/self/status | tr -d '[:space:]0')" '' signals
	is "$(ctl exec "$id" -- $python -c 'import os
print(os.getsid(0) == os.getpid() == os.getpgrp())')" True session
	is "$(ctl exec "$id" -- ls /proc/self/fd | tr '\n' ' ')" '0 1 2 3 ' \
	    'descriptors'
	[ "$backend" != host ] || return 0
	is "$(ctl exec "$id" -- sh -c 'tr "\0" "\n" </proc/1/environ')" '' \
	    'the environment of pid 1' 2>"$tmp/err"
}

SECRET=x
export SECRET
each_backend environment
