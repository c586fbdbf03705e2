# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154
# escape.sh - worlds whose workflow is hostile.  Source it after tap.sh and agenttwin.sh.

# hostile FOLDER PROGRAM.mjs [MEMBERS]: a world around a program of this folder.  MEMBERS are more members of the world, JSON
# text as `"limits": {...},`.  Environment of the workflow: JUDGE_URL, and the members of the variable hostile_env.
hostile_env=
hostile_service= # members of the service, as `"port": 8080,`
hostile_checks='{ "id": "exit", "kind": "exit", "code": 0 }'
hostile() {
	mkdir -p "$1"
	cp tests/escape/escape.mjs "tests/escape/$2" "$1/"
	[ ! -x "$tmp/helper" ] || cp "$tmp/helper" "$1/"
	cat >"$1/world.json" <<-WORLD
		{ "agenttwin": "world/1", "name": "escape", "seed": 1, ${3-}
		  "files": [ "escape.mjs", "$2"$([ ! -x "$1/helper" ] || printf ', "helper"') ],
		  "env": { ${hostile_env:+$hostile_env, }"JUDGE_URL": "{{service.judge.url}}" },
		  "services": [ { "name": "judge", "kind": "http", $hostile_service "hosts": [ "judge.internal" ], "state": { "reports": [] },
		    "routes": [ { "id": "report", "match": { "method": "POST", "path": "/reports" },
		      "do": [ { "create": "reports", "id": "{{request.body.id}}", "row": { "attempts": "{{request.body.attempts}}" } } ],
		      "reply": { "status": 201 } } ] } ],
		  "workflow": { "command": [ "node", "$2" ] },
		  "checks": [ $hostile_checks ] }
	WORLD
}
# need_helper: compiles the C program that makes the system calls Node cannot; static, so it runs in any root file system.
need_helper() {
	command -v cc >/dev/null || skip_all "no C compiler"
	cc -O1 -static -o "$tmp/helper" tests/escape/helper.c 2>"$tmp/cc.err" || {
		diag "$(cat "$tmp/cc.err")"
		bail_out "the helper does not compile"
	}
}
# Attempts in the receipt of the last run, "NAME got|denied DETAIL" lines, into the variable attempts.
read_attempts() {
	attempts=$(json "$receipt" '(r.state.final.judge.reports || []).flatMap(x => x.attempts)
		.map(a => [a.name, a.got ? "got" : "denied", a.detail].join(" ")).join("\n")')
}
# denied NAME...: each was tried and failed.  A missing line is a failure: the program did not get there.
denied() {
	local name line
	for name; do
		line=$(grep -F -e "$name " <<<"$attempts" | grep -E "^[^ ]+ (got|denied)" | awk -v n="$name" '$1 == n' | head -n 1)
		case $line in
		"$name denied"*) pass "denied: $name (${line#"$name denied "})" ;;
		"") fail "denied: $name"; diag "never tried" ;;
		*) fail "denied: $name"; diag "$line" ;;
		esac
	done
}
# works NAME...: positive controls: each was tried and succeeded.
works() {
	local name
	for name; do
		if awk -v n="$name" '$1 == n && $2 == "got" { found = 1 } END { exit !found }' <<<"$attempts"; then
			pass "works: $name"
		else
			fail "works: $name"
			diag "$(awk -v n="$name" '$1 == n' <<<"$attempts")"
		fi
	done
}
# need_hostile: the attempts that are judged against a control, as need_helper.
need_hostile() {
	cc -O1 -static -o "$tmp/hostile" tests/escape/hostile.c tests/escape/hostile_net.c 2>"$tmp/cc.err" || {
		diag "$(cat "$tmp/cc.err")"
		bail_out "hostile.c does not compile"
	}
}
