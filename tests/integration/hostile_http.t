#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A workflow that tries to wear the twins out: a thousand connections that never finish, endless bodies, headers and chunk extensions,
# shapes that make two servers read two requests, floods in a pipeline.  Others are answered all the same, memory stays within
# its bound, and the receipt says what happened.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh
need_namespace
mkdir "$tmp/w"
cp tests/integration/programs/flood_http.mjs "$tmp/w/"
cat >"$tmp/w/world.json" <<'WORLD'
{ "agenttwin": "world/1", "name": "hostile-http", "seed": 1, "limits": { "run_ms": 60000 },
  "files": [ "flood_http.mjs" ],
  "services": [ { "name": "api", "kind": "http", "hosts": [ "api.internal" ],
    "routes": [ { "id": "ok", "match": { "method": "GET", "path": "/ok" }, "reply": { "status": 200, "body": { "ok": true } } },
                { "id": "echo", "match": { "method": "POST", "path": "/echo" }, "reply": { "status": 200, "body": { "ok": true } } } ] } ],
  "workflow": { "command": [ "node", "flood_http.mjs" ] },
  "checks": [ { "id": "exit", "kind": "exit", "code": 0 }, { "id": "no-egress", "kind": "no-egress" } ] }
WORLD
receipt=$tmp/receipt.json
proc peak "$tmp/peak.json" "$host" run --json "$tmp/w" >"$receipt" 2>"$tmp/err"
is "$(json "$receipt" 'r.status')" failed "the run fails" || diag "$(tail -n 5 "$tmp/err")"
is "$(failed_checks)" no-unmatched "for the calls that nobody could read, and nothing else"
said() { json "$receipt" 'r.outcome.stdout.tail' | sed -n "s/^$1: //p"; }
is "$(said 'slowloris, 1000 connections')" 200 "beside a thousand connections that never finish another is answered"
is "$(said 'gibibyte body')" "HTTP/1.1 413 Content Too Large" "a body of 1 GiB"
is "$(said 'gibibyte in chunks')" "HTTP/1.1 413 Content Too Large" "the same in chunks"
is "$(said '100000 headers')" "HTTP/1.1 431 Request Header Fields Too Large" "100,000 header fields"
for shape in 'endless chunk extension' 'length and chunks' 'two lengths' 'folded header' 'NUL in a name' 'no HTTP'; do
	is "$(said "$shape")" "HTTP/1.1 400 Bad Request" "$shape"
done
is "$(said pipelined)" "20000 answered" "20,000 requests in a pipeline"
is "$(said afterwards)" 200 "and after all of it"
is "$(json "$receipt" 'r.operations.filter(o => o.route === null && o.reply.status >= 400).length')" 9 "each refusal is an operation, with its reason"
is "$(json "$receipt" 'r.operations.every(o => o.route !== null || o.nearest.difference !== "")')" true "none is without one"
is "$(json "$receipt" 'r.operations.filter(o => o.route === "ok").length')" 20002 "each of the others too"
is "$(json "$receipt" 'r.operations.filter(o => o.views.service === "not-reached" && o.nearest.difference === "the connection ended inside the request").length')" 1000 \
	"and each connection that never finished, as that"
peak=$(json "$tmp/peak.json" 'r["memfd:agenttwin"]')
ok "the largest process of the guest had at most 320 MiB, the bound of bodies and replies with all else ($peak KiB)" test "$peak" -le 327680
done_testing
