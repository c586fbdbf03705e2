#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Disk, processes and descriptors are bounded, and everything that was started is gone afterwards.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh
. tests/escape/escape.sh
need_namespace
need_helper

hostile "$tmp/world" resources.mjs '"limits": { "disk_mb": 16, "pids": 64, "files": 256, "run_ms": 60000 },'
run_world "$tmp/world"
like "$(json "$receipt" 'r.status')" '^(passed|failed)$' "the run ends by itself" || explain
read_attempts
denied fill-/app fill-/tmp fill-/home/node fill-/dev/shm descriptors
made=$(json "$receipt" 'r.outcome.stdout.tail' | awk '/^bomb/ { print $2 }')
ok "the fork bomb was bounded (made ${made:-none})" test "${made:-100000}" -lt 300
is "$(json "$receipt" 'r.cleanup.confirmed')" true "cleanup confirmed"
is "$(proc marked './helper')" "" "nothing of it survives"

# Memory: one process, and many that share it; the kernel ends them, the receipt says so, the machine does not notice.
need_hostile
for megabytes in 900 '400 6'; do
	name=memory-${megabytes/ /x}
	world "$tmp/$name" '"hostile", "m.mjs"' "\"node\", \"m.mjs\", \"${megabytes% *}\", \"${megabytes#* }\"" '"limits": { "memory_mb": 256, "run_ms": 30000 },'
	cp "$tmp/hostile" "$tmp/$name/"
	cat >"$tmp/$name/m.mjs" <<'M'
import { spawn } from 'node:child_process';
const [, , megabytes, many] = process.argv;
const one = () => new Promise((resolve) => {
	let said = '';
	const child = spawn('./hostile', ['memory', megabytes]);
	child.stdout.on('data', (text) => { said += text; });
	child.on('close', () => resolve(said.includes('"got":true') ? 'got it all' : 'refused'));
});
console.log([...new Set(await Promise.all(Array.from({ length: many === megabytes ? 1 : Number(many) }, one)))].join(', '));
M
	run_world "$tmp/$name"
	is_run failed 1 "$name: the run fails" || explain
	like "$(json "$receipt" 'r.checks.filter(c => c.id === "within-limits")[0].actual')" 'memory limit of [0-9]+ MiB reached|memory_mb was reached' "$name: for its memory"
	unlike "$(json "$receipt" 'r.outcome.stdout.tail')" '^got it all$' "$name: not all that was asked for"
	is "$(json "$receipt" 'r.cleanup.confirmed')" true "$name: cleanup confirmed"
done
done_testing
