#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2317 # functions called by wait_for and trap
# SIGINT and SIGTERM at every phase: receipt `cancelled`, exit 130 or 143, cleanup confirmed, nothing left.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh
need_namespace

mark=agenttwin-cancel-$$-$RANDOM
world "$tmp/slow" '"slow.mjs"' "\"node\", \"slow.mjs\", \"$mark\""
cp tests/integration/programs/slow.mjs "$tmp/slow/"
runs() { [ -n "$(proc marked "$mark")" ]; }
judge() { # NAME EXIT
	is "$(json "$receipt" 'r.status' 2>/dev/null) $status" "cancelled $2" "$1: cancelled" || explain
	is "$(json "$receipt" 'r.cleanup.confirmed' 2>/dev/null)" true "$1: cleanup confirmed"
	ok "$1: nothing left" none_marked "$mark"
}

# How many lines stderr has once the workflow runs: one signal after each of them.
start_world "$tmp/slow"
wait_for 20 runs || bail_out "the workflow did not start"
sleep 0.5
lines=$(wc -l <"$err_file")
kill -INT "$pid"
end_world
judge "SIGINT while it runs" 130
like "$(json "$receipt" 'r.outcome.stdout.tail')" WORKFLOW-RAN "what it had printed is in the receipt"
for n in $(seq 1 "$lines"); do
	if [ $((n % 2)) -eq 0 ]; then signal=INT code=130; else signal=TERM code=143; fi
	start_world "$tmp/slow"
	wait_for 20 lines_are "$n" "$err_file"
	kill -$signal "$pid"
	end_world
	judge "SIG$signal after line $n of $lines of stderr" $code
done
start_world "$tmp/slow"
wait_for 20 runs
kill -INT "$pid"
kill -INT "$pid"
end_world
judge "two signals at once" 130

# At any moment of a short run: what the receipt says and the exit status agree, and nothing is left.
cp -R templates/worlds/refund-agent "$tmp/refund"
for delay in 0.02 0.05 0.1 0.15 0.2 0.25 0.3 0.4 0.5 0.7; do
	start_world "$tmp/refund"
	sleep $delay
	kill -TERM "$pid" 2>/dev/null
	end_world
	got="$status $(json "$receipt" 'r.status + " " + r.cleanup.confirmed' 2>/dev/null)"
	# before the program can have a handler it simply dies, having started nothing
	like "$got" '^(143 cancelled true|0 passed true|143 )$' "SIGTERM after $delay s: $got" || explain
done
done_testing
