#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What agenttwin-world(5) says of services and checks, asked by a real workflow: every effect, guard, template, resource verb,
# filter, credential, unmatched mode and path of a check.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh

holds() { # NAME ARGUMENT...
	local name=$1
	shift
	run_world "$@"
	is_run passed 0 "$name: the world passes" || diag "$(json "$receipt" 'r.outcome.stdout.tail')"
	is "$(failed_checks)" "" "$name: every check holds"
	is "$(json "$receipt" 'r.state.final.shop.items.map(x => x.id)')" '["7","i1","i2"]' "$name: rows in the receipt are in id order"
	is "$(grep -c 9007199254740991 "$receipt")" "$(grep -c 900719925474099 "$receipt")" "$name: numbers in the receipt are exact"
	ok "$name: the receipt is valid" python3 tests/lib/schema.py docs/schema/receipt.schema.json "$receipt"
}
cp -R tests/integration/programs/semantics "$tmp/world"
ok "the schema accepts the world" python3 tests/lib/schema.py docs/schema/world.schema.json "$tmp/world/world.json"
# On local no service can have a port of its own.
sed 's/"port": 8081, //' "$tmp/world/world.json" >"$tmp/world/local.world.json"
holds local --runtime local "$tmp/world/local.world.json"
need=$("$host" doctor --runtime namespace 2>&1) || { skip "the namespace backend" "it does not work here: $(head -n 1 <<<"$need")"; done_testing; }
holds namespace "$tmp/world"
first=$(json "$receipt" 'r.run.fingerprint')
run_world "$tmp/world"
is "$(json "$receipt" 'r.run.fingerprint')" "$first" "a second run has the same fingerprint"

# The neighbour of an exact number is another number.
for wrong in '"/items/i1/n", "equals": 9007199254740990' '"/items/i1/f", "equals": 0.3'; do
	sed "s|\"/items/i1/${wrong:11:1}\", \"equals\": [0-9.]*|$wrong|" "$tmp/world/world.json" >"$tmp/world/wrong.world.json"
	run_world "$tmp/world/wrong.world.json"
	is_run failed 1 "$wrong does not hold"
done
done_testing
