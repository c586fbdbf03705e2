// support-agent: lets a language model look up an order and cancel one line of it, by tool calls.
// --rash: acts on whatever came of a call when the stream has ended, mended until it parses.
import OpenAI from 'openai';

const rash = process.argv.includes('--rash');
const openai = new OpenAI();
const crm = process.env.CRM_URL;
const text = { type: 'string' };
const tool = (name, properties) => ({ type: 'function', function: { name, parameters: { type: 'object', properties } } });
const tools = [tool('find_orders', { email: text }), tool('cancel', { order: text, line: text })];

async function run(name, args) {
  const [method, path] = name === 'find_orders' ? ['GET', `/orders?email=${encodeURIComponent(args.email)}`]
    : args.line ? ['POST', `/orders/${args.order}/lines/${args.line}/cancel`] : ['POST', `/orders/${args.order}/cancel`];
  const reply = await fetch(crm + path, { method });
  return `${reply.status} ${await reply.text()}`;
}

// One message of the model, put together from its stream.
async function ask(messages) {
  const stream = await openai.chat.completions.create({ model: 'gpt-4o-mini', messages, tools, stream: true });
  const message = { role: 'assistant', content: '' };
  let finish = null;
  for await (const { choices: [choice] } of stream) {
    if (!choice) continue;
    message.content += choice.delta.content ?? '';
    for (const part of choice.delta.tool_calls ?? []) {
      message.tool_calls ??= [];
      const call = message.tool_calls[part.index] ??= { id: part.id, type: 'function', function: { name: part.function.name, arguments: '' } };
      call.function.arguments += part.function.arguments ?? '';
    }
    finish = choice.finish_reason ?? finish;
  }
  return { message, finish };
}

function mend(json) {
  for (const end of ['', '}', '"}', 'null}']) {
    try { return [json + end, JSON.parse(json + end)]; } catch { /* the next */ }
  }
  throw new Error(`cannot mend ${json}`);
}

const messages = [{ role: 'user', content: 'I am ada@example.test. Please take the socks out of my order.' }];
for (let tries = 0; tries < 8; tries++) {
  const { message, finish } = await ask(messages);
  if (!finish && !rash) continue; // the stream ended early, and in order: nothing of it counts, ask again
  messages.push(message);
  for (const call of message.tool_calls ?? []) {
    const [whole, args] = rash ? mend(call.function.arguments) : [call.function.arguments, JSON.parse(call.function.arguments)];
    call.function.arguments = whole;
    messages.push({ role: 'tool', tool_call_id: call.id, content: await run(call.function.name, args) });
  }
  if (message.tool_calls) continue;
  console.log(message.content);
  process.exit(0);
}
console.error('the model came to no end');
process.exit(1);
