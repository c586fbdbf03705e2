// Clients that do not trust the run's authority, lines `HOST CLIENT RESULT`; that it is too late to name it from inside; and the other way to
// name it before the start.
import { execFileSync } from 'node:child_process';
import { make, report, told, within } from './clients.mjs';

const base = 'https://tls.internal';
const ca = process.env.NODE_EXTRA_CA_CERTS;
if (process.argv[2] === 'distrust') {
	const calls = Object.entries(make({ wait: 30000 })).map(async ([client, call]) => `distrust ${client} ${await within(30000, () => call(base))}`);
	console.log((await Promise.all(calls)).join('\n'));
	process.exit(0);
}
if (process.argv[2] === 'one') {
	if (process.argv[3]) process.env.NODE_EXTRA_CA_CERTS = process.argv[3];
	console.log(await make()['node-get'](base).catch(told));
	process.exit(0);
}
const { NODE_EXTRA_CA_CERTS: _, ...without } = process.env;
const child = (env, ...args) => execFileSync(process.execPath, args, { env, encoding: 'utf8' }).trim();
const clients = make();
const lines = (await Promise.all(Object.entries(clients).map(async ([client, call]) => `tls ${client} ${await within(30000, () => call(base))}`)));
lines.push(...child(without, 'tls.mjs', 'distrust').split('\n'));
lines.push(`late node-get ${child(without, 'tls.mjs', 'one', ca)}`);
lines.push(`openssl-ca node-get ${child({ ...without, SSL_CERT_FILE: ca }, '--use-openssl-ca', 'tls.mjs', 'one')}`);
await report(lines.sort());
