#!/bin/sh
# No byte is lost, in two thousand rounds.
COUNT=${COUNT:-2000}
. "${srcdir:-.}/regress/sh/r-output.sh"
