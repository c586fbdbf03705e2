#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2317 # functions called by wait_for
# The twins crash, whenever and however: the run is an error, exit status 4, and never a pass; they are not started again.
. tests/lib/tap.sh
[ "$(id -u)" -eq 0 ] || skip_all "needs root, to signal a process of the sandbox from outside"
. tests/lib/agenttwin.sh
need_namespace

# The only check holds in every one of these worlds: nothing but the twins' death stands between the run and a pass.
word=agenttwin-twins-die-$$-$RANDOM
checks='{ "id": "exit", "kind": "exit", "code": 0 }'
make_world() { # NAME PROGRAM
	mark=$word-$1 # no mark is the start of another
	world "$tmp/$1" '"m.mjs"' "\"node\", \"m.mjs\", \"$mark.\"" "" "$checks"
	printf '%s\n' "$2" >"$tmp/$1/m.mjs"
}
runs() { [ -n "$(workflow_pid)" ]; }
workflow_pid() { proc marked "$mark." | while read -r p; do case $(cat "/proc/$p/comm" 2>/dev/null) in node | MainThread) echo "$p" ;; esac done | head -n 1; }
gone() { [ -z "$(workflow_pid)" ]; }
field() { sed -nE "s/^$2:[[:space:]]*//p" "/proc/$1/status" 2>/dev/null; }
# The monitor's child under a filter that is not the workflow.
find_twins() {
	local workflow monitor p
	workflow=$(workflow_pid)
	monitor=$(field "$workflow" PPid)
	twins=
	for p in $(cat "/proc/$monitor/task/$monitor/children" 2>/dev/null); do
		[ "$p" = "$workflow" ] || [ "$(field "$p" Seccomp)" != 2 ] || twins=$p
	done
	[ -n "$twins" ]
}
begin() { # NAME [ARGUMENT...]
	local name=$1
	shift
	mark=$word-$name
	start_world "$tmp/$name" --timeout 60s "$@"
	wait_for 20 runs || bail_out "the workflow did not start"
	wait_for 5 find_twins || bail_out "the twins were not found"
	proc tree "$pid" >"$tmp/tree"
}
is_error() { # NAME [ERE of what the guest said]
	end_world
	is_run error 4 "$1: error, 4"
	like "$(json "$receipt" 'r.why')" 'twins' "$1: the receipt says why"
	like "$(json "$receipt" 'r.outcome.failure.step + ": " + r.outcome.failure.text')" "^twins: .*${2-}" "$1: and what happened"
	is "$(json "$receipt" 'r.cleanup.confirmed')" true "$1: cleanup confirmed"
	ok "$1: nothing left" wait_for 5 none_alive "$tmp/tree"
}

# Ask until they get no answer, and take that well: their exit status is 0 with and without twins.
ask='for (let n = 0; n < MOST; n++) {
	try { await (await fetch(`${process.env.SHOP_URL}/items`)).text() } catch { break }
}'
make_world control "${ask/MOST/20}"
make_world asks "${ask/MOST/Infinity}"
run_world "$tmp/control"
is_run passed 0 "control: with living twins the same world passes"
make_world idle 'setTimeout(() => process.exit(0), 60000); process.on("SIGTERM", () => process.exit(0)); console.log("idle")'
make_world told 'setTimeout(() => {}, 60000); process.on("SIGUSR2", () => process.exit(0)); console.log("told")'
# It holds a request open when they die.
make_world pending 'import net from "node:net";
const u = new URL(process.env.SHOP_URL);
const s = net.connect(Number(u.port || 80), u.hostname, () => s.write("POST /items HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{"));
s.on("error", () => process.exit(0)); s.on("close", () => process.exit(0));'

# AGENTTWIN_LONG: more signals, more tries, and the twenty seconds that the monitor waits for a final state.
signals="KILL SEGV" tries=1
[ -z "${AGENTTWIN_LONG-}" ] || signals="KILL SEGV ABRT BUS ILL FPE SYS TERM" tries=10
for signal in $signals; do
	begin idle
	kill -"$signal" "$twins"
	is_error "SIG$signal while idle" "signal $(kill -l "$signal")\$"
done
for n in $(seq $tries); do
	begin asks
	kill -KILL "$twins"
	is_error "SIGKILL during calls, $n"
	begin asks
	kill -SEGV "$twins"
	is_error "SIGSEGV during calls, $n"
done
begin pending
sleep 0.2
kill -SEGV "$twins"
is_error "SIGSEGV with half a request"

# From within: a root of the sandbox's own namespaces.
if command -v nsenter >/dev/null && find_inside() { field "$twins" NSpid | awk '{ print $(NF) }'; }; then
	begin idle
	inside=$(find_inside)
	nsenter --target "$(field "$twins" PPid)" --user --pid sh -c "kill -SEGV $inside"
	is "$?" 0 "the sandbox's root may signal the twins"
	is_error "SIGSEGV by the sandbox's root" "signal 11\$"
else
	skip "SIGSEGV by the sandbox's root" "nsenter is not installed"
fi

# The workflow has ended well and all its calls are recorded: without a final state that is not a pass either.
begin told
kill -STOP "$twins"
sleep 0.3
kill -USR2 "$(workflow_pid)"
ok "the workflow ends while the twins stand still" wait_for 20 gone
kill -KILL "$twins"
is_error "SIGKILL before the final state"
# Twins that hang for good: the final state does not come in time.
if [ -n "${AGENTTWIN_LONG-}" ]; then
	begin told
	kill -STOP "$twins"
	sleep 0.3
	kill -USR2 "$(workflow_pid)"
	is_error "twins that never answer again"
fi
run_world "$tmp/control"
is_run passed 0 "control: and afterwards it passes again"
done_testing
