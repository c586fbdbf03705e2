// SPDX-License-Identifier: GPL-2.0-or-later
// Leaves rows that hold a credential in several forms; with an argument, one that is larger than an operation tells.
const { SHOP_URL: url, KEY: key } = process.env;

async function post(row) {
  const reply = await fetch(url + '/items', {
    method: 'POST', headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` }, body: JSON.stringify(row),
  });
  await reply.text();
}

await post({ id: 'a', n: 1, plain: key, base64: Buffer.from('x' + key).toString('base64'), [key]: 1 });
await post({ id: `${key}/x`, n: 2 });
if (process.argv[2])
  await post({ id: 'large', n: 0, text: 'y'.repeat(70000) });
