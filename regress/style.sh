#!/bin/sh
# SPDX-License-Identifier: ISC
# The tree keeps its measures.
#
# Fails on: files over 800 lines, functions over 100, broker/ over 4,000,
# lines over 80 columns in C, marks of unfinished work, missing licence heads.
# The other measures are only reported, since a gate on them breeds padding.
set -eu
LC_ALL=C
export LC_ALL
cd "${srcdir:-$(dirname "$0")/..}"

dirs='proto parent broker worker agent backends storage ctl lib gateway'
bad=$(mktemp)
trap 'rm -f "$bad"' EXIT

# sources DIR...: the C sources in them, one a line.
sources() {
	for d; do
		[ ! -d "$d" ] || find "$d" -name '*.[chy]' -print
	done | sort
}

# shellcheck disable=SC2086	# words are wanted, here and below
product=$(sources $dirs)
tests=$(sources regress)
[ -n "$product" ] || { echo 'no sources yet'; exit 77; }

# Everything that can be seen line by line.  A function runs from a line that
# is "{" to one that is "}".
# shellcheck disable=SC2086
awk '
function flush_file() {
	if (lines > 800)
		print file ": " lines " lines, more than 800"
	if (file != "" && !licensed)
		print file ": no SPDX line at the top"
}
FNR == 1 { flush_file(); file = FILENAME; licensed = 0 }
{ lines = FNR }
FNR <= 3 && /SPDX-License-Identifier: ISC/ { licensed = 1 }
{
	line = $0
	col = 0
	n = split(line, part, "\t")
	for (i = 1; i <= n; i++) {
		col += length(part[i])
		if (i < n)
			col += 8 - col % 8
	}
	if (col > 80)
		print file ":" FNR ": " col " columns"
}
/[ \t]$/ { print file ":" FNR ": white space at the end of the line" }
/^{$/ { start = FNR }
/^}$/ && start {
	if (FNR - start + 1 > 100)
		print file ":" start ": function of " FNR - start + 1 " lines"
	start = 0
}
END { flush_file() }
' $product $tests >"$bad"

broker=$(sources broker | xargs cat /dev/null | wc -l)
if [ "$broker" -gt 4000 ]; then
	echo "broker/: $broker lines, more than 4000" >>"$bad"
fi

# Split, so that this file does not find itself.
marks='\b(XX''X|TO''DO|FIX''ME|HA''CK|not imple''mented)\b'
# shellcheck disable=SC2086
find $dirs regress etc man dev bootstrap configure.ac Makefile.am -type f \
    ! -name '*.log' ! -name '*.trs' ! -path '*/corpus/*' \
    -exec grep -InE "$marks" {} + >>"$bad" 2>/dev/null || :

# The rest is for the reader.
# shellcheck disable=SC2086
awk '
function done_file() {
	if (file != "") {
		total += lines
		if (includes > 3)
			many = many " " file "(" includes ")"
	}
}
FNR == 1 { done_file(); file = FILENAME; includes = 0 }
{ lines = FNR }
/^#include "/ { includes++ }
/^[ \t]*(\/\*|\*)/ { comments++ }
/^{$/ { start = FNR }
/^}$/ && start { len[++n] = FNR - start + 1; start = 0 }
END {
	done_file()
	for (i = 2; i <= n; i++) {
		v = len[i]
		for (j = i - 1; j > 0 && len[j] > v; j--)
			len[j + 1] = len[j]
		len[j + 1] = v
	}
	printf "%d lines, %d functions", total, n
	if (n)
		printf " (median %d, 95%% within %d, longest %d)",
		    len[int((n + 1) / 2)], len[int(n * 0.95 + 0.5)], len[n]
	printf ", comments %d%%\n", comments * 100 / total
	if (many != "")
		print "more than 3 local includes:" many
}' $product
# shellcheck disable=SC2086
source_lines=$(cat $product | wc -l)
test_lines=$(find regress \( -name '*.[chy]' -o -name '*.sh' \
    -o -name '*.py' \) -exec cat {} + | wc -l)
echo "broker/ $broker lines; tests $test_lines lines, $(( \
    test_lines * 100 / source_lines ))% of the sources"

[ ! -s "$bad" ] || { cat "$bad"; exit 1; }
