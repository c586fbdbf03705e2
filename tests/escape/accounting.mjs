// SPDX-License-Identifier: GPL-2.0-or-later
// A known number of packets: one for each refused connect, one for each datagram.
import dgram from 'node:dgram';
import net from 'node:net';

const refused = (host, port) => new Promise((resolve) => {
  const socket = net.connect({ host, port, autoSelectFamily: false });
  socket.on('error', (error) => resolve(error.code));
  socket.on('connect', () => { socket.destroy(); resolve('CONNECTED'); });
});
const send = (type, host, port, count) => new Promise((resolve) => {
  const socket = dgram.createSocket(type);
  let left = count;
  const next = () => {
    if (left-- === 0) { socket.close(); resolve(); return; }
    socket.send('x', port, host, next);
  };
  socket.on('error', () => {});
  next();
});

const codes = new Set();
for (const [host, port, count] of JSON.parse(process.env.TCP)) {
  for (let i = 0; i < count; i++) codes.add(await refused(host, port));
}
for (const [host, port, count] of JSON.parse(process.env.UDP)) await send(host.includes(':') ? 'udp6' : 'udp4', host, port, count);
await Promise.all(Array.from({ length: 20 }, () => refused('203.0.113.77', 7777)));
console.log([...codes].join(' '));
