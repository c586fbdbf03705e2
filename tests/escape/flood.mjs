// SPDX-License-Identifier: GPL-2.0-or-later
// More packets, to more places, than anyone lists.
import dgram from 'node:dgram';

const socket = dgram.createSocket('udp4').on('error', () => {});
await new Promise((resolve) => { socket.bind(0, resolve); });
for (let i = 0; i < 5000; i++) {
  await new Promise((resolve) => { socket.send('x', 1000 + i % 2000, '203.0.113.9', () => resolve()); });
}
socket.close();
