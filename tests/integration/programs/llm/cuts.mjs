// What a stream that a fault cuts, and an error, are to OpenAI's SDK.
import assert from 'node:assert/strict';
import OpenAI from 'openai';

const openai = new OpenAI({ maxRetries: 2 });
const tools = [{ type: 'function', function: { name: 'cancel', parameters: { type: 'object' } } }];
const talk = (content) => ({ model: 'gpt-4o', tools, messages: [{ role: 'user', content }] });

async function read(content) {
  const out = { args: '', text: '', finish: null };
  try {
    for await (const { choices: [choice] } of await openai.chat.completions.create({ ...talk(content), stream: true })) {
      out.args += choice.delta.tool_calls?.[0]?.function?.arguments ?? '';
      out.text += choice.delta.content ?? '';
      out.finish = choice.finish_reason ?? out.finish;
    }
  } catch (error) {
    out.error = error;
  }
  return out;
}
const final = (content) => openai.chat.completions.stream(talk(content)).finalChatCompletion();

// a clean end inside the arguments of a call
const clean = await read('clean');
assert.equal(clean.error, undefined);
assert.equal(clean.finish, null);
assert.ok('{"order":"ord_7","reason":"customer"}'.startsWith(clean.args) && clean.args.length > 5);
assert.throws(() => JSON.parse(clean.args));
await assert.rejects(final('clean'), (e) => e instanceof OpenAI.OpenAIError && /finish_reason/.test(e.message));
// FIN and RST inside them: no class of the SDK, and no second try
for (const end of ['fin', 'rst']) {
  const cut = await read(end);
  assert.equal(cut.error?.message, 'terminated', end);
  assert.ok(!(cut.error instanceof OpenAI.OpenAIError));
  assert.equal(cut.finish, null);
  await assert.rejects(final(end), OpenAI.OpenAIError);
}
// all of it but the last line
const done = await read('nodone');
assert.deepEqual([done.error, done.finish, JSON.parse(done.args).order], [undefined, 'tool_calls', 'ord_7']);
assert.equal((await final('nodone')).choices[0].finish_reason, 'tool_calls');
// characters that come in pieces of a byte
assert.equal((await read('slow')).text, 'ünïcödé – 猫');
// too fast: the SDK waits as it is told.  Out of money: it tries again all the same.
const before = Date.now();
assert.equal((await read('busy')).finish, 'stop');
assert.ok(Date.now() - before >= 1000, 'Retry-After is honoured');
await assert.rejects(final('quota'), (e) => /quota/.test(e.message) || e.code === 'insufficient_quota');
console.log('all of it');
