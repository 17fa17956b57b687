#!/bin/sh
# SPDX-License-Identifier: ISC
# Prints how sandboxd does against its peers, measured in the same run.
#
# usage: run.sh [-n N] [-v]	N samples of each (100); -v: print them all
. "${srcdir:-$(dirname "$0")/../..}/regress/sh/lib.sh"
need bwrap awk

samples=100
verbose=false
while getopts n:v o; do
	case $o in
	n)	samples=$OPTARG ;;
	v)	verbose=true ;;
	*)	exit 1 ;;
	esac
done
limit=600
bench=$builddir/regress/bench/bench
[ -x "$bench" ] || broken 'regress/bench/bench is not built'

# sample NAME COMMAND...: run it; its samples are in $tmp/NAME.
sample() {
	name=$1
	shift
	within $limit "$@" >>"$tmp/$name" || fail "$name: $*"
}

# show NAME WHAT: the figures of its samples.
show() {
	sort -n "$tmp/$1" | awk -v what="$2" '
	{ v[NR] = $1 }
	END {
		printf "%-34s n %-4d min %8.0f  p50 %8.0f  p90 %8.0f  " \
		    "max %8.0f us\n", what, NR, v[1], v[int((NR + 1) / 2)],
		    v[int(NR * 0.9 + 0.5)], v[NR]
	}'
	if $verbose; then
		tr '\n' ' ' <"$tmp/$1"
		echo
	fi
}

median() {
	sort -n "$tmp/$1" | awk '{ v[NR] = $1 }
	    END { print v[int((NR + 1) / 2)] }'
}

# ratio NAME PEER WHAT BUDGET
ratio() {
	awk -v a="$(median "$1")" -v b="$(median "$2")" -v what="$3" \
	    -v budget="$4" 'BEGIN {
		printf "%-50s ratio %.2f (budget %s)\n", what, a / b, budget
	}'
}

# rate WHAT BYTES COMMAND: the megabytes a second of a pipeline.
rate() {
	t=$(date +%s%N)
	sh -c "$3" || fail "$3"
	t=$((($(date +%s%N) - t) / 1000))
	echo "$1: $(($2 / (t + 1))) MB/s" >&2
	echo $(($2 / (t + 1)))
}

echo "machine: $(uname -srm), $(nproc) cores, load $(cut -d' ' -f1-3 \
    /proc/loadavg), $(id -un)"
daemon_start
backend=ns
ctl check -q -b ns >/dev/null 2>&1 || backend=bwrap
echo "backend: $backend"
id=$(ctl create -b $backend)

# Turn and turn about, so that load on the machine hits all alike.
n=0
while [ $n -lt "$samples" ]; do
	sample bwrap "$bench" command 10 bwrap --unshare-all --ro-bind / / \
	    --dev /dev --proc /proc --tmpfs /tmp /bin/true
	sample run "$bench" command 10 "$ctl" -s "$sock" run -b $backend \
	    -- /bin/true
	sample spawn "$bench" command 10 /bin/true
	sample exec "$bench" exec 10 "$sock" "$id" /bin/true
	sample command "$bench" command 10 "$ctl" -s "$sock" exec "$id" \
	    -- /bin/true
	sample rpc "$bench" hello 100 "$sock"
	n=$((n + 10))
done

show bwrap 'bwrap --unshare-all ... true'
show run "sandboxctl run -b $backend -- true"
show spawn 'posix_spawn and wait, true'
show exec 'exec of true in a live sandbox'
show command 'sandboxctl exec ID -- true'
show rpc 'hello, round trip'
echo
ratio run bwrap 'sandboxctl run against bwrap' 0.5
ratio exec spawn 'exec against posix_spawn' 1.5
awk -v p="$(median rpc)" 'BEGIN {
	printf "%-50s %.0f us (budget 60)\n", "RPC round trip, p50", p }'

# Output: a plain pipe, passed on, and through the worker.
bytes=1073741824
make_it="head -c $bytes /dev/zero"
exec_it="'$ctl' -s '$sock' exec"
pipe=$(rate pipe $bytes "$make_it | cat >/dev/null" 2>/dev/null)
passed=$(rate passed $bytes "$exec_it $id -- $make_it | cat >/dev/null" \
    2>/dev/null)
relayed=$(rate relayed $bytes \
    "$exec_it --output 4G $id -- $make_it | cat >/dev/null" 2>/dev/null)
echo "output: pipe $pipe MB/s, passed $passed MB/s, relayed $relayed MB/s" \
    "(budget 1000)"
awk -v a="$passed" -v b="$pipe" 'BEGIN {
	printf "%-50s ratio %.2f (budget 0.95)\n", "passed output against a pipe",
	    a / b }'

# Memory of a sandbox that does nothing: what its worker and agent add.
if [ "$(id -u)" = 0 ]; then
	ctl rm "$id" >/dev/null
	id=$(ctl create -b $backend)
	sleep 1
	for name in sandboxd-worker sandboxd-agent; do
		for pid in $(pgrep -x "$(printf %.15s $name)"); do
			uid=$(stat -c %u "/proc/$pid" 2>/dev/null) || continue
			[ "$uid" -ge "$uids_base" ] &&
			    [ "$uid" -lt $((uids_base + uids_count)) ] ||
			    continue
			awk -v name=$name -v pid="$pid" '$1 == "Pss:" {
			    printf "idle %s (%d): %d KiB PSS\n", name, pid, $2
			    }' "/proc/$pid/smaps_rollup"
		done
	done
	echo 'budget: worker and agent of one sandbox together 600 KiB'
fi
ctl rm "$id" >/dev/null
daemon_stop
