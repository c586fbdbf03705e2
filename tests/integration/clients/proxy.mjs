// Who obeys the variables of a proxy, lines `kept CLIENT RESULT`.
import { make, report, within } from './clients.mjs';

await report((await Promise.all(Object.entries(make({ retries: 0 })).map(async ([client, call]) => `kept ${client} ${await within(30000, () => call('http://kept.internal'))}`))).sort());
