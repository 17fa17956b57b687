#!/bin/sh
# Help, completion and the manual know the same commands and options as the
# program.
. "${srcdir:-.}/regress/sh/lib.sh"

wanted='attach check create events exec help info kill ls rm run shell stop version wait'
is "$(ctl_alone help --commands | tr '\n' ' ')" "$wanted "
man=$srcdir/man/sandboxctl.1
for c in $wanted; do
	matches "$(ctl_alone help)" "^  $c "
	matches "$(ctl_alone help "$c")" "^sandboxctl $c "
	is "$(ctl_alone "$c" --help)" "$(ctl_alone help "$c")"
	grep -Eq "^\.It Cm $c( |\$)" "$man" || fail "$c is not in sandboxctl(1)"
	for o in $(ctl_alone help --options "$c"); do
		case $o in
		--*)	matches "$(ctl_alone help "$c")" " $o( |\$)"
			grep -Eq "^\.It .*Fl -${o#--}( |\$)" "$man" ||
			    fail "$o is not in sandboxctl(1)"
			;;
		*)	grep -Eq "^\.It Fl ${o#-}( |\$)" "$man" ||
			    fail "$o is not in sandboxctl(1)"
			;;
		esac
	done
done
matches "$(ctl_alone --help)" '^Commands:$'
matches "$(ctl_alone --version)" '^sandboxctl [0-9]'
status 125 ctl_alone help nonsense 2>/dev/null
status 125 ctl_alone 2>"$tmp/err"
matches "$(cat "$tmp/err")" '^sandboxctl: usage: '

# Completion asks the program.
need bash
cat >"$tmp/complete" <<'EOT'
PATH=$2:$PATH
. "$1"
try() {
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	COMPREPLY=()
	_sandboxctl
	echo "${COMPREPLY[@]}"
}
try sandboxctl ex
try sandboxctl run --me
try sandboxctl rm --bac
EOT
is "$(bash "$tmp/complete" "$srcdir/etc/sandboxctl" "$builddir")" 'exec
--memory'
