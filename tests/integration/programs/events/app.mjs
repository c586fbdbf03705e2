// A server that is asked by triggers and told by webhooks.  It verifies signatures as the senders' documentation says, by hand.
import { createHmac } from 'node:crypto'
import { createServer } from 'node:http'

const mac = (key, text, encoding = 'hex') => createHmac('sha256', key).update(text).digest(encoding)
const { SHOP, STRIPE, GITHUB, SLACK, STANDARD } = process.env
const verify = {
  stripe (h, body) {
    const [, t, v1] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(h['stripe-signature'])
    return Math.abs(Date.now() / 1000 - t) < 300 && v1 === mac(STRIPE, `${t}.${body}`)
  },
  github: (h, body) => h['x-hub-signature-256'] === 'sha256=' + mac(GITHUB, body) && h['x-github-event'] === 'issues' &&
    /^[0-9a-f-]{36}$/.test(h['x-github-delivery']) && JSON.parse(body).action === 'opened',
  slack: (h, body) => h['x-slack-signature'] === 'v0=' + mac(SLACK, `v0:${h['x-slack-request-timestamp']}:${body}`),
  standard: (h, body) => h['webhook-signature'] ===
    'v1,' + mac(Buffer.from(STANDARD.slice(6), 'base64'), `${h['webhook-id']}.${h['webhook-timestamp']}.${body}`, 'base64')
}
const post = (path, row) => fetch(SHOP + path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(row) })
const seen = {}
process.on('SIGHUP', () => post('/told', { id: 'hup' }))
if (process.env.STUBBORN) process.on('SIGTERM', () => {})
createServer(async (q, s) => {
  let body = ''
  for await (const part of q) body += part
  const name = q.url.slice(1)
  if (q.url === '/buy') {
    const r = await post('/orders', { id: 'o1', form: q.headers['content-type'], body })
    s.writeHead(r.status, { 'content-type': 'application/json' })
    return s.end(await r.text())
  }
  if (q.url === '/slow') return
  if (q.url === '/crash') process.exit(7)
  const good = verify[name](q.headers, body)
  const json = JSON.parse(body)
  if (json.type === 'url_verification') return s.end(json.challenge)
  const attempt = seen[name] = (seen[name] ?? 0) + 1
  await post('/told', { from: name, good, attempt, retry: q.headers['x-slack-retry-num'] ?? null, type: json.type ?? json.action })
  s.statusCode = good && attempt === 1 && name !== 'github' ? 500 : 200
  s.end()
}).listen(3000, () => console.log('now listening on 3000'))
