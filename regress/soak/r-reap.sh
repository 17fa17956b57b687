#!/bin/sh
# A hundred thousand orphans, five thousand short commands.
COUNT=${COUNT:-5000}
. "${srcdir:-.}/regress/sh/r-reap.sh"
