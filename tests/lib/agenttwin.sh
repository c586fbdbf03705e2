# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154
# agenttwin.sh - running worlds from tests, and looking into receipts.  Source it after tap.sh.
O=${O:-build}
# shellcheck disable=SC2034
O_relative=$O # make cannot have a target with spaces in its name
case $O in /*) ;; *) O=$PWD/$O ;; esac
# shellcheck disable=SC2034 # used by tests
host=$O/agenttwin-host
# shellcheck disable=SC2034
guest=$O/agenttwin-guest
lib=$PWD/tests/lib
[ -x "$host" ] || bail_out "$host is missing: run make first"
command -v node >/dev/null || skip_all "node is not installed"

# Skips the whole test where the namespace backend cannot work; AGENTTWIN_REQUIRE=1 (CI) makes that a failure.
need_namespace() {
	local text
	text=$("$host" doctor --runtime namespace 2>&1) && return
	diag "$text"
	[ -z "${AGENTTWIN_REQUIRE-}" ] || bail_out "the namespace backend does not work here"
	skip_all "the namespace backend does not work here: agenttwin-host doctor says why"
}

# run_world WORLD [ARGUMENT...]: sets status, receipt (a file), err (stderr's text) and why.
run_count=0
run_world() {
	run_count=$((run_count + 1))
	receipt=$tmp/receipt-$run_count.json
	"$host" run --json "$@" >"$receipt" 2>"$tmp/err-$run_count"
	status=$?
	err=$(cat "$tmp/err-$run_count")
}
# json FILE EXPRESSION: the JavaScript expression over r, the document; null and undefined print nothing.
json() { node "$lib/json.mjs" "$1" "$2"; }
# explain: prints what a person would want to know of the last run when a test of it failed.
explain() {
	diag "exit status $status"
	diag "$(tail -n 12 <<<"$err")"
	[ ! -s "$receipt" ] || diag "$(json "$receipt" '[r.status, r.why, (r.checks || []).filter(c => c.held !== true).map(c => c.id)]')"
}
# is_run STATUS EXIT NAME: the last run had this receipt status and exit status.
is_run() {
	local got
	got="$(json "$receipt" 'r.status' 2>/dev/null) $status"
	is "$got" "$1 $2" "$3" || { explain; return 1; }
}
# Names of checks that did not hold, one a line.
failed_checks() { json "$receipt" '(r.checks || []).filter(c => c.held !== true).map(c => c.id).join("\n")'; }
proc() { python3 "$lib/proc.py" "$@"; }
# wait_for SECONDS COMMAND...: until the command succeeds; 1 when time is up.
wait_for() {
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.05
	done
}
# world FOLDER FILES COMMAND [MEMBERS] [CHECKS]: a world with one service (URL in SHOP_URL) of one collection, `items`.
# FILES and COMMAND are the inside of JSON arrays; MEMBERS are more members of the world, as `"limits": {...},`.
world() {
	local checks=${5-'{ "id": "exit", "kind": "exit", "code": 0 }'}
	mkdir -p "$1"
	cat >"$1/world.json" <<-WORLD
		{ "agenttwin": "world/1", "name": "test", "seed": 1, ${4-}
		  "files": [ $2 ],
		  "env": { "SHOP_URL": "{{service.shop.url}}" },
		  "services": [ { "name": "shop", "kind": "http", "hosts": [ "shop.internal" ], "state": { "items": [] },
		    "routes": [ { "resource": "items", "path": "/items" } ] } ],
		  "workflow": { "command": [ $3 ] },
		  "checks": [ $checks ] }
	WORLD
}
# start_world WORLD [ARGUMENT...]: as run_world, in the background: sets pid, receipt, err_file.  Signals are at their defaults
# (a background command of a script otherwise ignores SIGINT).
start_world() {
	run_count=$((run_count + 1))
	receipt=$tmp/receipt-$run_count.json
	err_file=$tmp/err-$run_count
	: >"$err_file"
	env --default-signal=INT,TERM "$host" run --json "$@" >"$receipt" 2>"$err_file" &
	pid=$!
	stop_later "$pid"
}
# end_world: waits for it; sets status and err.
end_world() {
	wait "$pid"
	status=$?
	err=$(cat "$err_file")
}
lines_are() { [ "$(wc -l <"$2")" -ge "$1" ]; }
none_marked() { [ -z "$(proc marked "$1")" ]; }
none_alive() { [ -z "$(proc alive "$1")" ]; }
