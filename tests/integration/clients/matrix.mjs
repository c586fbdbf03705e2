// Each client against each fault once, lines `FAULT CLIENT RESULT`.  How often the client asked is in the receipt: the path is the
// client's own.  Waiting is cut short where a client lets it be, and only where nothing comes: elsewhere a slow machine has its time.
import { make, report, within } from './clients.mjs';

const lines = [];
const all = async (faults, wait, late) => {
	const calls = [];
	for (const fault of faults)
		for (const [client, call] of Object.entries(make({ wait, agent: false })))
			calls.push(within(late, () => call(`http://${fault}.internal`)).then((result) => lines.push(`${fault} ${client} ${result}`)));
	await Promise.all(calls);
};
const faults = process.env.FAULTS.split(' ');
const mute = faults.filter((fault) => /^stall|^syn$/.test(fault)), others = faults.filter((fault) => !mute.includes(fault));
for (let i = 0; i < others.length; i += 4) await all(others.slice(i, i + 4), 60000, 60000);
await all(mute, 2500, 20000);
await report(lines.sort());
