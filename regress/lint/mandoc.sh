#!/bin/sh
# SPDX-License-Identifier: ISC
# The manual pages are sound mdoc.
set -eu
cd "${srcdir:-$(dirname "$0")/../..}"
command -v mandoc >/dev/null || { echo 'no mandoc'; exit 77; }
ls man/*.[1-8] >/dev/null 2>&1 || { echo 'no manual pages yet'; exit 77; }

# References to our own pages count as missing until they are installed.
mandoc -T lint -W warning man/*.[1-8]
