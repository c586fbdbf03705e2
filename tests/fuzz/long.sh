#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# long.sh RUNS SECONDS TARGET... - the closing run of the parsers that stand between root and foreign bytes: each target RUNS
# times over short inputs, with at most so many seconds.  Fewer runs than asked for, a crash, a leak, an input of more than 10
# seconds or too much memory fails; its input is kept below $O/fuzz-artifacts.  Prints one line a target.
set -u
O=${O:-build}
runs=$1
seconds=$2
shift 2
bad=
for name in "$@"; do
	corpus=tests/fuzz/corpus/${name#fuzz_}
	new=$O/fuzz-corpus/$name
	kept=$O/fuzz-artifacts/$name
	log=$O/fuzz-long-$name.log
	mkdir -p "$new" "$kept"
	nice -n 10 "$O/tests/fuzz/$name" -runs="$runs" -max_total_time="$seconds" -max_len="${MAX_LEN:-256}" -timeout=10 -rss_limit_mb=1024 \
		-malloc_limit_mb=512 -print_final_stats=1 -artifact_prefix="$kept/" "$new" "$corpus" >"$log" 2>&1
	status=$?
	done=$(sed -nE 's/^stat::number_of_executed_units: *//p' "$log")
	speed=$(sed -nE 's/^stat::average_exec_per_sec: *//p' "$log")
	cover=$(sed -nE 's/.* cov: ([0-9]+) ft: ([0-9]+).*/\1 edges, \2 features/p' "$log" | tail -n 1)
	echo "$name: ${done:-no} executions, ${speed:-?} a second, ${cover:-no coverage}"
	if [ "$status" -ne 0 ] || [ "${done:-0}" -lt "$runs" ]; then
		bad="$bad $name"
		tail -n 30 "$log"
		ls "$kept"
	fi
done
if [ -n "$bad" ]; then
	echo "fuzz-long: FAILED:$bad; logs are $O/fuzz-long-NAME.log" >&2
	exit 1
fi
