#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A workflow that calls nobody: no service in the world, judged by exit and output alone.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh

alone() { # FOLDER MEMBER [CHECKS]
	mkdir -p "$1"
	echo 'import fs from "node:fs"; console.log("sum", JSON.parse(fs.readFileSync("in.json")).reduce((a, b) => a + b));' >"$1/a.mjs"
	echo '[1, 2, 39]' >"$1/in.json"
	cat >"$1/world.json" <<-WORLD
		{ "agenttwin": "world/1", "name": "alone", "files": [ "a.mjs", "in.json" ], $2
		  "workflow": { "command": [ "node", "a.mjs" ] },
		  "checks": [ { "id": "exit", "kind": "exit", "code": 0 },
		              ${3-}{ "id": "sum", "kind": "stdout", "equals": "sum 42\n" } ] }
	WORLD
}
# The checks every run has hold too, and the receipt has the parts of services, empty.
holds() { # NAME ARGUMENT...
	local name=$1
	shift
	run_world "$@"
	is_run passed 0 "$name: passes"
	is "$(json "$receipt" '[r.operations.length, Object.keys(r.state.initial).length, Object.keys(r.state.final).length, r.state.diff.length]')" "[0,0,0,0]" "$name: nothing was called, nothing has a state"
	is "$(json "$receipt" 'r.checks.every(c => c.held)')" true "$name: every check held"
	ok "$name: the receipt is valid" python3 tests/lib/schema.py docs/schema/receipt.schema.json "$receipt"
}
accepts() { "$host" check "$1" >"$tmp/out"; }
alone "$tmp/absent" ''
alone "$tmp/empty" '"services": [],'
for form in absent empty; do
	ok "$form: check accepts it" accepts "$tmp/$form"
	is "$("$host" check --json "$tmp/$form" 2>&1 | json /dev/stdin 'r.services.length')" 0 "$form: and lists no service"
	ok "$form: the schema does too" python3 tests/lib/schema.py docs/schema/world.schema.json "$tmp/$form/world.json"
	holds "$form, local" --runtime local "$tmp/$form"
done

alone "$tmp/names" '"env": { "URL": "{{service.shop.url}}" },'
like "$("$host" check "$tmp/names" 2>&1)" 'world\.json:1:.*at /env/URL: there is no service "shop"' "a template for a service that is not there"
alone "$tmp/calls" '' '{ "id": "call", "kind": "calls", "service": "shop" }, '
like "$("$host" check "$tmp/calls" 2>&1)" 'at /checks/1/service: there is no service "shop"' "a check of one"
alone "$tmp/any" '' '{ "id": "call", "kind": "calls" }, '
like "$("$host" check "$tmp/any" 2>&1)" 'at /checks/1: .*no service' "a check of any call, which can never come"
alone "$tmp/never" '' '{ "id": "none", "kind": "never" }, '
ok "that nothing is called may be checked" accepts "$tmp/never"

need=$("$host" doctor --runtime namespace 2>&1) || { skip "the namespace backend" "it does not work here: $(head -n 1 <<<"$need")"; done_testing; }
for form in absent empty; do holds "$form, namespace" "$tmp/$form"; done
alone "$tmp/egress" '' '{ "id": "no-egress", "kind": "no-egress" }, '
holds "with no-egress" "$tmp/egress"
echo 'await fetch("http://203.0.113.9/").catch(() => console.log("sum 42"));' >"$tmp/egress/a.mjs"
run_world "$tmp/egress"
is_run failed 1 "a call to the world outside fails it"
is "$(failed_checks)" "no-egress" "by no-egress alone"
done_testing
