// SPDX-License-Identifier: GPL-2.0-or-later
// Plays the workflow: a server on a free port that takes what the twins deliver, beside twinrun, which plays the monitor.
import { spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createRaw } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

let count = 0
const ok = (yes, name, more) => {
  console.log(`${yes ? 'ok' : 'not ok'} ${++count} - ${name}`)
  if (!yes) { process.exitCode = 1; console.log('# ' + JSON.stringify(more)) }
}
const folder = mkdtempSync(join(tmpdir(), 'deliveries-'))
const listen = server => new Promise(resolve => server.listen(0, '127.0.0.1', () => resolve(server.address().port)))
const later = ms => new Promise(resolve => setTimeout(resolve, ms))

// run CONFIG UNTIL: the twins with it until a line UNTIL came (or the caller ends them); what they said.
const run = async (config, until, during) => {
  const file = join(folder, 'config.json')
  writeFileSync(file, JSON.stringify({
    run: { id: 'r', seed: 7, start_ms: Date.now() }, limits: { operations: 1000, state_bytes: 1000000 }, secrets: { hook: 'whsec_0123456789abcdefghijklmnopqrstuv' }, ...config
  }))
  const child = spawn(process.argv[2], [file, String(config.services.length)], { stdio: ['pipe', 'pipe', 'ignore'] })
  const lines = []; let left = ''; const ports = []
  const came = new Promise(resolve => {
    child.stdout.on('data', d => {
      left += d
      for (let i; (i = left.indexOf('\n')) >= 0; left = left.slice(i + 1)) {
        const line = left.slice(0, i)
        lines.push(line)
        if (line.startsWith('PORT')) ports.push(+line.slice(5))
        if (line.startsWith('SERVING') || line.startsWith('PORT')) if (ports.length === config.services.length && during) { const f = during; during = null; f(ports, child) }
        if (line.startsWith(until)) resolve()
      }
    })
    child.on('exit', resolve)
    setTimeout(resolve, 20000).unref()
  })
  const ended = new Promise(resolve => child.on('exit', resolve))
  await came
  child.stdin.end()
  const status = await ended
  const ops = lines.filter(l => l.startsWith('OP ')).map(l => JSON.parse(l.slice(3)))
  return { lines, ops, status }
}
const shop = (port, extra = {}) => ({
  name: 'shop', kind: 'http', hosts: ['127.0.0.1'], state: { rows: [] },
  routes: [{ id: 'add', match: { method: 'POST', path: '/rows' }, do: [{ create: 'rows', as: 'row' }], reply: { status: 201 }, emit: [{ event: 'row.added', data: '{{row}}' }] }],
  events: { endpoint: `http://127.0.0.1:${port}/hook`, scheme: 'stripe', secret: 'whsec_0123456789abcdefghijklmnopqrstuv' }, ...extra
})
const add = ports => fetch(`http://127.0.0.1:${ports[0]}/rows`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"n":1}' })

// consume HOLD: a server that answers after hold ms and notes when each delivery came and was answered.
const consume = async hold => {
  const seen = []
  const server = createServer(async (q, s) => {
    const one = { came: performance.now(), headers: q.headers }
    seen.push(one)
    let body = ''
    for await (const part of q) body += part
    one.body = body
    await later(hold)
    one.answered = performance.now()
    s.end('{}')
  })
  return { seen, server, port: await listen(server) }
}
const again = how => [{ id: 'twice', class: 'duplicate-write', on: { service: 'shop', event: 'row.added' }, call: { nth: 1 }, phase: 'redeliver', how }]
const signed = one => {
  const [, t, v1] = /^t=(\d+),v1=([0-9a-f]+)$/.exec(one.headers['stripe-signature'])
  return v1 === createHmac('sha256', 'whsec_0123456789abcdefghijklmnopqrstuv').update(`${t}.${one.body}`).digest('hex')
}
const ends = { when: 'len(state.shop.rows) >= 1', settle_ms: 600 }

for (const [spacing, name] of [['during', 'during'], ['after', 'after'], [150, '150 ms later']]) {
  const { seen, server, port } = await consume(spacing === 'during' ? 500 : 50)
  const r = await run({ services: [shop(port)], faults: again({ times: 2, spacing }), workflow: { ends } }, 'END', add)
  const [a, b] = seen
  ok(seen.length === 2 && seen.every(signed) && a.body === b.body, `${name}: delivered twice, the same bytes, both signed`, r.lines)
  if (spacing === 'during') ok(b.came < a.answered, 'the second while the first is worked on')
  if (spacing === 'after') ok(b.came > a.answered, 'the second when the first is answered')
  if (spacing === 150) ok(b.came - a.came >= 140, 'the second so much later')
  const hooks = r.ops.filter(o => o.kind === 'webhook')
  ok(hooks.length === 2 && hooks.filter(o => o.fault?.id === 'twice' && o.fault.phase === 'redeliver').length === 1 && hooks[0].key === hooks[1].key && hooks[1].resend_of === hooks[0].n,
    `${name}: recorded with the fault, and as sent again`, hooks)
  ok(r.status === 0, `${name}: the twins end well`)
  server.close()
}
{
  const { seen, server, port } = await consume(0)
  const r = await run({ services: [shop(port)], faults: again({ times: 3, spacing: 'after', same_id: false }), workflow: { ends } }, 'END', add)
  ok(seen.length === 3 && new Set(seen.map(s => JSON.parse(s.body).id)).size === 3 && new Set(seen.map(s => JSON.stringify(JSON.parse(s.body).data))).size === 1,
    'other ids, the same data', seen.map(s => s.body))
  ok(r.ops.filter(o => o.kind === 'webhook').every(o => o.resend_of === null), 'then none is a resend')
  server.close()
}
{
  const { seen, server, port } = await consume(500)
  const r = await run({
    services: [shop(port)],
    faults: [{ id: 'asked-twice', class: 'duplicate-write', on: { service: 'trigger', route: 'ask' }, phase: 'redeliver', how: { times: 2, spacing: 'during' } }],
    workflow: { trigger: [{ id: 'ask', http: { url: `http://127.0.0.1:${port}/ask`, json: { a: 1 } } }, { id: 'hup', signal: 'SIGHUP' }], ends: { triggers: true } }
  }, 'END', () => {})
  ok(seen.length === 2 && seen[0].body === '{"a":1}' && seen[1].came < seen[0].answered, 'a trigger that is sent twice at once', r.lines)
  ok(r.ops.filter(o => o.route === 'ask').length === 2 && r.ops.filter(o => o.fault?.id === 'asked-twice').length === 1, 'both are operations')
  ok(r.lines.filter(l => l.startsWith('SIGNAL 1')).length === 1 && r.ops.some(o => o.kind === 'signal'), 'a signal comes after them')
  server.close()
}
{ // resources tell of their rows: both forms, each verb; what is not done is not told
  const told = (form, routes, profile) => ({ form, routes, profile })
  const forms = [
    told('short', [{
      resource: 'rows', path: '/rows', emit: [{ event: 'row.added', on: 'create' }, { event: 'row.changed', on: 'update', data: { id: '{{row.id}}', n: '{{row.n}}', all: '{{len(state.rows)}}' } },
        { event: 'row.gone', on: 'delete', data: '{{row}}' }, { event: 'row.gone.too', on: 'delete', data: { all: '{{len(state.rows)}}' } }]
    }]),
    told('long', [
      { id: 'add', match: { method: 'POST', path: '/rows' }, resource: 'rows', emit: [{ event: 'row.added' }] },
      { id: 'change', match: { method: 'PATCH', path: '/rows/{id}' }, resource: 'rows', emit: [{ event: 'row.changed', data: { id: '{{row.id}}', n: '{{row.n}}', all: '{{len(state.rows)}}' } }] },
      { id: 'put', match: { method: 'PUT', path: '/rows/{id}' }, resource: 'rows', emit: [{ event: 'row.changed', data: { id: '{{row.id}}', n: '{{row.n}}', all: '{{len(state.rows)}}' } }] },
      { id: 'drop', match: { method: 'DELETE', path: '/rows/{id}' }, resource: 'rows', emit: [{ event: 'row.gone', data: '{{row}}' }, { event: 'row.gone.too', data: { all: '{{len(state.rows)}}' } }] }])
  ]
  for (const { form, routes } of forms) {
    const { seen, server, port } = await consume(0)
    const statuses = []
    const r = await run({ services: [shop(port, { routes, state: { rows: [], done: [] }, events: { ...shop(port).events, scheme: 'standard-webhooks', secret: 'whsec_0123456789abcdefghijklmnopqrstuv' } })], workflow: { ends: { when: 'false' } } }, 'NEVER', async (ports, child) => {
      const ask = async (method, path, body) => statuses.push((await fetch(`http://127.0.0.1:${ports[0]}${path}`, { method, headers: { 'content-type': 'application/json' }, body: body && JSON.stringify(body) })).status)
      await ask('POST', '/rows', { id: 'a', n: 1 })
      await ask('POST', '/rows', { id: 'a', n: 1 })
      await ask('PATCH', '/rows/a', { n: 2 })
      await ask('PATCH', '/rows/a', { id: 'b' })
      await ask('PUT', '/rows/a', { n: 3 })
      await ask('DELETE', '/rows/a')
      await ask('DELETE', '/rows/a')
      for (let i = 0; i < 200 && seen.length < 5; i++) await later(10)
      await later(50)
      child.stdin.end()
    })
    ok(JSON.stringify(statuses) === '[201,409,200,400,200,204,404]', `${form} form of a resource: its answers`, statuses)
    ok(JSON.stringify(seen.map(s => { const { type, data } = JSON.parse(s.body); return [type, data] })) === JSON.stringify([['row.added', { id: 'a', n: 1 }], ['row.changed', { id: 'a', n: 2, all: 1 }],
      ['row.changed', { id: 'a', n: 3, all: 1 }], ['row.gone', { id: 'a', n: 3 }], ['row.gone.too', { all: 0 }]]), `${form} form of a resource: what it tells of its rows`, seen.map(s => s.body))
    ok(r.ops.filter(o => o.kind === 'webhook').length === 5 && r.status === 0, `${form} form of a resource: each is an operation`, r.lines)
    server.close()
  }
}
// Slack leaves an application alone that says so, and only with these words; others never ask.
for (const [scheme, value, asked] of [['slack', '1', 1], ['slack', '0', 3], ['slack', '11', 3], ['slack', ' 1 ', 1], ['stripe', '1', 3]]) {
  const seen = []
  const server = createServer((q, s) => { seen.push(q.headers); s.writeHead(500, { 'X-Slack-No-Retry': value }); s.end() })
  const port = await listen(server)
  const r = await run({
    services: [shop(port, { events: { endpoint: `http://127.0.0.1:${port}/`, scheme, secret: 'whsec_0123456789abcdefghijklmnopqrstuv', retry: [10, 10] } })],
    workflow: { trigger: [{ id: 'tell', event: { service: 'shop', event: 'app_mention', data: {} } }], ends: { triggers: true } }
  }, 'END')
  ok(seen.length === asked && r.ops.filter(o => o.kind === 'webhook').length === asked && r.status === 0, `${scheme}: x-slack-no-retry: ${value}: ${asked} attempts`, r.lines)
  server.close()
}
// Answers that are none; each from a server that does one thing.
const raw = {
  'garbage': [s => s.end('what?'), 'it is not HTTP/1.1'],
  'a goodbye without an answer': [s => s.end(), 'the connection ended without an answer'],
  'a reset': [s => s.resetAndDestroy(), 'the connection was reset'],
  'half an answer': [s => s.end('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf'), 'the connection ended inside the answer'],
  'a body without end': [s => { s.on('error', () => {}); s.write('HTTP/1.1 200 OK\r\n\r\n'); const more = () => { while (s.writable && s.write('x'.repeat(65536))); }; s.on('drain', more); more() }, 'its body is longer than 8 MiB'],
  'headers without end': [s => { s.on('error', () => {}); s.write('HTTP/1.1 200 OK\r\n'); const more = () => { while (s.writable && s.write('x: ' + 'y'.repeat(60000) + '\r\n')); }; s.on('drain', more); more() }, 'its header fields are too long']
}
for (const [name, [answer, problem]] of Object.entries(raw)) {
  const server = createRaw(s => { s.on('error', () => {}); s.once('data', () => answer(s)) })
  const port = await listen(server)
  const r = await run({ services: [shop(port)], workflow: { trigger: [{ id: 'ask', http: { method: 'GET', url: `http://127.0.0.1:${port}/` } }], ends: { triggers: true } } }, 'END')
  const [op] = r.ops
  ok(op?.problem === problem && op.views.client === 'told-nothing' && op.views.service === 'unknown' && op.reply === null && r.status === 0, `${name}: ${problem}`, r.lines)
  server.close()
}
{ // a second delivery that the end of the run keeps back has not come
  const { seen, server, port } = await consume(0)
  const r = await run({ services: [shop(port)], faults: again({ times: 2, spacing: 5000 }), workflow: { ends: { when: 'len(state.shop.rows) >= 1', settle_ms: 300 } } }, 'END', add)
  const hooks = r.ops.filter(o => o.kind === 'webhook')
  ok(seen.length === 1 && hooks.length === 2 && hooks.every(o => o.fault === null) && hooks[1].views.service === 'not-reached', 'a copy that was never sent is no fault that fired', hooks)
  server.close()
}
{ // ready by a line that comes in pieces, among other lines and one that is too long
  const r = await run({ services: [shop(1)], workflow: { ready: { line: 'up and running' }, trigger: [{ id: 'hup', signal: 'SIGHUP' }], ends: { triggers: true } } }, 'END',
    async (_, child) => {
      for (const text of ['x'.repeat(5000) + 'up and running\n', 'up and\nrunning\n', 'now up a', 'nd runn']) { child.stdin.write(text); await later(30) }
      child.stdin.write('ing\nmore\n')
    })
  const at = r.lines.findIndex(l => l.startsWith('READY')), hup = r.lines.findIndex(l => l.startsWith('SIGNAL 1'))
  ok(at > 0 && hup > at && r.status === 0, 'ready by a line in pieces, and no sooner', r.lines)
}
{ // the end of the run while a delivery is on its way, one waits, and one was never sent
  const server = createRaw(s => s.on('error', () => {}))
  const port = await listen(server)
  const held = shop(port, { events: { endpoint: `http://127.0.0.1:${port}/`, scheme: 'stripe', secret: 'whsec_0123456789abcdefghijklmnopqrstuv', order: 'reversed' } })
  const r = await run({ services: [held], workflow: { ends: { when: 'len(state.shop.rows) >= 2', settle_ms: 400 } } }, 'END', async ports => { await add(ports); await add(ports) })
  const hooks = r.ops.filter(o => o.kind === 'webhook')
  ok(hooks.length === 2 && hooks.some(o => o.views.service === 'unknown' && o.problem === 'the run ended before the answer came') &&
    hooks.some(o => o.views.service === 'not-reached' && o.problem === 'the run ended before it was sent'), 'what was on its way and what was never sent is told', hooks)
  server.close()
}
rmSync(folder, { recursive: true })
console.log(`1..${count}`)
process.exit()
