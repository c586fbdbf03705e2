// SPDX-License-Identifier: GPL-2.0-or-later
// Takes the webhooks of four services and has each SDK verify what came, by its own means: as it is, with one byte changed, and
// ten minutes later.
import { verify } from '@octokit/webhooks-methods'
import bolt from '@slack/bolt'
import { createServer } from 'node:http'
import { mock } from 'node:test'
import { Webhook } from 'standardwebhooks'
import Stripe from 'stripe'

const { TOLD, STRIPE, GITHUB, SLACK, STANDARD } = process.env
const stripe = new Stripe('sk_test_unused')
const standard = new Webhook(STANDARD)
const receiver = new bolt.HTTPReceiver({ signingSecret: SLACK, endpoints: ['/slack'], logLevel: 'error' })
const app = new bolt.App({ receiver, authorize: async () => ({ botToken: 'xoxb-unused', botId: 'B1', botUserId: 'U1' }), logLevel: 'error' })
const heard = []
app.event('app_mention', async ({ event }) => { heard.push(event.text) })

// Each gives back the text of the event's data, or throws.
const verifiers = {
  stripe: (h, body) => stripe.webhooks.constructEvent(body, h['stripe-signature'], STRIPE).data.object.text,
  github: async (h, body) => {
    if (!await verify(GITHUB, body.toString(), h['x-hub-signature-256'])) throw new Error('no match')
    return JSON.parse(body).text
  },
  standard: (h, body) => standard.verify(body, h).data.text,
  slack: async (h, body) => { // to its own receiver, whatever it makes of it
    const before = heard.length
    const own = Object.fromEntries(Object.entries(h).filter(([name]) => name.startsWith('x-slack') || name === 'content-type'))
    const r = await fetch('http://127.0.0.1:3000/slack?again', { method: 'POST', headers: own, body })
    if (r.status !== 200) throw new Error(`status ${r.status}`)
    for (let i = 0; i < 200 && heard.length === before; i++) await new Promise(resolve => setTimeout(resolve, 5))
    return heard.at(-1)
  }
}
const refuses = async (verifier, h, body) => {
  try { await verifier(h, body); return false } catch { return true }
}
const judge = async (from, h, body) => {
  const verifier = verifiers[from]
  const row = { id: from, text: await verifier(h, body) }
  const changed = Buffer.from(body)
  changed[changed.lastIndexOf('}')] = 0x20
  row.changed = await refuses(verifier, h, changed)
  const spaced = Buffer.concat([body, Buffer.from('\n')])
  row.spaced = await refuses(verifier, h, spaced)
  mock.timers.enable({ apis: ['Date'], now: Date.now() + 600000 })
  row.late = await refuses(verifier, h, body)
  mock.timers.reset()
  await fetch(TOLD, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(row) })
}
let turn = Promise.resolve() // one after the other: the clock is everybody's
createServer(async (q, s) => {
  const parts = []
  for await (const part of q) parts.push(part)
  const body = Buffer.concat(parts)
  const from = q.url.slice(1).split('?')[0]
  if (from === 'slack') {
    q.rawBody = body
    receiver.requestListener(q, s)
    if (q.url.endsWith('?again') || JSON.parse(body).type === 'url_verification') return
  } else {
    s.end()
  }
  turn = turn.then(() => judge(from, q.headers, body)).catch(e => { console.error(from, e); process.exitCode = 1 })
}).listen(3000)
