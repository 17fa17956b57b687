#!/bin/sh
# No input and no end of one is lost, in two thousand rounds.
COUNT=${COUNT:-2000}
. "${srcdir:-.}/regress/sh/r-stdin.sh"
