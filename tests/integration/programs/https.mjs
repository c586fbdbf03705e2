// SPDX-License-Identifier: GPL-2.0-or-later
// https.mjs ACT - calls over TLS, from inside; prints "NAME VALUE" lines.
import { execFileSync } from 'node:child_process';
import dns from 'node:dns/promises';
import fs from 'node:fs';
import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import net from 'node:net';
import tls from 'node:tls';

const { PAY_URL, PAY_HOST, PAY_PORT, NODE_EXTRA_CA_CERTS } = process.env;
const PAY_NAME = process.env.PAY_NAME ?? PAY_HOST;
const say = (name, value) => console.log(name, typeof value === 'string' ? value : JSON.stringify(value));
const attempt = async (name, f) => {
	try {
		say(name, await f());
	} catch (e) {
		say(name, e.cause?.code ?? e.code ?? e.message);
	}
};
const request = (url, options = {}) =>
	new Promise((resolve, reject) => {
		const q = (options.plain ? http : https).request(url, options, (r) => {
			const chunks = [];
			r.on('data', (c) => chunks.push(c));
			r.on('error', reject);
			r.on('end', () => resolve({ status: r.statusCode, body: Buffer.concat(chunks).toString(), reused: q.reusedSocket, socket: r.socket }));
		});
		q.on('error', reject);
		q.end(options.body);
	});
// What a server that gets these bytes says before it closes, in hex.
const raw = (bytes) =>
	new Promise((resolve) => {
		const s = net.connect(Number(PAY_PORT), PAY_HOST, () => s.write(bytes));
		const chunks = [];
		s.on('data', (c) => chunks.push(c));
		s.on('error', (e) => resolve(e.code));
		s.on('end', () => s.end());
		s.on('close', () => resolve(Buffer.concat(chunks).toString('hex')));
	});
const openssl = (...args) => {
	try {
		return execFileSync('openssl', ['s_client', '-connect', `${PAY_HOST}:${PAY_PORT}`, ...args], { input: '', stdio: ['pipe', 'pipe', 'pipe'] }).toString();
	} catch (e) {
		return String(e.stdout) + String(e.stderr);
	}
};
const connect = (options) =>
	new Promise((resolve, reject) => {
		const s = tls.connect({ host: PAY_HOST, port: Number(PAY_PORT), servername: PAY_HOST, ...options }, () => resolve(s));
		s.on('error', reject);
	});
// The session arrives with the handshake or after it.
const session = async (options) => {
	const s = await connect(options);
	const result = { reused: s.isSessionReused(), session: s.getSession(), protocol: s.getProtocol(), cipher: s.getCipher().standardName, alpn: s.alpnProtocol };
	s.end();
	await new Promise((done) => s.on('close', done));
	return result;
};

const acts = {
	async clients() {
		await attempt('url', () => PAY_URL);
		await attempt('fetch', async () => (await fetch(`${PAY_URL}/orders`)).json());
		await attempt('https', async () => (await request(`${PAY_URL}/orders/1`)).body);
		await attempt('second', async () => (await request('https://files.pay.example/orders/1')).status);
		await attempt('upper', async () => (await request(`https://API.PAY.example/orders/1`)).status);
		const agent = new https.Agent({ keepAlive: true, maxSockets: 1 });
		await attempt('keepalive', async () => {
			const seen = [];
			for (let i = 0; i < 4; i++) seen.push((await request(`${PAY_URL}/orders/1`, { agent })).reused);
			return seen;
		});
		agent.destroy();
		const cold = new https.Agent({ keepAlive: false });
		await attempt('agent-session', async () => {
			const seen = [];
			for (let i = 0; i < 3; i++) seen.push((await request(`${PAY_URL}/orders/1`, { agent: cold })).socket.isSessionReused());
			return seen;
		});
		const big = 'x'.repeat(2_000_000);
		await attempt('big', async () => {
			const made = await request(`${PAY_URL}/orders`, { method: 'POST', body: JSON.stringify({ id: 'big', big }), headers: { 'content-type': 'application/json' } });
			const got = await fetch(`${PAY_URL}/orders/big`);
			return [made.status, (await got.json()).big === big];
		});
		await attempt('parallel', async () => {
			const all = await Promise.all(Array.from({ length: 50 }, () => fetch(`${PAY_URL}/orders/1`).then((r) => r.status)));
			return [...new Set(all)];
		});
		for (const cipher of ['ECDHE-ECDSA-AES128-GCM-SHA256', 'ECDHE-ECDSA-AES256-GCM-SHA384', 'ECDHE-ECDSA-CHACHA20-POLY1305'])
			await attempt(cipher, async () => (await session({ ciphers: cipher, maxVersion: 'TLSv1.2' })).cipher);
		const first = await session({ ALPNProtocols: ['h2', 'http/1.1'] });
		await attempt('first', () => [first.protocol, first.alpn, first.reused]);
		await attempt('resumed', async () => (await session({ session: first.session })).reused);
		await attempt('lookup', async () => (await dns.lookup(PAY_HOST)).address);
		await attempt('resolve', () => dns.resolve4(PAY_HOST));
		await attempt('certificate', async () => {
			const s = await connect({});
			const c = s.getPeerCertificate();
			s.destroy();
			return [c.subject.CN, c.subjectaltname, c.ca];
		});
		await attempt('stream', async () => {
			// two requests in one record, a third in pieces of one byte
			const s = await connect({});
			s.write('GET /orders/1 HTTP/1.1\r\nHost: api.pay.example\r\n\r\n'.repeat(2));
			for (const b of 'GET /orders/1 HTTP/1.1\r\nHost: api.pay.example\r\nConnection: close\r\n\r\n') s.write(b);
			let text = '';
			for await (const c of s) text += c;
			return text.match(/HTTP\/1.1 200 OK/g).length;
		});
		await attempt('port80', () => request(`http://${PAY_HOST}/orders`, { plain: true }));
		say('ca-mode', (fs.statSync(NODE_EXTRA_CA_CERTS).mode & 0o777).toString(8));
		for (const [name, f] of Object.entries({ write: () => fs.writeFileSync(NODE_EXTRA_CA_CERTS, ''), append: () => fs.appendFileSync(NODE_EXTRA_CA_CERTS, 'x'), unlink: () => fs.unlinkSync(NODE_EXTRA_CA_CERTS), rename: () => fs.renameSync(NODE_EXTRA_CA_CERTS, '/etc/x'), chmod: () => fs.chmodSync(NODE_EXTRA_CA_CERTS, 0o666) }))
			await attempt(`ca-${name}`, () => (f(), 'done'));
	},
	// How connections end: what the server's socket does, the last record that it sent (21: an alert, here close_notify), whether
	// a part of the reply came, and bytes of a record that is not whole.
	async ends() {
		let seen;
		const between = net.createServer((client) => {
			const wire = net.connect(Number(PAY_PORT), PAY_HOST);
			const now = (seen = { types: [], rest: Buffer.alloc(0), end: '' });
			client.on('error', () => wire.destroy());
			client.on('close', () => wire.destroy());
			client.on('data', (d) => wire.write(d));
			wire.on('data', (d) => {
				now.rest = Buffer.concat([now.rest, d]);
				for (let n; now.rest.length >= 5 && now.rest.length >= (n = 5 + now.rest.readUInt16BE(3)); now.rest = now.rest.subarray(n)) now.types.push(now.rest[0]);
				client.write(d);
			});
			wire.on('end', () => (now.end ||= 'fin'));
			wire.on('error', (e) => (now.end ||= e.code));
			wire.on('close', () => client.destroy());
		});
		await new Promise((done) => between.listen(0, '127.0.0.1', done));
		for (const path of process.argv.slice(3)) {
			const s = tls.connect({ port: between.address().port, host: '127.0.0.1', servername: PAY_NAME });
			let got = 0;
			s.on('error', () => {});
			s.on('data', (d) => (got += d.length));
			s.write(`GET ${path} HTTP/1.1\r\nHost: ${PAY_NAME}\r\nConnection: close\r\n\r\n`);
			const quiet = setTimeout(() => ((seen.end = 'stall'), s.destroy()), 1000);
			await new Promise((done) => s.on('close', done));
			clearTimeout(quiet);
			say(path, [seen.end, seen.types.at(-1), got > 0, seen.rest.length]);
		}
		between.close();
	},
	// Clients that refuse the certificate themselves, after or in the handshake.
	async distrust() {
		const other = fs.readFileSync('other.pem');
		await attempt('other-ca', () => request(`${PAY_URL}/orders`, { ca: other }));
		await attempt('no-ca', () => request(`${PAY_URL}/orders`, { ca: [] }));
		await attempt('wrong-name', () => request(`${PAY_URL}/orders`, { servername: 'evil.example' }));
		await attempt('unverified', async () => (await request(`${PAY_URL}/orders`, { ca: other, rejectUnauthorized: false })).status);
	},
	async openssl() {
		const of = (text, pattern) => text.match(pattern)?.[0] ?? text.slice(-300);
		let t = openssl('-CAfile', NODE_EXTRA_CA_CERTS, '-noservername', '-sess_out', '/tmp/session', '-verify_return_error', '-verify_hostname', 'files.pay.example');
		say('no-sni', of(t, /Verification: OK/));
		say('new', of(t, /New, TLSv1.2/));
		say('curve', of(t, /Server Temp Key: X25519/));
		say('P-256', of(openssl('-groups', 'P-256'), /Server Temp Key: ECDH, prime256v1/));
		say('reused', of(openssl('-CAfile', NODE_EXTRA_CA_CERTS, '-noservername', '-sess_in', '/tmp/session'), /Reused, TLSv1.2/));
		say('renegotiation', of(openssl('-CAfile', NODE_EXTRA_CA_CERTS), /Secure Renegotiation IS supported/));
		say('fingerprint', execFileSync('openssl', ['x509', '-in', NODE_EXTRA_CA_CERTS, '-noout', '-fingerprint', '-sha256']).toString().trim().split('=')[1].replaceAll(':', '').toLowerCase());
		say('verify', execFileSync('openssl', ['x509', '-in', NODE_EXTRA_CA_CERTS, '-noout', '-subject']).toString().trim());
	},
	async bad() {
		const act = process.argv[3];
		if (act === 'tls13') await attempt(act, () => request(`${PAY_URL}/orders`, { minVersion: 'TLSv1.3' }));
		if (act === 'tls11') say(act, openssl('-tls1_1', '-cipher', 'DEFAULT@SECLEVEL=0').includes('Cipher is (NONE)') ? 'refused' : 'accepted');
		if (act === 'rsa') await attempt(act, () => request(`${PAY_URL}/orders`, { ciphers: 'ECDHE-RSA-AES128-GCM-SHA256', maxVersion: 'TLSv1.2' }));
		if (act === 'h2') await attempt(act, () => new Promise((resolve, reject) => http2.connect(PAY_URL).on('error', reject).on('connect', () => resolve('connected'))));
		if (act === 'plain') await attempt(act, () => request(`http://${PAY_HOST}:${PAY_PORT}/orders`, { plain: true }));
		if (act === 'ssl2') say(act, await raw(Buffer.from('802e0100020015000000100100800200800300800400800500800600400700c000112233445566778899aabbccddeeff', 'hex')));
		if (act === 'noise') say(act, await raw(Buffer.alloc(3000, 0x5a)));
		if (act === 'large') say(act, await raw(Buffer.concat([Buffer.from('160301ffff', 'hex'), Buffer.alloc(100)])));
		if (act === 'distrust') say(act, openssl('-CAfile', 'other.pem', '-verify_return_error').includes('unknown ca') || 'refused');
	},
};
await acts[process.argv[2]]();
