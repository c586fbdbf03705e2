#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2317 # functions called by wait_for
# The guest's monitor is killed by SIGKILL while a workflow runs: no evidence of the end can come, so the run is an error, exit
# status 4, whatever the workflow did; and everything that the monitor would have ended is gone all the same.
. tests/lib/tap.sh
[ "$(id -u)" -eq 0 ] || skip_all "needs root, to signal a process of the sandbox from outside"
. tests/lib/agenttwin.sh
. tests/escape/escape.sh
need_namespace
need_helper

word=agenttwin-guest-killed-$$-$RANDOM
field() { sed -nE "s/^$2:[[:space:]]*//p" "/proc/$1/status" 2>/dev/null; }
# The workflow is the process of our own tree that carries the mark and a filter; the monitor is its parent.
find_monitor() {
	local n
	monitor=
	proc tree "$pid" >"$tmp/tree"
	while IFS=: read -r n _; do
		tr '\0' ' ' <"/proc/$n/cmdline" 2>/dev/null | grep -qF "$mark" || continue
		[ "$(field "$n" Seccomp)" = 2 ] && [ "$(field "$n" Uid | cut -f1)" != 0 ] || continue
		monitor=$(field "$n" PPid)
		break
	done <"$tmp/tree"
	[ -n "$monitor" ] && grep -q "^$monitor:" "$tmp/tree"
}
namespace_of() { readlink "/proc/$1/ns/$2" 2>/dev/null; }
# Pids of whoever still lives in one of the namespaces that the run had.
inhabitants() {
	local n ns
	for n in /proc/[0-9]*; do
		for ns in pid net; do grep -qxF "$(readlink "$n/ns/$ns" 2>/dev/null)" "$tmp/namespaces" && echo "${n#/proc/}"; done
	done 2>/dev/null | sort -u
}
nobody_inside() { [ -z "$(inhabitants)" ]; }
groups_left() { find /sys/fs/cgroup -maxdepth 12 -type d -name "agenttwin-$(json "$receipt" r.run.id)" 2>/dev/null; }
begin() { # NAME [ARGUMENT...]
	mark=$word-$1
	start_world "$tmp/$1" --timeout 60s "${@:2}"
	wait_for 20 find_monitor || bail_out "$1: the monitor was not found"
	for ns in pid net; do namespace_of "$monitor" $ns; done | grep -vxF "$(namespace_of self pid)" | grep -vxF "$(namespace_of self net)" >"$tmp/namespaces"
}
is_over() { # NAME STATUS-AND-EXIT
	kill -KILL "$monitor"
	end_world
	like "$(json "$receipt" 'r.status' 2>/dev/null) $status" "^($2)\$" "$1: ${2//|/ or }, never a pass" || explain
	like "$(json "$receipt" 'r.why')" '.' "$1: and says why: $(json "$receipt" 'r.why' | head -n 1)"
	is "$(json "$receipt" '!!(r.boundary.closing || {}).proved')" false "$1: no closing verification is claimed"
	is "$(json "$receipt" 'r.cleanup.confirmed')" true "$1: cleanup confirmed"
	ok "$1: all $(wc -l <"$tmp/tree") processes are gone" wait_for 5 none_alive "$tmp/tree"
	ok "$1: nobody is left in its $(wc -l <"$tmp/namespaces") namespaces" wait_for 5 nobody_inside || diag "$(inhabitants)"
	is "$(groups_left)" "" "$1: no control group either"
	is "$(grep -c agenttwin /proc/self/mountinfo)" 0 "$1: nothing mounted"
}
make_world() { # NAME PROGRAM [MEMBERS]
	world "$tmp/$1" '"m.mjs"' "\"node\", \"m.mjs\", \"$word-$1\"" "${3-}"
	printf '%s\n' "$2" >"$tmp/$1/m.mjs"
}

make_world control 'setTimeout(() => {}, 5000);'
begin control
end_world
is_run passed 0 "control: with a living monitor the same program passes"

make_world idle 'setTimeout(() => process.exit(0), 60000); process.on("SIGTERM", () => process.exit(0)); console.log("idle");'
begin idle
is_over idle 'error 4'

# In the middle of its work: requests, output, packets.
make_world works 'import dgram from "node:dgram";
const socket = dgram.createSocket("udp4").on("error", () => {});
for (;;) {
	socket.send("x", 9, "203.0.113.9", () => {});
	await (await fetch(`${process.env.SHOP_URL}/items`)).text();
	console.log("x".repeat(5000));
}'
begin works
sleep 0.3
is_over works 'error 4'

# With a workflow that goes on making processes in sessions of their own, which are the monitor's to reap.
world "$tmp/storm" '"helper"' "\"./helper\", \"storm\", \"fork\", \"30\", \"$word-storm\"" '"limits": { "pids": 128 },'
cp "$tmp/helper" "$tmp/storm/"
begin storm
sleep 0.3
is_over storm 'error 4'

# Between the deadline and the kill, with a workflow that does not go when asked.
make_world grace 'process.on("SIGTERM", () => console.log("told")); setInterval(() => {}, 1000);' '"limits": { "grace_ms": 20000 },'
begin grace --timeout 2s
told() { [ "$SECONDS" -ge "$after" ]; }
after=$((SECONDS + 4))
wait_for 10 told
ok "grace: the monitor waits for the workflow" kill -0 "$monitor"
is_over grace 'error 4|timeout 5'
"$host" reap >"$tmp/reap" 2>&1
is "$?" 0 "reap has nothing left to do" || diag "$(cat "$tmp/reap")"
done_testing
