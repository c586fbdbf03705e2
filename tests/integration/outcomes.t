#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Which end a run came to: outcomes, expressions of jq, and checks over a sweep.  Nothing that cannot be judged passes.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh
need_namespace

# shop FOLDER ITEMS EXIT CHECKS [OUTCOMES] [MEMBERS]: makes so many items, prints what it made, ends with that code.
shop() {
	world "$1" '"a.mjs"' "\"node\", \"a.mjs\", \"$2\", \"$3\"" "${5:+\"outcomes\": [ $5 ],} ${6-}" "$4"
	cat >"$1/a.mjs" <<-'JS'
		const [items, code] = process.argv.slice(2).map(Number);
		for (let n = 0; n < items; n++)
			await fetch(process.env.SHOP_URL + '/items', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ n }) });
		console.log(`made ${items}`);
		process.exitCode = code;
	JS
}
outcome() { printf '{ "id": "%s", "verdict": "%s", "when": [ %s ] }' "$1" "$2" "$3"; }
matched() { json "$receipt" '[r.outcome.matched, r.outcome.nearest, r.outcome.declared?.map(o => o.matches)]'; }
schema() { ! command -v python3 >/dev/null || ok "as its schema says" python3 tests/lib/schema.py docs/schema/receipt.schema.json "$receipt"; }

checks='{ "id": "exit", "kind": "exit", "code": 0 }, { "id": "one", "kind": "state", "service": "shop", "path": "/items", "count": 1 },
	{ "id": "quiet", "kind": "stderr", "equals": "" }'
ends="$(outcome made-one passed '"exit", "one"'), $(outcome gave-up passed '{ "jq": ".outcome.exit.code == 75" }, "jq: .state.final.shop.items == []"'),
	$(outcome twice failed '"jq: (.state.final.shop.items | length) > 1"')"

# ---- the table, with the real program --------------------------------------------------------------------------------------
shop "$tmp/table" 1 0 "$checks" "$ends"
run_world "$tmp/table"
is_run passed 0 "one outcome matches, it is wanted, what is required holds"
is "$(matched)" '["made-one",null,[true,false,false]]' "the receipt names it"
is "$(json "$receipt" 'r.why')" "outcome made-one: all 5 required checks held" "and the sentence"
like "$err" "passed +outcome made-one: all 5 required checks held" "so does the last line"
is "$(json "$receipt" 'r.checks.slice(0, 3).map(c => c.role)')" '["evidence","evidence","required"]' "what an outcome names is evidence"
schema
like "$("$host" receipt show "$receipt")" "matched +made-one" "receipt show says it"
stored=("$tmp"/table/.agenttwin/receipts/*.json)
if "$host" receipt verify "${stored[0]}" >"$tmp/verify" 2>&1; then pass "and it is intact"; else fail "and it is intact"; diag "$(cat "$tmp/verify")"; fi

shop "$tmp/table" 0 75 "$checks" "$ends"
run_world "$tmp/table"
is_run passed 0 "another wanted end passes, too, though checks of the first did not hold"
is "$(matched)" '["gave-up",null,[false,true,false]]' "it is named"
is "$(failed_checks)" "exit
one" "they are shown as not held"
unlike "$err" "expected" "but not explained as a failure"
schema

shop "$tmp/table" 2 0 "$checks" "$ends"
run_world "$tmp/table"
is_run failed 1 "an end that is not wanted fails"
is "$(matched)" '["twice",null,[false,false,true]]' "by its name"
is "$(json "$receipt" 'r.why')" "outcome twice, whose verdict is failed" "and the sentence"

shop "$tmp/table" 0 3 "$checks" "$ends"
run_world "$tmp/table"
is_run failed 1 "no outcome fails"
is "$(matched)" '[null,"gave-up",[false,false,false]]' "the nearest is named"
like "$err" "no outcome matched; the nearest is gave-up, with 1 of 2 conditions unmet: jq: .outcome.exit.code == 75" "with what is missing"
like "$err" "expected  jq: .outcome.exit.code == 75" "which is explained"
schema

shop "$tmp/table" 2 0 "$checks" "$(outcome a passed '"exit"'), $(outcome b passed '"jq: (.state.final.shop.items | length) == 2"')"
run_world "$tmp/table"
is_run failed 1 "two outcomes fail, though both are wanted"
is "$(json "$receipt" 'r.why')" "2 outcomes matched, where one must: a, b" "they are named"
is "$(matched)" '[null,null,[true,true]]' "none is the one"

shop "$tmp/table" 1 0 "$checks, { \"id\": \"hello\", \"kind\": \"stdout\", \"contains\": \"hello\" }" "$ends"
run_world "$tmp/table"
is_run failed 1 "a required check that does not hold fails a wanted end"
is "$(json "$receipt" '[r.why, r.outcome.matched]')" '["outcome made-one, but 1 of 6 required checks did not hold","made-one"]' "and the sentence says both"
like "$err" "  hello" "the check is explained"

# ---- nothing that cannot be judged passes ----------------------------------------------------------------------------------
for expr in 'def f: f; f' '"a" * 1000000000 | length > 1' '[range(1e9)] | true' '.state.final.shop.items' 'error("no")' '.operations[] | true, true' 'empty' 'def f: 1 + f; f'; do
	text=$(node -p 'JSON.stringify({ jq: process.argv[1] })' "$expr")
	shop "$tmp/unknown" 1 0 "$checks" "$(outcome good passed '"exit"'), $(outcome bad failed "$text")"
	run_world "$tmp/unknown"
	is_run failed 1 "an outcome that hangs on $expr cannot be told, so nothing passes"
	is "$(matched)" '[null,null,[true,null]]' "it may have been the other one"
	like "$err" "the outcome cannot be told: bad hangs on jq" "$(json "$receipt" 'r.outcome.declared[1].conditions[0].actual')"
done
schema
shop "$tmp/unknown" 1 0 "$checks" "$(outcome good passed '"exit"'), $(outcome bad failed '"jq: error", "jq: false"')"
run_world "$tmp/unknown"
is_run passed 0 "one condition that is not met is enough to know"

shop "$tmp/timeout" 1 0 "$checks" "$ends" '"limits": { "run_ms": 1000 },'
echo 'setTimeout(() => {}, 60000);' >>"$tmp/timeout/a.mjs"
run_world "$tmp/timeout"
is_run timeout 5 "a run that is not judged"
is "$(matched)" '[null,null,[null,null,null]]' "came to no outcome"
schema

# ---- checks of kind jq, and each -------------------------------------------------------------------------------------------
jq() { printf '{ "id": "%s", "kind": "jq", "expr": %s }' "$1" "$(node -p 'JSON.stringify(process.argv[1])' "$2")"; }
shop "$tmp/jq" 2 0 "$(jq whole '.agenttwin == "receipt/1" and (.operations | length) == 2 and .boundary.opening.proved and .cleanup.confirmed'),
	$(jq draft 'has("status") or has("why") or has("integrity") or (.outcome | has("matched")) or (.run | has("fingerprint")) | not'),
	$(jq others '.checks | map(.id) == ["exit", "faults-fired", "no-unmatched", "within-limits", "twins-answered"]'),
	{ \"id\": \"exit\", \"kind\": \"exit\", \"code\": 0 },
	{ \"id\": \"each\", \"kind\": \"calls\", \"service\": \"shop\", \"exactly\": 2, \"each\": \".reply.status == 201 and .request.body.json.n < 2\" }"
run_world "$tmp/jq"
is_run passed 0 "expressions see the receipt, without what rests on them" || diag "$(json "$receipt" 'r.checks.map(c => [c.id, c.held, c.actual])')"
schema
shop "$tmp/jq" 3 0 "$(jq two '(.operations | length) == 2'), $(jq count '.operations | length'), $(jq deep '.operations[0].request.body.json.n.x'),
	{ \"id\": \"exit\", \"kind\": \"exit\", \"code\": 0 },
	{ \"id\": \"each\", \"kind\": \"calls\", \"service\": \"shop\", \"each\": \".request.body.json.n < 2\" },
	{ \"id\": \"wrong\", \"kind\": \"calls\", \"service\": \"shop\", \"at_most\": 1, \"each\": \"true\" }"
run_world "$tmp/jq"
is_run failed 1 "those that are not true do not hold"
is "$(json "$receipt" 'r.checks.filter(c => !c.held).map(c => [c.id, c.actual.replace(/ with.*x"/, ""), c.unknown])')" '[["two","false",null],["count","3, which is neither true nor false",true],["deep","error: Cannot index number",true],["each","operation 2, one of 3, does not satisfy it",null],["wrong","3 calls",null]]' "and say what they gave" ||
	diag "$(json "$receipt" 'r.checks.filter(c => !c.held).map(c => [c.id, c.actual, c.unknown])')"
is "$(json "$receipt" 'r.checks.find(c => c.id == "each").rests_on[0]')" /operations/2 "with the operation"
schema
world "$tmp/many" '"a.mjs"' '"node", "a.mjs"' '"limits": { "run_ms": 120000 },' "$(jq any 'true'), { \"id\": \"exit\", \"kind\": \"exit\", \"code\": 0 }"
cat >"$tmp/many/a.mjs" <<'JS'
import { Agent, request } from 'node:http';
const agent = new Agent({ keepAlive: true, maxSockets: 16 });
const get = () => new Promise((done, fail) => request(process.env.SHOP_URL + '/items', { agent }, r => { r.resume(); r.on('end', done); }).on('error', fail).end());
let left = 20001;
await Promise.all([...Array(16)].map(async () => { while (left-- > 0) await get(); }));
JS
run_world "$tmp/many"
is_run failed 1 "over 20,000 operations nothing is evaluated"
is "$(json "$receipt" 'r.checks[0].actual')" "it was not evaluated: the run has more than 20000 operations" "which is said"
sed -i 's/20001/20000/' "$tmp/many/a.mjs"
run_world "$tmp/many"
is_run passed 0 "over 20,000 it is"

# ---- over a sweep ----------------------------------------------------------------------------------------------------------
# sweep MODE [SEEDS]: a check that holds in the runs of even seeds; sets status, err, series.
sweep() {
	world "$tmp/sweep" '"a.mjs"' '"node", "a.mjs"' '"sweep": { "seeds": 4 },' "{ \"id\": \"exit\", \"kind\": \"exit\", \"code\": [0, 4] },
		{ \"id\": \"even\", \"kind\": \"stdout\", \"contains\": \"even\", \"over\": \"sweep\", \"mode\": \"$1\", \"because\": \"so it is\" }"
	sed -i 's/"env": { /"env": { "SEED": "{{seed}}", /' "$tmp/sweep/world.json"
	cat >"$tmp/sweep/a.mjs" <<-'JS'
		const seed = Number(process.env.SEED);
		console.log(seed % 2 ? 'odd' : 'even');
		if (seed === 99) process.kill(process.ppid, 'SIGKILL') || setTimeout(() => {}, 60000);
	JS
	series=$tmp/series.json
	"$host" sweep --json --seeds "${2-1..4}" "$tmp/sweep" >"$series" 2>"$tmp/err"
	status=$?
	err=$(cat "$tmp/err")
}
sweep sometimes
is "$status $(json "$series" 'r.checks.map(c => [c.id, c.mode, c.held, c.runs_held, c.runs_not_held, c.runs_not_judged])')" '0 [["even","sometimes",true,2,2,0]]' "sometimes: in two of four runs" || diag "$err"
like "$err" "even holds in some run of the sweep: held in 2 runs \(seeds 2, 4\), did not hold in 2 runs \(seeds 1, 3\)" "which is told"
if command -v python3 >/dev/null; then
	ok "the summary is as its schema says" python3 tests/lib/schema.py docs/schema/series.schema.json "$series"
fi
sweep always
is "$status $(json "$series" '[r.exit_code, r.checks[0].held, r.runs.map(x => x.status)]')" '1 [1,false,["passed","passed","passed","passed"]]' "always: not in all, though each run passed"
like "$err" "actual +held in 2 runs \(seeds 2, 4\), did not hold in 2 runs \(seeds 1, 3\)" "which is explained"
sweep never
is "$status" 1 "never: it held in some"
sweep never 1..1
is "$status" 0 "never: in no run"
sweep sometimes 1..1
is "$status" 1 "sometimes: in none"
run_world "$tmp/sweep" --seed 1
is_run passed 0 "a single run is not judged by it"
is "$(json "$receipt" '(c => [c.role, c.held, c.held_here])(r.checks.find(c => c.id == "even"))')" '["sweep",null,false]' "and says so"
like "$err" "even is judged over a sweep; in this run it did not hold" "to people, too"
schema
sed -i 's/"code": \[0, 4\]/"code": 0/; s/"seeds": 4/"seeds": 4, "stop_on": "failed"/' "$tmp/sweep/world.json"
sed -i 's/seed === 99.*/seed === 2) process.exit(4);/' "$tmp/sweep/a.mjs"
"$host" sweep --json --seeds 1..4 "$tmp/sweep" >"$series" 2>"$tmp/err"
is "$? $(json "$series" 'r.checks.map(c => [c.held, c.runs_held, c.runs_not_judged, c.actual])')" '1 [[true,1,2,"held in 1 run (seed 2), did not hold in 1 run (seed 1), 2 runs did not take place"]]' "what held once holds sometimes"
sed -i 's/"mode": "sometimes"/"mode": "never"/; s/"contains": "even"/"contains": "neither"/' "$tmp/sweep/world.json"
"$host" sweep --json --seeds 1..4 "$tmp/sweep" >"$series" 2>"$tmp/err"
is "$(json "$series" 'r.checks.map(c => [c.held, c.unknown, c.runs_not_held, c.runs_not_judged])')" '[[false,true,2,2]]' "but of runs that were not made nobody knows that it never does"

done_testing
