// SPDX-License-Identifier: GPL-2.0-or-later
// Charges once and mails, over a connection that is cut after the first charge was made.  Its first argument says which mistake it
// makes.
const mistake = process.argv[2] ?? '';
const url = process.env.SHOP_URL;
const say = (what) => console.log(JSON.stringify({ what }));

async function call(method, path, body, headers = {}) {
  const reply = await fetch(url + path, {
    method, headers: body ? { 'content-type': 'application/json', ...headers } : headers,
    body: body && JSON.stringify(body),
  });
  if (!reply.ok)
    throw new Error(`${method} ${path}: ${reply.status}`);
  return reply.status === 204 ? null : reply.json();
}

async function charge() {
  for (let attempt = 1; ; attempt++) {
    const key = mistake === 'fresh-key' ? `order-1-${attempt}` : 'order-1';
    try {
      return await call('POST', '/charges', { amount: 4200 }, mistake === 'no-key' ? {} : { 'idempotency-key': key });
    } catch (e) {
      say(`attempt ${attempt} failed`);
      if (mistake === 'give-up')
        return null;
      if (mistake === 'look')
        return (await call('GET', '/charges'))[0];
      if (attempt === 3)
        throw e;
    }
  }
}

const mail = () => call('POST', '/mails', { to: 'ada' }, { 'idempotency-key': 'mail-1' });

if (mistake !== 'nothing') {
  if (mistake === 'early')
    await mail();
  await charge();
  if (mistake !== 'early')
    await mail();
  say('charged');
}
if (mistake === 'touch') {
  await call('PUT', '/orders/o1', { status: 'paid' });
  await call('PUT', '/orders/o1', { status: 'open' });
}
if (mistake === 'chatty')
  console.log('this is no JSON');
if (mistake === 'throw')
  setTimeout(() => { throw new Error('boom'); });
if (mistake === 'reject')
  Promise.reject(new Error('nobody waits'));
if (mistake === 'handled')
  process.exitCode = 1;
