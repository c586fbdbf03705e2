// SPDX-License-Identifier: GPL-2.0-or-later
// compare.mjs TABLE RECEIPT CONTROLS [FILE [sandbox]] - judges each row of attempts.tsv by what the receipt says of it and by what the controls
// say; prints one line an attempt, "pass|fail|skip TAB text", and a last one "count TAB N": attempts whose control differs.
// FILE gets the whole as a table to read, if it is not empty.  CONTROLS is the folder that control.sh filled.  Rows
// whose group begins with `sandbox` are judged with that word alone, for sandbox.t; the others without it, for control.t.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { getSystemErrorName } from 'node:util';

const [, , tableFile, receiptFile, controls, tableOut, part] = process.argv;
const lines = (file) => readFileSync(file, 'utf8').split('\n').filter((line) => line !== '');
const errno = (text) => (/^-\d+$/.test(text) ? getSystemErrorName(Number(text)) : text);
const receipt = JSON.parse(readFileSync(receiptFile, 'utf8'));
const report = [];
const failed = [];

const inside = new Map();
for (const part of receipt.state.final.judge.reports ?? []) {
  for (const row of part.attempts) {
    if (inside.has(row.id)) failed.push(`two attempts are called ${row.id}`);
    inside.set(row.id, { ...row, detail: errno(String(row.detail)) });
  }
}
const denied = new Map();
for (const d of receipt.boundary.denied_egress) denied.set(`${d.protocol} ${d.destination} ${d.port ?? 0}`, d);
const wire = new Set(lines(`${controls}/wire`));

// id -> the control in which it succeeded, else the error of the last.
const controlled = new Map();
for (const file of readdirSync(controls).filter((name) => /^(user|root|room)-[a-z]+$/.test(name))) {
  for (const line of lines(`${controls}/${file}`)) {
    const [name, result] = line.split(' ');
    const row = line.startsWith('{') ? JSON.parse(line) : { id: name, got: Number(result) >= 0, detail: errno(result), wire: '' };
    const who = file.split('-')[0];
    const before = controlled.get(row.id);
    if (before?.differs) continue;
    if (row.wire !== '' && wire.has(row.wire)) controlled.set(row.id, { differs: true, text: `${who}: arrives` });
    else if (row.got && row.wire === '') controlled.set(row.id, { differs: true, text: `${who}: succeeds` });
    else if (row.got) controlled.set(row.id, { differs: true, sent: true, text: `${who}: is ${file.endsWith('-sandbox') ? 'answered' : 'sent'}` });
    else controlled.set(row.id, { differs: false, text: `${who}: ${row.detail}` });
  }
}

// Packets that came in again by loopback, and the answer to a connection, are nobody's to the log.
const nobody = new Set(['routing-header-by-loopback', 'dead-daemon-answers']);
const said = { pass: 0, fail: 0, skip: 0 };
const tell = (verdict, text) => { said[verdict]++; console.log(`${verdict}\t${text}`); };
const explained = new Set();
let differ = 0;
const seen = new Set();
for (const line of lines(tableFile).filter((l) => !l.startsWith('#'))) {
  const [id, group, must, evidence, ...rest] = line.split('\t');
  const errors = must === 'refused' ? rest.shift()?.split('|') : ['-'];
  if (!/^(denied|refused)$/.test(must) || !evidence || !errors || rest.length !== 0 || seen.has(id)) {
    tell('fail', `${id}: a bad row of the table`);
    continue;
  }
  seen.add(id);
  if (group.startsWith('sandbox') !== (part === 'sandbox')) continue;
  const row = inside.get(id);
  const record = row && denied.get(row.wire);
  if (record) explained.add(row.wire);
  const got = row?.got && id !== 'routing-header-by-loopback'; // to have it sent is no success: it has to arrive
  const was = !row ? 'never tried' : got ? `SUCCEEDED: ${row.detail}` : `${record ? 'denied' : 'refused'} ${row.detail}`;
  const wrong = row && !got && errors[0] !== '-' && !errors.includes(row.detail);
  const other = controlled.get(id) ?? { differs: false, text: 'not tried' };
  let verdict = 'pass';
  if (!row || got || wrong || (must === 'denied') !== (record !== undefined) || (record && record.owner !== (nobody.has(id) ? 'none' : 'workflow'))) verdict = 'fail';
  else if (!other.differs) verdict = 'skip';
  if (other.differs) differ++;
  tell(verdict, `${group}: ${id}: ${was}${wrong ? `, not ${errors.join(' or ')}` : ''}, without the boundary ${other.text}`);
  report.push([id, was, other.text, { pass: 'holds', fail: 'FAILS', skip: 'holds, no control' }[verdict],
    record ? `boundary.denied_egress ${row.wire}` : evidence]);
}
// No packet without an attempt, no attempt without a row.
// (A refusal that the firewall itself sends to a closed port is denied like anything else that goes there, and has no owner.)
for (const [key, d] of denied) {
  if (!explained.has(key) && !(part === 'sandbox' && d.owner === 'none')) failed.push(`a packet that no attempt explains: ${key}`);
}
for (const [id, row] of inside) {
  if (!seen.has(id) && !id.startsWith('ran-') && !/^socket-(inet-stream|inet6-dgram|netlink-route)$/.test(id)) failed.push(`not in the table: ${id}`);
  if (id.startsWith('ran-') && !row.got) failed.push(`${id}: ${row.detail}`);
}
for (const text of failed) tell('fail', text);
console.log(`count\t${differ}`);

if (tableOut) {
  const head = ['ATTEMPT', 'INSIDE', 'WITHOUT THE BOUNDARY', 'VERDICT', 'IN THE RECEIPT'];
  const width = head.map((_, i) => Math.max(...[head, ...report].map((r) => r[i].length)));
  const text = [head, ...report].map((r) => r.map((cell, i) => cell.padEnd(width[i])).join('  ').trimEnd()).join('\n');
  writeFileSync(tableOut, `${text}\n\n${report.length} attempts: ${said.pass} held where the control shows an effect, ${
    said.skip} held and have no control on this machine, ${said.fail} failed\n`);
}
