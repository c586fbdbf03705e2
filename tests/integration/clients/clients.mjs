// The clients of the table, all of one shape: a function of a service's address that resolves to what the application gets.
import http from 'node:http';
import https from 'node:https';
import axios from 'axios';
import got from 'got';
import nodeFetch from 'node-fetch';
import { request as undiciRequest, Agent, RetryAgent } from 'undici';
import Stripe from 'stripe';
import OpenAI from 'openai';
import Anthropic from '@anthropic-ai/sdk';
import { WebClient, LogLevel } from '@slack/web-api';
import { Octokit } from '@octokit/core';
import { retry } from '@octokit/plugin-retry';

const isWhole = (text) => { try { JSON.parse(text); return true; } catch { return false; } };
export const body = (text) => (text === '' ? 'empty' : text.startsWith('<') ? 'html' : text.startsWith('{') ? (isWhole(text) ? 'json' : 'cut') : 'other');
const quiet = { debug() {}, info() {}, warn() {}, error() {}, setLevel() {}, setName() {}, getLevel: () => LogLevel.ERROR };

const node = (url, method, wait, agent) => new Promise((resolve, reject) => {
	const request = (url.startsWith('https') ? https : http).request(url, { method, ...(agent === undefined ? {} : { agent }) }, (reply) => {
		let text = '';
		reply.on('data', (part) => { text += part; });
		reply.on('error', reject);
		reply.on('end', () => resolve(`${reply.statusCode} ${body(text)}`));
	});
	request.on('error', (error) => { if (request.reusedSocket) error.reused = true; reject(error); });
	if (wait) request.setTimeout(wait, () => request.destroy(new Error('waited')));
	request.end();
});

// wait: the own limit, or none; retries: how often the SDKs try again, else their default; agent: of node:http.
export function make({ wait, retries, agent } = {}) {
	const signal = () => (wait ? { signal: AbortSignal.timeout(wait) } : {});
	const limit = wait ? { timeout: wait } : {};
	const tries = retries === undefined ? {} : { maxRetries: retries };
	const fetched = async (fetch, url, method) => {
		const reply = await fetch(url, { method, ...signal() });
		return `${reply.status} ${body(await reply.text())}`;
	};
	const withUndici = async (url, method, dispatcher) => {
		const reply = await undiciRequest(url, { method, dispatcher, ...signal() });
		return `${reply.statusCode} ${body(await reply.body.text())}`;
	};
	const withAxios = async (url, method) => {
		const reply = await axios.request({ url, method, ...limit });
		return `${reply.status} ${body(typeof reply.data === 'string' ? reply.data : JSON.stringify(reply.data))}`;
	};
	const withGot = async (url, method, more) => {
		const reply = await got(url, { method, ...(wait ? { timeout: { request: wait } } : {}), ...more });
		return `${reply.statusCode} ${body(reply.body)}`;
	};
	const pool = new Agent(), patient = new RetryAgent(new Agent(), { minTimeout: 10, maxTimeout: 20 });
	const stripes = {}; // one for each address, which keeps its connections
	const withStripe = (base, settings) => {
		const url = new URL(base);
		return stripes[base + JSON.stringify(settings)] ??= new Stripe('sk_test_0', { host: url.hostname, port: url.port || (url.protocol === 'https:' ? 443 : 80),
			protocol: url.protocol.slice(0, -1), telemetry: false, ...limit, ...settings });
	};
	const octokit = new (Octokit.plugin(retry))({ retry: { retryAfterBaseValue: 10, ...(retries === undefined ? {} : { retries }) },
		request: { fetch: (url, options) => fetch(url, { ...options, ...signal() }) } });
	octokit.log = quiet;
	return {
		'node-get': (base) => node(`${base}/node-get`, 'GET', wait, agent),
		'node-post': (base) => node(`${base}/node-post`, 'POST', wait, agent),
		'fetch-get': (base) => fetched(fetch, `${base}/fetch-get`, 'GET'),
		'fetch-post': (base) => fetched(fetch, `${base}/fetch-post`, 'POST'),
		'undici-get': (base) => withUndici(`${base}/undici-get`, 'GET', pool),
		'undici-retry-get': (base) => withUndici(`${base}/undici-retry-get`, 'GET', patient),
		'undici-retry-post': (base) => withUndici(`${base}/undici-retry-post`, 'POST', patient),
		'node-fetch-get': (base) => fetched(nodeFetch, `${base}/node-fetch-get`, 'GET'),
		'node-fetch-post': (base) => fetched(nodeFetch, `${base}/node-fetch-post`, 'POST'),
		'axios-get': (base) => withAxios(`${base}/axios-get`, 'GET'),
		'axios-post': (base) => withAxios(`${base}/axios-post`, 'POST'),
		'got-get': (base) => withGot(`${base}/got-get`, 'GET', { retry: { backoffLimit: 50, ...(retries === undefined ? {} : { limit: retries }) } }),
		'got-post': (base) => withGot(`${base}/got-post`, 'POST'),
		stripe: async (base) => `ok ${(await withStripe(base, retries === undefined ? {} : { maxNetworkRetries: retries }).refunds.create({ charge: 'ch_1' })).id ?? 'empty'}`,
		'stripe-off': async (base) => `ok ${(await withStripe(base, { maxNetworkRetries: 0 }).customers.create({ name: 'x' })).id ?? 'empty'}`,
		openai: async (base) => {
			const reply = await new OpenAI({ apiKey: 'k', baseURL: `${base}/v1`, ...limit, ...tries }).chat.completions.create({ model: 'm', messages: [{ role: 'user', content: 'x' }] });
			return `ok ${reply?.id ?? 'no id'}`;
		},
		anthropic: async (base) => {
			const reply = await new Anthropic({ apiKey: 'k', baseURL: base, ...limit, ...tries }).messages.create({ model: 'm', max_tokens: 5, messages: [{ role: 'user', content: 'x' }] });
			return `ok ${reply?.id ?? 'no id'}`;
		},
		slack: async (base) => {
			const slack = new WebClient('t', { slackApiUrl: `${base}/api/`, ...limit, logLevel: LogLevel.ERROR, retryConfig: { retries: retries ?? 2, minTimeout: 10, maxTimeout: 20 }, logger: quiet });
			return `ok ${(await slack.chat.postMessage({ channel: 'c', text: 'x' })).id ?? 'empty'}`;
		},
		octokit: async (base) => {
			const reply = await octokit.request('GET /users/ada', { baseUrl: base });
			return `${reply.status} ${reply.data?.id ?? (reply.data === '' || reply.data === undefined ? 'empty' : body(String(reply.data)))}`;
		},
	};
}

// An error as its class, its code, a status that comes with it, and the cause that names itself.
export const told = (error) => {
	const of = error?.name === 'AggregateError' ? error.errors[0] : error;
	const cause = of?.cause?.code ?? of?.cause?.name ?? of?.original?.code ?? '';
	const status = of?.status ?? of?.statusCode ?? of?.response?.status;
	return `error ${of?.constructor?.name ?? typeof of}${of?.code ? `/${of.code}` : ''}${status ? ` ${status}` : ''}${cause ? ` <- ${cause}` : ''}${of?.reused ? ' reused' : ''}`;
};
export const within = async (ms, call) => {
	let timer;
	const late = new Promise((resolve) => { timer = setTimeout(() => resolve('still waiting'), ms); });
	const result = await Promise.race([call().catch(told), late]);
	clearTimeout(timer);
	return result;
};
// More than a receipt keeps of stdout: it goes to a service, whose state it does keep.
export async function report(lines) {
	await fetch('http://results.internal/lines', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ id: 'all', lines }) });
	process.exit(0);
}
