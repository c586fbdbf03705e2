// SPDX-License-Identifier: GPL-2.0-or-later
// twin_clients.mjs - real Node clients against the twins: keep-alive, fetch, chunked and expected uploads, pipelining,
// half-closed and vanishing clients, more connections than the bound, a monitor that does not read.  Prints TAP.
// usage: node twin_clients.mjs TWINRUN
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const SECRET = 'at_test_0123456789abcdefghijklmnopqrstuv';
const dir = mkdtempSync(join(tmpdir(), 'twin-'));
let count = 0, failed = 0;
const ok = (cond, name, got) => {
  console.log(`${cond ? '' : 'not '}ok ${++count} - ${name}`);
  if (!cond) { failed++; if (got !== undefined) console.log('# ' + String(typeof got === 'string' ? got : JSON.stringify(got)).slice(0, 500)); }
};
const is = (got, want, name) => ok(JSON.stringify(got) === JSON.stringify(want), name, got);
const sleep = (ms) => new Promise((r) => setTimeout(r, ms));

const service = {
  name: 'shop', kind: 'http', hosts: ['shop.internal'], auth: { scheme: 'bearer', accept: SECRET },
  state: { orders: [{ id: 'o1', n: 1 }], big: Array.from({ length: 40000 }, (_, i) => ({ id: 'b' + i, text: 'x'.repeat(100) })), notes: [] },
  routes: [{ resource: 'orders', path: '/orders' }, { resource: 'big', path: '/big' }, { resource: 'notes', path: '/notes' },
    { id: 'len', match: { method: 'POST', path: '/len' }, reply: { body: { len: '{{len(request.body.text)}}' } } }],
};

// Starts the twins over one service.
function start(limits = {}, only = service) {
  const config = join(dir, `c${Math.random()}.json`);
  writeFileSync(config, JSON.stringify({ run: { id: 'r', seed: 1, start_ms: Date.now() }, limits: { operations: 100000, state_bytes: 64 << 20, ...limits },
    secrets: { shop: SECRET }, services: [only] }));
  const child = spawn(process.argv[2], [config, '1'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const t = { child, ops: [], states: [], lines: [], code: null };
  t.ended = new Promise((r) => child.on('close', (code) => { t.code = code; r(); }));
  t.ready = new Promise((r) => {
    createInterface({ input: child.stdout, crlfDelay: Infinity }).on('line', (line) => {
      const type = line.slice(0, line.indexOf(' '));
      if (type === 'PORT') { t.port = Number(line.slice(5)); r(); }
      else if (type === 'OP') t.ops.push(JSON.parse(line.slice(3)));
      else if (type === 'STATE') t.states.push(JSON.parse(line.slice(line.indexOf('{'))));
      else t.lines.push(line);
    });
  });
  t.finish = async () => { child.stdin.end(); await t.ended; };
  return t;
}
const running = [];
process.on('exit', () => { for (const t of running) if (t.code === null) t.child.kill('SIGKILL'); rmSync(dir, { recursive: true, force: true }); });

const auth = { authorization: `Bearer ${SECRET}` };
function request(t, options, body) {
  return new Promise((resolve, reject) => {
    const q = http.request({ host: '127.0.0.1', port: t.port, ...options, headers: { ...auth, ...options.headers } }, (r) => {
      let text = '';
      r.setEncoding('utf8').on('data', (d) => { text += d; }).on('end', () => resolve({ status: r.statusCode, text, reason: r.statusMessage })).on('error', reject);
    });
    q.on('error', reject);
    if (typeof body === 'function') body(q); else q.end(body);
  });
}
// Everything that a raw client receives until the twin ends its side.
function raw(t, bytes, { half = false } = {}) {
  return new Promise((resolve) => {
    const s = net.connect({ port: t.port, host: '127.0.0.1', allowHalfOpen: true });
    let text = '';
    s.on('data', (d) => { text += d; }).on('end', () => { s.end(); }).on('close', () => resolve(text)).on('error', () => {});
    if (half) s.end(bytes); else s.write(bytes);
  });
}
const head = `Host: shop.internal\r\nAuthorization: Bearer ${SECRET}\r\n`;

async function clients() {
  const t = start(); running.push(t);
  await t.ready;
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  let good = 0;
  for (let i = 0; i < 50; i++) good += (await request(t, { path: '/orders/o1', agent })).text === '{"id":"o1","n":1}';
  agent.destroy();
  is(good, 50, 'node:http, keep-alive agent: 50 calls');
  const replies = await Promise.all(Array.from({ length: 20 }, (_, i) => fetch(`http://127.0.0.1:${t.port}/orders`, { method: 'POST', headers: auth, body: JSON.stringify({ i }) })));
  ok(replies.every((r) => r.status === 201), 'fetch: 20 creates at once');
  is(new Set(await Promise.all(replies.map(async (r) => (await r.json()).id))).size, 20, 'with 20 ids');

  let r = await request(t, { method: 'POST', path: '/len', headers: { 'content-type': 'application/json' } }, async (q) => {
    q.write('{"text":"');
    for (let i = 0; i < 64; i++) { q.write('y'.repeat(16384)); if (i % 16 === 0) await sleep(1); }
    q.end('"}');
  });
  is(r.text, '{"len":1048576}', 'chunked upload of 1 MiB');
  let continued = false;
  r = await request(t, { method: 'POST', path: '/len', headers: { expect: '100-continue', 'content-length': 14 } }, (q) => q.on('continue', () => { continued = true; q.end('{"text":"abc"}'); }));
  ok(continued && r.text === '{"len":3}', 'Expect: 100-continue', r);
  r = await request(t, { method: 'HEAD', path: '/big' });
  ok(r.status === 200 && r.text === '', 'HEAD');

  let text = await raw(t, Array.from({ length: 10 }, (_, i) => `GET /orders/o1?i=${i} HTTP/1.1\r\n${head}${i === 9 ? 'Connection: close\r\n' : ''}\r\n`).join(''));
  is((text.match(/HTTP\/1\.1 200 OK/g) ?? []).length, 10, '10 requests in one piece');
  text = await raw(t, `GET /big HTTP/1.1\r\n${head}\r\n`, { half: true });
  ok(text.startsWith('HTTP/1.1 200') && text.endsWith('}]') && text.length > 5e6, 'a half-closed client gets all of a large reply', text.length);
  text = await raw(t, 'nonsense\r\n\r\n' + 'z'.repeat(300000));
  ok(text.startsWith('HTTP/1.1 400') && text.includes('not HTTP'), 'nonsense is answered 400, also when more follows', text);
  text = await raw(t, `POST /len HTTP/1.1\r\n${head}Content-Length: 9000000\r\n\r\n` + 'z'.repeat(1000000));
  ok(text.startsWith('HTTP/1.1 413'), 'too long a body: 413', text);
  r = await request(t, { path: '/orders/o1', headers: { host: 'other.internal' } });
  is(r.status, 421, 'other host: 421');

  // a slow reader of a large reply
  text = await new Promise((resolve) => {
    const s = net.connect(t.port, '127.0.0.1', () => s.write(`GET /big HTTP/1.1\r\n${head}Connection: close\r\n\r\n`));
    let n = 0;
    s.on('data', (d) => { n += d.length; s.pause(); setTimeout(() => s.resume(), n < 1e6 ? 5 : 0); }).on('close', () => resolve(n));
  });
  ok(text > 5e6, 'a slow reader gets all', text);
  // clients that vanish: while the reply is on its way, and within the request
  await new Promise((resolve) => {
    const s = net.connect(t.port, '127.0.0.1', () => s.write(`GET /big?vanish HTTP/1.1\r\n${head}\r\n`));
    s.once('data', () => s.resetAndDestroy()); s.on('close', resolve); s.on('error', () => {});
  });
  await new Promise((resolve) => {
    const s = net.connect(t.port, '127.0.0.1', () => s.write(`POST /orders?cut HTTP/1.1\r\n${head}Content-Length: 5\r\n\r\n{`, () => s.destroy()));
    s.on('close', resolve);
  });
  const all = await Promise.all(Array.from({ length: 1100 }, (_, i) => raw(t, `GET /orders/o1?c=${i} HTTP/1.1\r\n${head}Connection: close\r\n\r\n`)));
  is(all.filter((x) => x.startsWith('HTTP/1.1 200')).length, 1100, '1100 connections at once');
  // fire and forget, at the very end
  await new Promise((resolve) => {
    const s = net.connect(t.port, '127.0.0.1', () => s.write(`PUT /orders/o1 HTTP/1.1\r\n${head}Content-Length: 10\r\n\r\n{"n":"end"}`.replace('10', '11'), () => { s.destroy(); resolve(); }));
  });
  await t.finish();
  is(t.code, 0, 'exit status');
  ok(t.lines.at(-1).startsWith('DONE'), 'DONE is last', t.lines);
  ok(t.ops.every((o, i) => o.n === i), 'operations are numbered without a gap');
  ok(!JSON.stringify([t.ops, t.states]).includes(SECRET), 'no secret anywhere');
  const of = (s) => t.ops.find((o) => o.request.target.includes(s));
  is(of('?vanish')?.views, { service: 'applied', client: 'told-nothing' }, 'vanished while reading: told-nothing');
  is(of('?cut')?.views, { service: 'not-reached', client: 'told-nothing' }, 'vanished while writing: not-reached');
  is(t.ops.filter((o) => o.unmatched).map((o) => o.reply.status).sort(), [400, 413, 421], 'unmatched: what was malformed, too long, for another host');
  is(new Set(t.ops.slice(0, 50).map((o) => o.conn)).size, 1, 'the agent used one connection');
  is(t.ops.filter((o) => o.route === 'len').map((o) => [o.request.body.bytes, 'json' in o.request.body, (o.request.body.excerpt ?? '').length]), [[1048587, false, 2048], [14, true, 0]], 'long body by excerpt');
  is(t.ops.at(-1).request.method, 'PUT', 'the last write counts');
  is(t.states.at(-1).collections.orders.length, 21, 'final state: creates');
  is(t.states.at(-1).collections.orders.find((o) => o.id === 'o1').n, 'end', 'final state: the last write');
}

async function pressure() {
  const t = start(); running.push(t);
  await t.ready;
  const agent = new http.Agent({ keepAlive: true, maxSockets: 20 });
  const note = JSON.stringify({ text: 'n'.repeat(30000) });
  let done = 0;
  t.child.kill('SIGSTOP'); // only the monitor's part: the twins are its child and run on
  const all = Promise.all(Array.from({ length: 600 }, () => request(t, { method: 'POST', path: '/len', agent, headers: { 'content-type': 'application/json' } }, note).then((r) => { done += r.status === 200; })));
  let before = -1;
  while (done !== before || done === 0) { before = done; await sleep(500); }
  ok(done < 600, `the twins stop reading while their records are not taken: ${done} calls`);
  t.child.kill('SIGCONT');
  await all;
  is(done, 600, 'and go on when they are');
  agent.destroy();
  await t.finish();
  is([t.code, t.ops.length], [0, 600], 'nothing is lost');
}

async function limits() {
  const small = { ...service, state: { orders: [{ id: 'o1', n: 1 }], notes: [] }, routes: service.routes.filter((r) => r.resource !== 'big') };
  const t = start({ operations: 5, state_bytes: 5000000 }, small); running.push(t);
  await t.ready;
  const seen = [];
  const note = JSON.stringify({ text: 'n'.repeat(6000000) });
  seen.push((await request(t, { method: 'POST', path: '/notes' }, note)).status);
  for (let i = 0; i < 6; i++) seen.push((await request(t, { path: '/orders/o1' })).status);
  await t.finish();
  is(seen, [507, 200, 200, 200, 200, 503, 503], 'limits of state and operations');
  is([t.code, t.ops.length, t.lines.filter((l) => l.startsWith('TRUNCATED')).length], [0, 5, 2], 'both end in a record');
}

await clients();
await pressure();
await limits();
console.log(`1..${count}`);
process.exit(failed ? 1 : 0);
