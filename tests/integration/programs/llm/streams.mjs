// What a stream is to the SDKs of OpenAI and Anthropic in which a frame is broken or an error, or which ends too soon.
import assert from 'node:assert/strict';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';

const options = { maxRetries: 2, logLevel: 'off' };
const openai = new OpenAI(options), anthropic = new Anthropic(options);
const messages = (content) => [{ role: 'user', content }];
const chat = (content) => ({ model: 'gpt-4o', messages: messages(content) });
const talk = (content) => ({ model: 'claude-x', max_tokens: 100, messages: messages(content) });

// All events that come, and the error that ends them.
async function read(stream) {
  const out = { events: [] };
  try {
    for await (const event of await stream) out.events.push(event);
  } catch (error) {
    out.error = error;
  }
  return out;
}
const plain = {
  chat: (content) => read(openai.chat.completions.create({ ...chat(content), stream: true })),
  responses: (content) => read(openai.responses.create({ model: 'gpt-4o', input: content, stream: true })),
  messages: (content) => read(anthropic.messages.create({ ...talk(content), stream: true })),
};
const final = {
  chat: (content) => openai.chat.completions.stream(chat(content)).finalChatCompletion(),
  responses: (content) => openai.responses.stream({ model: 'gpt-4o', input: content }).finalResponse(),
  messages: (content) => anthropic.messages.stream(talk(content)).finalMessage(),
};

// half a JSON text in one frame: an error of the language, and the rest is not read
for (const [api, sdk] of [['chat', OpenAI.OpenAIError], ['responses', OpenAI.OpenAIError], ['messages', Anthropic.AnthropicError]]) {
  const { events, error } = await plain[api]('garble');
  assert.ok(error instanceof SyntaxError && events.length > 1, `${api}: ${error}`);
  await assert.rejects(final[api]('garble'), sdk, api);
}

// an error where the next event should be
for (const api of ['chat', 'responses']) {
  const { events, error } = await plain[api]('error');
  assert.ok(error instanceof OpenAI.APIError && error.code === 'server_is_tired' && events.length > 1, api);
  if (api === 'responses') assert.equal(error.error.sequence_number, events.length);
  await assert.rejects(final[api]('error'), (e) => e instanceof OpenAI.APIError && e.code === 'server_is_tired');
}
const busy = await plain.messages('error');
assert.ok(busy.error instanceof Anthropic.APIError && busy.error.type === 'overloaded_error' && busy.events.length > 1);
await assert.rejects(final.messages('error'), (e) => e instanceof Anthropic.APIError && e.type === 'overloaded_error');

// Anthropic: a clean end inside the arguments of a call looks like any other
const args = ({ events }) => events.map((e) => e.delta?.partial_json ?? '').join('');
const clean = await plain.messages('clean');
assert.equal(clean.error, undefined);
assert.ok(args(clean).length > 5 && '{"order":"ord_7","reason":"customer"}'.startsWith(args(clean)));
assert.throws(() => JSON.parse(args(clean)));
assert.ok(!clean.events.some((e) => e.type === 'message_delta'));
await assert.rejects(final.messages('clean'), Anthropic.AnthropicError);
// FIN and RST inside them: no class of the SDK, and no second try
for (const end of ['fin', 'rst']) {
  const cut = await plain.messages(end);
  assert.equal(cut.error?.message, 'terminated', end);
  assert.ok(!(cut.error instanceof Anthropic.AnthropicError) && args(cut).length > 5);
  await assert.rejects(final.messages(end), Anthropic.AnthropicError);
}
// all of it but message_stop
const open = await plain.messages('nostop');
assert.equal(open.error, undefined);
assert.equal(open.events.at(-1).delta.stop_reason, 'tool_use');
assert.equal(JSON.parse(args(open)).order, 'ord_7');
await assert.rejects(final.messages('nostop'), Anthropic.AnthropicError);
console.log('all of it');
