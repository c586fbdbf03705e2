// A shop's own HTTP service: an order takes stock at the warehouse, then stands in the list.  With FORGETFUL set it answers
// before the warehouse has, and never hears that there was nothing left.
import express from 'express';

const app = express().use(express.json());
const orders = [];

async function take(item, count) {
	const answer = await fetch(`${process.env.WAREHOUSE_URL}/take`, {
		method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ item, count }),
	});
	return answer.ok;
}

app.post('/orders', async (request, reply) => {
	const { item, count } = request.body;
	if (process.env.FORGETFUL) take(item, count).catch(() => {});
	else if (!(await take(item, count))) return reply.status(409).json({ error: 'sold out' });
	orders.push({ id: orders.length + 1, item, count });
	reply.status(201).json(orders.at(-1));
});
app.get('/orders', (request, reply) => reply.json(orders));

const server = app.listen(3000, '127.0.0.1');
process.on('SIGTERM', () => server.close(() => process.exit(0)));
