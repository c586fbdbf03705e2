#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# replay.t - every fuzz target over its corpus, built with sanitizers and without libFuzzer: one TAP test a target.
O=${O:-build}
n=0
bad=0
for source in tests/fuzz/fuzz_*.c; do
	name=$(basename "$source" .c)
	corpus=tests/fuzz/corpus/${name#fuzz_}
	n=$((n + 1))
	if [ ! -d "$corpus" ]; then
		bad=1
		echo "not ok $n - $name"
		echo "# $corpus is missing: a target needs seeds"
	elif out=$("$O/tests/replay/$name" "$corpus" 2>&1); then
		echo "ok $n - $name: $(printf '%s\n' "$out" | grep -c '^ok') inputs"
	else
		bad=1
		echo "not ok $n - $name"
		printf '%s\n' "$out" | tail -n 40 | sed 's/^/# /'
	fi
done
echo "1..$n"
exit $bad
