// SPDX-License-Identifier: GPL-2.0-or-later
// https_clients.mjs - clients of npm as they come, at the names that they know; prints "NAME VALUE" lines.
const say = (name, value) => console.log(name, typeof value === 'string' ? value : JSON.stringify(value));
const attempt = async (name, f) => {
	try {
		say(name, await f());
	} catch (e) {
		say(name, `${e.name} ${e.code ?? e.cause?.code ?? ''} ${e.message}`);
	}
};
const user = 'https://api.github.com/users/ada';
const agent = { 'user-agent': 'test' };

await attempt('undici', async () => {
	const { request } = await import('undici');
	const r = await request(user, { headers: agent });
	return (await r.body.json()).login;
});
await attempt('undici-h2', async () => {
	const { Client } = await import('undici');
	const client = new Client('https://api.github.com', { allowH2: true });
	const r = await client.request({ method: 'GET', path: '/users/ada', headers: agent });
	const login = (await r.body.json()).login;
	await client.close();
	return login;
});
await attempt('axios', async () => (await (await import('axios')).default.get(user)).data.login);
await attempt('got', async () => (await (await import('got')).got(user).json()).login);
await attempt('got-h2', async () => (await (await import('got')).got(user, { http2: true }).json()).login);
await attempt('node-fetch', async () => (await (await (await import('node-fetch')).default(user)).json()).login);
await attempt('octokit', async () => {
	const { Octokit } = await import('@octokit/core');
	return (await new Octokit({ auth: 'ghp_x' }).request('GET /users/{username}', { username: 'ada' })).data.login;
});
await attempt('stripe', async () => {
	const { default: Stripe } = await import('stripe');
	const stripe = new Stripe(process.env.STRIPE_KEY);
	const made = await stripe.customers.create({ name: 'Ada' });
	return (await stripe.customers.retrieve(made.id)).name;
});
await attempt('openai', async () => {
	const { default: OpenAI } = await import('openai');
	const r = await new OpenAI({ apiKey: 'sk-test' }).chat.completions.create({ model: 'm', messages: [{ role: 'user', content: 'hi' }] });
	return r.choices[0].message.content;
});
await attempt('anthropic', async () => {
	const { default: Anthropic } = await import('@anthropic-ai/sdk');
	const r = await new Anthropic({ apiKey: 'sk-ant' }).messages.create({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] });
	return r.content[0].text;
});
await attempt('slack', async () => {
	const { WebClient } = await import('@slack/web-api');
	return (await new WebClient('xoxb-test').chat.postMessage({ channel: 'C1', text: 'hi' })).ok;
});
