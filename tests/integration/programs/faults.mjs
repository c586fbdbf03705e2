// What a raw client sees of each fault: one line "NAME BYTES END", the end being reset, end, refused or silence.
import net from 'node:net';

const at = (name) => new URL(process.env[name]);
const main = at('MAIN');
const text = (method, path, body = '') =>
  `${method} ${path} HTTP/1.1\r\nHost: ${main.host}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

function open(url) {
  const socket = net.connect({ host: url.hostname, port: url.port || 80 });
  const state = { socket, data: Buffer.alloc(0), over: null };
  state.changed = new Promise((done) => { state.tell = done; });
  const wake = () => { const tell = state.tell; state.changed = new Promise((done) => { state.tell = done; }); tell(); };
  socket.on('data', (d) => { state.data = Buffer.concat([state.data, d]); wake(); });
  socket.on('end', () => { state.over ??= 'end'; wake(); });
  socket.on('error', (e) => { state.over ??= { ECONNRESET: 'reset', ECONNREFUSED: 'refused' }[e.code] ?? e.code; wake(); });
  return state;
}
// Where the first reply ends by its own words; infinity while its head is not there.
const length = (data) => {
  const head = data.indexOf('\r\n\r\n');
  return head < 0 ? Infinity : head + 4 + Number(/content-length: (\d+)/i.exec(data.subarray(0, head).toString())?.[1] ?? 0);
};
async function answer(state) {
  while (!state.over && state.data.length < length(state.data)) await state.changed;
  const data = state.data.subarray(0, length(state.data));
  state.data = state.data.subarray(data.length);
  return data;
}
// Silence: nothing has come while others were answered several times, and for a while after.
async function others() {
  for (let i = 0; i < 5; i++) {
    const other = open(main);
    other.socket.write(text('GET', '/ok'));
    await answer(other);
    other.socket.destroy();
  }
  await new Promise((done) => setTimeout(done, 200));
}
async function watch(state, silent) {
  if (silent) await others();
  else while (!state.over) await state.changed;
  return state.over ?? 'silence';
}
const bodyOf = (data) => { const i = data.indexOf('\r\n\r\n'); return i < 0 ? Buffer.alloc(0) : data.subarray(i + 4); };

// On a connection that has been used before: what comes of a request, and how it ends.
async function cut(path) {
  const state = open(main);
  state.socket.write(text('GET', '/ok'));
  await answer(state);
  state.socket.write(text('POST', path, '{"a":1}'));
  const end = await watch(state, path.endsWith('stall'));
  console.log(path.slice(1), state.data.length === 0 ? 'nothing' : bodyOf(state.data).length, end);
  state.socket.destroy();
}
async function reply(path) {
  const state = open(main);
  state.socket.write(text('POST', path, '{"a":1}'));
  const data = await answer(state);
  const status = data.toString('latin1').slice(9, 12), body = bodyOf(data);
  let kind = 'json';
  try { JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)); } catch { kind = body.includes('<html>') ? 'html' : 'noise'; }
  const after = /retry-after: (\d+)/i.exec(data.toString('latin1'));
  console.log(path.slice(1), status, kind, after ? after[1] : '-');
  return state;
}

for (const path of ['/rst', '/fin', '/stall', '/mid-rst', '/mid-fin', '/mid-stall', '/lost']) await cut(path);
for (const path of ['/before', '/after', '/garble', '/html', '/slow', '/clean', '/twice', '/result']) (await reply(path)).socket.destroy();
const wrong = await reply('/wrong');
const wrongEnd = await watch(wrong);
console.log('wrong-end', wrong.data.length, wrongEnd);
// To the end of the connection: status, framing, and the body with | for the ends of lines.
async function whole(path) {
  const state = open(main);
  state.socket.write(text('POST', path, '{"a":1}'));
  const end = await watch(state), data = state.data.toString('latin1');
  if (!data.startsWith('HTTP/')) return console.log(path.slice(1), 'no head', data.length, end);
  const framing = /^(?:transfer-encoding|content-length): (.*)$/im.exec(data)?.[1] ?? '-';
  console.log(path.slice(1), data.slice(9, 12), framing, bodyOf(state.data).toString().replaceAll('\r\n', '|'), end);
}
for (const path of ['/not-http', '/bad-chunk', '/unterminated', '/no-length']) await whole(path);

const dark = open(at('DARK'));
dark.socket.write(text('GET', '/ok'));
console.log('dark', dark.data.length, await watch(dark, true));
dark.socket.destroy();
const half = open(at('HALF'));
half.socket.write('POST /ok HTTP/1.1\r\nHost: half.internal\r\nContent-Length: 10\r\n\r\n1234');
console.log('half', half.data.length, await watch(half, true));
half.socket.write('567890');
console.log('half-more', half.data.length, await watch(half, true));
half.socket.destroy();
const shut = open(at('SHUT'));
while (!shut.over) await shut.changed;
console.log('shut', shut.data.length, shut.over);
