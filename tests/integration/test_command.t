#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154,SC2317 # variables of agenttwin.sh; functions called by wait_for
# `test PATH...`: which worlds it finds, what it says of them to people and to programs, and how it ends, whatever happens.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh
need_namespace
command -v python3 >/dev/null || skip_all "python3 is not installed"

# tests ARGUMENT...: in folder $at; sets status, err (stderr) and out (stdout).
at=$tmp/w
tests() {
	run_count=$((run_count + 1))
	(cd "$at" && exec env -u GITHUB_ACTIONS -u GITHUB_STEP_SUMMARY "$host" test "$@") >"$tmp/out-$run_count" 2>"$tmp/err-$run_count"
	status=$?
	out=$tmp/out-$run_count
	err=$(cat "$tmp/err-$run_count")
}
# start_tests ARGUMENT...: the same in the background: sets pid, out, err_file.
start_tests() {
	run_count=$((run_count + 1))
	out=$tmp/out-$run_count
	err_file=$tmp/err-$run_count
	: >"$err_file"
	(cd "$at" && exec env --default-signal=INT,TERM "$host" test --json "$@") >"$out" 2>"$err_file" &
	pid=$!
	stop_later "$pid"
}
is_exit() { is "$status" "$1" "$2" || diag "$err"; }
xml() { python3 - "$1" "$2" <<'PY'
import sys, xml.etree.ElementTree as E
t = E.parse(sys.argv[1]).getroot()
cases = t.findall('.//testcase')
has = lambda c, n: c.find(n) is not None
print(eval(sys.argv[2]))
PY
}
mark=agenttwin-test-$$-$RANDOM

mkdir -p "$tmp/w"
world "$tmp/w/good" '"a.mjs"' '"node", "a.mjs"'
echo 'await fetch(process.env.SHOP_URL + "/items");' >"$tmp/w/good/a.mjs"
world "$tmp/w/sub/bad" '"a.mjs"' '"node", "a.mjs"' '"sweep": { "seeds": "4..9" },' \
	'{ "id": "exit", "kind": "exit", "code": 0, "because": "a < b & ]]> \"c\" %0A::error::x ##[add-mask]y" }'
sed -i 's|"env": {|"env": { "SEED": "{{seed}}",|' "$tmp/w/sub/bad/world.json"
echo 'process.exit(process.env.SEED % 3 === 0 || process.env.SEED === "7" ? 3 : 0);' >"$tmp/w/sub/bad/a.mjs"
mkdir -p "$tmp/w/broken" "$tmp/w/node_modules/x" "$tmp/w/.git" "$tmp/w/empty"
echo '{ "agenttwin": "world/1", "nam": 3 }' >"$tmp/w/broken/odd.world.json"
cp -R "$tmp/w/good" "$tmp/w/node_modules/x/"
cp -R "$tmp/w/good" "$tmp/w/.git/"
ln -s "$tmp/w/sub" "$tmp/w/empty/link"
ln -s ../good/world.json "$tmp/w/empty/world.json"

# ---- what is found, and what is said ----
tests --junit j.xml --tap t.tap --ctrf c.json
is_exit 2 "the exit status is the worst: an invalid world"
is "$(wc -c <"$out")" 0 "nothing on stdout"
is "$(grep -c '^ *[1-7]/7 ' <<<"$err")" 7 "a line for each run of the worlds that are found, and none else" || diag "$err"
like "$err" '^failed sub/bad/world\.json with seeds 6-7, 9:$' "which seeds fail"
like "$err" '^    actual +exit code 3' "and why"
like "$err" '^  broken/odd\.world\.json:1:27: at /nam: unknown key "nam"' "the invalid world is a result of its own"
like "$err" '^3 worlds: 1 passed, 1 failed, 1 invalid$' "worlds in numbers"
like "$err" '^7 runs: 4 passed, 3 failed$' "runs in numbers"
like "$err" 'empty/world\.json is a symbolic link and is left out' "a link that looks like a world is told"
is "$(xml "$at/j.xml" '[t.tag, t.get("tests"), t.get("failures"), t.get("errors"), len(t), len(cases)]')" \
	"['testsuites', '43', '3', '1', 8, 43]" "JUnit: a suite a run, a case for it and for each check"
is "$(xml "$at/j.xml" '[sum(has(c, n) for c in cases) for n in ("failure", "error", "skipped")]')" "[3, 1, 0]" "its numbers are right"
like "$(xml "$at/j.xml" 'next(c.find("failure").text for c in cases if has(c, "failure"))')" 'a < b & \]\]> "c" %0A::error::x' "text arrives as it is"
is "$(xml "$at/j.xml" 'sorted(s.get("name") for s in t)[-1]')" "sub/bad/world.json seed 9" "names"
if command -v prove >/dev/null; then
	prove --ignore-exit -e cat "$at/t.tap" >"$tmp/prove" 2>&1
	like "$(cat "$tmp/prove")" 'Failed 4/8 subtests' "TAP: four of eight failed, for prove" || diag "$(cat "$tmp/prove")"
fi
is "$(grep -c '^not ok' "$at/t.tap") $(head -n 2 "$at/t.tap" | tr '\n' ' ')" "4 TAP version 14 1..8 " "TAP 14 with its plan"
is "$(json "$at/c.json" '[r.reportFormat, r.results.summary.tests, r.results.summary.passed, r.results.summary.failed, r.results.tests.length, r.results.tool.name]')" \
	'["CTRF",8,4,4,8,"agenttwin"]' "CTRF"
ls "$at" >"$tmp/ls"
unlike "$(ls -A "$at")" '^\.(j|t|c)\.' "no temporary file is left"

tests --json
is_exit 2 "with --json likewise"
ok "the report is as its schema says" python3 tests/lib/schema.py docs/schema/tests.schema.json "$out"
is "$(json "$out" '[r.agenttwin, r.exit_code, r.worlds.map(w => w.status).join(), r.worlds_counted.invalid, r.runs_counted.failed]')" \
	'["tests/1",2,"invalid,passed,failed",1,3]' "what it says"
is "$(json "$out" 'r.worlds[2].seeds')" '{"passed":"4-5, 8","failed":"6-7, 9"}' "seeds by outcome"
receipt=$(json "$out" 'r.worlds[1].runs[0].tries[0].receipt')
is "$(json "$receipt" 'r.status')" passed "each run has its receipt"
tests good ./good//world.json "$at/good" -q
is_exit 0 "three names for one world"
is "$(head -n 1 <<<"$err")" "1 world: 1 passed" "are one world"
tests empty
is_exit 2 "a folder without a world is an error"
like "$err" 'empty: there is no world in it' "which is said"
tests good nowhere
is_exit 2 "a path that is not there"
is "$(grep -c '1/1' <<<"$err")" 0 "before anything runs"
tests good/a.mjs
is_exit 2 "a file that is no world"
if [ "$(id -u)" != 0 ]; then
	mkdir "$at/part"
	cp -R "$at/good" "$at/part/"
	mkdir -m 000 "$at/part/locked"
	tests part
	is_exit 2 "a folder that cannot be searched may hide worlds: it is a result"
	like "$err" 'part/locked: the folder cannot be searched' "which is told"
	rmdir "$at/part/locked"
	rm -rf "$at/part"
fi

# ---- reports ----
echo '<old/>' >"$at/j.xml"
tests good -q --junit nowhere/j.xml
is_exit 2 "a report that cannot be written is an error"
is "$(grep -c world <<<"$err")" 0 "before anything runs"
tests good -q --junit good
is_exit 2 "nor over a folder"
tests good -q --junit - --tap -
is_exit 2 "two reports on stdout"
tests good -q --tap -
is "$status $(head -n 1 "$out")" "0 TAP version 14" "one on stdout"
tests good -q --junit >(cat >"$tmp/piped")
wait_for 10 test -s "$tmp/piped"
is "$status $(xml "$tmp/piped" 't.tag')" "0 testsuites" "one to a pipe"
tests good -q --ctrf /dev/full
is_exit 4 "a report that did not arrive turns 0 into 4"
ln -s real.xml "$at/link.xml"
echo old >"$at/real.xml"
tests good -q --junit link.xml
is "$status $(test -L "$at/link.xml" && xml "$at/real.xml" 't.tag')" "0 testsuites" "through a link the file that it means is replaced"

# ---- for GitHub ----
(cd "$at" && GITHUB_ACTIONS=true GITHUB_WORKSPACE=$tmp GITHUB_STEP_SUMMARY=$tmp/summary.md "$host" test -q) >"$tmp/out" 2>"$tmp/err"
line=$(grep -n '"id": "exit"' "$at/sub/bad/world.json" | cut -d: -f1)
like "$(cat "$tmp/err")" "^::error file=w/sub/bad/world\.json,line=$line,title=failed sub/bad/world\.json with seeds 6-7%2C 9::exit: a < b & .*%250A::error::x.*%0A" "an annotation at the line of the check, escaped"
like "$(cat "$tmp/err")" '^::error file=w/broken/odd\.world\.json,line=1,col=27,title=invalid world::' "one for the invalid world"
is "$(grep -c '^ *::' "$tmp/err") $(grep -v '^::error' "$tmp/err" | grep -c -F '##[')" "2 0" "and nothing else looks like a command"
like "$(cat "$tmp/summary.md")" '^\| failed \| sub/bad/world\.json seed 6 \|' "the table of the step"
(cd "$at" && GITHUB_ACTIONS=true GITHUB_STEP_SUMMARY=$tmp/no/such/file "$host" test -q good) >"$tmp/out" 2>"$tmp/err"
is "$?" 0 "a summary that cannot be written changes nothing"

# ---- which of them, how often ----
for i in 1 2 3; do
	tests --json --shard $i/3
	json "$out" 'r.worlds.map(w => w.path).join("\n")'
done | grep . | sort >"$tmp/shards"
is "$(tr '\n' ' ' <"$tmp/shards")" "broken/odd.world.json good/world.json sub/bad/world.json " "each world is in exactly one of three shards"
tests --shard 4/3
is_exit 2 "there is no fourth of three"
tests --fail-fast -j 1 sub good
is_exit 1 "--fail-fast"
like "$err" '^7 runs: 3 passed, 1 failed, 3 not run$' "the others do not run" || diag "$err"
sed -i 's/"seeds": "4..9"/"seeds": "4..9", "stop_on": "failed"/' "$at/sub/bad/world.json"
tests -j 1 sub good
like "$err" '^7 runs: 3 passed, 1 failed, 3 not run$' "a world that stops itself stops nobody else" || diag "$err"

world "$tmp/w/flaky" '"*"' '"node", "a.mjs"'
# Fails until a receipt of it is there.
cat >"$tmp/w/flaky/a.mjs" <<'JS'
import { readdirSync } from 'node:fs';
process.exit(readdirSync('.').includes('second') ? 0 : 1);
JS
(
	until ls "$tmp"/w/flaky/.agenttwin/receipts/*-*.json >/dev/null 2>&1; do sleep 0.02; done
	: >"$tmp/w/flaky/second"
) &
helper=$!
stop_later "$helper"
tests --retry 5 --json --junit j.xml --tap t.tap --ctrf c.json flaky
wait "$helper"
is_exit 1 "a run that passes only when it is tried again is no pass"
like "$err" '^1 world: 0 passed, 1 flaky$' "it is flaky"
is "$(json "$out" '[r.worlds[0].status, r.worlds[0].runs[0].status, r.worlds[0].runs[0].tries[0].status, r.worlds[0].runs[0].tries.at(-1).status]')" \
	'["flaky","flaky","failed","passed"]' "in JSON"
is "$(xml "$at/j.xml" '[(c.get("name"), c.find("failure").get("type")) for c in cases if has(c, "failure")]')" "[('run', 'flaky')]" "in JUnit"
like "$(cat "$at/t.tap")" '^not ok 1 - flaky/world\.json$' "in TAP"
is "$(json "$at/c.json" 'r.results.tests.map(t => [t.status, t.rawStatus, t.flaky, t.retries > 0])[0]')" '["failed","flaky",true,true]' "in CTRF"
ok "its report is as the schema says" python3 tests/lib/schema.py docs/schema/tests.schema.json "$out"
tests --retry 1 --json sub
is "$(json "$out" 'r.worlds[0].runs.filter(x => x.status === "failed").map(x => x.tries.length)[0]')" 2 "what fails again is failed"

world "$tmp/w/random" '"a.mjs"' '"node", "a.mjs"'
echo 'await fetch(process.env.SHOP_URL + "/items?" + Math.random());' >"$tmp/w/random/a.mjs"
tests --repeat 3 --json random good
is_exit 1 "--repeat: what is not the same each time has failed"
is "$(json "$out" 'r.worlds.map(w => [w.status, w.runs.map(x => x.tries[0].reproduced).join()])')" \
	'[["passed",",true,true"],["failed",",false,false"]]' "and is told"
mkdir "$tmp/receipts"
tests -q --receipt "$tmp/receipts" --seed 77 good
is "$(json "$tmp"/receipts/*-*.json '[r.run.seed, r.run.seed_from]')" '[77,"option"]' "--receipt and --seed"
tests -q --runtime local good
like "$err" '1 passed \(not sandboxed\)' "a pass without a sandbox says so"
tests --runtime microvm good
is_exit 2 "a runtime that is not there"

# ---- over a sweep, and outcomes ----
world "$tmp/w4/swept" '"a.mjs"' '"node", "a.mjs"' '"sweep": { "seeds": "1..4" },' \
	'{ "id": "exit", "kind": "exit", "code": [ 0, 3 ] }, { "id": "every", "kind": "exit", "code": 0, "over": "sweep" },
	{ "id": "some", "kind": "exit", "code": 3, "over": "sweep", "mode": "sometimes" }'
world "$tmp/w4/ends" '"a.mjs"' '"node", "a.mjs"' '"outcomes": [ { "id": "fine", "verdict": "passed", "when": [ "zero" ] }, { "id": "bad", "verdict": "failed", "when": [ "three" ] } ], "sweep": { "seeds": "2..3" },' \
	'{ "id": "zero", "kind": "exit", "code": 0 }, { "id": "three", "kind": "exit", "code": 3 }'
for w in swept ends; do
	sed -i 's|"env": {|"env": { "SEED": "{{seed}}",|' "$tmp/w4/$w/world.json"
	echo 'process.exit(process.env.SEED === "3" ? 3 : 0);' >"$tmp/w4/$w/a.mjs"
done
at=$tmp/w4
tests --json --junit j.xml --tap t.tap swept
is_exit 1 "every run passes, but not what must hold over the sweep"
like "$err" '^failed swept/world\.json over the sweep:$' "which is told"
like "$err" 'actual +held in 3 runs \(seeds 1-2, 4\), did not hold in 1 run \(seed 3\)' "with the seeds"
is "$(json "$out" '[r.runs_counted.passed, r.worlds[0].status, r.worlds[0].sweep.map(s => s.id + " " + s.held).join()]')" '[4,"failed","every false,some true"]' "in JSON"
is "$(xml "$at/j.xml" '[(s.get("name"), s.get("failures")) for s in t][-1]')" "('swept/world.json sweep', '1')" "in JUnit"
is "$(xml "$at/j.xml" 'sum(has(c, "skipped") for c in cases)')" 8 "in its runs they are skipped"
like "$(cat "$at/t.tap")" '^not ok 5 - swept/world\.json sweep$' "in TAP"
ok "the report is as its schema says" python3 tests/lib/schema.py docs/schema/tests.schema.json "$out"
sed -i 's/"seeds": "1..4"/"seeds": 1/' "$at/swept/world.json"
tests --json swept
is_exit 1 "of a sweep in which nothing happened sometimes does not hold"
tests --json --junit j.xml ends
is_exit 1 "an outcome that speaks against the run"
is "$(json "$out" 'r.worlds[0].runs.map(x => [x.status, x.tries[0].outcome].join())')" '["passed,fine","failed,bad"]' "outcomes are named"
is "$(xml "$at/j.xml" '[c.find("skipped").get("message") for c in cases if has(c, "skipped")][0]')" "evidence that did not hold; outcome: fine" "evidence that did not hold is skipped, with the outcome's name"
is "$(xml "$at/j.xml" '[c.get("name") for c in cases if has(c, "failure")]')" "['run']" "what failed is the run"

# ---- files that would enter ----
world "$tmp/w2/secret" '"*"' '"node", "a.mjs"'
echo '-----BEGIN PRIVATE KEY-----' >"$tmp/w2/secret/id_rsa"
cp -R "$tmp/w/good" "$tmp/w2/"
at=$tmp/w2
tests --json --junit j.xml
is_exit 2 "a refused file is the world's own trouble"
is "$(json "$out" 'r.worlds.map(w => w.status)')" '["passed","invalid"]' "the other world ran"
like "$(json "$out" 'r.worlds[1].problem.problem')" . "the problem is there"
ok "the report is as its schema says" python3 tests/lib/schema.py docs/schema/tests.schema.json "$out"

# ---- signals, at any moment ----
world "$tmp/w3/slow" '"slow.mjs"' "\"node\", \"slow.mjs\", \"$mark\"" '"sweep": { "seeds": 4 },'
cp tests/integration/programs/slow.mjs "$tmp/w3/slow/"
at=$tmp/w3
running() { [ "$(proc marked "$mark" | wc -w)" -ge 2 ]; }
start_tests -j 2 --junit j.xml
wait_for 30 running
kill -INT "$pid"
wait "$pid"
is "$?" 130 "SIGINT: 130"
is "$(json "$out" 'r.worlds[0].runs.map(x => x.status)')" '["cancelled","cancelled","not run","not run"]' "those that ran are cancelled, the others not run" || diag "$(cat "$err_file")"
is "$(xml "$at/j.xml" '[sum(has(c, n) for c in cases) for n in ("failure", "error", "skipped")]')" "[0, 2, 2]" "the report is there"
like "$(cat "$err_file")" '^1 world: 0 passed, 1 cancelled$' "so is the summary"
ok "nothing is left" none_marked "$mark"
ok "the report is as its schema says" python3 tests/lib/schema.py docs/schema/tests.schema.json "$out"
for n in 0.02 0.05 0.1 0.2 0.3 0.5; do
	start_tests -j 4
	sleep $n
	kill -TERM "$pid"
	wait "$pid"
	like "$? $(json "$out" 'r.exit_code' 2>/dev/null)" '^143 (143)?$' "SIGTERM after $n s"
	ok "nothing is left" none_marked "$mark"
done
start_tests -j 2
wait_for 30 running
kill -TERM "$pid"
kill -TERM "$pid"
wait "$pid"
is "$?" 143 "two signals at once"
ok "nothing is left" none_marked "$mark"

# ---- a process that dies ----
start_tests -j 2 --timeout 10s
wait_for 30 running
child=$(pgrep -P "$pid" | head -n 1)
kill -KILL "$child"
wait_for 20 grep -q 'error ' "$err_file"
is "$(grep -lx "host_pid $child" /run/agenttwin/leases/*.lease "${XDG_RUNTIME_DIR:-/run/user/$(id -u)}"/agenttwin/leases/*.lease 2>/dev/null)" "" "the sandbox of a killed run is gone with its lease"
like "$(cat "$err_file")" 'ended by signal 9 \(SIGKILL\) before it had a result; nothing of its sandbox is left' "it is an error, and the others go on"
kill -INT "$pid"
wait "$pid"
is "$(json "$out" 'r.worlds[0].runs.map(x => x.status).sort().join()' | tr ',' '\n' | grep -c error)" 1 "one error"
ok "nothing is left" none_marked "$mark"

start_tests -j 2
wait_for 30 running
proc tree "$pid" >"$tmp/tree"
kill -KILL "$pid"
wait "$pid" 2>/dev/null
ok "the program is killed: its runs end by themselves" wait_for 20 none_marked "$mark"
ok "and so do their processes" wait_for 20 none_alive "$tmp/tree"
done_testing
