// SPDX-License-Identifier: GPL-2.0-or-later
// Goes for the processes that watch us: signals, limits, descriptors, the ports of the twins, and forged frames.
import { createHash } from 'node:crypto';
import { closeSync, openSync, readFileSync, readdirSync, readlinkSync, writeSync } from 'node:fs';
import net from 'node:net';
import { attempt, fail, helper, report } from './escape.mjs';

const uid = (pid) => { try { return readFileSync(`/proc/${pid}/status`, 'utf8').match(/^Uid:\s+(\d+)/m)[1]; } catch { return '?'; } };
const others = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && uid(name) !== '1000');
await attempt('others-visible', () => `${others.length}: ${others.map((p) => `${p}=${uid(p)}`).join(' ')}`);
helper('monitor', '1', ...others.filter((p) => p !== '1'));
for (const pid of others) {
  await attempt(`node-kill-${pid}`, () => { process.kill(Number(pid), 'SIGKILL'); return 'sent'; });
}
await attempt('write-to-foreign-descriptors', () => {
  let wrote = 0;
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name) && name !== String(process.pid))) {
    for (let fd = 0; fd < 64; fd++) {
      try {
        const n = openSync(`/proc/${pid}/fd/${fd}`, 'w');
        wrote += writeSync(n, 'x');
        closeSync(n);
      } catch { /* refused */ }
    }
  }
  return wrote > 0 ? wrote : fail('none could be opened');
});
await attempt('inherited-descriptors', () => {
  const links = readdirSync('/proc/self/fd').map((fd) => { try { return readlinkSync(`/proc/self/fd/${fd}`); } catch { return ''; } });
  return links.find((l) => /^socket:/.test(l)) ?? fail('no socket inherited');
});

const listen = (host, port) => new Promise((resolve, reject) => {
  const server = net.createServer().on('error', reject);
  server.listen({ host, port, exclusive: true }, () => { server.close(); resolve('bound'); });
});
await attempt('bind-twin-port', () => listen('127.64.0.1', 80));
await attempt('bind-any-80', () => listen('0.0.0.0', 80));
await attempt('bind-any6-80', () => listen('::', 80));
await attempt('bind-443', () => listen('127.64.0.1', 443));
await attempt('bind-dns', () => listen('127.64.0.254', 53));
await attempt('bind-own', () => listen('127.0.0.1', 8080));
await report('monitor');

// Bytes that look like frames of the guest: END with result 0, EXIT with code 0, FIREWALL(closing), PONG.
const frame = (type, seq, body) => {
  const header = Buffer.alloc(24);
  header[0] = type;
  header.writeUInt32BE(body.length, 4);
  header.writeBigUInt64BE(BigInt(seq), 8);
  return Buffer.concat([header, body]);
};
const forged = [];
for (let seq = 0; seq < 200; seq++) {
  for (const type of [0x40, 0x41, 0x42, 0x48, 0x4a, 0x4d]) forged.push(frame(type, seq, Buffer.alloc(type === 0x4d ? 41 : 8)));
}
forged.push(Buffer.from('{"status":"passed"}\n\x1b]0;owned\x07\x1b[2J\u0000\n'));
const bytes = Buffer.concat(forged);
writeSync(2, `${bytes.length} ${createHash('sha256').update(bytes).digest('hex')}\n`);
for (let at = 0; at < bytes.length;) at += writeSync(1, bytes, at);
process.exitCode = 7;
