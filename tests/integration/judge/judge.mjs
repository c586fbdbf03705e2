// SPDX-License-Identifier: GPL-2.0-or-later
// judge.mjs - ajv, somebody else's judge of JSON Schema, over our schemas and what our programs wrote.
//   judge.mjs compile            each schema compiles in strict mode, without a warning
//   judge.mjs list KIND FILE...  one line a file: "valid FILE" or "invalid FILE: POINTER: PROBLEM"; KIND is a schema's name
//   judge.mjs made FOLDER        judges what collect.pl put into FOLDER, removes it, and adds to FOLDER/result; of worlds those that
//                                a receipt is of, because only they were accepted
// strictRequired is off: a key that a branch requires may stand in the properties around it.
import { createRequire } from 'node:module';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
const require = createRequire(import.meta.url);
const Ajv = require('ajv/dist/2020').default;
const formats = require('ajv-formats').default;

const folder = fileURLToPath(new URL('../../../docs/schema', import.meta.url));
const said = [];
const say = (...words) => said.push(words.join(' '));
const ajv = new Ajv({ strict: true, strictRequired: false, allowUnionTypes: true, logger: { log: say, warn: say, error: say } });
formats(ajv);
const names = fs.readdirSync(folder).filter(name => name.endsWith('.schema.json'));
for (const name of names)
	ajv.addSchema(JSON.parse(fs.readFileSync(path.join(folder, name))), name);
const schema = kind => ajv.getSchema(`${kind}.schema.json`);

function problem(kind, document) {
	const valid = schema(kind);
	if (!valid)
		return `: no schema ${kind}`;
	if (valid(document))
		return null;
	const deepest = valid.errors.reduce((a, b) => (b.instancePath.length > a.instancePath.length ? b : a));
	return `${deepest.instancePath || '/'}: ${deepest.message} ${JSON.stringify(deepest.params)}`;
}

const accepted = new Set(); // digests of worlds that were run

// Of a document, or of lines; a last line without a line feed is one that was cut by whoever killed the program.
function judge(kind, file) {
	const text = fs.readFileSync(file, 'utf8');
	try {
		if (kind === 'world' && !accepted.has(createHash('sha256').update(fs.readFileSync(file)).digest('hex')))
			return [0, null];
		if (kind !== 'events') {
			const document = JSON.parse(text);
			if (kind === 'receipt')
				accepted.add(document.run?.world?.sha256);
			return [1, problem(kind, document)];
		}
		const lines = text.split('\n').slice(0, -1);
		for (const [i, line] of lines.entries()) {
			const wrong = problem(kind, JSON.parse(line));
			if (wrong)
				return [lines.length, `line ${i + 1}: ${wrong}`];
		}
		return [lines.length, null];
	} catch (e) {
		return [1, e.message];
	}
}

const [command, ...rest] = process.argv.slice(2);
if (command === 'compile') {
	for (const name of names) {
		try {
			ajv.getSchema(name);
		} catch (e) {
			say(`${name}: ${e.message}`);
		}
		console.log(name);
	}
} else if (command === 'list') {
	for (const file of rest.slice(1)) {
		const wrong = problem(rest[0], JSON.parse(fs.readFileSync(file, 'utf8')));
		console.log(wrong ? `invalid ${file}: ${wrong}` : `valid ${file}`);
	}
} else if (command === 'made') {
	const files = fs.readdirSync(rest[0]).filter(name => /\.(receipt|events|series|tests|verification)$/.test(name));
	files.push(...fs.readdirSync(rest[0]).filter(name => name.endsWith('.world'))); // after all receipts
	let out = '';
	for (const name of files) {
		const kind = name.slice(name.lastIndexOf('.') + 1), file = path.join(rest[0], name);
		const [documents, wrong] = judge(kind, file);
		if (documents > 0)
			out += wrong ? `wrong ${name}: ${wrong}\n` : `${kind} ${documents}\n`;
		fs.unlinkSync(file);
	}
	fs.appendFileSync(path.join(rest[0], 'result'), out);
} else {
	say('usage: judge.mjs compile | list KIND FILE... | made FOLDER');
}
for (const line of said)
	console.error(line);
process.exitCode = said.length ? 1 : 0;
