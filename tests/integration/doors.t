#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Ports that are closed for a while, and ports whose packets vanish: what clients see before, during and after, and what the
# receipt claims of it.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh

service() { # NAME
	printf '{ "name": "%s", "kind": "http", "hosts": [ "%s.internal" ], "state": { "rows": [] }, "routes": [ { "id": "%s.ok", "match": { "method": "GET", "path": "/ok" }, "reply": { "body": "ok" } }, { "resource": "rows", "path": "/rows" } ] }' \
		"$1" "$1" "$1"
}
door() { # ID SERVICE END LASTS MORE ROW: it begins once there is such a row
	printf '{ "id": "%s", "class": "blackhole", "on": { "service": "%s" }, "phase": "connect", "call": { "after": "count(state.rows, '"'is', '%s'"') > 0" }, "how": { "end": "%s" }, "lasts": %s }' \
		"$1" "$2" "${6-begin}" "$3" "$4${5-}"
}
mkdir "$tmp/w"
cp tests/integration/programs/doors.mjs "$tmp/w/"
end="{ \"until\": \"count(state.rows, 'is', 'end') > 0\" }"
may=', "must_fire": false'
cat >"$tmp/w/world.json" <<WORLD
{ "agenttwin": "world/1", "name": "doors", "seed": 1, "files": [ "doors.mjs" ],
  "env": { "SHUT": "{{service.shut.url}}", "TILL": "{{service.till.url}}", "MUTE": "{{service.mute.url}}", "MANY": "{{service.many.url}}" },
  "services": [ $(service shut), $(service till), $(service mute), $(service many) ],
  "faults": [ $(door shut shut refuse '{ "ms": 4000 }' "$may"), $(door till till refuse "$end" "$may"), $(door never mute drop '{ "ms": 5 }' "$may" never),
    $(door mute mute drop "$end"), $(door other mute refuse '{ "ms": 5 }' "$may" never), $(door many many refuse '"to the end"' "$may") ],
  "workflow": { "command": [ "node", "doors.mjs" ] },
  "checks": [ { "id": "exit", "kind": "exit", "code": 0 } ] }
WORLD
ok "the schema accepts the world" python3 tests/lib/schema.py docs/schema/world.schema.json "$tmp/w/world.json"
said() { json "$receipt" 'r.outcome.stdout.tail' | grep "^$1 " | cut -d' ' -f2-; }

outages() { # WHERE ARGUMENT...
	local where=$1
	shift
	run_world "$tmp/w" "$@" --timeout 60s
	is_run passed 0 "$where: every outage" || diag "$(json "$receipt" '[r.why, r.outcome?.stdout?.tail, r.outcome?.stderr?.tail].join("\n")')"
	is "$(said SHUT)" "200 201 ECONNREFUSED ECONNREFUSED fetch failed/ECONNREFUSED 200 open 200 200" "$where: refused for a time; who was connected is served"
	is "$(said TILL)" "200 201 ECONNREFUSED ECONNREFUSED fetch failed/ECONNREFUSED 200 201 open 200 200" "$where: refused until a row is there"
	is "$(said MUTE)" "200 201 silence fetch failed/UND_ERR_CONNECT_TIMEOUT 200 201 open 200" "$where: packets vanish; they get through once it is over"
	is "$(said MANY)" "201 50 ECONNREFUSED" "$where: nobody who had connected is reset"
	is "$(json "$receipt" 'r.faults.filter(f => f.fired).map(f => f.id).join()')" mute "$where: dropped packets are seen, refused ones are not claimed"
	is "$(json "$receipt" "r.operations.filter(o => o.fault).map(o => [o.kind, o.fault.id, o.fault.phase, o.fault.end, o.views.service, o.views.client].join(' ')).join(', ')")" \
		"tcp mute connect drop not-reached told-nothing" "$where: one operation says so"
	ok "$where: the receipt is valid" python3 tests/lib/schema.py docs/schema/receipt.schema.json "$receipt"
}
outages local --runtime local
if "$host" doctor --runtime namespace >/dev/null 2>&1; then
	outages namespace --runtime namespace
else
	[ -z "${AGENTTWIN_REQUIRE-}" ] || bail_out "the namespace backend does not work here"
	skip "outages in a sandbox" "the namespace backend does not work here"
fi
done_testing
