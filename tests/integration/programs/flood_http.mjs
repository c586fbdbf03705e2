// A workflow that tries to wear the twins out: each attack says what it got, then an honest call has to be answered.
import net from 'node:net';
import http from 'node:http';

const host = 'api.internal';
const open = () => new Promise((resolve, reject) => { const s = net.connect(80, host, () => resolve(s)); s.on('error', reject); });
const talk = (write, wait = 5000) => new Promise((resolve) => {
	const s = net.connect(80, host);
	let text = '';
	const done = () => { clearTimeout(timer); s.destroy(); resolve(text.split('\r\n')[0] || 'closed'); };
	const timer = setTimeout(() => { text ||= 'silence'; done(); }, wait);
	s.on('data', (d) => { text += d; if (text.includes('\r\n')) done(); });
	s.on('error', done);
	s.on('close', done);
	s.on('connect', () => write(s));
});
const say = async (name, what) => console.log(`${name}: ${await what}`);
const honest = () => new Promise((resolve) => http.get(`http://${host}/ok`, { agent: false }, (r) => { r.resume(); resolve(r.statusCode); }).on('error', (e) => resolve(e.code)));

const slow = [];
for (let i = 0; i < 1000; i++) {
	const s = await open();
	s.on('error', () => {});
	s.write(`GET /ok HTTP/1.1\r\nHost: ${host}\r\nX-Slow-${i}: `);
	slow.push(s);
}
await say('slowloris, 1000 connections', honest());
await say('gibibyte body', talk((s) => {
	s.write(`POST /echo HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${2 ** 30}\r\n\r\n`);
	const block = Buffer.alloc(1 << 20, 'x');
	const more = () => { while (!s.destroyed && s.write(block)); };
	s.on('drain', more);
	more();
}));
await say('gibibyte in chunks', talk((s) => {
	s.write(`POST /echo HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\n\r\n`);
	const block = Buffer.concat([Buffer.from('100000\r\n'), Buffer.alloc(1 << 20, 'x'), Buffer.from('\r\n')]);
	const more = () => { while (!s.destroyed && s.write(block)); };
	s.on('drain', more);
	more();
}));
await say('100000 headers', talk((s) => s.write(`GET /ok HTTP/1.1\r\nHost: ${host}\r\n${Array.from({ length: 100000 }, (_, i) => `x-${i}: y\r\n`).join('')}\r\n`)));
await say('endless chunk extension', talk((s) => s.write(`POST /echo HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\n\r\n1;${'e'.repeat(1 << 20)}`)));
await say('length and chunks', talk((s) => s.write(`POST /echo HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`)));
await say('two lengths', talk((s) => s.write(`POST /echo HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcde`)));
await say('folded header', talk((s) => s.write(`GET /ok HTTP/1.1\r\nHost: ${host}\r\nX: a\r\n b\r\n\r\n`)));
await say('NUL in a name', talk((s) => s.write(`GET /ok HTTP/1.1\r\nHost: ${host}\r\nX\0: a\r\n\r\n`)));
await say('no HTTP', talk((s) => s.write(Buffer.from([0, 255, 13, 10, 13, 10]))));
const pipelined = await new Promise((resolve) => {
	const s = net.connect(80, host);
	let text = '', n = 0;
	s.on('data', (d) => { text += d; const parts = text.split('HTTP/1.1 200'); n += parts.length - 1; text = parts.at(-1).slice(-20); if (n >= 20000) { s.destroy(); resolve(n); } });
	s.on('error', () => resolve(n));
	s.on('close', () => resolve(n));
	s.write(`GET /ok HTTP/1.1\r\nHost: ${host}\r\n\r\n`.repeat(20000));
});
console.log(`pipelined: ${pipelined} answered`);
for (const s of slow) s.destroy();
await say('afterwards', honest());
process.exit(0);
