// npm-agent: orders what the stock is short of, once each.  Its packages are ordinary ones from npm, so running it shows
// that a real node_modules works inside: CommonJS and ES modules, nested dependencies, programs linked in .bin.
import { execFile } from 'node:child_process';
import { lstatSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Command } from 'commander';
import { nanoid } from 'nanoid';
import pRetry, { AbortError } from 'p-retry';
import semver from 'semver';
import { Agent, request } from 'undici';
import { z } from 'zod';

const Item = z.object({ id: z.string(), name: z.string(), stock: z.number().int().nonnegative() });
const Order = z.object({ id: z.string().min(1), item: z.string(), quantity: z.number().int().positive() });

const options = new Command('npm-agent')
  .option('--url <url>', 'the warehouse', process.env.WAREHOUSE_URL)
  .option('--level <n>', 'order when the stock is below this', (text) => z.coerce.number().int().parse(text), 5)
  .parse()
  .opts();
const dispatcher = new Agent({ connections: 4 });

async function call(method, path, body) {
  return pRetry(async () => {
    const reply = await request(options.url + path, {
      method,
      dispatcher,
      headers: { authorization: `Bearer ${process.env.WAREHOUSE_KEY}`, 'content-type': 'application/json' },
      body: body && JSON.stringify(body),
    });
    const text = await reply.body.text();
    if (reply.statusCode === 503) throw new Error('busy'); // nothing was done: ask again
    if (reply.statusCode >= 300) throw new AbortError(`${method} ${path}: ${reply.statusCode} ${text}`);
    return JSON.parse(text);
  }, { retries: 3, minTimeout: 50 });
}

// The program `semver` is started through node_modules/.bin, by a symbolic link that npm made.
async function checkBinLink() {
  const bin = fileURLToPath(new URL('node_modules/.bin/semver', import.meta.url));
  if (!lstatSync(bin).isSymbolicLink()) throw new Error(`${bin} is no link`);
  const { stdout } = await promisify(execFile)(bin, ['--range', '>=18', process.versions.node]);
  if (semver.clean(stdout) !== process.versions.node) throw new Error(`.bin/semver printed ${JSON.stringify(stdout)}`);
  console.log('bin link: works');
}

await checkBinLink();
const shift = nanoid(8);
const items = z.array(Item).parse(await call('GET', '/items'));
console.log(`shift ${shift}: ${items.length} items in stock`);
const short = items.filter((item) => item.stock < options.level);
const orders = await Promise.all(short.map((item) =>
  call('POST', '/orders', { item: item.id, quantity: options.level - item.stock })));
for (const order of z.array(Order).parse(orders)) console.log(`ordered ${order.quantity} of ${order.item}`);
await dispatcher.close();
console.log('done');
