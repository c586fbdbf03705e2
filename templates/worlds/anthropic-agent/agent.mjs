// anthropic-agent: lets a language model credit an account and write a note, by tool calls in a stream.
// --eager: runs each tool as soon as its block is there, before the message is.
import Anthropic from '@anthropic-ai/sdk';

const eager = process.argv.includes('--eager');
const anthropic = new Anthropic();
const tool = (name, properties) => ({ name, input_schema: { type: 'object', properties } });
const tools = [tool('credit', { account: { type: 'string' }, cents: { type: 'integer' } }),
  tool('note', { account: { type: 'string' }, text: { type: 'string' } })];

async function run({ name, input }) {
  const reply = await fetch(`${process.env.SHOP_URL}/${name}s`, {
    method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(input),
  });
  return `${reply.status} ${await reply.text()}`;
}

const messages = [{ role: 'user', content: 'The shoes of a_7 came late.' }];
for (let tries = 0; tries < 6; tries++) {
  const results = new Map();
  const stream = anthropic.messages.stream({ model: 'claude-test', max_tokens: 500, messages, tools });
  if (eager) stream.on('contentBlock', (block) => { if (block.type === 'tool_use') results.set(block.id, run(block)); });
  let message;
  try {
    message = await stream.finalMessage();
  } catch (error) {
    await Promise.all(results.values());
    console.error(`the stream broke: ${error.message}`);
    continue; // ask again; the SDK does not, once a stream has begun
  }
  const calls = message.content.filter((block) => block.type === 'tool_use');
  messages.push({ role: 'assistant', content: message.content });
  if (!calls.length) {
    console.log(message.content.map((block) => block.text).join(''));
    process.exit(0);
  }
  const content = [];
  for (const call of calls) content.push({ type: 'tool_result', tool_use_id: call.id, content: await (results.get(call.id) ?? run(call)) });
  messages.push({ role: 'user', content });
}
process.exit(1);
