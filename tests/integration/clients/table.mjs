// table.mjs RECEIPT - what a run of this folder has to say, lines `SERVICE CLIENT ASKED KEYS CONNECTIONS RESULT`: the result from the workflow,
// how often each client asked, with how many idempotency keys and over how many connections from the operations.
import fs from 'node:fs';

const receipt = JSON.parse(fs.readFileSync(process.argv[2]));
const path = { stripe: '/v1/refunds', 'stripe-off': '/v1/customers', openai: '/v1/chat/completions', anthropic: '/v1/messages', slack: '/api/chat.postMessage', octokit: '/users/ada' };
for (const line of receipt.state.final.results.lines[0].lines) {
	const [service, client, ...result] = line.split(' ');
	const calls = receipt.operations.filter((o) => o.service === service && o.request.target === (path[client] ?? `/${client}`));
	const count = (of) => new Set(calls.map(of).filter((x) => x !== null && x !== undefined)).size;
	console.log(service, client, calls.length, count((o) => o.key), count((o) => o.conn), result.join(' '));
}
