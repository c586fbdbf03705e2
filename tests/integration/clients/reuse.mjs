// Connections that are used again, lines `HOST CLIENT RESULT, RESULT, ...`: three calls each, of which a fault meets the second on some hosts;
// twenty at once; requests that wait behind one that fails; SYN that nobody answers, to clients at their own limit.
import http from 'node:http';
import { Pool } from 'undici';
import { make, report, told, within } from './clients.mjs';

const lines = [];
const hosts = ['kept', 'reused-fin', 'reused-rst'];
await Promise.all([
	...hosts.map(async (host) => { // one client after the other: some share their connections
		for (const [client, call] of Object.entries(make({ agent: new http.Agent({ keepAlive: true, maxSockets: 1 }) }))) {
			const results = [];
			for (let i = 0; i < 3; i++) {
				results.push(await within(60000, () => call(`http://${host}.internal`)));
				await new Promise((done) => setTimeout(done, 50)); // undici frees a connection a little after the body's end
			}
			lines.push(`${host} ${client} ${results.join(', ')}`);
		}
	}),
	...['fetch-get', 'undici-get'].map(async (client) => {
		const call = make()[client];
		lines.push(`wide ${client} ${[...new Set(await Promise.all(Array.from({ length: 20 }, () => call('http://wide.internal').catch(told))))].join()}`);
	}),
	(async () => {
		const pool = new Pool('http://queue.internal', { connections: 1 });
		const results = await Promise.all([1, 2, 3].map(() => pool.request({ method: 'GET', path: '/undici-queue' }).then(async (r) => { await r.body.dump(); return r.statusCode; }, told)));
		lines.push(`queue undici-queue ${results.join(', ')}`);
	})(),
	...['fetch-get', 'undici-get', 'openai', 'anthropic', 'slack', 'octokit'].map(async (client) => { // nobody answers a SYN: undici's own limit
		lines.push(`syn ${client} ${await within(40000, () => make({ retries: 0 })[client]('http://syn.internal'))}`);
	}),
]);
await report(lines.sort());
