#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# filter.sh [ROUNDS] - what the workflow's filter costs a start of Node: `node -e 0` plain, under the filter and plain again, in turns.
# The two plain columns show how much of a difference is noise.
set -eu
O=${O:-build}
rounds=${1:-40}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
${CC:-gcc} -std=c11 -D_GNU_SOURCE -O2 -I. -isystem "$O/deps/include" -o "$tmp/underfilter" tests/bench/underfilter.c \
	guest/filter.c guest/filter_table.c "$O/host/proto.a" "$O/deps/lib/libbearssl.a"
"$tmp/underfilter" --rounds 3 node -e 0 >"$tmp/warm" # the files are in memory
"$tmp/underfilter" --rounds "$rounds" node -e 0 >"$tmp/times"
# column NUMBER QUARTER: its first, second or third quartile
column() {
	awk -v c="$1" '{ print $c }' "$tmp/times" | sort -n | awk -v q="$2" '{ v[NR] = $1 } END { print v[int((NR - 1) * q / 4) + 1] }'
}
show() { echo "$1 $(column "$2" 2) us (middle half $(column "$2" 1) to $(column "$2" 3))"; }
# table COLUMN: plain, filter and plain from this column on
table() {
	show "  plain:           " "$1"
	show "  under the filter:" $(($1 + 1))
	show "  plain again:     " $(($1 + 2))
	awk -v a="$(column "$1" 2)" -v b="$(column $(($1 + 1)) 2)" -v c="$(column $(($1 + 2)) 2)" \
		'BEGIN { printf "  ratio filter / plain: %.3f\n  ratio plain again / plain: %.3f\n", 2 * b / (a + c), c / a }'
}
echo "start of node until its end, medians of $rounds rounds"
table 1
echo "processor time of the same, which a busy machine moves less"
table 4
