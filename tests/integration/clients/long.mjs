// Clients at their own limits, lines `HOST CLIENT RESULT`: all at once, as long as the longest takes.
import { make, report, within } from './clients.mjs';

const limit = 840000;
const once = async (host, client, options) => {
	const from = Date.now();
	const result = await within(limit, () => make(options)[client](`http://${host}.internal`));
	console.log(host, client, Math.round((Date.now() - from) / 1000), 's');
	return `${host} ${client} ${result}`;
};
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const twice = async (client) => { // with a minute between, in which the service ends the connection
	const call = make()[client], results = [];
	results.push(await within(limit, () => call('http://idle.internal')));
	await pause(75000);
	results.push(await within(limit, () => call('http://idle.internal')));
	return `idle ${client} ${results.join(', ')}`;
};
const all = [];
for (const client of Object.keys(make())) {
	if (/^undici-retry/.test(client)) continue;
	for (const host of ['silent', 'silent-body']) all.push(once(host, client, client === 'stripe' ? {} : { retries: 1 }));
	all.push(once('syn', client, {}));
	all.push(twice(client));
}
await report((await Promise.all(all)).sort());
