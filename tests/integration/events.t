#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A workflow that serves: when it is ready, what triggers it, what services tell it by signed webhooks, and when it ends; and what
# becomes of a run in which one of these does not happen.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh
need_namespace

cp -R tests/integration/programs/events "$tmp/world"
ok "the schema accepts the world" python3 tests/lib/schema.py docs/schema/world.schema.json "$tmp/world/world.json"
run_world "$tmp/world"
is_run passed 0 "triggers, four kinds of webhooks, retries, a challenge, reversed order" || diag "$(json "$receipt" 'r.outcome.stdout.tail')"
is "$(failed_checks)" "" "every check holds"
ok "the receipt is valid" python3 tests/lib/schema.py docs/schema/receipt.schema.json "$receipt"
is "$(json "$receipt" 'r.state.final.shop.told.every(t => t.id == "hup" || t.good)')" true "each signature is good over the exact bytes"
is "$(json "$receipt" 'r.operations.filter(o => o.kind == "webhook" && o.service == "shop").map(o => o.route)')" \
	'["order.paid","order.created","order.paid"]' "order reversed: the newest event first, then the retry"
is "$(json "$receipt" 'r.state.final.shop.told.filter(t => t.from == "slack").map(t => [t.attempt, t.retry]).sort()')" '[[1,null],[2,"1"]]' \
	"Slack says which retry it is"
is "$(json "$receipt" 'r.operations.filter(o => o.kind == "webhook" && o.event.attempt == 2).every(o => r.operations[o.resend_of].key == o.key)')" \
	true "a retry has the id of its first attempt, and names it"
is "$(json "$receipt" 'r.operations.filter(o => o.route == "buy")[0].request.headers["x-key"]')" '{{secret.github}}' \
	"a secret in a trigger is recorded by its name"
is "$(json "$receipt" '[r.outcome.exit.ended_by, r.outcome.exit.signal]')" '["world",15]' "the world ended it, with SIGTERM"
first=$(json "$receipt" 'r.run.fingerprint')
run_world "$tmp/world"
is "$(json "$receipt" 'r.run.fingerprint')" "$first" "a second run has the same fingerprint"
run_world --seed 8 "$tmp/world"
is_run passed 0 "another seed passes too"
is "$(json "$receipt" "r.run.fingerprint != '$first'")" true "and has another fingerprint"

# change EXPRESSION: the world changed by JavaScript over w, as changed.world.json
change() {
	node -e '
		const fs = require("fs"), w = JSON.parse(fs.readFileSync(process.argv[1] + "/world.json"))
		const shop = w.services[0], flow = w.workflow
		eval(process.argv[2])
		fs.writeFileSync(process.argv[1] + "/changed.world.json", JSON.stringify(w))' "$tmp/world" "$1"
	run_world "$tmp/world/changed.world.json"
}
# Only the shop, one trigger and checks that say little: what is judged is in the receipt.
alone='w.services = [shop]; delete shop.events.order; flow.trigger = [flow.trigger[0]]; delete flow.trigger[0].http.headers
	w.env = { SHOP: w.env.SHOP, STRIPE: w.env.STRIPE }; flow.ends = { triggers: true }
	w.checks = [{ id: "order", kind: "state", service: "shop", path: "/orders", count: 1 }];'

change "$alone flow.ready = { line: 'listening' }"
is_run passed 0 "ready by a line of stdout"
is "$(json "$receipt" 'r.operations.filter(o => o.kind == "webhook").map(o => [o.route, o.reply.status])')" \
	'[["order.created",500],["order.paid",200],["order.created",200]]' "the end waits for what the triggers caused to be told"
change "$alone flow.ready = { line: 'listening' }; w.env.NODE_OPTIONS = ''; flow.command = ['sh', '-c', 'printf now; printf \" lis\"; sleep 0.2; exec node app.mjs']"
is_run passed 0 "also when the line comes in pieces"
change "$alone w.limits.start_ms = 700; flow.command = ['sleep', '20']"
is_run timeout 5 "a workflow that never gets ready"
like "$(json "$receipt" r.why)" 'not ready within 700 ms' "says so"
change "$alone flow.ready = { line: 'never said' }; w.limits.start_ms = 700"
is_run timeout 5 "nor by a line that never comes"
change "$alone flow.command = ['node', '-e', 'process.exit(3)']"
is_run error 4 "a workflow that ends before it is ready"
like "$(json "$receipt" r.why)" 'ended before it was ready' "says so"
change "$alone w.env.STUBBORN = '1'; w.limits.grace_ms = 300"
is_run passed 0 "a workflow that ignores SIGTERM"
is "$(json "$receipt" '[r.outcome.exit.ended_by, r.outcome.exit.signal]')" '["world",9]' "is killed after grace_ms"
change "$alone shop.events.endpoint = 'http://127.0.0.1:3999/'"
is_run passed 0 "webhooks to a port where nobody listens"
is "$(json "$receipt" 'r.operations.filter(o => o.kind == "webhook").map(o => [o.views.service, o.views.client, o.problem])[3]')" \
	'["not-reached","told-nothing","nobody listens there"]' "are recorded as not reached, with their retries"
change "$alone w.limits.trigger_ms = 300; flow.trigger.push({ id: 'slow', http: { method: 'GET', url: 'http://127.0.0.1:3000/slow' } })"
is_run failed 1 "a trigger that is not answered"
is "$(failed_checks)" triggers-answered "fails the run"
change "$alone flow.trigger.push({ id: 'crash', http: { url: 'http://localhost:3000/crash' } }, { id: 'late', signal: 'SIGHUP' })"
is_run failed 1 "a workflow that ends before all triggers were sent"
is "$(json "$receipt" '[r.outcome.exit.code, r.checks.find(c => c.id == "triggers-answered").actual]')" '[7,"trigger crash got no answer"]' "says which"
change "$alone flow.ends = { when: 'len(state.shop.told) > 99' }; w.limits.run_ms = 1500"
is_run timeout 5 "a condition that never comes true"
change "$alone flow.ends = { exit: true }; flow.trigger.push({ id: 'bye', signal: 'SIGTERM' }); w.checks.push({ id: 'exit', kind: 'exit', signal: 'SIGTERM' })"
is_run passed 0 "a signal that ends it is judged like its own end"
change "$alone shop.routes[0].emit = []; flow.trigger = []; flow.ends = { when: 'len(state.shop.orders) == 0' }; w.checks[0].count = 0; w.checks.push({ id: 'n', kind: 'calls', service: 'shop', at_least: 1 })"
is_run failed 1 "a condition that holds at once ends it at once"
change "$alone w.faults = [
	{ id: 'hook-twice', class: 'duplicate-write', on: { service: 'shop', event: 'order.paid' }, call: { nth: 1 }, phase: 'redeliver', how: { times: 2, spacing: 'during' } },
	{ id: 'asked-twice', class: 'duplicate-write', on: { service: 'trigger', route: 'buy' }, phase: 'redeliver', how: { times: 2, spacing: 'after' } }]"
is_run passed 0 "a webhook and a trigger that come twice"
is "$(json "$receipt" 'r.faults.map(f => [f.id, f.fired])')" '[["hook-twice",true],["asked-twice",true]]' "both faults fired"
is "$(json "$receipt" 'r.operations.filter(o => o.route == "order.paid" && o.event.attempt == 1).map(o => [o.event.copy, o.fault && o.fault.id]).sort()')" \
	'[[1,null],[2,"hook-twice"]]' "the second delivery names its fault"
ok "the receipt is valid" python3 tests/lib/schema.py docs/schema/receipt.schema.json "$receipt"
change "$alone w.faults = [{ id: 'never', class: 'duplicate-write', on: { service: 'shop', event: 'order.paid' }, call: { nth: 9 }, phase: 'redeliver', how: { times: 2, spacing: 'after' } }]"
is_run failed 1 "one that never comes twice"
is "$(failed_checks)" faults-fired "fails the run"
done_testing
