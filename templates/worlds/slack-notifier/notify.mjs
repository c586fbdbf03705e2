// Tells a channel of the orders that are late, once each, by Slack's own SDK.  Slack says 429 after two messages; the SDK
// waits as long as Retry-After says.  --blind sends without looking at what the answer says: Slack's errors are a 200.
import { WebClient } from '@slack/web-api';

const slack = new WebClient(process.env.SLACK_TOKEN, { retryConfig: { retries: 3, minTimeout: 100, maxTimeout: 200 } });
const orders = ['ord_1', 'ord_2', 'ord_3'];
const channel = process.argv.includes('--blind') ? 'nobody-here' : 'late-orders';

let sent = 0;
for (const order of orders) {
	try {
		const answer = await slack.chat.postMessage({ channel, text: `${order} is late` });
		sent += answer.ok ? 1 : 0;
	} catch (error) {
		if (!process.argv.includes('--blind')) throw error;
	}
}
console.log(`told of ${sent} orders`);
