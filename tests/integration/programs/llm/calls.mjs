// Conversations through the SDKs of OpenAI and Anthropic, whole and as streams.
import assert from 'node:assert/strict';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';

const openai = new OpenAI({ maxRetries: 0 });
const said = 'Let me see – ünïcode.';
const cancel = { order: 'ord_7', reason: 'customer request' };
const tools = [{ type: 'function', function: { name: 'find_order', parameters: { type: 'object', properties: { email: { type: 'string' } } } } }];
const messages = [{ role: 'user', content: 'cancel my order' }];
const chat = (more) => openai.chat.completions.create({ model: 'gpt-4o-mini', messages, tools, ...more });

// chat completions
const first = await chat();
assert.equal(first.choices[0].finish_reason, 'tool_calls');
assert.deepEqual(first.usage, { prompt_tokens: 180, completion_tokens: 22, total_tokens: 202 });
const [call] = first.choices[0].message.tool_calls;
assert.deepEqual(JSON.parse(call.function.arguments), { email: 'ada@example.test' });
messages.push(first.choices[0].message, { role: 'tool', tool_call_id: call.id, content: '{"id":"ord_7"}' });
let text = '', args = '', usage, finish;
for await (const chunk of await chat({ stream: true, stream_options: { include_usage: true } })) {
  const choice = chunk.choices[0];
  text += choice?.delta?.content ?? '';
  args += choice?.delta?.tool_calls?.[0]?.function?.arguments ?? '';
  finish = choice?.finish_reason ?? finish;
  usage = chunk.usage ?? usage;
}
assert.equal(text, said);
assert.deepEqual(JSON.parse(args), cancel);
assert.equal(finish, 'tool_calls');
assert.ok(usage.total_tokens > 0);
const whole = await openai.chat.completions.stream({ model: 'gpt-4o-mini', messages, tools }).finalChatCompletion();
assert.equal(whole.choices[0].message.content, said);
messages.push(whole.choices[0].message);
await assert.rejects(chat(), (e) => e instanceof OpenAI.BadRequestError && /must be followed by tool messages/.test(e.message));
messages.push({ role: 'tool', tool_call_id: whole.choices[0].message.tool_calls[0].id, content: 'ok' });
assert.equal((await chat()).choices[0].message.content, 'Your order is cancelled.');
await assert.rejects(chat({ model: 'gpt-3' }), (e) => e instanceof OpenAI.NotFoundError && e.code === 'model_not_found');

// responses
const asked = await openai.responses.create({ model: 'gpt-4o', input: 'hello' });
assert.equal(asked.output[0].name, 'find_order');
const input = [{ role: 'user', content: 'x' }, ...asked.output, { type: 'function_call_output', call_id: asked.output[0].call_id, output: 'y' }];
const told = await openai.responses.create({ model: 'gpt-4o', input });
assert.equal(told.output_text, said);
let deltas = '';
for await (const event of await openai.responses.create({ model: 'gpt-4o', stream: true, input }))
  if (event.type === 'response.output_text.delta') deltas += event.delta;
assert.equal(deltas, said);
const last = await openai.responses.stream({ model: 'gpt-4o', input }).finalResponse();
assert.deepEqual(JSON.parse(last.output[1].arguments), cancel);
// the same, with the conversation kept by the service
const output = [{ type: 'function_call_output', call_id: asked.output[0].call_id, output: 'y' }];
const next = await openai.responses.create({ model: 'gpt-4o', previous_response_id: asked.id, input: output });
assert.equal(next.output_text, said);
assert.equal(next.previous_response_id, asked.id);
const done = await openai.responses.stream({ model: 'gpt-4o', previous_response_id: next.id,
  input: [{ type: 'function_call_output', call_id: next.output[1].call_id, output: 'ok' }] }).finalResponse();
assert.equal(done.output_text, 'Your order is cancelled.');
await assert.rejects(openai.responses.create({ model: 'gpt-4o', previous_response_id: 'resp_never', input: 'x' }),
  (e) => e instanceof OpenAI.BadRequestError && e.code === 'previous_response_not_found');
await assert.rejects(openai.responses.create({ model: 'gpt-4o', previous_response_id: asked.id, input: 'x' }),
  (e) => e instanceof OpenAI.BadRequestError && /No tool output found/.test(e.message));

// embeddings, models
const embed = (more) => openai.embeddings.create({ model: 'text-embedding-3-small', input: 'a', ...more });
const [binary, floats] = [await embed({ dimensions: 8 }), await embed({ dimensions: 8, encoding_format: 'float' })].map((e) => e.data[0].embedding);
assert.deepEqual(binary.map((x) => x.toFixed(5)), floats.map((x) => x.toFixed(5)));
assert.ok(Math.abs(Math.hypot(...floats) - 1) < 1e-5);
assert.equal((await embed()).data[0].embedding.length, 1536);
assert.equal((await embed({ input: ['a', 'b'] })).data.length, 2);
const models = [];
for await (const model of await openai.models.list()) models.push(model.id);
assert.deepEqual(models, ['text-embedding-3-small']);

// messages
const anthropic = new Anthropic({ maxRetries: 0 });
const talk = { model: 'claude-test', max_tokens: 100, tools: [{ name: 'find_order', input_schema: { type: 'object' } }], messages: [{ role: 'user', content: 'hi' }] };
const reply = await anthropic.messages.create(talk);
assert.equal(reply.stop_reason, 'tool_use');
assert.deepEqual(reply.content.map((b) => b.type), ['text', 'tool_use']);
const streamed = await anthropic.messages.stream(talk).finalMessage();
assert.deepEqual(streamed.content[1].input, { email: 'ada@example.test' });
assert.deepEqual(streamed.content[0].text, reply.content[0].text);
talk.messages.push({ role: 'assistant', content: reply.content });
await assert.rejects(anthropic.messages.create({ ...talk, messages: [...talk.messages, { role: 'user', content: 'no' }] }),
  (e) => e instanceof Anthropic.BadRequestError && /`tool_use` ids were found without/.test(e.message));
talk.messages.push({ role: 'user', content: [{ type: 'tool_result', tool_use_id: reply.content[1].id, content: 'ord_7' }] });
assert.equal((await anthropic.messages.create(talk)).content[0].text, 'Done.');
console.log('all of it');
