#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# run.sh [ROUNDS] - what a run costs, as ratios against plain `node` on the same script, measured in turns in this same run:
#   time from the start of `run` to the workflow's first instruction, and the whole run; peak memory of host and guest; sizes.
# Prints one "name value" line each; nothing here passes or fails.
set -eu
O=${O:-build}
case $O in /*) ;; *) O=$PWD/$O ;; esac
rounds=${1:-7}
work=$(mktemp -d "${TMPDIR:-/tmp}/agenttwin-bench.XXXXXX")
trap 'rm -rf "$work"' EXIT
cp tests/bench/first.mjs "$work/"
cat >"$work/world.json" <<'WORLD'
{ "agenttwin": "world/1", "name": "bench", "seed": 1, "files": [ "first.mjs" ],
  "services": [ { "name": "none", "kind": "http", "hosts": [ "none.internal" ],
    "routes": [ { "id": "ping", "match": { "method": "GET", "path": "/" }, "reply": { "status": 204 } } ] } ],
  "workflow": { "command": [ "node", "first.mjs" ] }, "checks": [ { "id": "exit", "kind": "exit", "code": 0 } ] }
WORLD
"$O/agenttwin-host" doctor --runtime namespace >/dev/null 2>&1 || {
	echo "bench: the namespace backend does not work here: agenttwin-host doctor says why" >&2
	exit 0
}
now() { date +%s%N; }
for _ in $(seq "$rounds"); do
	start=$(now)
	env -i PATH="$PATH" HOME="$work" node "$work/first.mjs" >"$work/plain.out" # as bare as inside
	end=$(now)
	echo "plain $start $(cat "$work/plain.out") $end"
	start=$(now)
	"$O/agenttwin-host" run --json "$work" >"$work/receipt.json" 2>"$work/err"
	end=$(now)
	echo "run $start $(node tests/lib/json.mjs "$work/receipt.json" 'r.outcome.stdout.tail.trim()') $end"
done >"$work/times"
python3 tests/lib/proc.py peak "$work/peak.json" "$O/agenttwin-host" run --json "$work" >"$work/receipt.json" 2>"$work/err"
cat >"$work/times.mjs" <<'SUM'
import { readFileSync, statSync } from 'node:fs';
const [, , times, peak, guest, host] = process.argv;
const median = (list) => list.sort((a, b) => a - b)[list.length >> 1];
const rows = readFileSync(times, 'utf8').trim().split('\n').map((l) => l.split(' '));
const of = (kind, from, to) => median(rows.filter((r) => r[0] === kind).map((r) => Number(BigInt(r[to]) - BigInt(r[from])) / 1e6));
const memory = JSON.parse(readFileSync(peak, 'utf8'));
const line = (name, value) => console.log(name.padEnd(44), value);
const [first, whole, plainFirst, plainWhole] = [of('run', 1, 2), of('run', 1, 3), of('plain', 1, 2), of('plain', 1, 3)];
line('rounds (medians below)', rows.length / 2);
line('first instruction, run / plain node', (first / plainFirst).toFixed(2));
line('whole run, run / plain node', (whole / plainWhole).toFixed(2));
line('ms: first instruction, run and plain', `${first.toFixed(0)} ${plainFirst.toFixed(0)}`);
line('ms: whole run, run and plain', `${whole.toFixed(0)} ${plainWhole.toFixed(0)}`);
line('KiB peak: host', memory.self);
for (const [name, kib] of Object.entries(memory).filter(([n]) => n !== 'self')) line(`KiB peak: ${name} (largest such process)`, kib);
line('bytes: guest, stripped', statSync(guest).size);
line('bytes: host', statSync(host).size);
SUM
node "$work/times.mjs" "$work/times" "$work/peak.json" "$O/agenttwin-guest" "$O/agenttwin-host"
