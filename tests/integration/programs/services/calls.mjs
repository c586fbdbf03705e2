// SPDX-License-Identifier: GPL-2.0-or-later
// Calls services as clients do: two at once with one key, other parameters, pages, a limit, bodies of one path.
import assert from 'node:assert';

const { STRIPE_KEY, STRIPE_URL, GITHUB_URL, SHOP_URL } = process.env;
assert.match(STRIPE_KEY, /^sk_test_[A-Za-z0-9]{24}$/);
const refund = (form, key, auth = `Bearer ${STRIPE_KEY}`) =>
	fetch(`${STRIPE_URL}/v1/refunds`, {
		method: 'POST',
		headers: { authorization: auth, 'idempotency-key': key },
		body: new URLSearchParams(form),
	});

const both = await Promise.all([refund({ charge: 'ch_paid', amount: '4200' }, 'k1'), refund({ amount: '4200', charge: 'ch_paid' }, 'k1')]);
for (const reply of both) assert.ok(reply.status === 200 || reply.status === 409, `status ${reply.status}`);
assert.ok(both.some((reply) => reply.status === 200));
const again = await refund({ charge: 'ch_paid', amount: '4200' }, 'k1', `Basic ${btoa(`${STRIPE_KEY}:`)}`);
assert.equal(again.headers.get('idempotent-replayed'), 'true');
assert.match(again.headers.get('original-request'), /^req_/);
assert.notEqual(again.headers.get('original-request'), again.headers.get('request-id'));
const { id } = await again.json();
assert.match(id, /^re_[a-z0-9]{14}$/);
const other = await refund({ charge: 'ch_paid', amount: '1' }, 'k1');
assert.equal(other.status, 400);
assert.equal((await other.json()).error.type, 'idempotency_error');
assert.equal((await (await refund({ charge: 'ch_none' }, 'k2')).json()).error.code, 'resource_missing');
assert.equal((await (await refund({ charge: 'ch_paid' }, 'k3')).json()).error.code, 'charge_already_refunded');
assert.equal((await refund({ charge: 'ch_paid' }, 'k4', 'Bearer wrong')).status, 401);
const list = await (await fetch(`${STRIPE_URL}/v1/refunds?charge=ch_paid&limit=1`, { headers: { authorization: `Bearer ${STRIPE_KEY}` } })).json();
assert.deepEqual([list.object, list.has_more, list.url, list.data.map((r) => r.id)], ['list', false, '/v1/refunds', [id]]);

const issues = await fetch(`${GITHUB_URL}/repos/o/r/issues?state=open&per_page=1`);
assert.match(issues.headers.get('link'), /<http:\/\/[^>]*\/repos\/o\/r\/issues\?state=open&per_page=1&page=2>; rel="next"/);
const next = /<([^>]*)>; rel="next"/.exec(issues.headers.get('link'))[1];
assert.deepEqual((await (await fetch(next)).json()).map((i) => i.id), ['2']);
assert.equal((await fetch(`${GITHUB_URL}/repos/o/r/issues/3`)).headers.get('x-ratelimit-remaining'), '0');
const limited = await fetch(`${GITHUB_URL}/repos/o/r/issues/3`);
assert.deepEqual([limited.status, (await limited.json()).message], [429, 'API rate limit exceeded']);
assert.ok(Number(limited.headers.get('retry-after')) > 3000);

const rpc = async (body, role) => (await fetch(`${SHOP_URL}/rpc`, { method: 'POST', headers: role ? { 'x-role': role } : {}, body: JSON.stringify(body) })).status;
assert.equal(await rpc({ method: 'add', params: { n: 1, more: [] } }), 200);
assert.equal(await rpc({ method: 'add', params: { n: 0 } }), 404);
assert.equal(await rpc({ method: 'close' }), 404);
assert.equal(await rpc({ method: 'close' }, 'admin'), 200);
assert.equal(await rpc({ method: 'add', params: { n: 1 } }), 404);
