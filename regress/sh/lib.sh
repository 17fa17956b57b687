# SPDX-License-Identifier: ISC
# Helpers of the shell tests.  Use:
#
#	#!/bin/sh
#	# What this test claims, in one sentence.
#	. "${srcdir:-.}/regress/sh/lib.sh"
#	daemon_start 'defaults { pids 8 }'
#	is "$(ctl run -- echo hello)" hello
#
# Each test has a directory of its own, $tmp, and at most one daemon in it
# with its own run directory, socket, cgroups and range of uids, so any number
# of tests run at the same time.  All of it is cleared away when the test
# ends, and a test that would leave a process, mount or cgroup behind fails.
# skip, fail and is end the whole test only when not called in $(...).
# shellcheck shell=sh

srcdir=$(cd "${srcdir:-.}" && pwd)
builddir=$(cd "${builddir:-$srcdir/build}" && pwd)
ctl=$builddir/sandboxctl
# Debian's own: others do not have python3-msgpack.
python=/usr/bin/python3
LC_ALL=C
export LC_ALL
unset SANDBOXD_SOCKET SANDBOX_BACKEND XDG_RUNTIME_DIR

### verdicts

skip() {
	echo "$*"
	exit 77
}

fail() {
	echo "failed: $*"
	exit 1
}

# Something that is none of the product's fault.
broken() {
	echo "broken set-up: $*"
	exit 99
}

# is GOT WANTED [WHAT]
is() {
	[ "$1" = "$2" ] || fail "${3:+$3: }got '$1', wanted '$2'"
}

# matches GOT PATTERN [WHAT]: an extended regular expression, in any line.
matches() {
	printf '%s\n' "$1" | grep -Eq -- "$2" ||
	    fail "${3:+$3: }got '$1', wanted a match of '$2'"
}

# status WANTED COMMAND...: the command ends with that status.
status() {
	wanted=$1
	shift
	rc=0
	"$@" || rc=$?
	is "$rc" "$wanted" "status of $*"
}

### what a test needs

need_root() {
	[ "$(id -u)" = 0 ] || skip 'needs root'
}

# need COMMAND...
need() {
	for c; do
		command -v "$c" >/dev/null || skip "no $c here"
	done
}

need_msgpack() {
	$python -c 'import msgpack' 2>/dev/null || skip 'no python3-msgpack here'
}

# need_backend NAME: it works for this user on this machine.  Ask only when
# the daemon runs.
need_backend() {
	ctl check -q -b "$1" >"$tmp/check" 2>&1 ||
	    skip "backend $1 does not work here: $(tail -n 1 "$tmp/check")"
}

# each_backend FUNCTION [DAEMON-LINE...]: start the daemon, then call it once
# for each backend that works for this user, with $backend and, of a sandbox
# just made, $id.
each_backend() {
	fn=$1
	shift
	daemon_start 'backend order { ns bwrap host }' \
	    'permit all backend host' "$@"
	ran=
	for backend in ns bwrap host; do
		ctl check -q -b $backend >"$tmp/check" 2>&1 || continue
		id=$(ctl create -q -b $backend) || fail "create: $backend"
		echo "# $backend"
		$fn
		ctl rm "$id"
		ran=$ran$backend
	done
	[ -n "$ran" ] || skip "no backend works: $(tail -n 1 "$tmp/check")"
	daemon_stop
}

need_hooks() {
	grep -q '^#define SANDBOXD_TEST_HOOKS' "$builddir/config.h" ||
	    skip 'built without --enable-test-hooks'
}

### running things

# Sanitizers make everything slower; nothing may take longer than this.
limit=60

within() {
	timeout -k 5 "$@"
}

# sandboxctl with this test's daemon.
ctl() {
	within $limit "$ctl" -s "$sock" "$@"
}

# sandboxctl with no daemon: run and check make a private one.
ctl_alone() {
	within $limit "$ctl" "$@"
}

# quietly COMMAND...: what it says is in $tmp/out and $tmp/err.
quietly() {
	"$@" >"$tmp/out" 2>"$tmp/err"
}

# For a command that signals everybody: begins its shell text, "$only_inside;".
# Where pid 1 is not the agent, that would be the whole machine.
only_inside='read -r init </proc/1/comm
	[ "$init" = sandboxd-agent ] || exit 99'

# wait_for COMMAND...: until it succeeds; the test fails if it never does.
wait_for() {
	tries=0
	until "$@" >/dev/null 2>&1; do
		tries=$((tries + 1))
		[ $tries -le 400 ] || fail "waited in vain for: $*"
		sleep 0.05
	done
}

gone() {
	# A zombie is gone: its parent may be slow to look.
	! kill -0 "$1" 2>/dev/null ||
	    grep -q '^State:.*[ZX]' "/proc/$1/status" 2>/dev/null
}

# bg COMMAND...: start it; its pid is in $bg_pid, and it will not survive.
bg() {
	"$@" &
	bg_pid=$!
	bg_pids="$bg_pids $bg_pid"
}

# children_of PID [NAME]: pids, by name if given.
children_of() {
	pgrep -P "$1" ${2:+-x "$(printf %.15s "$2")"} || :
}

# as_user COMMAND...: as somebody who is nobody, with an empty environment.
user_id=61234
as_user() {
	mkdir -p "$tmp/home"
	if [ "$(id -u)" != 0 ]; then
		env -i PATH="$PATH" HOME="$tmp/home" "$@"
		return
	fi
	chown $user_id:$user_id "$tmp/home"
	(cd "$tmp/home" && exec setpriv --reuid=$user_id --regid=$user_id \
	    --clear-groups --inh-caps=-all --bounding-set=-all \
	    env -i PATH="$PATH" HOME="$tmp/home" "$@")
}

# need_user: as_user reaches the programs (a build below /root is out of its
# sight).
need_user() {
	as_user test -x "$builddir/sandboxd-agent" ||
	    skip 'the build directory cannot be read by other users'
}

### the daemon

# Sixteen slots of our own, above the default range, so that tests that run
# at the same time do not meet; descriptor 9 holds the lock.
take_uids() {
	mkdir -p /run/sandboxd-test || broken 'cannot write to /run'
	n=$(($$ % 200))
	last=$n
	while :; do
		exec 9>"/run/sandboxd-test/$n.lock"
		! flock -n 9 || break
		n=$(((n + 1) % 200))
		[ $n != $last ] || broken 'all ranges of uids are taken'
	done
	uids_count=$((16 * 65536))
	uids_base=$((1895825408 + n * uids_count))
}

# daemon_conf [LINE...]: write the configuration of daemon_start.
daemon_conf() {
	{
		echo "listen on \"$sock\" mode 0666"
		if [ "$(id -u)" = 0 ]; then
			echo "uids $uids_base count $uids_count"
		fi
		for line; do
			echo "$line"
		done
	} >"$conf"
}

# daemon_start [LINE...]: with these lines added to the configuration;
# $daemon_options go to sandboxd.  The front is $daemon_pid, its broker
# $broker_pid; what they say is in $tmp/log.
daemon_start() {
	[ -n "$uids_base" ] || [ "$(id -u)" != 0 ] || take_uids
	daemon_conf "$@"
	# shellcheck disable=SC2086	# words are wanted
	"$builddir/sandboxd" -d -f "$conf" -r "$run" ${daemon_options-} \
	    </dev/null >>"$tmp/log" 2>&1 9>&- &
	daemon_pid=$!
	wait_for daemon_ready
	! gone $daemon_pid || fail 'the daemon did not start'
	broker_pid=$(children_of $daemon_pid sandboxd-broker)
}

daemon_ready() {
	grep -q 'listening on' "$tmp/log" || gone "$daemon_pid"
}

# daemon_stop: as an administrator would; both processes must end, and leave
# nothing.
daemon_stop() {
	kill -TERM "$daemon_pid" 2>/dev/null || :
	wait_for gone "$daemon_pid"
	[ -z "$broker_pid" ] || wait_for gone "$broker_pid"
	wait "$daemon_pid" || :
	daemon_pid=
	wait_for nothing_left || fail "left behind: $(what_is_left)"
	: >"$tmp/log.old"
	cat "$tmp/log" >>"$tmp/log.old"
	: >"$tmp/log"
}

# Everything that bears this test's directory or uids.
what_is_left() {
	find /sys/fs/cgroup -type d \( -name "sandboxd-${run##*/}" \
	    -o -name "sandboxd-${run##*/}-*" \) 2>/dev/null |
	    sed 's/^/cgroup /'
	sed 's/^[^ ]* [^ ]* [^ ]* [^ ]* //; s/ .*//' /proc/self/mountinfo |
	    grep "^$tmp" | sed 's/^/mount /'
	[ -z "$uids_base" ] || ps -e -o uid= -o pid= -o stat= -o comm= |
	    awk -v lo="$uids_base" -v n="$uids_count" \
	    '$1 >= lo && $1 < lo + n && $3 !~ /^Z/ { print "process", $2, $4 }'
	find "$run" -name 'sb_*' 2>/dev/null | sed 's/^/file /'
}

nothing_left() {
	[ -z "$(what_is_left)" ]
}

# The end of every test: put things away, however it went.
cleanup() {
	rc=$?
	trap - EXIT
	set +e
	for p in $bg_pids; do
		kill -KILL "$p" 2>/dev/null
	done
	if [ -n "$daemon_pid" ]; then
		kill -TERM "$daemon_pid" 2>/dev/null
		n=0
		while [ $n -lt 200 ] && ! { gone "$daemon_pid" &&
		    { [ -z "$broker_pid" ] || gone "$broker_pid"; } &&
		    nothing_left; }; do
			sleep 0.05
			n=$((n + 1))
		done
		if [ $n = 200 ]; then
			echo "left behind: $(what_is_left)"
			for p in $daemon_pid $broker_pid; do
				kill -KILL "$p" 2>/dev/null
			done
			[ $rc != 0 ] || rc=1
		fi
	fi
	if [ $rc != 0 ] && [ $rc != 77 ] && [ -s "$tmp/log" ]; then
		echo '--- the daemon said:'
		tail -n 40 "$tmp/log"
	fi
	# A sanitizer's report is a failure, whoever caught the exit status.
	if grep -Eqs 'ERROR: AddressSanitizer|runtime error:' "$tmp"/log*; then
		grep -Eh -A 30 'ERROR: AddressSanitizer|runtime error:' \
		    "$tmp"/log* | head -n 60
		[ $rc != 0 ] || rc=1
	fi
	rm -rf --one-file-system "$tmp"
	exit $rc
}

tmp=$(mktemp -d "${TMPDIR:-/tmp}/sbt.XXXXXX") || broken 'no directory'
# Other users' clients have to reach the socket.
chmod 711 "$tmp"
run=$tmp/test-$$
sock=$tmp/sock
conf=$tmp/sandboxd.conf
uids_base=
daemon_pid=
broker_pid=
bg_pids=
trap cleanup EXIT
trap 'exit 143' HUP INT TERM
