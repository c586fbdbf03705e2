// Outages of a port, begun and ended by rows of its service: what a raw client, node:http and fetch see before, during and after.
import http from 'node:http';
import net from 'node:net';

const at = (name) => new URL(process.env[name]);
const pause = (ms) => new Promise((done) => { setTimeout(done, ms); });

// One connection that stays open: a request, its status.
function keep(url) {
  const socket = net.connect({ host: url.hostname, port: url.port || 80 });
  let data = '', tell = () => {};
  socket.on('data', (d) => { data += d; tell(); });
  socket.on('error', (e) => { data += `HTTP/1.1 ${e.code}`; tell(); });
  return async (method, path, body = '') => {
    const json = body && JSON.stringify({ is: body });
    data = '';
    socket.write(`${method} ${path} HTTP/1.1\r\nHost: ${url.host}\r\nContent-Type: application/json\r\nContent-Length: ${json.length}\r\n\r\n${json}`);
    for (;;) {
      const head = /^HTTP\/1.1 (\w+)[^]*?content-length: (\d+)[^]*?\r\n\r\n/i.exec(data);
      if (head && data.length >= head[0].length + Number(head[2])) return head[1];
      if (data.startsWith('HTTP/1.1 E')) return data.slice(9);
      await new Promise((done) => { tell = done; });
    }
  };
}
// How an attempt to connect ends: "open", an error's code, or "silence" if nothing has come of it when `wait` is over.
function knock(url, wait) {
  const socket = net.connect({ host: url.hostname, port: url.port || 80 });
  return new Promise((done) => {
    socket.on('connect', () => { socket.destroy(); done('open'); });
    socket.on('error', (e) => done(e.code));
    wait?.then(() => { socket.destroy(); done('silence'); });
  });
}
const get = (url) => new Promise((done) => {
  http.get(new URL('/ok', url), { agent: false }, (reply) => { reply.resume(); done(reply.statusCode); }).on('error', (e) => done(e.code));
});
const fetched = async (url) => {
  try { return (await fetch(new URL('/ok', url))).status; } catch (e) { return `${e.message}/${e.cause?.code}`; }
};
async function until(url, what) {
  while (await knock(url) !== what) await pause(10);
  return what;
}

async function shut(name, ends) {
  const url = at(name), old = keep(url), said = [await get(url), await old('POST', '/rows', 'begin')];
  said.push(await until(url, 'ECONNREFUSED'), await get(url), await fetched(url), await old('GET', '/ok'));
  if (ends) said.push(await old('POST', '/rows', 'end'));
  said.push(await until(url, 'open'), await get(url), await fetched(url));
  console.log(name, said.join(' '));
}
async function mute() {
  const url = at('MUTE'), old = keep(url), said = [await get(url), await old('POST', '/rows', 'begin')];
  while (await knock(url, pause(400)) !== 'silence') await pause(10);
  const waiting = knock(url);
  said.push('silence', await fetched(url), await old('GET', '/ok'), await old('POST', '/rows', 'end'));
  said.push(await waiting, await get(url)); // its SYN is sent again by the kernel
  console.log('MUTE', said.join(' '));
}
// Fifty that have connected before the port shuts are served, whether or not the twin had taken them yet.
async function many() {
  const url = at('MANY'), first = keep(url);
  await first('GET', '/ok');
  const others = [];
  for (let i = 0; i < 50; i++) others.push(keep(url));
  const begun = first('POST', '/rows', 'begin'), told = await Promise.all(others.map((ask) => ask('GET', '/ok')));
  console.log('MANY', await begun, told.filter((s) => s === '200' || s === 'ECONNREFUSED').length, await until(url, 'ECONNREFUSED'));
}
await Promise.all([shut('SHUT', false), shut('TILL', true), mute(), many()]);
process.exit(0); // connections are open still
