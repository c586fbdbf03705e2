#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The same seed is the same run, in whatever order calls arrive; another one is not; and a receipt is enough to run again.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh
need_namespace

# series NAME ARGUMENT...: sets status, err, and series, the document.
series() {
	run_count=$((run_count + 1))
	series=$tmp/series-$run_count.json
	"$host" "$1" --json "${@:2}" >"$series" 2>"$tmp/err-$run_count"
	status=$?
	err=$(cat "$tmp/err-$run_count")
}
# shop FOLDER REPLY [MEMBERS] [CHECKS]: a shop that makes orders and lists them.
shop() {
	local checks=${4-'{ "id": "exit", "kind": "exit", "code": 0 }'}
	mkdir -p "$1"
	cat >"$1/world.json" <<-WORLD
		{ "agenttwin": "world/1", "name": "shop", "seed": 5, ${3-}
		  "files": [ "*.mjs" ], "env": { "SHOP_URL": "{{service.shop.url}}", "KEY": "{{secret.shop}}", "SEED": "{{seed}}" },
		  "services": [ { "name": "shop", "kind": "http", "hosts": [ "shop.internal" ],
		    "auth": { "scheme": "bearer", "accept": "{{secret.shop}}" }, "state": { "orders": [] },
		    "routes": [ { "id": "order", "match": { "method": "POST", "path": "/orders" },
		      "do": [ { "create": "orders", "as": "order" } ], "reply": { "status": 201, "body": $2 } } ] } ],
		  "workflow": { "command": [ "node", "a.mjs" ] },
		  "checks": [ $checks ] }
	WORLD
}
order='export const order = (body, headers = {}) => fetch(process.env.SHOP_URL + "/orders", { method: "POST",
	headers: { authorization: "Bearer " + process.env.KEY, "content-type": "application/json", ...headers }, body: JSON.stringify(body) }).then(r => r.json());'

# ---- calls that arrive in another order each time, each with a key of random bytes and with the run's own credential in it ----
shop "$tmp/parallel" '"{{order}}"'
echo "$order" >"$tmp/parallel/order.mjs"
cat >"$tmp/parallel/a.mjs" <<'JS'
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { order } from './order.mjs';
const ids = await Promise.all([...Array(12).keys()].map(async n => {
	await sleep(Math.random() * 40);
	return (await order({ n, key: process.env.KEY }, { 'idempotency-key': randomUUID() })).id;
}));
console.log(ids.join(' '));
JS
series run --repeat 4 "$tmp/parallel"
is "$status $(json "$series" '[r.runs.length, r.not_reproduced, r.exit_code]')" "0 [4,0,0]" "twelve calls in a random order: four runs are alike" || diag "$err"
is "$(json "$series" 'new Set(r.runs.map(x => x.fingerprint)).size')" 1 "one fingerprint"
is "$(json "$series" 'r.runs.map(x => x.reproduced)')" "[null,true,true,true]" "each is compared with the first"
like "$err" "reproduced: 4 runs with the fingerprint" "which is told"
first=$(json "$series" 'r.runs[0].receipt') last=$(json "$series" 'r.runs[3].receipt')
is "$(json "$first" 'r.outcome.stdout.tail')" "$(json "$last" 'r.outcome.stdout.tail')" "each call got the same id, whenever it came"
is "$(json "$last" 'r.run.reproduces.equal && r.run.reproduces.run')" "$(json "$first" r.run.id)" "the receipt names the run it is like"
is "$(json "$first" '[r.run.seed_from, r.run.reproduces]')" '["world",null]' "the first has none"
if command -v python3 >/dev/null; then
	ok "the summary is as its schema says" python3 tests/lib/schema.py docs/schema/series.schema.json "$series"
	ok "the receipt is as its schema says" python3 tests/lib/schema.py docs/schema/receipt.schema.json "$last"
fi

# ---- faults by chance: the same calls are hit, although they come in another order and repeat with their own random keys ----
mkdir "$tmp/chance"
cat >"$tmp/chance/world.json" <<'WORLD'
{ "agenttwin": "world/1", "name": "chance", "seed": 3, "files": [ "a.mjs" ], "env": { "SHOP_URL": "{{service.shop.url}}" },
  "services": [ { "name": "shop", "kind": "http", "hosts": [ "shop.internal" ], "tls": true, "state": { "orders": [] },
    "idempotency": { "on": [ "POST" ], "keep": "1h", "profile": "stripe" },
    "routes": [ { "id": "order", "match": { "method": "POST", "path": "/orders" }, "do": [ { "create": "orders", "as": "o" } ],
      "reply": { "status": 201, "body": "{{o}}" } } ] } ],
  "faults": [
    { "id": "lost", "class": "timeout-after-write", "on": { "service": "shop", "route": "order" }, "call": { "chance": 0.5 }, "phase": "after-effect", "how": { "end": "rst" }, "must_fire": false },
    { "id": "busy", "class": "server-error", "on": { "service": "shop", "route": "order" }, "call": { "chance": 0.4 }, "how": { "status": 503 }, "must_fire": false } ],
  "workflow": { "command": [ "node", "a.mjs" ] },
  "checks": [ { "id": "orders", "kind": "state", "service": "shop", "path": "/orders", "count": 10 } ] }
WORLD
cat >"$tmp/chance/a.mjs" <<'JS'
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
await Promise.all([...Array(10).keys()].map(async n => {
	const headers = { 'content-type': 'application/json', 'idempotency-key': randomUUID() };
	for (let ok = false; !ok;) {
		await sleep(Math.random() * 30);
		ok = await fetch(process.env.SHOP_URL + '/orders', { method: 'POST', headers, body: JSON.stringify({ n: n % 3 }) })
			.then(r => r.text().then(() => r.ok)).catch(() => false);
	}
}));
JS
series run --repeat 4 "$tmp/chance"
is "$status $(json "$series" '[r.runs.length, r.not_reproduced]')" "0 [4,0]" "faults by chance hit the same calls in four runs" || diag "$err"
hits() { json "$1" 'r.operations.map(o => o.fault && o.fault.id).filter(x => x).sort().join(" ")'; }
first=$(hits "$(json "$series" 'r.runs[0].receipt')")
like "$first" '^busy.* lost' "both of them"
series sweep --seeds 4..5 "$tmp/chance"
unlike "$(hits "$(json "$series" 'r.runs[0].receipt')") / $(hits "$(json "$series" 'r.runs[1].receipt')")" "^$first / $first\$" "another seed, other calls"
first=$(for f in "$tmp"/parallel/.agenttwin/receipts/*-*.json; do echo "$f"; break; done)

# ---- seeds ----
mkdir "$tmp/receipts"
series sweep --seeds 3 --receipt "$tmp/receipts" "$tmp/parallel"
is "$status $(json "$series" 'r.runs.map(x => x.seed)')" "0 [5,6,7]" "a sweep begins with the world's seed"
is "$(json "$series" 'new Set(r.runs.map(x => x.fingerprint)).size')" 3 "other seeds, other fingerprints"
is "$(json "$first" r.run.fingerprint)" "$(json "$series" 'r.runs[0].fingerprint')" "the world's own is that of its other runs"
is "$(for f in "$tmp"/receipts/*.json; do json "$f" 'r.outcome.stdout.tail'; done | tr ' ' '\n' | grep . | sort | uniq -d | wc -l)" 0 "no id occurs twice in all of them"
is "$(for f in "$tmp"/receipts/*.json; do json "$f" 'r.run.seed_from'; done | sort -u)" sweep "the receipts say where the seed is from"
like "$err" "3 runs: seeds 5-7" "the summary names the seeds"

shop "$tmp/odd" '"{{order}}"' '"sweep": { "seeds": 6, "stop_on": "failed" },'
echo 'process.exit(process.env.SEED === "7" ? 3 : 0);' >"$tmp/odd/a.mjs"
series run --sweep "$tmp/odd"
is "$status $(json "$series" 'r.runs.map(x => x.status)')" '1 ["passed","passed","failed"]' "a sweep of the world stops where it says"
like "$err" "not held: exit" "what did not hold is told"
like "$err" "failed +1 run: seed 7" "and the seed"
series sweep --seeds 6..8 "$tmp/odd"
is "$(json "$series" 'r.runs.map(x => x.seed)')" '[6,7]' "--seeds beats the world's, stop_on stays"

# ---- what is not reproduced is said ----
shop "$tmp/random" '"{{order}}"'
echo "$order" >"$tmp/random/order.mjs"
echo "import { order } from './order.mjs'; await order({ n: 1 }); await order({ n: Math.random() });" >"$tmp/random/a.mjs"
series run --repeat 2 "$tmp/random"
is "$status $(json "$series" '[r.not_reproduced, r.runs[1].status]')" '1 [1,"passed"]' "a workflow that draws at random is not reproduced"
like "$(json "$series" 'r.runs[1].difference')" 'shop: POST /orders \(order\), operation 1: the request.s body at /n: 0\.[0-9]+, now 0' "the first difference is told"
like "$err" "not reproduced: 1 of 1 runs differ" "and counted"

# ---- clocks ----
for mode in real fixed virtual; do
	clock='"clock": { "mode": "'$mode'", "start": "2026-01-31T12:00:00Z" },'
	shop "$tmp/$mode" '{ "at": "{{now}}" }' "$clock"
	echo "$order" >"$tmp/$mode/order.mjs"
	echo "import { order } from './order.mjs'; for (let n = 0; n < 3; n++) console.log((await order({ n })).at - 1769860800000);" >"$tmp/$mode/a.mjs"
	series run --repeat 2 "$tmp/$mode"
	at[${#at[@]}]="$status $(json "$(json "$series" 'r.runs[1].receipt')" 'r.outcome.stdout.tail.trim().split("\n").join(" ")')"
done
like "${at[0]}" '^1 [0-9]+ [0-9]+ [0-9]+$' "with a real clock the time is in the replies"
is "${at[1]}" "0 0 0 0" "a fixed one stands still"
is "${at[2]}" "0 0 1000 2000" "a virtual one goes on by calls"

# ---- from a receipt ----
run_world "$tmp/parallel" --seed 77 --timeout 20s
is "$status $(json "$receipt" '[r.run.seed, r.run.seed_from]')" '0 [77,"option"]' "a run with another seed"
stored=$tmp/parallel/.agenttwin/receipts/$(json "$receipt" r.run.id).json
again() { # ARGUMENT...: the command that the receipt gives, and more
	run_count=$((run_count + 1))
	err=$(eval "$(json "$stored" r.run.reproduce | sed "s|^agenttwin-host |\"\$host\" |")" '"$@"' 2>&1 >"$tmp/again.json")
	status=$?
}
again --json
is "$status" 0 "its command runs again"
like "$err" "reproduced: the fingerprint [0-9a-f]{12} is that of run" "and is told to be the same"
is "$(json "$tmp/again.json" '[r.run.seed, r.run.seed_from, r.run.reproduces.equal, r.runtime.limits.asked.run_ms]')" '[77,"receipt",true,20000]' "with the receipt's seed and time"
(cd / && "$host" run --reproduce "$stored" -q) >"$tmp/out" 2>&1
is "$?" 0 "from another folder too" || diag "$(cat "$tmp/out")"
again --repeat 2
is "$status" 0 "several times"
like "$err" "reproduced: 2 runs with the fingerprint" "each compared with the receipt"
again --runtime local
is "$status" 2 "another runtime is refused"

cp "$tmp/parallel/a.mjs" "$tmp/a.mjs"
echo '// changed' >>"$tmp/parallel/a.mjs"
echo '//' >"$tmp/parallel/b.mjs"
again
is "$status" 2 "with another file nothing runs"
like "$err" "a\.mjs is changed, b\.mjs is new" "the files are named"
rm "$tmp/parallel/b.mjs"
cp "$tmp/a.mjs" "$tmp/parallel/a.mjs"
sed -i.bak 's/"seed": 5/"seed": 6/' "$tmp/parallel/world.json"
again
is "$status" 2 "nor with another world"
like "$err" "world\.json: .*the world is not the receipt's" "which is named"
mv "$tmp/parallel/world.json.bak" "$tmp/parallel/world.json"
sed 's/"version": "v\{0,1\}[0-9]*\.[0-9.]*"/"version": "18.0.1"/' "$stored" >"$tmp/node.json"
"$host" run --reproduce "$tmp/node.json" "$tmp/parallel" >"$tmp/out" 2>&1
is "$?" 2 "nor with another Node"
like "$(cat "$tmp/out")" "this is Node [0-9.]+, there it was Node 18\.0\.1" "both are named"
"$host" run --reproduce "$tmp/parallel/world.json" >"$tmp/out" 2>&1
is "$?" 2 "a file that is no receipt"
run_world "$tmp/random"
stored=$tmp/random/.agenttwin/receipts/$(json "$receipt" r.run.id).json
again
is "$status" 1 "a run that cannot be had again is failed, although it passed"
like "$err" "not reproduced: fingerprint .*shop: POST /orders \(order\), operation 1: the request's body" "with the first difference"

# ---- a signal ----
second_started() { [ "$(grep -ls state-initial "$tmp"/slow/.agenttwin/receipts/*.events.jsonl | wc -l)" = 2 ]; }
shop "$tmp/slow" '"{{order}}"'
echo 'if (process.env.SEED > 5) setInterval(() => {}, 1000);' >"$tmp/slow/a.mjs"
: >"$tmp/slow.err"
env --default-signal=INT "$host" sweep --seeds 9 --json "$tmp/slow" >"$tmp/slow.json" 2>"$tmp/slow.err" &
pid=$!
stop_later "$pid"
wait_for 30 grep -q ' 1/9 ' "$tmp/slow.err"
wait_for 30 second_started
sleep 1
kill -INT "$pid"
wait "$pid"
is "$? $(json "$tmp/slow.json" 'r.runs.map(x => x.status)')" '130 ["passed","cancelled"]' "SIGINT ends the run that goes on, and the sweep" || diag "$(cat "$tmp/slow.err")"
is "$(find "$tmp/slow/.agenttwin/receipts" -name '*-*.json' | wc -l)" 2 "the receipts of both are kept"
is "$(json "$(json "$tmp/slow.json" 'r.runs[1].receipt')" 'r.cleanup.confirmed')" true "its sandbox is gone"
like "$(cat "$tmp/slow.err")" "shop: 2 of 9 runs" "the summary says how far it came"

# ---- what does not fit together ----
series run --repeat 2 --receipt "$tmp/nowhere" "$tmp/odd"
is "$status" 2 "several receipts want a folder"
series sweep "$tmp/parallel"
is "$status" 2 "a sweep wants seeds"
like "$err" "give --seeds 20" "and says how"
done_testing
