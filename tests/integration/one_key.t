#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Two processes ask at the same time with one idempotency key, while the first reply is held up: one effect, 409 for who comes second, and
# the first reply for who asks again; what the receipt says of each.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh
need_namespace
mkdir "$tmp/w"
cat >"$tmp/w/two.mjs" <<'JS'
import { spawn } from 'node:child_process';
const ask = async (key) => {
	const reply = await fetch('http://pay.internal/refunds', { method: 'POST', headers: { 'content-type': 'application/json', 'idempotency-key': key }, body: '{"amount":4200}' });
	return [reply.status, (await reply.json()).id ?? 'none', reply.headers.get('idempotent-replayed') ?? '-'];
};
if (process.argv[2] === 'ask') {
	const seen = [await ask('key-1')];
	while (seen.at(-1)[0] === 409) { await new Promise((done) => setTimeout(done, 50)); seen.push(await ask('key-1')); }
	console.log([seen[0][0], ...seen.at(-1)].join(' '));
} else {
	const children = [1, 2].map(() => spawn(process.execPath, ['two.mjs', 'ask'], { stdio: 'inherit' }));
	await Promise.all(children.map((child) => new Promise((done) => child.on('close', done))));
}
JS
cat >"$tmp/w/world.json" <<'WORLD'
{ "agenttwin": "world/1", "name": "one-key", "seed": 1, "files": [ "two.mjs" ],
  "services": [ { "name": "pay", "kind": "http", "hosts": [ "pay.internal" ], "idempotency": { "on": [ "POST" ], "keep": "24h" }, "state": { "refunds": [] },
    "routes": [ { "id": "refund", "match": { "method": "POST", "path": "/refunds" }, "do": [ { "create": "refunds", "as": "r" } ], "reply": { "status": 201, "body": "{{r}}" } } ] } ],
  "faults": [ { "id": "held-up", "class": "server-error", "on": { "service": "pay", "route": "refund" }, "call": { "nth": 1 }, "phase": "mid-reply",
    "how": { "slow": { "first_ms": 5000, "chunk_ms": 0 } } } ],
  "workflow": { "command": [ "node", "two.mjs" ] },
  "checks": [ { "id": "exit", "kind": "exit", "code": 0 }, { "id": "one-refund", "kind": "state", "service": "pay", "path": "/refunds", "count": 1 } ] }
WORLD
run_world "$tmp/w"
is_run passed 0 "two at once, one refund"
said=$(json "$receipt" 'r.outcome.stdout.tail')
id=$(json "$receipt" 'r.state.final.pay.refunds[0].id')
is "$(sort <<<"$said" | grep .)" "201 201 $id -
409 201 $id true" "one is answered, the other told to wait and then given the same reply"
is "$(json "$receipt" '[...new Set(r.operations.map(o => [o.idempotency, o.reply.status, o.views.service].join(" ")))].sort().join(", ")')" \
	"first 201 applied, in-flight 409 rejected, replay 201 applied" "the receipt says of each what it was"
is "$(json "$receipt" 'r.operations.filter(o => o.effects.length > 0).length')" 1 "and one has an effect"
done_testing
