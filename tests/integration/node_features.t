#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What programs of Node use works as the workflow, under its filter: one test a feature of tests/compat/features.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh
need_namespace
cp -R tests/compat/features "$tmp/world"
run_world "$tmp/world"
is_run passed 0 "the world passes"
out=$(json "$receipt" 'r.outcome.stdout.tail')
count=0
while IFS= read -r line; do
	case $line in
	ok\ *) pass "${line#ok }" ;;
	not\ ok\ *) fail "${line#not ok }" ;;
	skip\ *) diag "$line" ;;
	*) continue ;;
	esac
	count=$((count + 1))
done <<<"$out"
ok "the program came to its end ($count features)" grep -q "^features: $count of $count\$" <<<"$out"
done_testing
