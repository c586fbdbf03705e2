// SPDX-License-Identifier: GPL-2.0-or-later
// flood.mjs MIB [exit]: writes so many MiB of numbered lines of 64 bytes to stdout; `exit`: in one write, followed by process.exit.
import { writeSync } from 'node:fs';

const [, , mib, how] = process.argv;
const lines = (from, count) => {
  let text = '';
  for (let i = 0; i < count; i++) text += `line ${String(from + i).padStart(12, '0')} ${'x'.repeat(45)}\n`;
  return Buffer.from(text);
};
const perMib = (1 << 20) / 64;
if (how === 'exit') {
  process.stdout.write(lines(0, perMib * mib));
  process.exit(0);
}
for (let m = 0; m < mib; m++) {
  const chunk = lines(m * perMib, perMib);
  for (let at = 0; at < chunk.length;) {
    try { at += writeSync(1, chunk, at); } catch (error) { if (error.code !== 'EAGAIN') throw error; }
  }
}
