#!/bin/sh
# Ten thousand operations of each kind leak nothing.
COUNT=${COUNT:-2500}
. "${srcdir:-.}/regress/sh/r-resources.sh"
