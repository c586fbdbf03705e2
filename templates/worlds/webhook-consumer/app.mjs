// Ships what was paid for.  Stripe tells by webhook, signed, and sometimes twice: the id of the event says that it is the same.
// With TRUSTING set every delivery ships a parcel.
import express from 'express';
import Stripe from 'stripe';

const stripe = new Stripe(process.env.STRIPE_SECRET_KEY);
const seen = new Set();
const app = express();

app.post('/buy', async (request, reply) => {
	const intent = await stripe.paymentIntents.create({ amount: 1900, currency: 'eur', confirm: true });
	reply.json({ payment: intent.id });
});
app.post('/hooks/stripe', express.raw({ type: '*/*' }), async (request, reply) => {
	let event;
	try {
		event = stripe.webhooks.constructEvent(request.body, request.headers['stripe-signature'], process.env.STRIPE_WEBHOOK_SECRET);
	} catch (error) {
		return reply.status(400).send(error.message);
	}
	if (!process.env.TRUSTING && seen.has(event.id)) return reply.send('seen');
	seen.add(event.id);
	await fetch(`${process.env.PARCELS_URL}/parcels`, {
		method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ payment: event.data.object.id }),
	});
	reply.send('shipped');
});

const server = app.listen(3000, '127.0.0.1');
process.on('SIGTERM', () => server.close(() => process.exit(0)));
