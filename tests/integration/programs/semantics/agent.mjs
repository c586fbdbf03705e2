// SPDX-License-Identifier: GPL-2.0-or-later
// agent.mjs - asks the services of world.json for everything that they promise, and prints what was not so.
import http from 'node:http';

const { SHOP, KEY, BASIC, PASSWORD, HEADER, APIKEY, OPEN, ADDRESS } = process.env;
const failed = [];
let count = 0;
const is = (got, want, name) => {
  count++;
  if (JSON.stringify(got) !== JSON.stringify(want)) failed.push({ name, got, want });
};
const ask = async (url, method = 'GET', body = undefined, headers = {}) => {
  const typed = body !== undefined && typeof body !== 'string' && !(body instanceof URLSearchParams);
  const r = await fetch(url, { method, body: typed ? JSON.stringify(body) : body, headers: { ...(typed ? { 'content-type': 'application/json' } : {}), ...headers } });
  const text = await r.text();
  let json;
  try { json = JSON.parse(text); } catch { json = undefined; }
  return { status: r.status, text, json, headers: r.headers };
};
const shop = (path, method, body, headers) => ask(SHOP + path, method, body, { authorization: `Bearer ${KEY}`, ...headers });
const status = async (promise, want, name) => { const r = await promise; is(r.status, want, name); return r; };

is(ADDRESS.replace(/ \d+ 9/, ' PORT 9'), `${new URL(OPEN).hostname === '127.0.0.1' ? '127.0.0.1' : 'open.internal'} PORT 9007199254740991 {{x`, 'env: host, port, seed, braces');

// resources
let r = await status(shop('/items'), 200, 'list');
is(r.text, '[{"id":"i1","kind":"a","n":9007199254740991,"f":0.30000000000000004,"ok":true,"tags":["x"]},{"id":"i2","kind":"b","n":1,"f":5e-324,"ok":false},{"id":"7","kind":"a","n":4.35,"f":1e-07}]', 'list: rows in order, numbers exact');
is(r.headers.get('content-type'), 'application/json', 'content type');
const ids = async (query) => (await shop('/items' + query)).json.map((x) => x.id).join();
is(await ids('?kind=a'), 'i1,7', 'filter: text');
is(await ids('?n=9007199254740991'), 'i1', 'filter: number as text');
is(await ids('?ok=false'), 'i2', 'filter: true or false as text');
is(await ids('?kind=a&n=4.35'), '7', 'filter: both fields');
is(await ids('?kind=a&kind=b'), 'i1,i2,7', 'filter: any of its values');
is(await ids('?id=i1&other=1'), 'i1,i2,7', 'filter: only the fields it names');
is((await status(shop('/items/7'), 200, 'get')).json.id, '7', 'get: the row');
await status(shop('/items/none'), 404, 'get: none');
is((await status(shop('/items', 'POST', { id: 'new/1', n: 2 }), 201, 'create')).text, '{"id":"new/1","n":2}', 'create: the row');
await status(shop('/items', 'POST', { id: 'new/1' }), 409, 'create: id taken');
is((await status(shop('/items', 'POST', { n: 1 }), 201, 'create: fresh id')).json.id.replace(/[a-z0-9]/g, 'x'), 'x'.repeat(14), 'fresh id: 14 characters');
is((await shop('/items', 'POST', { id: 12 })).json.id, '12', 'create: a number as id becomes text');
for (const bad of [{ id: '' }, { id: true }, { id: 'x'.repeat(256) }]) await status(shop('/items', 'POST', bad), 400, 'create: bad id');
await status(shop('/items', 'POST', [1]), 400, 'create: an array');
await status(shop('/items', 'POST', '{"a":1,"a":2}', { 'content-type': 'application/json' }), 400, 'create: the same key twice');
await status(shop('/items', 'POST', '{"a":', { 'content-type': 'application/json' }), 400, 'create: broken JSON');
is((await shop('/items', 'POST', new URLSearchParams({ id: 'form', a: 'ä b' }))).json, { id: 'form', a: 'ä b' }, 'create: from a form');
is((await status(shop('/items/new%2F1', 'PATCH', { m: null }), 200, 'merge')).json, { id: 'new/1', n: 2, m: null }, 'merge: null stays, others too');
is((await status(shop('/items/new%2F1', 'PUT', { x: [] }), 200, 'replace')).json, { id: 'new/1', x: [] }, 'replace');
await status(shop('/items/7', 'PUT', { id: '8' }), 400, 'an id never changes');
is((await status(shop('/items/12', 'DELETE'), 204, 'delete')).text, '', 'delete: no body');
await status(shop('/items/12', 'DELETE'), 404, 'delete again');
is((await shop('/v1/log')).text, '[]', 'a resource under a path of its own');
await status(shop('/items', 'HEAD'), 200, 'HEAD');
for (const id of ['new%2F1', 'form']) await shop(`/items/${id}`, 'DELETE');
for (const x of (await shop('/items')).json) if (x.id.length === 14) await shop(`/items/${x.id}`, 'DELETE');

// guards and templates
is((await status(shop('/guarded', 'POST', {}), 400, 'guard')).json, { error: 'no key' }, 'guard: the first route');
for (let i = 0; i < 2; i++) is((await shop('/guarded', 'POST', {}, { 'idempotency-key': 'k1' })).json, 'k1', 'guard: the second route');
r = await status(shop('/echo/a%20b/x/c%2Fd?a=2&z', 'PUT', { list: [1, { deep: 'x' }] }), 200, 'echo');
is([r.headers.get('x-one'), r.headers.get('x-sum')], ['a b', '42'], 'templates in headers');
is(r.json, { method: 'PUT', target: '/echo/a%20b/x/c%2Fd?a=2&z', two: 'c/d', query: '2', text: 'a=2 none= obj={"list":[1,{"deep":"x"}]} {{', body: { list: [1, { deep: 'x' }] },
  part: { deep: 'x' }, none: null, type: 'application/json', form: null, seed: 9007199254740991, list: [2, 2, 'abc', '1.5', true] }, 'templates in a body keep types');
r = await shop('/echo/1/x/2?a=1&a=x', 'PUT', new URLSearchParams({ 'a[b]': '+ &' }));
is([r.json.form, r.json.query, r.json.body, r.headers.get('x-sum')], ['+ &', ['1', 'x'], null, ''], 'form fields, repeated query, null in a header');
r = await shop('/echo/1/x/2', 'PUT', '{"plain":1}');
is(r.json.body, { plain: 1 }, 'JSON without saying so');
r = await shop('/echo/1/x/2', 'PUT', 'text');
is(r.json.body, null, 'text is no body');

// effects
r = await status(shop('/effects/none', 'POST', {}), 404, 'find: else');
is([r.json, r.headers.get('x-why')], [{ missing: 'none' }, 'none none'], 'find: else with templates');
is((await status(shop('/effects/i2', 'POST', {}), 409, 'require: default')).json.error !== undefined, true, 'require: says why');
r = await status(shop('/effects/i1', 'POST', { by: '5' }), 201, 'all effects');
is([r.json.before, r.json.after, r.json.last, r.json.row], [false, true, true, 5], 'a bound row is as it was; state is as it is');
is(r.json.made.id, 'mk_' + r.json.made.again, 'one fresh id within an effect');
is([r.json.fresh === r.json.made.again, r.json.made.n], [false, 9007199254740991], 'another in the reply');
is((await status(shop('/effects/i1', 'POST', {}), 402, 'require: own status')).json.error !== undefined, true, 'else without a body says why');
is((await shop('/items/i1')).json, { id: 'i1', kind: 'a', n: 9007199254740991, f: 0.30000000000000004, ok: true, tags: ['x', { by: r.json.made.id }], seen: true, count: 5 }, 'update, increment, append');
is((await shop('/v1/log')).json, [{ id: 'l0', sum: 5, some: 1 }], 'count and sum');
await status(shop('/undone', 'POST', {}), 404, 'a later effect that cannot be done');
is([(await shop('/v1/log')).json.length, (await shop('/items/i2')).status], [1, 200], 'undoes the earlier ones');
await status(shop('/overflow', 'POST', {}), 400, 'a sum beyond 2^53');
r = await status(shop('/made', 'POST', { id: 'm', deep: { a: [1.5, -0, 1e300] } }), 200, 'create from the body');
is(r.text, '{"id":"m","deep":{"a":[1.5,0,1e+300]}}', 'without a reply the row is sent');

// replies
r = await shop('/raw');
is([r.text, r.headers.get('content-type')], ['hällo\n', 'text/plain; charset=utf-8'], 'text as it is');
is((await shop('/json')).text, '"hällo\\n"', 'else as JSON');
is((await status(shop('/empty', 'DELETE'), 204, 'no content')).text, '', 'and none');

// credentials
for (const [name, url, headers, want] of [
  ['bearer: none', SHOP + '/raw', { }, 401], ['bearer: wrong', SHOP + '/raw', { authorization: `Bearer ${KEY}x` }, 401],
  ['bearer: basic', SHOP + '/raw', { authorization: `Basic ${KEY}` }, 401], ['bearer: case of the scheme', SHOP + '/raw', { authorization: `bearer ${KEY}` }, 200],
  ['basic', BASIC, { authorization: 'Basic ' + btoa(`user:${PASSWORD}`) }, 200], ['basic: wrong', BASIC, { authorization: 'Basic ' + btoa(`user:${PASSWORD}.`) }, 401],
  ['basic: other user', BASIC, { authorization: 'Basic ' + btoa(`root:${PASSWORD}`) }, 401], ['basic: nonsense', BASIC, { authorization: 'Basic %%%' }, 401],
  ['header', HEADER, { 'x-api-key': APIKEY }, 200], ['header: wrong', HEADER, { 'x-api-key': 'x' }, 401], ['header: none', HEADER, {}, 401],
]) await status(ask(url, 'GET', undefined, headers), want, name);
is((await ask(SHOP + '/raw')).headers.get('www-authenticate'), 'Bearer', 'WWW-Authenticate');

// what no route fits, where that is allowed
is((await status(ask(OPEN + '/nothing'), 404, 'unmatched 404')).json, { error: 'not found' }, 'plain');
await status(ask(OPEN + '/orders', 'OPTIONS'), 404, 'a method without a route');
await status(ask(OPEN + '/orders/', 'GET'), 404, 'a slash at the end is a segment');
await status(ask(OPEN + '/orders', 'POST', { id: 'a/b~c', n: 1 }), 201, 'an id with a slash');
is((await ask(OPEN + '/orders/a%2Fb~c')).json.n, 1, 'is found again');

// one connection, many calls
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
const one = () => new Promise((resolve, reject) => http.get(SHOP + '/raw', { agent, headers: { authorization: `Bearer ${KEY}` } }, (x) => x.resume().on('end', () => resolve(x.statusCode))).on('error', reject));
is(await Promise.all(Array.from({ length: 20 }, one)), Array(20).fill(200), 'keep-alive');
agent.destroy();

console.log(JSON.stringify({ count, failed }));
process.exit(failed.length ? 1 : 0);
