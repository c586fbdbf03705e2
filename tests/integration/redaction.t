#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A credential of a run is nowhere in what is kept of it, whatever way it was written: in output, headers, bodies, paths and names of
# files that the workflow made.  The runs are of the runtime local, so that the workflow can tell the test what to look for.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh

mkdir "$tmp/app"
cat >"$tmp/app/world.json" <<'WORLD'
{ "agenttwin": "world/1", "name": "leaky", "seed": 1, "files": [ "*.mjs" ],
  "secrets": { "plain": { "like": "alnum", "length": 32 }, "hex": { "like": "hex", "length": 40 }, "uuid": { "like": "uuid" }, "long": { "like": "alnum", "length": 128 } },
  "env": { "URL": "{{service.shop.url}}", "PLAIN": "{{secret.plain}}", "HEX": "{{secret.hex}}", "UUID": "{{secret.uuid}}", "LONG": "{{secret.long}}", "KEY": "{{secret.key}}" },
  "services": [ { "name": "shop", "kind": "http", "hosts": [ "shop.internal" ], "profile": "generic", "auth": { "scheme": "bearer", "accept": "{{secret.key}}" },
    "unmatched": "404", "state": { "items": [] },
    "routes": [ { "resource": "items", "path": "/items" } ] } ],
  "workflow": { "command": [ "node", "a.mjs" ] },
  "checks": [ { "id": "exit", "kind": "exit", "code": 0 }, { "id": "wrote", "kind": "calls", "service": "shop", "method": "POST" } ] }
WORLD
cat >"$tmp/app/a.mjs" <<'JS'
import fs from 'node:fs';
const each = (f) => (s) => [...Buffer.from(s)].map(f).join('');
const x = (b) => b.toString(16).padStart(2, '0');
const base32 = (s) => {
	let bits = '';
	for (const b of Buffer.from(s)) bits += b.toString(2).padStart(8, '0');
	return bits.replace(/.{1,5}/g, (g) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'[parseInt(g.padEnd(5, '0'), 2)]);
};
// Each a way to write a value that somebody may really use; what is encoded by groups has others' bytes around it.
const ways = {
	plain: (s) => s,
	base64: (s) => Buffer.from(s).toString('base64'),
	'base64 of a pair': (s) => Buffer.from('user:' + s).toString('base64'),
	'base64 within': (s) => Buffer.from('{"k":"' + s + '"}').toString('base64'),
	base64url: (s) => Buffer.from('>>' + s + '??').toString('base64url'),
	'base64 twice': (s) => Buffer.from(Buffer.from(s).toString('base64')).toString('base64'),
	base32: (s) => base32('abc' + s),
	'base32 in small letters': (s) => base32(s).toLowerCase(),
	hex: (s) => Buffer.from(s).toString('hex'),
	'hex in capitals': (s) => Buffer.from(s).toString('hex').toUpperCase(),
	'hex with blanks': (s) => Buffer.from(s).toString('hex').replace(/..(?=.)/g, '$& '),
	'hex with colons': (s) => Buffer.from(s).toString('hex').replace(/..(?=.)/g, '$&:'),
	url: encodeURIComponent,
	form: (s) => new URLSearchParams({ s }).toString(),
	'url twice': (s) => encodeURIComponent(encodeURIComponent(s)),
	'every byte as in URLs': each((b) => '%' + x(b)),
	'the same in capitals': each((b) => '%' + x(b).toUpperCase()),
	json: (s) => JSON.stringify(s),
	'json twice': (s) => JSON.stringify(JSON.stringify(s)),
	'unicode escapes': each((b) => '\\u00' + x(b)),
	'the same in json': (s) => JSON.stringify(each((b) => '\\u00' + x(b))(s)),
	'escapes of JavaScript': each((b) => '\\x' + x(b)),
	html: (s) => s.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`),
	'decimal entities': each((b) => `&#${b};`),
	'hexadecimal entities': each((b) => `&#x${x(b)};`),
	'utf-16': (s) => Buffer.from(s, 'utf16le').toString('latin1'),
};
const secrets = { plain: process.env.PLAIN, hex: process.env.HEX, uuid: process.env.UUID, long: process.env.LONG, key: process.env.KEY };
const told = [];
const call = (path, options) => fetch(process.env.URL + path, { ...options, headers: { authorization: 'Bearer ' + process.env.KEY, ...options?.headers } }).then((r) => r.text());
for (const [name, secret] of Object.entries(secrets))
	for (const [way, write] of Object.entries(ways)) {
		const text = write(secret);
		told.push({ name, way, text });
		if (way === 'utf-16') {
			process.stdout.write(Buffer.concat([Buffer.from(`${way}: `), Buffer.from(text, 'latin1'), Buffer.from('\n')]));
			continue;
		}
		console.log(`${way}: ${text}`);
		process.stderr.write(text.slice(0, 9));
		await new Promise((done) => setImmediate(done)); // the rest comes in another chunk
		process.stderr.write(text.slice(9) + '\n');
		const flat = text.replace(/[^ -~]/g, ' ');
		if (name !== "long") {
			await call('/items/' + encodeURIComponent(flat).replaceAll('%25', '%'), {}).catch(() => {});
			await call('/items?x=' + flat.replaceAll(' ', '+').replaceAll('#', '%23'), {}).catch(() => {});
			await call('/nowhere', { headers: { 'x-note': flat, 'content-type': 'text/plain' }, method: 'POST', body: text });
		}
		await call('/items', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ note: text, [name === "long" ? 'k' : text.slice(0, 120)]: 1 }) });
		try { fs.writeFileSync(flat.replaceAll('/', '_').slice(0, 200), ''); } catch { /* a name that no file can have */ }
	}
console.error(fs.readdirSync('.').join('\n'));
fs.writeFileSync(TOLD, JSON.stringify(told));
JS
sed -i "s|TOLD|$(node -p 'JSON.stringify(process.argv[1])' "$tmp/told.json")|" "$tmp/app/a.mjs"
receipt=$tmp/receipt.json
"$host" run -q --runtime local --receipt "$receipt" "$tmp/app" 2>"$tmp/err"
is "$?" 0 "a run that writes five credentials in many ways" || diag "$(tail -n 5 "$tmp/err")"
[ -s "$tmp/told.json" ] || bail_out "the workflow did not tell what it wrote"
"$host" receipt verify "$receipt" >"$tmp/verify"
is "$?" 0 "its receipt is intact" || diag "$(cat "$tmp/verify")"
node - "$tmp/told.json" "$receipt" "$receipt.events.jsonl" "$tmp/err" >"$tmp/found" <<'JS'
const fs = require('fs'), [told, ...files] = process.argv.slice(2);
const texts = files.map((f) => [f, fs.readFileSync(f, 'latin1')]);
// base64 of bytes around a value: what depends on those alone may stay
const core = { 'base64 of a pair': [8, 4], 'base64 within': [9, 4], base64url: [4, 5], base64: [0, 3], 'base64 twice': [0, 8], base32: [5, 8], 'base32 in small letters': [0, 2], form: [2, 0] };
const ways = {};
for (const { name, way, text } of JSON.parse(fs.readFileSync(told))) {
	const [from, to] = core[way] ?? [0, 0], inner = text.slice(from, text.length - to);
	ways[way] ??= [];
	for (const [file, all] of texts)
		for (const [how, s] of [['', inner], [' in JSON', JSON.stringify(inner).slice(1, -1)], [' in JSON, UTF-8', Buffer.from(JSON.stringify(inner).slice(1, -1)).toString('latin1')]])
			if (all.includes(s)) ways[way].push(`${name}${how} in ${file.replace(/.*\//, '')}`);
}
for (const [way, found] of Object.entries(ways)) console.log(way + '\t' + [...new Set(found)].join(', '));
JS
while IFS=$'\t' read -r way found; do
	is "$found" "" "not to be found: $way"
done <"$tmp/found"
ok "at least twelve ways were looked for" test "$(wc -l <"$tmp/found")" -ge 12
like "$(json "$receipt" 'r.operations.length')" '^[1-9][0-9][0-9]' "among more than a hundred operations"
done_testing
