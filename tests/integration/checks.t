#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every kind of check and every mode over real runs of one workflow: as it should be, and with one mistake each, which the checks
# that are about it find and no other does.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh

cp -R tests/integration/programs/checks "$tmp/w"
ok "the schema accepts the world" python3 tests/lib/schema.py docs/schema/world.schema.json "$tmp/w/world.json"
checks() { # MISTAKE RUNTIME
	sed "s/MISTAKE/$1/; s/\"\\\$schema\": \"[^\"]*\", //" tests/integration/programs/checks/world.json >"$tmp/w/$1.world.json"
	run_world --runtime "${2:-local}" "$tmp/w/$1.world.json"
	ok "$1: the receipt is valid" python3 tests/lib/schema.py docs/schema/receipt.schema.json "$receipt"
}
good() {
	checks "$@"
	is_run passed 0 "$1: passes${2:+ on $2}"
	is "$(failed_checks)" "" "$1: every check holds"
	unlike "$err" 'rest' "$1: and rests on something"
}
bad() { # MISTAKE FAILED-CHECKS
	checks "$1"
	is_run failed 1 "$1: fails"
	is "$(failed_checks | tr '\n' ' ' | sed 's/ $//')" "$2" "$1: $2"
}
actual() { json "$receipt" "r.checks.find(c => c.id === '$1').actual"; }
rests() { json "$receipt" "r.checks.find(c => c.id === '$1').rests_on.join(' ')"; }

good right
is "$(json "$receipt" 'r.operations.map(o => o.rows.length)')" '[2,0,1]' "each operation tells the rows that it left"
is "$(json "$receipt" 'r.operations[0].rows.find(x => x.at === "/totals/t").row.sum')" 4200 "as they were then"
good look
bad fresh-key "one-charge never-two cap once keys"
is "$(actual never-two)" "after operation 1: it counts 2" "the first moment is named"
is "$(actual cap)" "after operation 1: 8400 on the left, 5000 on the right" "both sides too"
is "$(rests once)" "/operations/0 /operations/1" "a duplicate names both operations"
like "$(actual keys)" "operation 1 \(shop, charge\) is operation 0 again, which was not acknowledged, under another key" "and what is wrong with its key"
like "$(rests one-charge)" "/state/final/shop/charges /operations/0 /operations/1" "a state names who made it"
like "$err" 'the customer must not pay twice' "a reason is shown"
like "$err" '^ +expected +no write has its effect more than once' "two lines explain it: expected"
like "$err" '^ +actual +operation 1 had an effect that operation 0, the same write, had had  \(operations 0, 1\)' "and actual, with the operations"
bad no-key "one-charge never-two cap once keys"
bad give-up "kept recovers"
like "$(actual kept)" "operation 0 \(shop, charge\) was done, but its client was not told so" "a lost acknowledgement is told"
bad early "mail-last"
like "$(actual mail-last)" "operation 0 \(then\) came at [0-9]+ ms, operation 1 \(first\) only at" "what came too early"
bad touch "ever"
is "$(actual ever)" 'after operation 3: shop:/orders/o1/status was "open", is "paid"' "what was otherwise for a moment"
bad chatty "json"
is "$(actual json)" "line 3 does not: 'this is no JSON'" "the line is told"
bad throw "exit alive"
is "$(actual alive)" "Node ended a process for an uncaught exception: Error: boom" "what was thrown is told"
bad reject "exit alive"
bad handled "exit"
bad nothing "json replayed mail-last one-charge"
like "$err" '^note: 11 checks rest on nothing that happened: quiet, few, never-two, books, cap, nothing-else, ever, once, kept, keys, recovers$' "what rests on nothing is told"
is "$(json "$receipt" 'r.checks.filter(c => c.rests_on_nothing).length')" 11 "also in the receipt"

# Rows with credentials are followed with them named; what an operation cannot tell is not taken for known.
cp tests/integration/programs/checks/rows.mjs "$tmp/w/"
rows() { # ARGUMENT
	cat >"$tmp/w/rows.world.json" <<-WORLD
		{ "agenttwin": "world/1", "name": "rows", "seed": 1, "files": [ "rows.mjs" ],
		  "env": { "SHOP_URL": "{{service.shop.url}}", "KEY": "{{secret.shop}}" },
		  "services": [ { "name": "shop", "kind": "http", "hosts": [ "shop.internal" ], "state": { "items": [] },
		    "auth": { "scheme": "bearer", "accept": "{{secret.shop}}" }, "routes": [ { "resource": "items", "path": "/items" } ] } ],
		  "workflow": { "command": [ "node", "rows.mjs"$1 ] },
		  "checks": [ { "id": "exit", "kind": "exit", "code": 0 },
		    { "id": "sum", "kind": "state", "service": "shop", "path": "/items", "sum": "n", "equals": 3, "mode": "sometimes" },
		    { "id": "ever", "kind": "unchanged", "except": [ "shop:/items" ], "mode": "always" },
		    { "id": "once", "kind": "no-duplicate-effects" }, { "id": "kept", "kind": "no-lost-writes" } ] }
	WORLD
	run_world --runtime local "$tmp/w/rows.world.json"
}
rows ''
is_run passed 0 "rows with credentials: followed to the end"
is "$(json "$receipt" 'r.operations[1].rows[0].row.id')" '{{secret.shop}}/x' "and named"
is "$(grep -c at_test_ "$receipt")" 0 "none is in the receipt"
rows ', "large"'
is_run failed 1 "a row of more than 64 KiB"
is "$(failed_checks | tr '\n' ' ')" "sum ever " "is not followed"
is "$(actual sum)" "it cannot be judged along the run: what operation 2 changed is larger than 64 KiB, or not recorded" "and that is said"
is "$(json "$receipt" 'r.operations[2].rows === null')" true "the operation has none"

need=$("$host" doctor --runtime namespace 2>&1) || { skip "the namespace backend" "it does not work here: $(head -n 1 <<<"$need")"; done_testing; }
good right namespace
done_testing
