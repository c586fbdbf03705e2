// Each client against each fault: what the application gets, lines `FAULT CLIENT RESULT` for the service `results`.  How often the client asked is in the
// receipt: the path is the client's own.  Waiting is cut short where a client lets it be.
import http from 'node:http';
import axios from 'axios';
import got from 'got';
import nodeFetch from 'node-fetch';
import Stripe from 'stripe';
import OpenAI from 'openai';
import Anthropic from '@anthropic-ai/sdk';
import { WebClient, LogLevel } from '@slack/web-api';
import { Octokit } from '@octokit/core';
import { retry } from '@octokit/plugin-retry';

const wait = 1500;
const body = (text) => (text === '' ? 'empty' : text.startsWith('<') ? 'html' : text.startsWith('{') ? (isWhole(text) ? 'json' : 'cut') : 'other');
const isWhole = (text) => { try { JSON.parse(text); return true; } catch { return false; } };
const plain = (url, method) => new Promise((resolve, reject) => {
	const request = http.request(url, { method, agent: false }, (reply) => {
		let text = '';
		reply.on('data', (part) => { text += part; });
		reply.on('error', reject);
		reply.on('end', () => resolve(`${reply.statusCode} ${body(text)}`));
	});
	request.on('error', reject);
	request.setTimeout(wait, () => request.destroy(new Error('waited')));
	request.end();
});
const fetched = async (fetch, url, method, options) => {
	const reply = await fetch(url, { method, signal: AbortSignal.timeout(wait), ...options });
	return `${reply.status} ${body(await reply.text())}`;
};
const octokit = new (Octokit.plugin(retry))({ retry: { retryAfterBaseValue: 10 }, request: { fetch: (url, options) => fetch(url, { ...options, signal: AbortSignal.timeout(wait) }) } });
octokit.log = { debug() {}, info() {}, warn() {}, error() {} };

const clients = {
	'node-get': (base) => plain(`${base}/node-get`, 'GET'),
	'node-post': (base) => plain(`${base}/node-post`, 'POST'),
	'fetch-get': (base) => fetched(fetch, `${base}/fetch-get`, 'GET'),
	'fetch-post': (base) => fetched(fetch, `${base}/fetch-post`, 'POST'),
	'node-fetch-get': (base) => fetched(nodeFetch, `${base}/node-fetch-get`, 'GET'),
	'axios-get': async (base) => {
		const reply = await axios.get(`${base}/axios-get`, { timeout: wait });
		return `${reply.status} ${body(typeof reply.data === 'string' ? reply.data : JSON.stringify(reply.data))}`;
	},
	'got-get': async (base) => { const r = await got(`${base}/got-get`, { timeout: { request: wait }, retry: { backoffLimit: 50 } }); return `${r.statusCode} ${body(r.body)}`; },
	'got-post': async (base) => { const r = await got.post(`${base}/got-post`, { timeout: { request: wait } }); return `${r.statusCode} ${body(r.body)}`; },
	stripe: async (base) => {
		const url = new URL(base);
		const stripe = new Stripe('sk_test_0', { host: url.hostname, port: 80, protocol: 'http', timeout: wait, telemetry: false });
		return `ok ${(await stripe.refunds.create({ charge: 'ch_1' })).id ?? 'empty'}`;
	},
	openai: async (base) => {
		const reply = await new OpenAI({ apiKey: 'k', baseURL: `${base}/v1`, timeout: wait }).chat.completions.create({ model: 'm', messages: [{ role: 'user', content: 'x' }] });
		return `ok ${reply?.id ?? 'no id'}`;
	},
	anthropic: async (base) => {
		const reply = await new Anthropic({ apiKey: 'k', baseURL: base, timeout: wait }).messages.create({ model: 'm', max_tokens: 5, messages: [{ role: 'user', content: 'x' }] });
		return `ok ${reply?.id ?? 'no id'}`;
	},
	slack: async (base) => {
		const slack = new WebClient('t', { slackApiUrl: `${base}/api/`, timeout: wait, logLevel: LogLevel.ERROR, retryConfig: { retries: 2, minTimeout: 10, maxTimeout: 20 }, logger: { debug() {}, info() {}, warn() {}, error() {}, setLevel() {}, setName() {}, getLevel: () => LogLevel.ERROR } });
		return `ok ${(await slack.chat.postMessage({ channel: 'c', text: 'x' })).id ?? 'empty'}`;
	},
	octokit: async (base) => {
		const reply = await octokit.request('GET /users/ada', { baseUrl: base });
		return `${reply.status} ${reply.data?.id ?? (reply.data === '' || reply.data === undefined ? 'empty' : body(String(reply.data)))}`;
	},
};
const name = (error) => {
	const of = error?.name === 'AggregateError' ? error.errors[0] : error;
	const cause = of?.cause?.code ?? of?.cause?.name ?? of?.original?.code ?? '';
	return `error ${of?.constructor?.name ?? typeof of}${of?.code ? `/${of.code}` : ''}${of?.status ?? of?.statusCode ?? of?.response?.status ? ` ${of.status ?? of.statusCode ?? of.response.status}` : ''}${cause ? ` <- ${cause}` : ''}`;
};
const calls = [];
for (const fault of process.env.FAULTS.split(' ')) {
	for (const [client, call] of Object.entries(clients)) {
		calls.push((async () => {
			let timer;
			const late = new Promise((resolve) => { timer = setTimeout(() => resolve('still waiting'), 9000); });
			const result = await Promise.race([call(`http://${fault}.internal`).catch(name), late]);
			clearTimeout(timer);
			return `${fault} ${client} ${result}`;
		})());
	}
}
const lines = (await Promise.all(calls)).sort(); // more than a receipt keeps of stdout
await fetch('http://results.internal/lines', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ id: 'all', lines }) });
process.exit(0);
