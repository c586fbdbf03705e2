// SPDX-License-Identifier: GPL-2.0-or-later
// Tries to reach something: TCP, UDP with an answer, names, other programs; over IPv4 and IPv6.
import dgram from 'node:dgram';
import dns from 'node:dns/promises';
import net from 'node:net';
import os from 'node:os';
import { attempt, fail, report, run } from './escape.mjs';

const tcp = (host, port) => new Promise((resolve, reject) => {
  const socket = net.connect({ host, port, autoSelectFamily: false });
  socket.setTimeout(4000, () => socket.destroy(new Error('timeout')));
  socket.on('connect', () => { socket.destroy(); resolve('connected'); });
  socket.on('error', reject);
});
// A DNS question by hand; only an answer counts as got.
const question = Buffer.from('123401000001000000000000076578616d706c6503636f6d0000010001', 'hex');
const udp = (type, host, port) => new Promise((resolve, reject) => {
  const socket = dgram.createSocket(type);
  const timer = setTimeout(() => { socket.close(); reject(new Error('no answer')); }, 500);
  socket.on('message', () => { clearTimeout(timer); socket.close(); resolve('answered'); });
  socket.on('error', (error) => { clearTimeout(timer); socket.close(); reject(error); });
  socket.send(question, port, host, (error) => { if (error) { clearTimeout(timer); socket.close(); reject(error); } });
});

const link = Object.entries(os.networkInterfaces()).find(([name]) => name !== 'lo')?.[0];
const targets = {
  'public4': '1.1.1.1', 'public6': '2606:4700:4700::1111', 'documentation4': '203.0.113.9', 'documentation6': '2001:db8::9',
  'metadata4': '169.254.169.254', 'metadata6': 'fd00:ec2::254', 'private4': '10.0.0.1', 'mapped': '::ffff:1.1.1.1',
  'nat64': '64:ff9b::101:101', 'six-to-four': '2002:101:101::1', 'broadcast': '255.255.255.255',
};
for (const [name, address] of Object.entries(targets)) await attempt(`tcp-${name}`, () => tcp(address, 443));
await attempt('tcp-link-local6', () => (link ? tcp(`fe80::1%${link}`, 443) : fail('no interface')));
for (const [name, address] of Object.entries(targets)) {
  await attempt(`udp-${name}`, () => udp(address.includes(':') ? 'udp6' : 'udp4', address, 53));
}
await attempt('udp-multicast4', () => udp('udp4', '224.0.0.251', 5353));
await attempt('udp-multicast6', () => (link ? udp('udp6', `ff02::fb%${link}`, 5353) : fail('no interface')));
await attempt('host-loopback', () => tcp('127.0.0.1', Number(process.env.HOST_PORT)));
await attempt('docker-resolver', () => udp('udp4', '127.0.0.11', 53));
await attempt('resolver-stub', () => udp('udp4', '127.0.0.53', 53));
await attempt('host-address', () => tcp(process.env.HOST_ADDRESS, Number(process.env.HOST_PORT)));

await attempt('name-lookup', () => dns.lookup('example.com').then((r) => r.address));
await attempt('name-query', () => dns.resolve4('example.com').then((r) => r[0]));
const resolver = new dns.Resolver({ timeout: 500, tries: 1 });
resolver.setServers(['8.8.8.8', '[2001:4860:4860::8888]:53']);
await attempt('name-foreign-resolver', () => resolver.resolve4('example.com').then((r) => r[0]));
await attempt('fetch-name', () => fetch('http://example.com/').then((r) => r.status));
await attempt('fetch-address', () => fetch('http://1.1.1.1/').then((r) => r.status));

for (const [name, ...command] of [
  ['ping4', 'ping', '-c1', '-W1', '1.1.1.1'], ['ping6', 'ping', '-6', '-c1', '-W1', '2606:4700:4700::1111'],
  ['nft-flush', 'nft', 'flush', 'ruleset'], ['nft-list', 'nft', 'list', 'ruleset'],
  ['nft-delete', 'nft', 'delete', 'table', 'inet', 'agenttwin'], ['iptables', 'iptables', '-I', 'OUTPUT', '-j', 'ACCEPT'],
  ['ip-route', 'ip', 'route', 'add', 'default', 'dev', 'lo'], ['ip-link', 'ip', 'link', 'set', 'lo', 'down'],
]) {
  await attempt(name, () => run(...command));
}
await attempt('own-loopback', async () => {
  const server = net.createServer((s) => s.end()).listen(0, '127.0.0.1');
  await new Promise((resolve) => { server.on('listening', resolve); });
  const got = await tcp('127.0.0.1', server.address().port);
  server.close();
  return got;
});
await attempt('own-loopback6', async () => {
  const server = net.createServer((s) => s.end()).listen(0, '::1');
  await new Promise((resolve, reject) => { server.on('listening', resolve); server.on('error', reject); });
  const got = await tcp('::1', server.address().port);
  server.close();
  return got;
});
await attempt('judge', () => tcp('judge.internal', 80));
await report('network');
