#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Receipts are verified: whole ones are intact, whatever came of the run; with any byte of the receipt or of its event file changed
# they are not.  openssl alone agrees with the signature.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh
need_namespace

key=$tmp/signing.key
"$host" key new "$key" 2>"$tmp/err" || bail_out "no key: $(cat "$tmp/err")"
verify() { # ARGUMENT...: sets status and out
	out=$("$host" receipt verify "$@" 2>&1)
	status=$?
}
# signed NAME WORLD [ARGUMENT...]: a run whose receipt is $tmp/NAME.json
signed() {
	receipt=$tmp/$1.json
	AGENTTWIN_SIGNING_KEY=$key "$host" run -q --receipt "$receipt" "${@:2}" 2>"$tmp/err"
	status=$?
	err=$(cat "$tmp/err")
}
mkdir "$tmp/app"
world "$tmp/app" '"*.mjs"' '"node", "a.mjs"' '"secrets": { "KEY": { "like": "alnum", "length": 32 } },'
sed -i 's|"SHOP_URL"|"KEY": "{{secret.KEY}}", "SHOP_URL"|' "$tmp/app/world.json"
cat >"$tmp/app/a.mjs" <<'JS'
const how = process.argv[2];
for (const name of ['bolt', 'nut']) {
	const r = await fetch(process.env.SHOP_URL + '/items', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ name }) });
	console.log(name, r.status, '\u00e4\u20ac');
}
process.stderr.write(Buffer.from([0xff, 0xfe, 0x0a]));
JS

# ---- intact, whatever came of it ----------------------------------------------------------------------------------------
signed passed "$tmp/app"
is "$status" 0 "a signed run" || diag "$err"
verify --key "$key.pub" "$receipt"
is "$status" 0 "is intact" || diag "$out"
like "$out" "^verified +signature " "its signature is right"
unlike "$out" "^WRONG" "nothing is wrong"
like "$out" "^not verified +frames" "what cannot be verified is said"
verify --json "$receipt"
is "$(node -e 'const r = JSON.parse(require("fs").readFileSync(0)); console.log(r.agenttwin, r.intact, r.signed)' <<<"$out")" "verification/1 true true" "as JSON"
verify --key "$key" "$receipt"
is "$status" 0 "the secret key file does as well"
"$host" key new "$tmp/other.key" 2>/dev/null
verify --key "$tmp/other.key.pub" "$receipt"
is "$status" 1 "by another key it is not"
like "$out" "^WRONG +signature .*not of the given one" "which is said"

"$host" run -q --receipt "$tmp/plain.json" "$tmp/app" 2>/dev/null
verify "$tmp/plain.json"
is "$status" 0 "an unsigned run is intact by its event file" || diag "$out"
verify --key "$key.pub" "$tmp/plain.json"
is "$status" 1 "but not where a signature is wanted"
mkdir "$tmp/alone"
cp "$tmp/plain.json" "$tmp/alone/"
verify "$tmp/alone/plain.json"
is "$status" 1 "without event file and signature there is nothing to verify it with"
like "$out" "nothing to compare" "which is said"
cp "$tmp/passed.json" "$tmp/alone/"
verify "$tmp/alone/passed.json"
is "$status" 0 "a signature alone is enough for the receipt"
like "$out" "^not verified +events" "and it is said that the events are not"
verify --events "$tmp/passed.json.events.jsonl" "$tmp/alone/passed.json"
is "$status" 0 "unless the file is named"
verify --events "$tmp/plain.json.events.jsonl" "$tmp/alone/passed.json"
is "$status" 1 "another run's file is none"

# each COMMAND MEMBERS: a world of its own, and the run's end
variant() { # NAME COMMAND MEMBERS STATUS EXIT
	mkdir "$tmp/$1"
	world "$tmp/$1" '"*.mjs"' "$2" "$3"
	cp "$tmp/app/a.mjs" "$tmp/$1/"
	signed "$1" "$tmp/$1"
	is "$(json "$receipt" r.status) $status" "$4 $5" "a run that ends as $1" || diag "$err"
	verify --key "$key.pub" "$receipt"
	is "$status" 0 "is intact" || diag "$out"
}
variant failed '"node", "-e", "process.exit(7)"' '' failed 1
variant killed '"node", "-e", "process.kill(process.pid, 9)"' '' failed 1
variant timeout '"node", "-e", "setInterval(() => {}, 1000)"' '"limits": { "run_ms": 700 },' timeout 5
variant silent '"node", "-e", "process.stdout.write(String.fromCharCode(228).repeat(9001))"' '' passed 0
variant noisy '"node", "-e", "console.log(\"x\".repeat(200000)); fetch(\"http://nowhere.invalid/\").catch(() => {})"' '' passed 0
variant missing '"no-such-program"' '' error 4
mkdir "$tmp/leaky"
world "$tmp/leaky" '"*.mjs"' '"node", "-e", "console.log(process.env.KEY)"' '"secrets": { "KEY": { "like": "alnum", "length": 32 } },'
sed -i 's|"SHOP_URL"|"KEY": "{{secret.KEY}}", "SHOP_URL"|' "$tmp/leaky/world.json"
cp "$tmp/app/a.mjs" "$tmp/leaky/"
signed leaky "$tmp/leaky"
verify "$receipt"
is "$status" 0 "a run that printed a secret is intact" || diag "$out"
like "$out" "^not verified +stdout +.*secrets" "though the digest of its output cannot be made again"
AGENTTWIN_SIGNING_KEY=$key start_world "$tmp/timeout"
wait_for 10 grep -q 'workflow started' "$err_file"
kill -INT "$pid"
wait "$pid"
is "$(json "$receipt" r.status)" cancelled "a run that was cancelled"
verify --events "$tmp/timeout/.agenttwin/receipts/$(json "$receipt" r.run.id).events.jsonl" "$receipt"
is "$status" 0 "is intact" || diag "$out"

# ---- openssl alone ------------------------------------------------------------------------------------------------------
if command -v openssl >/dev/null; then
	node -e 'const fs = require("fs"), s = JSON.parse(fs.readFileSync(process.argv[1])).integrity.signature;
		const payload = Buffer.from(s.payload, "base64");
		fs.writeFileSync(process.argv[2], `DSSEv1 ${s.payloadType.length} ${s.payloadType} ${payload.length} ${payload}`);
		fs.writeFileSync(process.argv[3], Buffer.from(s.signatures[0].sig, "base64"));
		console.log(JSON.parse(payload).subject.map(x => x.digest.sha256).join("\n"));' "$tmp/passed.json" "$tmp/signed" "$tmp/sig" >"$tmp/stated"
	is "$(openssl dgst -sha256 -verify "$key.pub" -signature "$tmp/sig" "$tmp/signed")" "Verified OK" "openssl verifies the signature"
	{
		sed 's/^    "signature": {.*}$/    "signature": null/' "$tmp/passed.json" | sha256sum
		sha256sum <"$tmp/passed.json.events.jsonl"
	} | cut -c1-64 >"$tmp/made"
	ok "and sha256sum makes the two digests" cmp -s "$tmp/stated" "$tmp/made"
else
	skip "openssl verifies the signature" "openssl is not installed"
	skip "and sha256sum makes the two digests" "openssl is not installed"
fi
if command -v python3 >/dev/null; then
	ok "the receipt is as its schema says" python3 tests/lib/schema.py docs/schema/receipt.schema.json "$tmp/passed.json"
	"$host" receipt verify --json "$tmp/passed.json" >"$tmp/verification.json"
	ok "and so is its verification" python3 tests/lib/schema.py docs/schema/verification.schema.json "$tmp/verification.json"
	sed 's/"seed": [0-9]*/"seed": 77/' "$tmp/passed.json" >"$tmp/other.json"
	"$host" receipt verify --json --events "$tmp/passed.json.events.jsonl" "$tmp/other.json" >"$tmp/verification-2.json"
	is "$? $(json "$tmp/verification-2.json" '[r.intact, r.items.some(x => x.verdict === "wrong")].join()')" "1 false,true" "with another seed it is not intact"
	ok "which is as the schema says" python3 tests/lib/schema.py docs/schema/verification.schema.json "$tmp/verification-2.json"
fi

# ---- any byte ------------------------------------------------------------------------------------------------------------
not_made "$tmp/mutant"
# mutate FILE COUNT: prints the number of changed copies that were taken for intact.  Of COUNT 0 every byte is changed.
mutate() {
	node - "$host" "$tmp/passed.json" "$tmp/passed.json.events.jsonl" "$1" "$2" "$tmp/mutant" <<'JS'
const fs = require('fs'), { spawnSync } = require('child_process');
const [host, receipt, events, which, count, dir] = process.argv.slice(2);
fs.mkdirSync(dir, { recursive: true });
const target = which === 'events' ? events : receipt, bytes = fs.readFileSync(target), out = `${dir}/${which}`;
const text = bytes.toString('latin1'), from = which === 'signature' ? text.indexOf('"signature": {') : 0;
const to = which === 'signature' ? text.indexOf('\n', from) : bytes.length;
const step = count === '0' ? 1 : Math.max(1, Math.floor((to - from) / count));
let intact = 0, n = 0, seed = 1;
for (let at = from; at < to; at += step) {
	seed = (seed * 1103515245 + 12345) % 2147483648;
	const copy = Buffer.from(bytes);
	copy[at] ^= 1 << (seed >> 16 & 7);
	fs.writeFileSync(out, copy);
	const args = which === 'events' ? ['--events', out, receipt] : ['--events', events, out];
	const r = spawnSync(host, ['receipt', 'verify', '-q', ...args]);
	n++;
	if (r.status !== 1 && r.status !== 2) {
		intact++;
		console.error(`# byte ${at} of ${which}: exit ${r.status ?? r.signal}`);
	}
}
for (const cut of [1, 2, 100, Math.floor(bytes.length / 2)]) {
	fs.writeFileSync(out, bytes.subarray(0, bytes.length - cut));
	const r = spawnSync(host, ['receipt', 'verify', '-q', ...(which === 'events' ? ['--events', out, receipt] : ['--events', events, out])]);
	n++;
	intact += r.status !== 1 && r.status !== 2;
}
console.log(intact);
console.error(`# ${n} changed copies`);
JS
}
n=150
[ -z "${AGENTTWIN_LONG-}" ] || n=0
is "$(mutate receipt "$n")" 0 "a receipt with any byte changed is not intact"
is "$(mutate signature "$n")" 0 "nor with any byte of its signature"
is "$(mutate events "$n")" 0 "nor with any byte of the event file"

# ---- mistakes ------------------------------------------------------------------------------------------------------------
verify "$tmp/none.json"
is "$status" 2 "a receipt that is not there"
verify --key "$tmp/none.pub" "$tmp/passed.json"
is "$status" 2 "a key that is not there"
verify --key
is "$status" 2 "an option without its value"
echo '{}' >"$tmp/other.json"
verify "$tmp/other.json"
is "$status" 2 "a document that is no receipt"
chmod 644 "$key"
signed refused "$tmp/app"
is "$status" 2 "a key that others can read signs nothing"
like "$err" "others may read this secret key" "which is said"
ok "and nothing ran" test ! -e "$tmp/refused.json"
AGENTTWIN_SIGNING_KEY=$tmp/none "$host" run -q --receipt "$tmp/refused.json" "$tmp/app" 2>/dev/null
is "$?" 2 "nor one that is not there"
"$host" key new "$key" 2>/dev/null
is "$?" 2 "a key is never overwritten"
done_testing
