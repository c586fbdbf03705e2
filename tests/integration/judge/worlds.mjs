// SPDX-License-Identifier: GPL-2.0-or-later
// worlds.mjs HOST FOLDER LIMIT WORLD... - do the host and the schema agree on worlds?  Each WORLD, a file in FOLDER where the files that
// it lists lie, is changed in one place at a time, at most LIMIT times: a member is left out, gets a value of another type, a neighbour
// that nobody knows, a number or a text far out of bounds.  What the host accepts must be valid by the schema; that the host refuses
// more is its right.  Prints "accepted N, refused by both N, refused by the host N", and a line for each world that the host accepts and
// the schema does not.
import { createRequire } from 'node:module';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
const require = createRequire(import.meta.url);
const Ajv = require('ajv/dist/2020').default;

const [host, folder, limit, ...worlds] = process.argv.slice(2);
const valid = new Ajv({ strict: true, strictRequired: false, allowUnionTypes: true })
	.compile(JSON.parse(fs.readFileSync(new URL('../../../docs/schema/world.schema.json', import.meta.url))));
const others = [null, true, 0, -1, 1.5, 1e15, '', 'x', '\u0001', 'x'.repeat(5000), [], {}, ['x'], { x: 1 }];

// Every change as a function over a fresh copy.
function* changes(node, at = []) {
	if (node === null || typeof node !== 'object')
		return;
	const reach = root => at.reduce((n, key) => n[key], root);
	if (!Array.isArray(node))
		yield root => { reach(root).nobody_knows = 1; };
	for (const key of Object.keys(node)) {
		yield root => { const n = reach(root); if (Array.isArray(n)) n.splice(key, 1); else delete n[key]; };
		for (const value of others)
			yield root => { reach(root)[key] = value; };
		if (Array.isArray(node))
			yield root => { reach(root).push(structuredClone(reach(root)[key])); };
		yield* changes(node[key], [...at, key]);
	}
}

const count = { both: 0, refused: 0, host: 0 }, wrong = [];
for (const name of worlds) {
	const world = JSON.parse(fs.readFileSync(path.join(folder, name))), all = [...changes(world)];
	const step = Math.max(1, all.length / limit), file = path.join(folder, 'changed.world.json');
	for (let i = 0; i < all.length; i += step) {
		const copy = structuredClone(world);
		all[Math.floor(i)](copy);
		const text = JSON.stringify(copy);
		fs.writeFileSync(file, text);
		const { status } = spawnSync(host, ['check', file], { stdio: 'ignore' });
		const good = valid(copy);
		if (status === 0 && !good)
			wrong.push(`${name}: ${valid.errors[0].instancePath} ${valid.errors[0].message}: ${text.slice(0, 2000)}`);
		count[status === 0 ? 'both' : good ? 'host' : 'refused']++;
		if (status !== 0 && status !== 2)
			wrong.push(`${name}: check ended with ${status}: ${text.slice(0, 2000)}`);
	}
	fs.rmSync(file, { force: true });
}
console.log(`accepted ${count.both}, refused by both ${count.refused}, refused by the host alone ${count.host}`);
for (const line of wrong)
	console.log(line);
