// Refunds one order through Stripe's own SDK.  The SDK sends one idempotency key with all tries of a call, so a lost reply
// costs nothing; --new-key is the same program with a mistake that reviews miss: it makes a key for every try.
import { readFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import Stripe from 'stripe';

const careless = process.argv.includes('--new-key');
const order = JSON.parse(readFileSync('order.json', 'utf8'));
const stripe = new Stripe(process.env.STRIPE_SECRET_KEY, { maxNetworkRetries: careless ? 0 : 2 });

async function refund() {
	if (!careless) return stripe.refunds.create({ charge: order.charge, amount: order.amount });
	for (let tries = 1; ; tries++) {
		try {
			return await stripe.refunds.create({ charge: order.charge, amount: order.amount }, { idempotencyKey: randomUUID() });
		} catch (error) {
			if (error.type !== 'StripeConnectionError' || tries === 3) throw error;
		}
	}
}

const done = await refund();
let listed = 0;
for await (const one of stripe.refunds.list({ charge: order.charge, limit: 10 })) listed += one.amount;
console.log(`refunded ${done.amount} of ${order.charge}, ${listed} in all`);
