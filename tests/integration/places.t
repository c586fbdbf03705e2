#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2016 # expanded by the inner shell
# Where and as whom it runs: paths with spaces, other folders, another Node, no Node, a read-only root, a full disk, at once.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh
need_namespace

example=$PWD/templates/worlds/refund-agent
mkdir -p "$tmp/a folder with  spaces/ünïcode"
cp -R "$example" "$tmp/a folder with  spaces/ünïcode/the world"
cp "$host" "$tmp/a folder with  spaces/"
(cd "$tmp/a folder with  spaces" && ./agenttwin-host run --json "ünïcode/the world") >"$tmp/spaces.json" 2>"$tmp/err"
is "$? $(json "$tmp/spaces.json" 'r.status')" "0 passed" "from and in a path with spaces" || diag "$(cat "$tmp/err")"

# Another Node, outside /usr: only its own folder becomes visible, at /opt/node.
mkdir -p "$tmp/versions/v0/bin" "$tmp/versions/v0/lib/node_modules"
cp "$(readlink -f "$(command -v node)")" "$tmp/versions/v0/bin/node"
echo secret >"$tmp/versions/neighbour"
world "$tmp/which" '"a.mjs"' '"node", "a.mjs"'
cat >"$tmp/which/a.mjs" <<E2
import { existsSync } from 'node:fs';
console.log(process.execPath, existsSync('$tmp/versions'), existsSync('/opt/neighbour'));
E2
run_world "$tmp/which" --node "$tmp/versions/v0/bin/node"
is_run passed 0 "--node outside /usr"
is "$(json "$receipt" 'r.outcome.stdout.tail.trim()')" "/opt/node/bin/node false false" "it appears at /opt/node and nothing beside it"
run_world "$tmp/which" --node "$tmp/versions/v1/bin/node"
like "$status" '^[24]$' "--node that does not exist"
like "$err" 'v1/bin/node' "is named"
PATH=/nonexistent "$host" run --json "$tmp/which" >"$tmp/no-node.json" 2>"$tmp/err"
is "$?" 4 "no node in PATH: exit 4"
like "$(cat "$tmp/err")" '--node|install' "and the way out is said"
if [ -s "$tmp/no-node.json" ]; then is "$(json "$tmp/no-node.json" 'r.status')" error "the receipt says error"; fi

# Standard descriptors closed or odd.
"$host" run "$tmp/which" <&- >/dev/null 2>"$tmp/err"
is "$?" 0 "with stdin closed"
"$host" run --json "$tmp/which" >/dev/full 2>"$tmp/err"
ok "stdout that is full is no success" test "$?" -ne 0
"$host" run "$tmp/which" </dev/null >/dev/null 2>&-
is "$?" 0 "with stderr closed"

# Six at once.
pids=()
for n in 1 2 3 4 5 6; do
	cp -R "$example" "$tmp/many-$n"
	"$host" run --json "$tmp/many-$n" >"$tmp/many-$n.json" 2>"$tmp/many-$n.err" &
	pids+=($!)
	stop_later $!
done
for n in 1 2 3 4 5 6; do
	wait "${pids[n - 1]}"
	is "$? $(json "$tmp/many-$n.json" 'r.status + " " + r.cleanup.confirmed')" "0 passed true" "at once: run $n" || diag "$(tail -n 3 "$tmp/many-$n.err")"
done
is "$(for n in 1 2 3 4 5 6; do json "$tmp/many-$n.json" 'r.run.id'; done | sort -u | wc -l)" 6 "six ids"

# Mounts of our own: in a mount namespace, so that nothing stays.
if [ "$(id -u)" -ne 0 ]; then
	skip "a read-only root" "only root mounts"
	skip "a full disk" "only root mounts"
	done_testing
fi
export example host tmp
mkdir "$tmp/mount" "$tmp/state"
unshare -m --propagation private bash -c '
	mount -t tmpfs none "$tmp/mount" && cp -R "$example" "$tmp/mount/world" && mount -o remount,ro "$tmp/mount" || exit 99
	XDG_STATE_HOME=$tmp/state "$host" run --json "$tmp/mount/world" >"$tmp/ro.json" 2>"$tmp/err"'
is "$? $(json "$tmp/ro.json" 'r.status')" "0 passed" "a read-only root" || diag "$(cat "$tmp/err")"
is "$(find "$tmp/state/agenttwin" -name "$(json "$tmp/ro.json" 'r.run.id').json" | wc -l)" 1 "the receipt is below XDG_STATE_HOME"

for size in 16k 24k 40k; do
	unshare -m --propagation private bash -c '
		mount -t tmpfs -o size=$1 none "$tmp/mount" && mkdir "$tmp/mount/world" || exit 99
		cp "$example/agent.mjs" "$example/order.json" "$example/world.json" "$tmp/mount/world/" || exit 98
		"$host" run --json "$tmp/mount/world" >"$tmp/full.json" 2>"$tmp/err"
		status=$?
		for f in $(find "$tmp/mount/world/.agenttwin" -name "*.json" 2>/dev/null); do
			node -e "JSON.parse(require(\"fs\").readFileSync(process.argv[1]))" "$f" || exit 97
		done
		exit $status' - $size
	got=$?
	[ $got -ne 98 ] || { skip "a disk of $size" "the world itself does not fit"; continue; }
	is "$got" 4 "a disk of $size that is full: error, and no half receipt" || diag "$(cat "$tmp/err")"
	like "$(cat "$tmp/err")" 'space|disk|ENOSPC' "the message says so"
done
done_testing
