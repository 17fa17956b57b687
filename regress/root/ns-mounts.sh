#!/bin/sh
# A client's directory is shown with its owner as the sandbox's user, nosuid
# and nodev, below no symbolic link, nowhere where it may not be, and nothing
# is made in it.
. "${srcdir:-.}/regress/sh/lib.sh"
need_root
create=$builddir/regress/root/ns-create
agent=$builddir/regress/root/ns-agent
dir=$tmp/dir
mkdir -p "$dir/sub"
echo hello >"$dir/file"
chmod 600 "$dir/file"
ln -s /etc "$dir/link"
chown -R -h $user_id:$user_id "$dir"
echo root >"$dir/root"
chmod 600 "$dir/root"

"$create" -m "$dir:/a" "$agent" true >"$tmp/out" 2>&1 ||
    ! grep -q 'cannot map ids' "$tmp/out" ||
    skip 'the file system of /tmp cannot map ids'

run() {
	"$create" -b "$backend" -u $user_id "$@"
}

# refused PATTERN OPTION...: not made, with that reason.
refused() {
	pattern=$1
	shift
	rc=0
	out=$(run "$@" "$agent" 'echo ran' 2>&1) || rc=$?
	[ $rc != 0 ] || fail "$backend $*: not refused: $out"
	matches "$out" "$pattern" "$backend $*"
	case $out in
	*ran*)	fail "$backend $*: ran" ;;
	esac
}

for backend in ns bwrap; do
	[ $backend = ns ] || command -v bwrap >/dev/null || continue
	is "$(run -w "$dir:/workspace" "$agent" \
	    'cd /workspace; stat -c %u:%g file root; cat file
	    cat root 2>/dev/null || echo refused; echo new >new')" '1000:1000
65534:65534
hello
refused' "$backend: owners"
	is "$(stat -c %u:%g "$dir/new")" "$user_id:$user_id" "$backend: new"
	rm "$dir/new"
	is "$(run -m "$dir:/mnt/deep/place" "$agent" 'cat /mnt/deep/place/file
	    touch /mnt/deep/place/x 2>/dev/null || echo read-only
	    grep -c " /mnt/deep/place ro,nosuid,nodev" /proc/self/mountinfo')" \
	    'hello
read-only
1' "$backend: read-only"
	is "$(run -w "$dir:/a" -m "$dir/sub:/a/sub" "$agent" \
	    'touch /a/x /a/sub/x 2>/dev/null || ls /a/x /a/sub')" '/a/x

/a/sub:' "$backend: one in the other"
	rm "$dir/x"
	for place in / /proc /proc/x /dev /dev/shm /sys /a/../b /a//b; do
		refused 'mounted|part' -m "$dir:$place"
	done
	refused 'symbolic|another place' -m "$dir:/bin/x"
	refused . -m /proc:/a
	refused . -m /:/a
done
backend=ns
refused symbolic -w "$dir:/a" -m "$dir/sub:/a/link"
refused 'has to exist' -w "$dir:/a" -m "$dir/sub:/a/new"
refused 'has to exist' -m "$dir:/usr/new"
is "$(ls "$dir")" 'file
link
root
sub' 'names in the directory'
is "$(ls /etc/new /usr/new 2>/dev/null)" '' 'names on the host'
