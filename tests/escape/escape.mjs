// SPDX-License-Identifier: GPL-2.0-or-later
// escape.mjs - what the hostile programs share.  An attempt that succeeds says got: true.  All attempts go to the synthetic
// service `judge` in one request, so they reach the receipt through the state, whatever happens to the output.
import { spawnSync } from 'node:child_process';
import { getSystemErrorName } from 'node:util';

const attempts = [];
const oneLine = (value) => String(value).replace(/\s+/g, ' ').trim().slice(0, 200);

// fn returns what it got (any value), or throws: then the attempt failed.
export async function attempt(name, fn) {
  try {
    attempts.push({ name, got: true, detail: oneLine(await fn()) });
  } catch (error) {
    attempts.push({ name, got: false, detail: oneLine(error.code ?? error.message) });
  }
}

export function fail(text) {
  throw new Error(text);
}

// Runs a program; exit status 0 alone means that it got what it wanted.
export function run(command, ...args) {
  const { stdout, stderr, status, signal, error } = spawnSync(command, args, {
    input: 'root\n', timeout: 5000, encoding: 'utf8', env: { ...process.env, PATH: '/usr/sbin:/sbin:/usr/bin:/bin' },
  });
  if (status === 0) return stdout;
  return fail(error && error.code !== 'EPIPE' ? error.code : `status ${status ?? signal}: ${stderr}`);
}

// Runs the C helper with arguments; each of its lines is "NAME RESULT", RESULT a number: >= 0 got it, else -errno.
export function helper(...args) {
  const { stdout, status, signal, error } = spawnSync('./helper', args, { encoding: 'utf8' });
  if (error) fail(`helper: ${error.message}`);
  for (const line of stdout.split('\n').filter((l) => l !== '')) {
    const [name, result] = line.split(' ');
    const got = Number(result) >= 0;
    let detail = result;
    if (!got) try { detail = getSystemErrorName(Number(result)); } catch { /* a number without a name */ }
    attempts.push({ name, got, detail });
  }
  attempts.push({ name: `helper-${args[0]}-ran`, got: status === 0, detail: `${status} ${signal}` });
}

export async function report(id) {
  const reply = await fetch(`${process.env.JUDGE_URL}/reports`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ id, attempts }),
  });
  if (reply.status !== 201) fail(`judge answered ${reply.status} ${await reply.text()}`);
  await reply.arrayBuffer();
}
