#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2317 # functions called by wait_for and trap
# The host dies by SIGKILL at any moment: within 5 s nothing of the run lives, nothing stays mounted, reap has an easy job.
# Any other process of the run dies: the run ends, with a receipt, and is no pass.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh
need_namespace

mark=agenttwin-killed-$$-$RANDOM
world "$tmp/slow" '"slow.mjs"' "\"node\", \"slow.mjs\", \"$mark\""
cp tests/integration/programs/slow.mjs "$tmp/slow/"
runs() { [ -n "$(proc marked "$mark")" ]; }
: >"$tmp/groups"
note_groups() { # the control groups of the processes in tree, as paths below a hierarchy
	local n
	while IFS=: read -r n _; do cat "/proc/$n/cgroup"; done <"$tmp/tree" 2>/dev/null | grep -o 'agenttwin-[0-9a-f-]*' | sort -u >>"$tmp/groups"
}
groups_left() {
	local name
	sort -u "$tmp/groups" | while read -r name; do find /sys/fs/cgroup -maxdepth 12 -type d -name "$name" 2>/dev/null; done
}
kill_host() { # NAME
	proc tree "$pid" >"$tmp/tree"
	note_groups
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	ok "$1: all $(wc -l <"$tmp/tree") processes gone within 5 s" wait_for 5 none_alive "$tmp/tree" || diag "$(proc alive "$tmp/tree")"
	ok "$1: no workflow" wait_for 1 none_marked "$mark"
	is "$(grep -c agenttwin /proc/self/mountinfo)" 0 "$1: nothing mounted"
}
start_world "$tmp/slow"
wait_for 20 runs || bail_out "the workflow did not start"
sleep 0.3
lines=$(wc -l <"$err_file")
kill_host "while it runs"
for n in $(seq 1 "$lines"); do
	start_world "$tmp/slow"
	wait_for 20 lines_are "$n" "$err_file"
	kill_host "after line $n of $lines of stderr"
done
for delay in 0.01 0.03 0.06 0.1 0.15 0.2 0.3 0.5; do
	start_world "$tmp/slow"
	sleep $delay
	kill_host "after $delay s"
done
"$host" reap >"$tmp/reap" 2>&1
is "$?" 0 "reap has nothing left to do, or did it" || diag "$(cat "$tmp/reap")"
is "$(groups_left)" "" "no control group of the $(sort -u "$tmp/groups" | wc -l) runs seen is left"
is "$(find "$tmp/slow/.agenttwin/receipts" -name '*.json' -size 0 2>/dev/null | wc -l)" 0 "no empty receipt"

# Each process of the run in turn, parents first.
start_world "$tmp/slow"
wait_for 20 runs
sleep 0.3
count=$(proc tree "$pid" | wc -l)
kill -TERM "$pid"
end_world
ok "the run has a tree of processes ($count)" test "$count" -ge 3
for n in $(seq 2 "$count"); do
	start_world "$tmp/slow" --timeout 20s
	wait_for 20 runs
	sleep 0.3
	proc tree "$pid" >"$tmp/tree"
	note_groups
	victim=$(sed -n "${n}p" "$tmp/tree" | cut -d: -f1)
	name="killed process $n ($(cat "/proc/$victim/comm" 2>/dev/null))"
	kill -KILL "$victim" 2>/dev/null
	end_world
	like "$(json "$receipt" 'r.status' 2>/dev/null) $status" '^(error 4|failed 1|aborted 3)$' "$name: no pass" || explain
	is "$(json "$receipt" 'r.cleanup.confirmed' 2>/dev/null)" true "$name: cleanup confirmed"
	ok "$name: nothing left" wait_for 5 none_alive "$tmp/tree"
	is "$(groups_left)" "" "$name: no control group either"
done
done_testing
