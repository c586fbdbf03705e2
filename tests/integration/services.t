#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Services as their clients use them, by a real workflow: profiles, matching of queries, headers and bodies, idempotency keys with
# two clients at once, lists by cursor and page, rate limits, variables.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh

cp -R tests/integration/programs/services "$tmp/world"
ok "the schema accepts the world" python3 tests/lib/schema.py docs/schema/world.schema.json "$tmp/world/world.json"
runtimes="local"
if need=$("$host" doctor --runtime namespace 2>&1); then runtimes="local namespace"; else skip "the namespace backend" "it does not work here: $(head -n 1 <<<"$need")"; fi
for runtime in $runtimes; do
	run_world --runtime "$runtime" "$tmp/world"
	is_run passed 0 "$runtime: the world passes" || diag "$(json "$receipt" 'r.outcome.stderr.tail')"
	is "$(failed_checks)" "" "$runtime: every check holds"
	is "$(json "$receipt" 'r.operations.filter(o => o.idempotency === "first" && o.effects.length).length')" 1 "$runtime: one call had the effect"
	is "$(json "$receipt" 'r.operations.filter(o => o.service === "shop" && o.route === null).map(o => o.nearest.difference.replace(/,.*/, ""))')" \
		'["the body'"'"'s member '"'"'params'"'"' differs","the header '"'"'x-role'"'"' is missing","the guard does not hold: vars.open == true"]' \
		"$runtime: the nearest route and why"
	is "$(json "$receipt" 'r.state.final.stripe.charges[0].refunded')" 4200 "$runtime: the money went out once"
	ok "$runtime: the receipt is valid" python3 tests/lib/schema.py docs/schema/receipt.schema.json "$receipt"
done
done_testing
