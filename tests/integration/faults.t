#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Faults as a raw client sees them: reset, end, silence, refusal, half of a reply, noise, HTML, a
# wrong length, broken framing, slowness, a second delivery; and what the receipt says of each.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh

fault() { # ID CLASS ROUTE MORE
	printf '{ "id": "%s", "class": "%s", "on": { "service": "main", "route": "%s" }%s }' "$1" "$2" "$3" "${4-}"
}
route() {
	printf '{ "id": "%s", "match": { "method": "POST", "path": "/%s" }, "do": [ { "create": "rows", "row": { "by": "%s" } } ], "reply": { "status": 201, "body": { "text": "0123456789" } } }' \
		"$1" "$1" "$1"
}
plain() {
	printf '{ "name": "%s", "kind": "http", "hosts": [ "%s.internal" ], "unmatched": 404, "state": { "rows": [] }, "routes": [ { "id": "ok", "match": { "method": "GET", "path": "/ok" }, "reply": { "body": "ok" } } ] }' \
		"$1" "$1"
}
mkdir -p "$tmp/w"
cp tests/integration/programs/faults.mjs "$tmp/w/"
{
	echo '{ "agenttwin": "world/1", "name": "faults", "seed": 3, "files": [ "faults.mjs" ],'
	echo '"env": { "MAIN": "{{service.main.url}}", "DARK": "{{service.dark.url}}", "HALF": "{{service.half.url}}", "SHUT": "{{service.shut.url}}" },'
	echo '"services": [ { "name": "main", "kind": "http", "hosts": [ "main.internal" ], "state": { "rows": [] }, "routes": [ { "id": "ok", "match": { "method": "GET", "path": "/ok" }, "reply": { "body": "ok" } }'
	for r in rst fin stall mid-rst mid-fin mid-stall lost before after garble html wrong slow clean twice result not-http bad-chunk unterminated no-length; do
		printf ', %s\n' "$(route "$r")"
	done
	printf '] }, %s, %s, %s ],\n' "$(plain dark)" "$(plain half)" "$(plain shut)"
	echo '"faults": ['
	for e in rst fin stall; do
		fault "$e" timeout-after-write "$e" ", \"how\": { \"end\": \"$e\" }" && echo ,
		fault "mid-$e" timeout-after-write "mid-$e" ", \"phase\": \"mid-reply\", \"how\": { \"end\": \"$e\", \"bytes\": 5 }" && echo ,
	done
	fault lost blackhole lost ', "how": { "end": "rst" }, "lasts": { "calls": 1 }' && echo ,
	fault before server-error before ', "how": { "status": 503, "retry_after": 2 }' && echo ,
	fault after server-error after ', "phase": "after-effect"' && echo ,
	fault garble server-error garble ', "phase": "after-effect", "how": { "body": "garble" }' && echo ,
	fault html server-error html ', "how": { "status": 502, "body": "html" }' && echo ,
	fault wrong server-error wrong ', "phase": "after-effect", "how": { "body": "wrong-length" }' && echo ,
	fault slow server-error slow ', "phase": "mid-reply", "how": { "slow": { "first_ms": 30, "chunk_ms": 5, "chunk_bytes": 50 } }' && echo ,
	fault clean server-error clean ', "phase": "mid-reply", "how": { "end": "clean", "at": 0.5 }' && echo ,
	fault result server-error result ', "how": { "status": 200, "code": "not_today" }' && echo ,
	for b in not-http bad-chunk unterminated no-length; do
		fault "$b" server-error "$b" ", \"phase\": \"after-effect\", \"how\": { \"body\": \"$b\" }" && echo ,
	done
	fault twice duplicate-write twice ', "how": { "times": 3 }' && echo ,
	cat <<-'FAULTS'
		{ "id": "dark", "class": "blackhole", "on": { "service": "dark" }, "phase": "connect", "lasts": { "calls": 1 } },
		{ "id": "half", "class": "blackhole", "on": { "service": "half" }, "phase": "mid-request", "lasts": { "calls": 1 } },
		{ "id": "shut", "class": "blackhole", "on": { "service": "shut" }, "phase": "connect", "how": { "end": "refuse" }, "lasts": "to the end", "must_fire": false } ],
	FAULTS
	echo '"workflow": { "command": [ "node", "faults.mjs" ] },'
	echo '"checks": [ { "id": "exit", "kind": "exit", "code": 0 }, { "id": "rows", "kind": "state", "service": "main", "path": "/rows", "count": 18 } ] }'
} >"$tmp/w/world.json"
said() { json "$receipt" 'r.outcome.stdout.tail' | grep -E "^$1 " | head -n 1 | cut -d' ' -f2-; }
# The operation that a fault met: its views, and what is named.
op() { json "$receipt" "(o => o && [o.views.service, o.views.client].join(' '))(r.operations.find(o => o.fault && o.fault.id === '$1'))"; }

run_world "$tmp/w" --runtime local --timeout 60s
is_run passed 0 "every fault in one run"
is "$(said rst)" "nothing reset" "a lost acknowledgement: reset"
is "$(said fin)" "nothing end" "end"
is "$(said stall)" "nothing silence" "silence"
for e in rst fin stall; do is "$(op "$e")" "applied told-nothing" "$e: applied, and the client knows nothing"; done
is "$(said mid-rst)" "5 reset" "in the middle of the body: reset"
is "$(said mid-fin)" "5 end" "end"
is "$(said mid-stall)" "5 silence" "silence"
is "$(op mid-fin)" "applied told-nothing" "half of a reply tells nothing"
is "$(said lost)" "nothing reset" "accepted and lost"
is "$(op lost)" "not-reached told-nothing" "a lost request"
is "$(said before)" "503 json 2" "an error before the effect, with Retry-After"
is "$(op before)" "rejected told-error" "rejected"
is "$(said after)" "500 json -" "an error after it"
is "$(op after)" "applied told-error" "which is a lie"
is "$(said garble)" "201 noise -" "noise"
is "$(said html)" "502 html -" "a page of HTML"
is "$(said slow)" "201 json -" "a slow reply is whole"
is "$(said clean)" "201 noise -" "a clean end leaves half a JSON text"
is "$(said twice)" "201 json -" "a call that comes again is answered once"
is "$(json "$receipt" "r.operations.filter(o => o.fault && o.fault.id === 'twice').map(o => o.fault.copy + o.views.client).join(' ')")" \
	"1told-nothing 2told-nothing" "and each copy is an operation"
is "$(said wrong)" "201 noise -" "a length that is too short"
is "$(said wrong-end)" "11 end" "and the rest comes, then the end"
is "$(said result)" "200 json -" "an error with 200"
is "$(op result)" "rejected told-error" "is one"
is "$(said not-http)" "no head 32 end" "bytes that are no HTTP, then the end"
is "$(op not-http)" "applied told-error" "after the effect"
is "$(said bad-chunk)" '201 chunked a|{"text":"0|size|123456789"}|0|| end' "a chunk without a size"
is "$(op bad-chunk)" "applied told-error" "cannot be read"
is "$(said unterminated)" '201 chunked 15|{"text":"0123456789"}| end' "chunks without the last"
is "$(op unterminated)" "applied told-nothing" "are no acknowledgement"
is "$(said no-length)" '201 - {"text":"0123456789"} end' "a body that ends with its connection"
is "$(op no-length)" "applied told-ok" "is one"
is "$(said dark)" "0 silence" "accepted by the kernel alone"
is "$(op dark)" "not-reached told-nothing" "a connection is recorded"
is "$(said half)" "0 silence" "in the middle of a request"
is "$(said half-more)" "0 silence" "and after its end"
is "$(said shut)" "0 refused" "refused"
is "$(json "$receipt" 'r.faults.map(f => f.id + ":" + f.armed + f.fired).filter(t => !t.endsWith(":truetrue")).join()')" "shut:truefalse" \
	"all fired, and a refusal is not claimed"
is "$(json "$receipt" "r.checks.find(c => c.id === 'faults-fired').actual")" "22 of 23 fired; the others need not (must_fire: false)" \
	"faults-fired says so"
ok "the receipt is valid" python3 tests/lib/schema.py docs/schema/receipt.schema.json "$receipt"
ok "and so is the world" python3 tests/lib/schema.py docs/schema/world.schema.json "$tmp/w/world.json"
one=$(json "$receipt" r.run.fingerprint)
run_world "$tmp/w" --runtime local --timeout 60s
is "$(json "$receipt" r.run.fingerprint)" "$one" "once more: the same fingerprint"

# ---- a fault that does not fire ----
sed -e 's/"seed": 3/"seed": 4/' -e 's/"call": { "nth": 1 }//' "$tmp/w/world.json" >"$tmp/w/x" && mv "$tmp/w/x" "$tmp/w/world.json"
sed -i 's|{ "id": "dark", "class"|{ "id": "never", "class": "server-error", "on": { "service": "main", "route": "ok" }, "call": { "nth": 100000 } }, &|' "$tmp/w/world.json"
run_world "$tmp/w" --runtime local --timeout 60s
is_run failed 1 "a fault that did not fire fails the run"
like "$(json "$receipt" "r.checks.find(c => c.id === 'faults-fired').actual")" '1 of 24 did not fire; first: never' "and is named"

# ---- an agent that refunds, and loses the acknowledgement ----
# agent KEY: what its second attempt says as idempotency key.
agent() {
	mkdir -p "$tmp/agent"
	cat >"$tmp/agent/agent.mjs" <<-'AGENT'
		const attempt = async (key) => {
		  const headers = { 'content-type': 'application/json', 'idempotency-key': key };
		  try { return (await fetch(process.env.PAY + '/refunds', { method: 'POST', headers, body: '{"amount":4200}' })).status; } catch { return 'lost'; }
		};
		let told = await attempt('refund-1');
		if (told === 'lost') told = await attempt(process.argv[2]);
		process.exit(told === 201 ? 0 : 1);
	AGENT
	cat >"$tmp/agent/world.json" <<-WORLD
		{ "agenttwin": "world/1", "name": "refund-once", "files": [ "agent.mjs" ], "env": { "PAY": "{{service.pay.url}}" },
		  "services": [ { "name": "pay", "kind": "http", "hosts": [ "pay.internal" ], "idempotency": { "on": [ "POST" ], "keep": "24h" }, "state": { "refunds": [] },
		    "routes": [ { "id": "refund.create", "match": { "method": "POST", "path": "/refunds" }, "do": [ { "create": "refunds", "as": "r" } ], "reply": { "status": 201, "body": "{{r}}" } } ] } ],
		  "faults": [ { "id": "lost-reply", "class": "timeout-after-write", "on": { "service": "pay", "route": "refund.create" }, "call": { "nth": 1 }, "how": { "end": "rst" } } ],
		  "workflow": { "command": [ "node", "agent.mjs", "$1" ] },
		  "checks": [ { "id": "exit", "kind": "exit", "code": 0 }, { "id": "one-refund", "kind": "state", "service": "pay", "path": "/refunds", "count": 1 } ] }
	WORLD
	run_world "$tmp/agent" --runtime local --timeout 60s
}
agent refund-1
is_run passed 0 "one key for both attempts: one refund"
is "$(json "$receipt" 'r.operations.map(o => [o.idempotency, o.views.service, o.views.client].join(" ")).join(", ")')" \
	"first applied told-nothing, replay applied told-ok" "the second attempt is told of the first"
agent refund-2
is_run failed 1 "a key for each attempt: two"
is "$(failed_checks)" one-refund "and that is what failed"
done_testing
