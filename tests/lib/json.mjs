// SPDX-License-Identifier: GPL-2.0-or-later
// json.mjs FILE EXPRESSION - prints the value of a JavaScript expression over r, the JSON document in FILE.  Text is printed
// as it is, other values as JSON, null and undefined as nothing.  The file must hold exactly one document.
import { readFileSync } from 'node:fs';

const [, , file, expression] = process.argv;
let value;
try {
  const r = JSON.parse(readFileSync(file, 'utf8'));
  value = new Function('r', `return (${expression});`)(r);
} catch (error) {
  console.error(`json.mjs: ${file}: ${error.message}`);
  process.exit(1);
}
if (value !== null && value !== undefined) console.log(typeof value === 'string' ? value : JSON.stringify(value));
