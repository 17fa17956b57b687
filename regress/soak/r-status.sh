#!/bin/sh
# No status is lost, in two thousand rounds.
COUNT=${COUNT:-2000}
. "${srcdir:-.}/regress/sh/r-status.sh"
