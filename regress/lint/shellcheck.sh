#!/bin/sh
# SPDX-License-Identifier: ISC
# No shell script of the tree gives shellcheck anything to say.
set -eu
cd "${srcdir:-$(dirname "$0")/../..}"
command -v shellcheck >/dev/null || { echo 'no shellcheck'; exit 77; }

# Sourced files are looked at by themselves (SC1091); tests set variables for
# lib.sh's use and the other way round (SC2034, SC2154).
find bootstrap dev .ci/run regress -type f \( -name '*.sh' -o -name dev \
    -o -name bootstrap -o -path '.ci/run' \) -print | sort |
    xargs shellcheck --shell=sh --exclude=SC1091,SC2034,SC2154
shellcheck --shell=bash etc/sandboxctl
