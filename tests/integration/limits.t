#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2317 # functions called by trap
# Every limit has its own outcome and sentence; what cannot be enforced is said; no control group is left.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh
need_namespace

by_cgroup=$("$host" doctor --runtime namespace 2>/dev/null | grep -c 'ok     limits: ')
has_none() { [ -z "$(find /sys/fs/cgroup -maxdepth 12 -type d -name "agenttwin-$1" 2>/dev/null)" ]; }
gone() { # NAME: the last run's groups
	is "$(json "$receipt" 'r.cleanup.confirmed')" true "$1: cleanup confirmed"
	ok "$1: no control group is left" wait_for 1 has_none "$(json "$receipt" r.run.id)"
}
within() { json "$receipt" 'r.checks.find(c => c.id === "within-limits").actual'; }

world "$tmp/memory" '"a.mjs"' '"node", "a.mjs", "500"' '"limits": { "memory_mb": 64, "disk_mb": 16, "output_bytes": 1000000 },'
cat >"$tmp/memory/a.mjs" <<'A'
const all = [];
for (let i = 0; i < +process.argv[2]; i++) all.push(Buffer.alloc(1 << 20, 1));
console.log(all.length);
A
cp -R "$tmp/memory" "$tmp/below"
cp -R "$tmp/memory" "$tmp/child"
sed -i 's/"500"/"60"/; s/"memory_mb": 64/"memory_mb": 160/' "$tmp/below/world.json"
sed -i 's|"node", "a.mjs", "500"|"/bin/sh", "-c", "node a.mjs 500; exit 0"|' "$tmp/child/world.json"
# The twins need more than there is before the workflow starts.
mkdir "$tmp/twins"
python3 - "$tmp/memory/world.json" "$tmp/twins/world.json" <<'P'
import json, sys
world = json.load(open(sys.argv[1]))
world["limits"] = {"memory_mb": 32, "disk_mb": 1, "output_bytes": 4096}
world["services"][0]["state"] = {"items": [{"id": "1", "list": [1] * 480000}]}
world["workflow"] = {"command": ["node", "a.mjs", "0"]}
json.dump(world, open(sys.argv[2], "w"), separators=(",", ":"))
P
cp "$tmp/memory/a.mjs" "$tmp/twins/"
if [ "$by_cgroup" = 1 ]; then
	run_world "$tmp/memory"
	is_run failed 1 "more memory than the world allows"
	is "$(json "$receipt" '[r.outcome.exit.oom, r.outcome.exit.signal, r.outcome.exit.ended_by].join(" ")')" "true 9 itself" "oom"
	like "$(json "$receipt" 'r.why')" 'memory limit of 81 MiB reached: the workflow was killed' "why"
	like "$(failed_checks)" '^within-limits$' "within-limits"
	like "$(json "$receipt" 'r.runtime.limits.enforced')" 'pids by cgroup v[12] \(264\); memory by cgroup v[12] \(81 MiB' "what was enforced"
	is "$(json "$receipt" 'r.runtime.limits.reached.oom_kills > 0')" true "counted"
	gone memory
	run_world "$tmp/child"
	is_run failed 1 "a child of the workflow is killed, the workflow says 0"
	is "$(json "$receipt" '[r.outcome.exit.code, r.outcome.exit.oom].join(" ")')" "0 false" "the workflow itself was not killed"
	like "$(within)" 'memory limit of 81 MiB reached: a process of the run was killed' "within-limits says so"
	gone child
	run_world "$tmp/twins"
	is_run error 4 "the twins need more than there is"
	like "$(json "$receipt" 'r.why')" '^memory limit of [0-9]+ MiB reached: ' "why: the memory, not what followed"
	gone twins
else
	skip "memory" "no control group can be made here: agenttwin-host doctor says why"
fi
run_world "$tmp/below"
is_run passed 0 "less memory than the world allows"
is "$(within)" "no limit was reached" "no limit was reached"
gone below

world "$tmp/pids" '"a.mjs"' '"node", "a.mjs", "60"' '"limits": { "pids": 40 },'
cat >"$tmp/pids/a.mjs" <<'A'
import { spawn } from 'node:child_process';
let made = 0, refused = 0;
const all = [];
for (let i = 0; i < +process.argv[2]; i++) {
  const child = spawn('/bin/sleep', ['600'], { stdio: 'ignore' });
  child.on('error', () => {});
  if (child.pid) { made++; all.push(child); } else refused++;
}
for (const child of all) child.kill('SIGKILL');
console.log(`made ${made} refused ${refused}`);
A
cp -R "$tmp/pids" "$tmp/few"
sed -i 's/"60"/"20"/' "$tmp/few/world.json"
run_world "$tmp/pids"
made=$(json "$receipt" 'r.outcome.stdout.tail' | sed -n 's/^made \([0-9]*\) refused [1-9].*/\1/p')
ok "at most 40 processes beside a few of ours (made ${made:-none})" test "${made:-100}" -le 48
if [ "$by_cgroup" = 1 ]; then
	is_run failed 1 "the process limit was hit"
	is "$(failed_checks)" within-limits "by within-limits alone"
	like "$(json "$receipt" 'r.why')" 'process limit of 40 reached: [0-9]+ not started' "why"
	is "$(json "$receipt" 'r.runtime.limits.reached.pids_refused > 0')" true "counted"
else
	skip "the process limit" "only a control group counts what it refuses"
fi
gone pids
run_world "$tmp/few"
is_run passed 0 "fewer processes than the world allows"
gone few

# The processor: the group's own file says what was set, read while the workflow runs.
world "$tmp/cpu" '"a.mjs"' '"node", "a.mjs", "40"' '"limits": { "cpus": 0.75 },'
printf '%s\n' 'import fs from "node:fs"; fs.writeSync(1, "up\n"); setTimeout(() => {}, 120000); process.on("SIGUSR2", () => process.exit(0));' >"$tmp/cpu/a.mjs"
cp -R "$tmp/cpu" "$tmp/free"
sed -i 's/"cpus": 0.75/"pids": 64/' "$tmp/free/world.json"
printf '%s\n' '' >"$tmp/free/a.mjs"
by_cpu=$("$host" doctor --runtime namespace 2>/dev/null | grep -c '; cpu by cgroup v')
group_of() { # PID: of the controller cpu, as the machine names it; nothing until it is there
	local n=$1 p
	for p in $(proc tree "$n" 2>/dev/null | cut -d: -f1); do
		sed -nE 's/^[0-9]+:([^:]*,)?cpu(,[^:]*)?:(.*agenttwin-[0-9a-f-]+)$/v1 \3/p; s/^0::(.*agenttwin-[0-9a-f-]+)$/v2 \1/p' "/proc/$p/cgroup" 2>/dev/null
	done | sort -u | head -n 1
}
found_group() { set -- "$(group_of "$pid")" && [ -n "$1" ] && group=$1; }
if [ "$by_cpu" = 1 ]; then
	start_world "$tmp/cpu" --timeout 60s
	ok "the sandbox is in a group of the controller cpu" wait_for 20 found_group
	dir=$(find /sys/fs/cgroup -maxdepth 12 -type d -path "*${group#* }" \( -exec test -e '{}/cpu.max' \; -o -exec test -e '{}/cpu.cfs_quota_us' \; \) -print 2>/dev/null | head -n 1)
	case $group in
	v2*) is "$(cat "$dir/cpu.max")" "75000 100000" "cpu.max" ;;
	*) is "$(cat "$dir/cpu.cfs_quota_us" "$dir/cpu.cfs_period_us" | tr '\n' ' ')" "75000 100000 " "cpu.cfs_quota_us and cpu.cfs_period_us" ;;
	esac
	kill -INT "$pid"
	end_world
	is "$status $(json "$receipt" r.status)" "130 cancelled" "ended by us" || explain
	is "$(json "$receipt" r.runtime.limits.asked.cpu_milli)" 750 "the receipt says what was asked"
	like "$(json "$receipt" r.runtime.limits.enforced)" '; cpu by cgroup v[12] \(0\.750 processors\)$' "and what enforced it"
	gone cpu
else
	skip "the processor" "no control group with the controller cpu can be made here"
fi
run_world "$tmp/free"
like "$(json "$receipt" r.runtime.limits.enforced)" '; cpu not asked$' "no key, no limit"
is "$(json "$receipt" r.runtime.limits.asked.cpu_milli)" "" "nor asked"

world "$tmp/size" '"a.mjs"' '"/usr/bin/truncate", "-s", "8G", "big"'
touch "$tmp/size/a.mjs"
run_world "$tmp/size"
is_run failed 1 "a file beyond the file size limit"
like "$(json "$receipt" 'r.why')" 'file size limit reached: .*SIGXFSZ' "why"
world "$tmp/output" '"a.mjs"' '"node", "a.mjs"' '"limits": { "output_bytes": 100000 },'
printf '%s\n' 'for (;;) console.log("x".repeat(1000));' >"$tmp/output/a.mjs"
run_world "$tmp/output"
is_run failed 1 "output without end"
like "$(json "$receipt" 'r.why')" 'output limit \(output_bytes\) reached' "why"
world "$tmp/clock" '"a.mjs"' '"node", "a.mjs"'
printf '%s\n' 'setInterval(() => {}, 1000);' >"$tmp/clock/a.mjs"
run_world "$tmp/clock" --timeout 1s
is_run timeout 5 "time without end"
like "$(json "$receipt" 'r.why')" 'did not end within 1 s' "why"
gone clock

# Too few open files for ourselves: raised where that is allowed, else said before anything is made.
receipt=$tmp/files.json
(ulimit -Sn 64; exec "$host" run --json "$tmp/free") >"$receipt" 2>"$tmp/err"
status=$? err=$(cat "$tmp/err")
is_run passed 0 "a low soft limit on open files is raised"
err=$( (ulimit -n 64; exec "$host" run "$tmp/free") 2>&1 >/dev/null)
is "$?" 4 "a low hard limit: exit 4"
like "$err" 'only 64 files may be open at once, a run needs 512' "and why"

# As an ordinary user whose control groups are not delegated.
user=atwin-l$$
remove_user() {
	userdel "$user" 2>/dev/null
	tap_end
}
if [ "$(id -u)" -eq 0 ] && command -v useradd >/dev/null && command -v newuidmap >/dev/null; then
	trap remove_user EXIT
	mkdir "$tmp/home"
	useradd --no-create-home --home-dir "$tmp/home" --shell /bin/sh "$user" || bail_out "useradd failed"
	first=$((900000000 + $$ % 1000 * 65536))
	usermod --add-subuids $first-$((first + 65535)) --add-subgids $first-$((first + 65535)) "$user"
	cp "$host" "$tmp/agenttwin-host"
	cp -R "$tmp/below" "$tmp/home/world"
	chown -R "$user": "$tmp/home"
	as_user() { (cd / && setpriv --reuid "$user" --regid "$user" --init-groups env -i HOME="$tmp/home" USER="$user" PATH="$PATH" TMPDIR=/tmp "$@"); }
	receipt=$tmp/user.json
	as_user "$tmp/agenttwin-host" run --json "$tmp/home/world" >"$receipt" 2>"$tmp/err"
	status=$? err=$(cat "$tmp/err")
	is_run passed 0 "an ordinary user without delegation"
	enforced=$(json "$receipt" 'r.runtime.limits.enforced')
	like "$enforced" 'pids by rlimit in the guest, not by a cgroup \(.+\); memory not enforced \(.+\)' "the receipt says what was not enforced"
	is "$(json "$receipt" 'JSON.stringify(r.runtime.limits.reached)')" '{"oom_kills":null,"pids_refused":null}' "nobody counted"
	unlike "$err" 'limits.cpus' "nothing is said of a limit that was not asked"
	sed -i 's/"limits": { /&"cpus": 1, /' "$tmp/home/world/world.json"
	receipt=$tmp/user-cpu.json
	as_user "$tmp/agenttwin-host" run --json "$tmp/home/world" >"$receipt" 2>"$tmp/err"
	status=$? err=$(cat "$tmp/err")
	is_run passed 0 "one who asks for processors"
	like "$err" 'limits.cpus cannot be enforced here' "is told that there is no limit"
	like "$(json "$receipt" 'r.runtime.limits.enforced')" '; cpu not enforced \(.+\)$' "and so says the receipt"
	out=$(as_user "$tmp/agenttwin-host" doctor --runtime namespace 2>&1)
	is "$?" 0 "doctor: it works"
	like "$out" 'no +limits: .*memory not enforced' "and says what is not enforced"
	like "$out" '^ +fix: ' "with the way out"
else
	skip "an ordinary user" "needs root, useradd and newuidmap"
fi
done_testing
