#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Names: those of the world have an address, every other one is refused at once and recorded; no-egress rests on it.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh
need_namespace

egress=', { "id": "no-egress", "kind": "no-egress" }'
names() { # "ACT", "ACT" [MORE-CHECKS] [MEMBERS]
	mkdir -p "$tmp/w"
	cp tests/integration/programs/names.mjs "$tmp/w/"
	cat >"$tmp/w/world.json" <<-WORLD
		{ "agenttwin": "world/1", "name": "names", "seed": 1, ${3-}
		  "files": [ "names.mjs"$([ ! -e "$tmp/w/bound" ] || echo ', "bound"') ],
		  "env": { "SHOP_URL": "{{service.shop.url}}", "SHOP_KEY": "{{secret.shop}}" },
		  "services": [
		    { "name": "shop", "kind": "http", "hosts": [ "shop.internal", "other.shop.internal" ], "state": { "items": [] },
		      "auth": { "scheme": "bearer", "accept": "{{secret.shop}}" }, "routes": [ { "resource": "items", "path": "/items" } ] },
		    { "name": "dns", "kind": "http", "hosts": [ "dns.internal" ], "state": { "items": [] },
		      "routes": [ { "resource": "items", "path": "/items" } ] } ],
		  "workflow": { "command": [ "node", "names.mjs", $1 ] },
		  "checks": [ { "id": "exit", "kind": "exit", "code": 0 }${2-} ] }
	WORLD
	run_world "$tmp/w" --timeout 30s
}
said() { json "$receipt" 'r.outcome.stdout.tail' | grep -E "^$1 " | head -n 1 | cut -d' ' -f2-; }
refused() { json "$receipt" "(n => $1)(r.boundary.refused_names)"; }

# ---- hosts of the world ----
names '"known"' "$egress, "'{ "id": "calls", "kind": "calls", "service": "shop", "exactly": 1 }, { "id": "none", "kind": "never", "service": "dns" }'
is_run passed 0 "names of the world alone: no-egress holds"
is "$(said lookup)" '{"address":"127.64.0.1","family":4}' "dns.lookup finds a host"
is "$(said lookup-case)" '{"address":"127.64.0.1","family":4}' "in any case"
is "$(said resolve4)" '[{"address":"127.64.0.1","ttl":0}]' "dns.resolve4 gives its address, for no time"
is "$(said second)" '["127.64.0.1"]' "and that of its other name"
is "$(said dns)" '["127.64.0.2"]' "another service, another address"
is "$(said resolve6)" ENODATA "it has no IPv6 address"
is "$(said mx)" ENODATA "and nothing else"
is "$(said localhost)" '["127.0.0.1"]' "localhost is no name of others"
is "$(said fetch)" '[]' "and it can be called"
is "$(refused 'n.length') $(json "$receipt" 'r.boundary.refused.total')" "0 0" "nothing was refused"
is "$(json "$receipt" 'r.operations.filter(o => o.kind === "dns").every(o => o.service === "dns" && o.route === "answered" && o.reply.rcode === "NOERROR")')" true "each question is an operation of kind dns"
is "$(json "$receipt" 'r.checks.filter(c => c.id === "no-unmatched")[0].actual')" "0 of 1 operations without a route" "which is no call, not even of a service called dns"
ok "the receipt is valid" python3 tests/lib/schema.py docs/schema/receipt.schema.json "$receipt"

# ---- any other name ----
names '"unknown"' "$egress"
is_run failed 1 "an unknown name fails no-egress"
is "$(failed_checks)" no-egress "and that alone"
for way in resolve4 resolve6 txt secret; do is "$(said $way)" EREFUSED "$way: refused"; done
for way in lookup fetch; do is "$(said $way)" EAI_AGAIN "$way: an error"; done
like "$(json "$receipt" 'r.checks.filter(c => c.id === "no-egress")[0].actual')" '^asked for example.com \(A\), refused, and [0-9]+ more$' "the check says what was asked"
like "$err" 'asked for example.com \(A\), refused' "so does standard error"
list=$(refused 'n.map(x => x.name + " " + x.type).join("\n")')
for name in "example.com A" "example.com AAAA" "a.example.com TXT" "other.example A" "other.example AAAA" "unknown.example A" "{{secret.shop}}.evil.example A"; do
	ok "listed: $name" grep -qxF -e "$name" <<<"$list"
done
is "$(refused 'n.every(x => x.count >= 1 && r.run.started <= x.first && x.first <= x.last && x.last <= r.run.ended)')" true "with times within the run"
is "$(refused 'n.reduce((a, x) => a + x.count, 0) === r.boundary.refused.total')" true "and their sum is the total"
is "$(json "$receipt" 'r.boundary.denied_egress.length')" 0 "no packet had to be denied"
like "$("$host" receipt show "$receipt")" 'refused +asked for example\.com \(A\), 1 time' "receipt show names it"
ok "the receipt is valid" python3 tests/lib/schema.py docs/schema/receipt.schema.json "$receipt"
is "$(grep -ci 'at_test_[a-z0-9]' "$receipt")" 0 "the secret stands nowhere, in no case"
names '"unknown"'
is_run passed 0 "where no-egress is not asked for, a refused name fails nothing"
first=$(json "$receipt" r.run.fingerprint)
run_world "$tmp/w" --timeout 30s
is "$(json "$receipt" r.run.fingerprint)" "$first" "the fingerprint of two such runs is one"
names '"unknown", "exact"'
unlike "$(json "$receipt" r.run.fingerprint)" "$first" "and another where other names were asked"

# ---- packets that were denied, by name ----
if command -v cc >/dev/null && mkdir -p "$tmp/w" && cc -O1 -static -o "$tmp/w/bound" tests/integration/programs/bound.c 2>"$tmp/cc.err"; then
	names '"bound"' "$egress"
	is_run failed 1 "packets to addresses of the world, sent to another device, fail no-egress"
	rows=$(json "$receipt" 'r.boundary.denied_egress.map(d => [d.protocol, d.destination, d.port, d.name ?? "-", d.name_from ?? "-"].join(" ")).join("\n")')
	is "$(said tried)" 4 "all were tried"
	is "$rows" "udp 127.64.0.1 80 other.shop.internal dns
udp 127.64.0.2 80 dns.internal hosts
udp 127.0.0.1 7 localhost hosts
udp 203.0.113.9 443 - -" "a packet has the name that was asked for, else that of the hosts file, else none"
	like "$("$host" receipt show "$receipt")" 'denied +udp 127\.64\.0\.1 \(other\.shop\.internal\) port 80, 1 packet of the workflow' "receipt show names it"
	ok "the receipt is valid" python3 tests/lib/schema.py docs/schema/receipt.schema.json "$receipt"
else
	skip "packets that were denied, by name" "no C compiler that links statically: no socket can be bound to a device"
fi

# ---- numbers ----
names '"thousand"'
is_run passed 0 "1,000 look-ups at once"
is "$(said thousand)" 1000 "each is an error, none waits for a second"
is "$(json "$receipt" 'new Set(r.operations.map(o => o.request.name)).size')" 1000 "and each name stands in the receipt"
names '"exact", "many", "unread"' "$egress"
is "$(said exact) $(said many)" "300 1100" "every question is answered"
is "$(refused 'n.filter(x => x.name === "A.example").map(x => x.count).join()')" 300 "the same name in any case is counted as one, exactly"
is "$(refused 'n.length') $(json "$receipt" 'JSON.stringify(r.boundary.refused)')" '1000 {"total":1450,"unlisted":151}' "1,000 are listed, the rest is counted, also what nobody waited for"
names '"exact"' "$egress" '"limits": { "operations": 100 },'
is "$(said exact)" 300 "beyond the limit of operations names are still refused"
is "$(failed_checks | tr '\n' ' ')" "no-egress within-limits " "the run fails for it"
is "$(json "$receipt" 'r.operations.length + JSON.stringify(r.integrity.truncated)')" '100[{"what":"operations","kept":100,"lost":200}]' "and says how many are missing"
names '"malformed"' "$egress"
is_run passed 0 "what is no question is no name"
is "$(json "$receipt" 'r.outcome.stdout.tail' | sed -n 's/^malformed //p' | tr '\n' ' ')" \
	"null null null 123481810000000000000000 123481810000000000000000 123481810000000000000000 null 1234a8840000000000000000 null 123481810000000000000000 1234818000010000000000010473686f7008696e7465726e616c000001000100002904d0010000000000 " "it is malformed, or silence"
like "$(said afterwards)" '7f400001$' "and the next question is answered"
malformed='r.operations.filter(o => o.route === "malformed")'
is "$(json "$receipt" "$malformed"'.map(o => [o.request.problem, o.request.transport, o.request.count, o.request.name ?? "-", o.reply?.rcode ?? "-", o.views.client].join(" ")).join("\n")')" \
	"short udp 3 - - told-nothing
response udp 2 - - told-nothing
opcode udp 1 - NOTIMP told-error
long udp 1 - FORMERR told-error
format udp 3 - FORMERR told-error
version udp 1 - BADVERS told-error" "and an operation for each way says how often"
is "$(refused 'n.length')" 0 "none of which is a name"
is "$(json "$receipt" 'r.checks.filter(c => c.id === "no-unmatched")[0].actual')" "0 of 0 operations without a route" "or a call"
like "$("$host" receipt show "$receipt")" 'malformed \(short, udp\), 3 times -> no reply' "receipt show says so"
ok "the receipt is valid" python3 tests/lib/schema.py docs/schema/receipt.schema.json "$receipt"
first=$(json "$receipt" r.run.fingerprint)
names '"malformed", "malformed"' "$egress"
is "$(json "$receipt" "$malformed"'.map(o => o.request.count).join(" ")')" "6 4 2 2 6 2" "twice as often"
run_world "$tmp/w" --timeout 30s
second=$(json "$receipt" r.run.fingerprint)
names '"malformed"' "$egress"
is "$(json "$receipt" r.run.fingerprint) $([ "$first" = "$second" ] && echo same)" "$first " "one world, one fingerprint"
names '"smuggle"' "$egress"
is_run failed 1 "a name in a message that asks for none fails no-egress"
is "$(refused 'n.map(x => [x.name, x.type, x.count].join(" ")).join("\n")')" "left.evil.example A 2
response.evil.example A 1
update.evil.example SOA 1
two.evil.example TXT 1" "each is listed, however it was asked"
is "$(json "$receipt" "$malformed"'.map(o => [o.request.problem, o.request.name, o.request.count].join(" ")).join("\n")')" \
	"format left.evil.example 1
response response.evil.example 1
opcode update.evil.example 1
format two.evil.example 1" "and is an operation of its own"
ok "the receipt is valid" python3 tests/lib/schema.py docs/schema/receipt.schema.json "$receipt"
names '"malformed"' "$egress" '"limits": { "operations": 2 },'
is "$(failed_checks | tr '\n' ' ')" "no-egress within-limits " "beyond the limit of operations they are lost, and the run fails for it"
is "$(json "$receipt" 'r.operations.length + JSON.stringify(r.integrity.truncated)')" '2[{"what":"operations","kept":2,"lost":8}]' "with how many messages that were"

# ---- no stub ----
sed -i 's/"code": 0 }.*/"code": 0 } ] }/' "$tmp/w/world.json"
run_world --runtime local "$tmp/w" --timeout 30s
is "$(json "$receipt" 'JSON.stringify(r.boundary.refused_names) + r.operations.length')" "[]0" "on local there is none"
done_testing
