#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2317 # functions called by wait_for and trap
# The local backend: no sandbox, and it says so everywhere; it ends its own tree only.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh

mark=agenttwin-local-$$-$RANDOM
world "$tmp/plain" '"a.mjs"' '"node", "a.mjs"'
cat >"$tmp/plain/a.mjs" <<'E2'
const reply = await fetch(`${process.env.SHOP_URL}/items`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"id":"x"}' });
console.log(reply.status, process.env.SECRET_OF_HOST ?? 'clean');
console.error(process.env.HOME.endsWith('/home') && process.env.HOME.includes('/agenttwin-'));
E2
export SECRET_OF_HOST=leaked
run_world --runtime local "$tmp/plain"
is_run passed 0 "it runs"
is "$(json "$receipt" 'r.outcome.stdout.tail.trim()')" "201 clean" "with the twin, and without the host's environment"
is "$(json "$receipt" 'r.outcome.stderr.tail.trim()')" true "HOME is the run's own folder"
is "$(json "$receipt" 'r.boundary.kind')" none "the receipt says that there is no boundary"
is "$(json "$receipt" '[r.boundary.opening, r.boundary.closing]')" "[null,null]" "and no proof"
like "$err" 'not sandboxed|not a sandbox|no sandbox' "and stderr says it"
run_world templates/worlds/refund-agent --runtime local
is "$status" 2 "a world that asks for no-egress is refused"
like "$err" 'no-egress' "and told why"

# A program that has the workflow's port already is not the workflow.
cat >"$tmp/holder.mjs" <<'E2'
import { createServer } from 'node:http'
createServer((q, s) => s.end('not the workflow')).listen(0, process.argv[2], function () { console.log(this.address().port) })
E2
for address in 127.0.0.1 ::1 ::; do
	: >"$tmp/port"
	node "$tmp/holder.mjs" $address >"$tmp/port" 2>/dev/null &
	holder=$!
	stop_later $holder
	listens() { [ -s "$tmp/port" ]; }
	wait_for 20 listens
	port=$(cat "$tmp/port")
	world "$tmp/served" '"b.mjs"' '"node", "b.mjs"'
	printf 'setTimeout(() => {}, 20000)\n' >"$tmp/served/b.mjs"
	for part in "\"ready\": { \"port\": $port }" "\"trigger\": [ { \"id\": \"ask\", \"http\": { \"url\": \"http://localhost:$port/x\" } } ]"; do
		node -e '
			const fs = require("fs"), w = JSON.parse(fs.readFileSync(process.argv[1]))
			Object.assign(w.workflow, JSON.parse(`{${process.argv[2]}}`))
			fs.writeFileSync(process.argv[1].replace("world.json", "held.world.json"), JSON.stringify(w))' "$tmp/served/world.json" "$part"
		run_world --runtime local "$tmp/served/held.world.json"
		is_run error 4 "a port that another program has on $address: ${part%%:*}"
		like "$err" "port $port is taken by another program" "is named"
	done
	kill $holder
	wait $holder 2>/dev/null
done
cat >"$tmp/served/b.mjs" <<'E2'
import { createServer } from 'node:http'
createServer((q, s) => s.end('the workflow')).listen(process.env.PORT, '127.0.0.1')
E2
node -e '
	const fs = require("fs"), w = JSON.parse(fs.readFileSync(process.argv[1]))
	w.env = { ...w.env, PORT: process.argv[2] }
	w.workflow = { ...w.workflow, ready: { port: +process.argv[2] }, ends: { triggers: true }, trigger: [{ id: "ask", http: { method: "GET", url: `http://127.0.0.1:${process.argv[2]}/` } }] }
	w.checks = [{ id: "asked", kind: "calls", service: "trigger", route: "ask", exactly: 1 }]
	fs.writeFileSync(process.argv[1].replace("world.json", "free.world.json"), JSON.stringify(w))' "$tmp/served/world.json" "$port"
run_world --runtime local "$tmp/served/free.world.json"
is_run passed 0 "once it is free it is the workflow's"
run_world --runtime local "$tmp/served/free.world.json"
is_run passed 0 "also right after a run that had it"

# Someone else's process of the same user, and the tree of the run.
sleep 1000 &
bystander=$!
stop_later $bystander
world "$tmp/stubborn" '"stubborn.mjs"' "\"node\", \"stubborn.mjs\", \"$mark\"" '"limits": { "run_ms": 2500, "grace_ms": 300 },'
cp tests/integration/programs/stubborn.mjs "$tmp/stubborn/"
run_world --runtime local "$tmp/stubborn"
is_run timeout 5 "a run that does not end is ended"
ok "with its whole tree" wait_for 5 none_marked "$mark"
ok "and nothing of others" kill -0 $bystander
start_world --runtime local "$tmp/stubborn" --timeout 60s
runs() { [ "$(proc marked "$mark" | wc -l)" -ge 2 ]; }
wait_for 20 runs
kill -INT "$pid"
end_world
is_run cancelled 130 "SIGINT cancels"
ok "the tree is gone" wait_for 5 none_marked "$mark"
start_world --runtime local "$tmp/stubborn" --timeout 60s
wait_for 20 runs
kill -KILL "$pid"
wait "$pid" 2>/dev/null
ok "SIGKILL of the host: the tree is gone within 5 s" wait_for 5 none_marked "$mark"
done_testing
