#!/bin/sh
# SPDX-License-Identifier: ISC
# No shell script of the tree gives shellcheck anything to say.
set -eu
cd "${srcdir:-$(dirname "$0")/../..}"
command -v shellcheck >/dev/null || { echo 'no shellcheck'; exit 77; }

# Sourced files are looked at by themselves (SC1091).  Tests set variables
# for lib.sh and the other way round (SC2034, SC2154), and know that dash has
# ulimit -n (SC3045).  Only what is a warning counts in them.
shellcheck --shell=sh bootstrap dev .ci/run
find regress -name '*.sh' -exec shellcheck --shell=sh --severity=warning \
    --exclude=SC1091,SC2034,SC2154,SC3045 {} +
shellcheck --shell=bash etc/sandboxctl
