#!/bin/sh
# Whatever goes wrong, sandboxctl says in one line what failed, why, and what
# to do about it, and ends with 125.
. "${srcdir:-.}/regress/sh/lib.sh"

# says PATTERN COMMAND...: one line of that form, status 125, no output.
says() {
	pattern=$1
	shift
	status 125 quietly "$@" </dev/null
	matches "$(cat "$tmp/err")" "^sandboxctl: $pattern" "$*"
	matches "$(cat "$tmp/err")" '[;:] ' "advice of $*"
	is "$(wc -l <"$tmp/err")" 1 "lines about $*"
	is "$(cat "$tmp/out")" '' "output of $*"
}

fix='.*; .+'

# The command line.
says 'usage: .*help' "$ctl"
says "frob: no such command$fix" "$ctl" frob
says 'usage: .*help create' "$ctl" create operand
says 'usage: .*help exec' "$ctl" exec
says "run: --frob: unknown option$fix" "$ctl" run --frob -- true
says "run: -x: unknown option$fix" "$ctl" run -x -- true
says "create: --timeout: needs a value$fix" "$ctl" create --timeout
says "ls: --timeout=1s: does not go with this command$fix" \
    "$ctl" ls --timeout=1s
says "run: --tty=1: takes no value$fix" "$ctl" run --tty=1 -- true
for bad in '--memory=much' '--memory=0' '--memory=-1' '--memory=1e3' \
    '--timeout=soon' '--timeout=0' '--cpus=x' '--pids=x' '--pids=-1' \
    '--pids=18446744073709551616' '--ttl=' '--output='; do
	says "create: ${bad%=*}: ('.*' is not a (size|duration|number)|has to be)" \
	    "$ctl" create "$bad"
done
says 'ls: -o xml: unknown format; ' "$ctl" ls -o xml

# No daemon.
says "ls: no daemon at $tmp/none; start it" "$ctl" -s "$tmp/none" ls
says "run: no daemon at $tmp/none; start it" "$ctl" -s "$tmp/none" run true
says "no daemon at $tmp/none; start it|ls: no daemon" \
    env SANDBOXD_SOCKET="$tmp/none" "$ctl" ls
long=$tmp/$(printf '%0120d' 0)
says ".*socket path of [0-9]+ bytes" "$ctl" -s "$long" ls
: >"$tmp/file"
says "ls: no daemon answers at $tmp/file; start it" "$ctl" -s "$tmp/file" ls

daemon_start 'backend order { ns bwrap host }' 'defaults { timeout 60s }' \
    'profile "small" {' 'pids 16' 'timeout 1s' '}'
box=$(ctl create -q) || skip 'no backend works here'
c() {
	ctl "$@"
}

# Names and numbers.
for command in 'info' 'rm' 'exec' 'wait' 'shell' 'kill' 'attach'; do
	operand=nobody
	[ $command != attach ] || operand=nobody/1
	set -- $command $operand
	[ $command != exec ] || set -- "$@" -- true
	says "(($command: )?nobody(/1)?: )+no sandbox nobody$fix" c "$@"
done
says "$box/99: no such exec$fix" c wait "$box/99"
says "$box/99: no such exec$fix" c kill "$box/99"
says "$box/x: is not ID/N: " c wait "$box/x"
says "$box/0: is not ID/N: " c kill "$box/0"
says "attach: $box: which command\\?; |attach: $box: which command\\? give" \
    c attach "$box"
says "kill: FROB: no such signal; " c kill --signal FROB "$box"
name=twice
ctl create -q --name $name >"$tmp/id"
says "create: there is a sandbox named \"$name\" already$fix" \
    c create --name $name
says 'create: a name cannot begin with sb_' c create --name sb_x
says 'create: .*name' c create --name 'a/b'
says 'create: .*name' c create --name ''
says "sb_: sb_ means any of [0-9]+ sandboxes$fix|.*sb_ means any of" \
    c info sb_

# What a sandbox may be.
says "create: there is no such backend$fix" c create -b frob
says "create: there is no profile of this name$fix" c create -p frob
says "create: .*above the profile's" c create -p small --pids 17
says 'create: .*image' c create --image frob
says 'create: .*network' c create --network host
says 'create: .*floor' c create --floor frob
says 'create: backend [a-z]+ is below' \
    c create --floor kernel
says "create: labels: 'x' is not NAME=VALUE" c create --label x
says "create: --ro $tmp/none: cannot open the directory: " \
    c create --ro "$tmp/none"
says "create: --ro $tmp/file: cannot open the directory: " \
    c create --ro "$tmp/file"
mkdir "$tmp/dir"
for dst in / /proc /dev/x /sys; do
	says 'create: ' c create --ro "$tmp/dir:$dst"
done
says "true: timeout is above the sandbox's limit; " \
    c exec --timeout 61s "$box" -- true
says "exec: .*=x|.*env" c exec -e =x "$box" -- true

# Output that nobody can take.
status 125 ctl ls >/dev/full 2>"$tmp/err"
matches "$(cat "$tmp/err")" '^sandboxctl: cannot write: No space left'
says 'stop: sandboxes are alive.*; ' c stop
