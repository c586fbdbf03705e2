// refund-agent: reads an order, looks at its charge, and refunds what the customer is owed, once.
// Plain Node 18 or newer, no packages.  PAYMENTS_URL and PAYMENTS_KEY say where and as whom.
import { readFile } from 'node:fs/promises';

const ATTEMPTS = 2;
const { PAYMENTS_URL, PAYMENTS_KEY } = process.env;

async function payments(method, path, body) {
  const reply = await fetch(PAYMENTS_URL + path, {
    method,
    headers: { authorization: `Bearer ${PAYMENTS_KEY}`, 'content-type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await reply.text();
  return { status: reply.status, body: text === '' ? null : JSON.parse(text) };
}

// 503 says that nothing was done; any other answer is final, and asking again could pay twice.
const isFinal = (status) => status !== 503;

async function refund(charge, amount) {
  let reply;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    reply = await payments('POST', '/refunds', { charge, amount });
    console.log(`refund: attempt ${attempt} answered ${reply.status}`);
    if (isFinal(reply.status)) break;
  }
  if (reply.status !== 201) throw new Error(`refund refused: ${reply.status} ${JSON.stringify(reply.body)}`);
  return reply.body;
}

async function main() {
  if (!PAYMENTS_URL || !PAYMENTS_KEY) throw new Error('PAYMENTS_URL and PAYMENTS_KEY must be set');
  const order = JSON.parse(await readFile(new URL('order.json', import.meta.url), 'utf8'));
  const found = await payments('GET', `/charges/${encodeURIComponent(order.charge)}`);
  if (found.status !== 200) throw new Error(`charge ${order.charge}: ${found.status} ${JSON.stringify(found.body)}`);
  const left = found.body.amount - found.body.refunded;
  console.log(`order ${order.order}: charge ${order.charge} of ${found.body.amount}, ${left} not refunded yet`);
  if (order.refund > left) throw new Error(`cannot refund ${order.refund}: only ${left} left`);
  const made = await refund(order.charge, order.refund);
  console.log(`done: refunded ${made.amount} of charge ${made.charge} (${order.reason})`);
}

main().catch((error) => {
  console.error(`refund-agent: ${error.message}${error.cause ? ` (${error.cause.message})` : ''}`);
  process.exitCode = 1;
});
