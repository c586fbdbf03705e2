#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# HTTPS by the usual host name: an authority made per run, clients of every sort, what is refused and how that is told.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh
need_namespace

# https ACT [MEMBERS] [CHECKS]
https() {
	mkdir -p "$tmp/w"
	cp tests/integration/programs/https.mjs "$tmp/w/"
	cp tests/data/other-ca.pem "$tmp/w/other.pem"
	cat >"$tmp/w/world.json" <<-WORLD
		{ "agenttwin": "world/1", "name": "https", "seed": 1, ${2-}
		  "files": [ "https.mjs", "other.pem" ],
		  "env": { "PAY_URL": "{{service.pay.url}}", "PAY_HOST": "{{service.pay.host}}", "PAY_PORT": "{{service.pay.port}}" },
		  "services": [
		    { "name": "pay", "kind": "http", "hosts": [ "api.pay.example", "files.pay.example" ], "tls": true,
		      "state": { "orders": [ { "id": "1" } ] }, "routes": [ { "resource": "orders", "path": "/orders" } ] },
		    { "name": "plain", "kind": "http", "hosts": [ "plain.internal" ], "state": { "orders": [] },
		      "routes": [ { "resource": "orders", "path": "/orders" } ] } ],
		  "workflow": { "command": [ "node", "https.mjs", $1 ] },
		  "checks": [ { "id": "exit", "kind": "exit", "code": 0 }, { "id": "no-egress", "kind": "no-egress" }${3-} ] }
	WORLD
	run_world "$tmp/w" --timeout 60s
}
said() { json "$receipt" 'r.outcome.stdout.tail' | grep -E "^$1 " | head -n 1 | cut -d' ' -f2-; }
difference() { json "$receipt" 'r.operations.filter(o => o.unmatched).map(o => o.nearest.difference).join("\n")'; }

# ---- Node's own clients ----
https '"clients"'
is_run passed 0 "clients over TLS"
is "$(said url)" https://api.pay.example "the url has the scheme and no port"
is "$(said fetch)" '[{"id":"1"}]' "fetch"
is "$(said https)" '{"id":"1"}' "node:https"
is "$(said second) $(said upper)" "200 200" "the service's second host, and a host in capitals"
is "$(said keepalive)" '[false,true,true,true]' "an agent keeps its connection"
is "$(said agent-session)" '[false,true,true]' "one that does not resumes its session"
is "$(said big)" '[201,true]' "two megabytes there and back"
is "$(said parallel)" '[200]' "50 at once"
is "$(said ECDHE-ECDSA-AES128-GCM-SHA256)" TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 "AES-128-GCM"
is "$(said ECDHE-ECDSA-AES256-GCM-SHA384)" TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 "AES-256-GCM"
is "$(said ECDHE-ECDSA-CHACHA20-POLY1305)" TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 "ChaCha20"
is "$(said first)" '["TLSv1.2","http/1.1",false]' "TLS 1.2, and HTTP/1.1 by ALPN, for a client that offers more"
is "$(said resumed)" true "a session is resumed by its id"
is "$(said lookup) $(said resolve)" '127.64.0.1 ["127.64.0.1"]' "dns.lookup and dns.resolve"
is "$(said certificate)" '["api.pay.example","DNS:api.pay.example, DNS:files.pay.example",false]' "one leaf names both hosts"
is "$(said stream)" 3 "requests in one record and in many"
is "$(said port80)" ECONNREFUSED "port 80 is closed"
is "$(said ca-mode)" 644 "the authority's certificate can be read"
for way in write append rename unlink chmod; do
	like "$(said ca-$way)" '^(EACCES|EPERM)$' "and not changed: $way"
done
is "$(json "$receipt" 'r.operations.every(o => o.service === "pay" || o.kind === "dns")')" true "all calls are the service's"
is "$(json "$receipt" 'r.bundle.variables.includes("NODE_EXTRA_CA_CERTS")')" true "the receipt lists the variable"
like "$(json "$receipt" 'r.runtime.ca_sha256')" '^[0-9a-f]{64}$' "and the authority's digest"
ok "the receipt is valid" python3 tests/lib/schema.py docs/schema/receipt.schema.json "$receipt"
one=$(json "$receipt" 'r.runtime.ca_sha256')

# ---- clients that do not trust it ----
https '"distrust"'
is_run passed 0 "clients that refuse the certificate"
like "$(said other-ca)" 'SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO' "with another authority Node does not call"
like "$(said no-ca)" 'SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO' "nor with none"
is "$(said wrong-name)" ERR_TLS_CERT_ALTNAME_INVALID "nor by another name"
is "$(said unverified)" 200 "one that does not verify does"
unlike "$(json "$receipt" 'r.runtime.ca_sha256')" "$one" "each run has an authority of its own"
print=$(json "$receipt" 'r.run.fingerprint')
https '"distrust"'
is "$(json "$receipt" 'r.run.fingerprint')" "$print" "which leaves the fingerprint of a run as it is"

# ---- openssl ----
if command -v openssl >/dev/null; then
	https '"openssl"'
	is_run passed 0 "openssl as the client"
	is "$(said no-sni)" "Verification: OK" "without SNI the leaf verifies, for the second host too"
	is "$(said new) $(said curve)" "New, TLSv1.2 Server Temp Key: X25519" "X25519 first"
	is "$(said P-256)" "Server Temp Key: ECDH, prime256v1" "P-256 for who knows no other"
	is "$(said reused)" "Reused, TLSv1.2" "-sess_out, -sess_in: resumed"
	is "$(said renegotiation)" "Secure Renegotiation IS supported" "the extension of secure renegotiation is answered"
	is "$(said fingerprint)" "$(json "$receipt" 'r.runtime.ca_sha256')" "the digest of the receipt is the fingerprint"
else
	skip "openssl as the client" "openssl is not installed"
fi

# ---- what cannot be understood ----
# refused ACT SAID-ERE TEXT-ERE NAME
refused() {
	https "\"bad\", \"$1\""
	is_run failed 1 "$4: fails the run"
	like "$(said "$1")" "$2" "$4: what the client sees"
	like "$(difference)" "$3" "$4: what the receipt says"
}
refused tls13 'EPROTO|ALERT' '^TLS: nothing in common; TLS 1.2 .*TLS 1.3 is not$' "TLS 1.3 alone"
refused rsa 'EPROTO|ALERT' '^TLS: nothing in common' "suites with RSA alone"
refused h2 'ALERT|alert|HTTP2' "^TLS: the client's ALPN does not offer http/1.1; HTTP/2 is not spoken here\$" "HTTP/2 alone"
refused plain 'HPE_|ECONNRESET' '^TLS: plain HTTP was sent to a port that speaks TLS' "plain HTTP"
refused ssl2 '^1503[0-9a-f]{2}000202' '^TLS: an SSL 2 hello' "SSL 2"
refused noise '^15030300020246$' '^TLS: the first bytes are no TLS hello$' "noise"
refused large '^1503010002020?[0-9a-f]+$' '^TLS: a malformed message' "a record that is too long"
is "$(json "$receipt" 'r.operations.filter(o => o.unmatched).every(o => o.service === "pay" && o.views.service === "not-reached" && o.views.client === "told-nothing" && o.route === null)')" true "as a call that the service was not reached by"
like "$err" "pay was sent no request: TLS: a malformed message" "standard error says it too"
if command -v openssl >/dev/null; then
	refused tls11 refused "^TLS: the client's newest version is older than TLS 1.2" "TLS 1.1"
	refused distrust 'true|refused' '^TLS: the client does not trust the run.s authority \(alert 48 unknown_ca\)' "a client that knows another authority"
fi

# ---- where it cannot be had ----
sed -i 's/, { "id": "no-egress", "kind": "no-egress" }//' "$tmp/w/world.json"
"$host" run --json --runtime local "$tmp/w" >"$tmp/receipt-local.json" 2>"$tmp/err-local"
is $? 2 "local refuses the world"
like "$(cat "$tmp/err-local")" 'TLS cannot be had on local' "and says why"
https '"clients"' '"env": { "NODE_EXTRA_CA_CERTS": "/x" },'
is "$status" 2 "a world may not name another authority"

# ---- a world without it ----
world "$tmp/plain" '"a.mjs"' '"node", "a.mjs"'
echo "import fs from 'node:fs'; console.log('has', process.env.NODE_EXTRA_CA_CERTS ?? 'none', fs.existsSync('/etc/agenttwin-ca.pem')); (await fetch(process.env.SHOP_URL + '/items')).status" >"$tmp/plain/a.mjs"
run_world "$tmp/plain"
is_run passed 0 "without tls"
is "$(said has)" "none false" "there is neither variable nor file"
is "$(json "$receipt" 'r.runtime.ca_sha256 === null')" true "nor a digest"
done_testing
