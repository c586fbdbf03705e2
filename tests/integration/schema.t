#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The schemas in docs/schema describe what is really written: receipts of every status, and the worlds of this repository.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh
command -v python3 >/dev/null || skip_all "python3 is not installed"

valid() { # NAME SCHEMA FILE
	local text
	text=$(python3 tests/lib/schema.py "$2" "$3" 2>&1) && pass "$1" && return
	fail "$1"
	diag "$(head -n 10 <<<"$text")"
}
invalid() { # NAME SCHEMA FILE
	python3 tests/lib/schema.py "$2" "$3" >/dev/null 2>&1
	is "$?" 1 "$1"
}
world_schema=docs/schema/world.schema.json receipt_schema=docs/schema/receipt.schema.json
for file in templates/worlds/*/*world.json; do valid "world: $file" "$world_schema" "$file"; done
echo '{ "agenttwin": "world/1", "sede": 1 }' >"$tmp/bad.json"
invalid "the schema of worlds refuses what is none" "$world_schema" "$tmp/bad.json"
invalid "the schema of receipts refuses a world" "$receipt_schema" templates/worlds/refund-agent/world.json

# ---- ajv, the outside judge, of the schemas and of worlds; of all that the tests made see made.t -----------------------------
judge=tests/integration/judge
if ! command -v npm >/dev/null || ! make --no-print-directory "O=$O_relative" "$O_relative/judge.stamp" >"$tmp/npm" 2>&1; then
	skip "ajv" "npm could not install it"
else
	is "$(grep -c '"resolved"' $judge/package-lock.json)" 0 "the lock file names no registry"
	is "$(node $judge/judge.mjs compile 2>&1)" "$(basename -a docs/schema/*.schema.json)" "ajv compiles every schema in strict mode, without a warning"
	is "$(node $judge/judge.mjs list world templates/worlds/*/*world.json "$tmp/bad.json" | cut -d: -f1)" \
		"$(printf 'valid %s\n' templates/worlds/*/*world.json; echo "invalid $tmp/bad.json")" "ajv: the example worlds are valid, and one that is none is not"
	# What the host accepts, ajv accepts.  The packages are left out, so that the folders need none.
	most=30
	[ -z "${AGENTTWIN_LONG-}" ] || most=3000
	for folder in templates/worlds/*/; do
		name=$(basename "$folder")
		mkdir "$tmp/$name"
		find "$folder" -maxdepth 1 -type f -exec cp {} "$tmp/$name/" \;
		node -e 'const fs = require("fs"), file = process.argv[1], w = JSON.parse(fs.readFileSync(file));
			w.files = w.files.filter(f => !f.includes("node_modules"));
			fs.writeFileSync(file, JSON.stringify(w));' "$tmp/$name/world.json"
		text=$(node $judge/worlds.mjs "$host" "$tmp/$name" $most world.json 2>&1)
		is "$(sed 1d <<<"$text")" "" "$name: host and schema agree on changed worlds: $(head -n 1 <<<"$text")"
	done
fi

world "$tmp/local" '"a.mjs"' '"node", "a.mjs"'
echo 'console.log(1);' >"$tmp/local/a.mjs"
run_world --runtime local "$tmp/local"
valid "receipt: passed, local" "$receipt_schema" "$receipt"
need=$("$host" doctor --runtime namespace 2>&1) || { skip "receipts of the namespace backend" "it does not work here: $(head -n 1 <<<"$need")"; done_testing; }
cp -R templates/worlds/refund-agent "$tmp/refund"
run_world "$tmp/refund"
valid "receipt: passed" "$receipt_schema" "$receipt"
run_world "$tmp/refund/refund-twice.world.json"
valid "receipt: failed" "$receipt_schema" "$receipt"
world "$tmp/slow" '"slow.mjs"' '"node", "slow.mjs"'
cp tests/integration/programs/slow.mjs "$tmp/slow/"
run_world "$tmp/slow" --timeout 1s
valid "receipt: timeout" "$receipt_schema" "$receipt"
start_world "$tmp/slow"
sleep 1
kill -TERM "$pid"
end_world
valid "receipt: cancelled" "$receipt_schema" "$receipt"
unshare --user --map-root-user sh -c 'echo 0 >/proc/sys/user/max_net_namespaces && exec "$@"' - "$host" run --json "$tmp/slow" >"$tmp/error.json" 2>/dev/null
if [ -s "$tmp/error.json" ]; then valid "receipt: error" "$receipt_schema" "$tmp/error.json"; fi
is "$(for r in "$tmp"/receipt-*.json; do json "$r" 'r.status'; done | sort -u | tr '\n' ' ')" "cancelled failed passed timeout " "these statuses were seen"
done_testing
