// Each client against each fault once, lines `FAULT CLIENT RESULT`.  How often the client asked is in the receipt: the path is the
// client's own.  Waiting is cut short where a client lets it be.
import { make, report, within } from './clients.mjs';

const calls = [];
for (const fault of process.env.FAULTS.split(' '))
	for (const [client, call] of Object.entries(make({ wait: 1500, agent: false })))
		calls.push(within(9000, () => call(`http://${fault}.internal`)).then((result) => `${fault} ${client} ${result}`));
await report((await Promise.all(calls)).sort());
