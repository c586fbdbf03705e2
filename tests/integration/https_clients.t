#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# HTTP clients and SDKs of npm, unmodified, at the host names that are built into them.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh
need_namespace
command -v npm >/dev/null || skip_all "npm is not installed"
folder=tests/integration/clients
make --no-print-directory "O=$O_relative" "$O_relative/clients.stamp" >"$tmp/npm" 2>&1 || {
	diag "$(tail -n 5 "$tmp/npm")"
	skip_all "npm could not install the packages (is a registry reachable?)"
}
mkdir -p "$tmp/w"
cp -R tests/integration/programs/https_clients.mjs $folder/node_modules "$tmp/w/"
cat >"$tmp/w/world.json" <<'WORLD'
{ "agenttwin": "world/1", "name": "https-clients", "seed": 1,
  "files": [ "https_clients.mjs", "node_modules/**" ],
  "env": { "STRIPE_KEY": "{{secret.stripe}}" },
  "services": [
    { "name": "stripe", "kind": "http", "hosts": [ "api.stripe.com" ], "tls": true, "auth": { "scheme": "bearer", "accept": "{{secret.stripe}}" },
      "state": { "customers": [] }, "routes": [ { "resource": "customers", "path": "/v1/customers" } ] },
    { "name": "github", "kind": "http", "hosts": [ "api.github.com" ], "tls": true,
      "routes": [ { "id": "user", "match": { "method": "GET", "path": "/users/{name}" }, "reply": { "status": 200, "body": { "login": "{{request.path.name}}" } } } ] },
    { "name": "openai", "kind": "http", "hosts": [ "api.openai.com" ], "tls": true,
      "routes": [ { "id": "chat", "match": { "method": "POST", "path": "/v1/chat/completions" }, "reply": { "status": 200, "body":
        { "id": "c1", "object": "chat.completion", "choices": [ { "index": 0, "message": { "role": "assistant", "content": "hello" }, "finish_reason": "stop" } ] } } } ] },
    { "name": "anthropic", "kind": "http", "hosts": [ "api.anthropic.com" ], "tls": true,
      "routes": [ { "id": "messages", "match": { "method": "POST", "path": "/v1/messages" }, "reply": { "status": 200, "body":
        { "id": "m1", "type": "message", "role": "assistant", "content": [ { "type": "text", "text": "hello" } ] } } } ] },
    { "name": "slack", "kind": "http", "hosts": [ "slack.com" ], "tls": true,
      "routes": [ { "id": "post", "match": { "method": "POST", "path": "/api/chat.postMessage" }, "reply": { "status": 200, "body": { "ok": true } } } ] } ],
  "workflow": { "command": [ "node", "https_clients.mjs" ] },
  "checks": [ { "id": "exit", "kind": "exit", "code": 0 }, { "id": "no-egress", "kind": "no-egress" } ] }
WORLD
run_world "$tmp/w" --timeout 60s
is_run passed 0 "all of them in one run, and nothing tried to get out"
said() { json "$receipt" 'r.outcome.stdout.tail' | grep -E "^$1 " | head -n 1 | cut -d' ' -f2-; }
for client in undici undici-h2 axios got got-h2 node-fetch octokit; do is "$(said $client)" ada "$client"; done
is "$(said stripe)" Ada "stripe"
for client in openai anthropic; do is "$(said $client)" hello "$client"; done
is "$(said slack)" true "slack"
done_testing
