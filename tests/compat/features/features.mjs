// SPDX-License-Identifier: GPL-2.0-or-later
// What Node programs use, each tried once: a line "ok NAME" or "not ok NAME: why".  The workflow of the world beside it, and a
// program of its own anywhere else.  An argument names the only feature to be tried.
import assert from "node:assert/strict";
import async_hooks from "node:async_hooks";
import child_process from "node:child_process";
import cluster from "node:cluster";
import crypto from "node:crypto";
import diagnostics from "node:diagnostics_channel";
import dgram from "node:dgram";
import dns from "node:dns";
import { EventEmitter, once } from "node:events";
import fs from "node:fs";
import http from "node:http";
import inspector from "node:inspector";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { PerformanceObserver, monitorEventLoopDelay, performance } from "node:perf_hooks";
import readline from "node:readline";
import stream from "node:stream/promises";
import { PassThrough, Transform } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import v8 from "node:v8";
import vm from "node:vm";
import { MessageChannel, Worker } from "node:worker_threads";
import zlib from "node:zlib";

const here = fileURLToPath(import.meta.url);
const role = process.env.FEATURE_ROLE;

if (role === "fork") {
	process.on("message", (m, handle) => {
		process.send({ echo: m, handle: Boolean(handle) });
		if (m === "end") process.disconnect();
	});
} else if (role === "cluster") {
	http.createServer((_, res) => res.end(String(process.pid))).listen(Number(process.env.FEATURE_PORT), "127.0.0.1");
} else {
	await main();
}

async function text(readable) {
	let all = "";
	for await (const piece of readable) all += piece;
	return all;
}
async function run(file, args, options) {
	const child = child_process.spawn(file, args, options);
	const [out, [code]] = await Promise.all([text(child.stdout), once(child, "close")]);
	return { out, code };
}
async function listen(server, ...where) {
	server.listen(...where);
	await once(server, "listening");
	return server.address();
}
async function get(port, where = "/") {
	return (await fetch(`http://127.0.0.1:${port}${where}`)).text();
}

async function main() {
	const only = process.argv[2];
	const folder = fs.mkdtempSync(path.join(os.tmpdir(), "features-"));
	const node = process.execPath;
	const features = {
		"start of another node": async () => {
			assert.equal((await run(node, ["-p", "6*7"])).out.trim(), "42");
		},
		"worker_threads": async () => {
			const workers = Array.from({ length: 8 }, (_, i) => new Worker(
				`const { parentPort, workerData } = require("worker_threads");
				parentPort.on("message", n => parentPort.postMessage(n * workerData));`, { eval: true, workerData: i }));
			const sums = await Promise.all(workers.map(async w => {
				w.postMessage(3);
				const [n] = await once(w, "message");
				await w.terminate();
				return n;
			}));
			assert.deepEqual(sums, [0, 3, 6, 9, 12, 15, 18, 21]);
		},
		"SharedArrayBuffer and Atomics.wait": async () => {
			const shared = new Int32Array(new SharedArrayBuffer(4));
			const w = new Worker(`const a = require("worker_threads").workerData; Atomics.wait(a, 0, 0, 10000); Atomics.add(a, 0, 1);`,
				{ eval: true, workerData: shared });
			await once(w, "online");
			Atomics.store(shared, 0, 5);
			Atomics.notify(shared, 0);
			await once(w, "exit");
			assert.equal(shared[0], 6);
		},
		"MessageChannel": async () => {
			const { port1, port2 } = new MessageChannel();
			port1.postMessage({ a: new Map([[1, 2]]) });
			const [m] = await once(port2, "message");
			port1.close();
			assert.equal(m.a.get(1), 2);
		},
		"child_process.spawn": async () => {
			assert.deepEqual(await run("/bin/echo", ["a b"]), { out: "a b\n", code: 0 });
		},
		"spawn of what is not there": async () => {
			const [e] = await once(child_process.spawn("/no/such/program"), "error");
			assert.equal(e.code, "ENOENT");
		},
		"exec with a shell": async () => {
			const { stdout } = await promisify(child_process.exec)("echo $((6*7)) | cat; echo x >&2");
			assert.equal(stdout, "42\n");
		},
		"execFile": async () => {
			const { stdout } = await promisify(child_process.execFile)(node, ["-p", "process.argv.length", "x"]);
			assert.equal(stdout.trim(), "2");
		},
		"execSync and spawnSync": async () => {
			assert.equal(child_process.execSync("cat", { input: "in" }).toString(), "in");
			assert.equal(child_process.spawnSync("sh", ["-c", "exit 7"]).status, 7);
		},
		"fork with IPC": async () => {
			const child = child_process.fork(here, { env: { ...process.env, FEATURE_ROLE: "fork" } });
			child.send({ n: 1 });
			assert.deepEqual((await once(child, "message"))[0], { echo: { n: 1 }, handle: false });
			child.send("end");
			await once(child, "exit");
		},
		"fork with a handed-over socket": async () => {
			const child = child_process.fork(here, { env: { ...process.env, FEATURE_ROLE: "fork" } });
			const server = net.createServer();
			await listen(server, 0, "127.0.0.1");
			child.send("end", server);
			assert.equal((await once(child, "message"))[0].handle, true);
			server.close();
			child.kill();
			await once(child, "exit");
		},
		"detached child": async () => {
			const child = child_process.spawn("sh", ["-c", "ps -o pgid= -p $$ 2>/dev/null || cut -d' ' -f5 /proc/$$/stat"],
				{ detached: true, stdio: ["ignore", "pipe", "ignore"] });
			const group = Number(await text(child.stdout));
			assert.equal(group, child.pid);
		},
		"signals": async () => {
			const child = child_process.spawn("sleep", ["60"]);
			await once(child, "spawn");
			child.kill("SIGTERM");
			assert.equal((await once(child, "exit"))[1], "SIGTERM");
			const own = once(process, "SIGUSR2");
			process.kill(process.pid, "SIGUSR2");
			await own;
		},
		"abort of a child": async () => {
			const c = new AbortController();
			const child = child_process.spawn("sleep", ["60"], { signal: c.signal });
			const error = once(child, "error");
			c.abort();
			assert.equal((await error)[0].name, "AbortError");
		},
		"pipes of 10 MB": async () => {
			const child = child_process.spawn("cat");
			const data = crypto.randomBytes(10 << 20), hash = crypto.createHash("sha256");
			child.stdin.end(data);
			for await (const piece of child.stdout) hash.update(piece);
			assert.equal(hash.digest("hex"), crypto.createHash("sha256").update(data).digest("hex"));
		},
		"cluster": async () => {
			cluster.setupPrimary({ exec: here });
			const probe = net.createServer();
			const { port } = await listen(probe, 0, "127.0.0.1");
			probe.close();
			await once(probe, "close");
			const workers = [1, 2].map(() => cluster.fork({ FEATURE_ROLE: "cluster", FEATURE_PORT: port }));
			await Promise.all(workers.map(w => once(w, "listening")));
			const pids = new Set();
			for (let i = 0; i < 20; i++) pids.add(await (await fetch(`http://127.0.0.1:${port}/`, { headers: { connection: "close" } })).text());
			assert.ok(pids.size >= 1 && [...pids].every(p => workers.some(w => String(w.process.pid) === p)));
			await Promise.all(workers.map(w => { const gone = once(w, "exit"); w.kill(); return gone; }));
		},
		"npm run": async () => {
			fs.writeFileSync(path.join(folder, "package.json"), '{ "scripts": { "hi": "node -p 40+2" } }');
			const npm = ["/usr/bin/npm", "/usr/local/bin/npm", path.join(path.dirname(node), "npm")].find(p => fs.existsSync(p));
			if (!npm) return "npm is not installed";
			const { out, code } = await run(npm, ["run", "--silent", "hi"], { cwd: folder, stdio: ["ignore", "pipe", "pipe"],
				env: { ...process.env, HOME: folder, npm_config_update_notifier: "false" } });
			assert.deepEqual({ out: out.trim(), code }, { out: "42", code: 0 });
			return undefined;
		},
		"thread pool": async () => {
			const keys = await Promise.all(Array.from({ length: 32 }, (_, i) =>
				promisify(crypto.pbkdf2)(`p${i}`, "salt", 2000, 32, "sha512")));
			assert.equal(new Set(keys.map(String)).size, 32);
		},
		"zlib and brotli": async () => {
			const data = Buffer.alloc(1 << 20, "agent");
			for (const [pack, unpack] of [["gzip", "gunzip"], ["deflate", "inflate"], ["brotliCompress", "brotliDecompress"]])
				assert.ok((await promisify(zlib[unpack])(await promisify(zlib[pack])(data))).equals(data));
		},
		"crypto": async () => {
			const { privateKey, publicKey } = await promisify(crypto.generateKeyPair)("ec", { namedCurve: "P-256" });
			assert.ok(crypto.verify("sha256", Buffer.from("x"), publicKey, crypto.sign("sha256", Buffer.from("x"), privateKey)));
			assert.equal((await promisify(crypto.scrypt)("a", "b", 32)).length, 32);
			assert.equal(crypto.randomUUID().length, 36);
			assert.equal((await crypto.webcrypto.subtle.digest("SHA-256", new Uint8Array(3))).byteLength, 32);
		},
		"fs": async () => {
			const file = path.join(folder, "file");
			await Promise.all(Array.from({ length: 50 }, (_, i) => fs.promises.writeFile(`${file}${i}`, "x".repeat(i))));
			assert.equal((await fs.promises.stat(`${file}49`)).size, 49);
			const h = await fs.promises.open(file, "w+");
			await h.write("hello");
			await h.sync();
			await h.truncate(2);
			await h.close();
			assert.equal(fs.readFileSync(file, "utf8"), "he");
			fs.copyFileSync(file, `${file}.copy`);
			fs.symlinkSync(file, `${file}.link`);
			fs.linkSync(file, `${file}.hard`);
			fs.chmodSync(file, 0o600);
			fs.utimesSync(file, 1, 2);
			fs.renameSync(file, `${file}.new`);
			fs.rmSync(`${file}.new`);
			fs.mkdirSync(path.join(folder, "a/b/c"), { recursive: true });
			fs.cpSync(path.join(folder, "a"), path.join(folder, "d"), { recursive: true });
			fs.rmSync(path.join(folder, "a"), { recursive: true });
			assert.ok(fs.existsSync(path.join(folder, "d/b/c")));
			assert.ok(fs.statfsSync(folder).bsize > 0);
			await (await fs.promises.opendir(folder)).close();
		},
		"fs.watch": async () => {
			const watched = fs.mkdtempSync(path.join(folder, "watch-"));
			const w = fs.watch(watched);
			const seen = once(w, "change");
			fs.writeFileSync(path.join(watched, "new"), "");
			assert.equal((await seen)[1], "new");
			w.close();
		},
		"fs.watchFile": async () => {
			const file = path.join(folder, "polled");
			fs.writeFileSync(file, "a");
			const seen = new Promise(ok => fs.watchFile(file, { interval: 20 }, ok));
			await sleep(50);
			fs.writeFileSync(file, "longer");
			await seen;
			fs.unwatchFile(file);
		},
		"dns.lookup": async () => {
			assert.equal((await dns.promises.lookup("localhost", { family: 4 })).address, "127.0.0.1");
			await assert.rejects(dns.promises.lookup("no-such-host.invalid"));
		},
		"name of a service": async () => {
			if (!process.env.SHOP_URL) return "no world around it";
			assert.equal((await fetch(`${process.env.SHOP_URL}/items`)).status, 200);
			return undefined;
		},
		"http server and client": async () => {
			const server = http.createServer((req, res) => req.pipe(res));
			const { port } = await listen(server, 0, "127.0.0.1");
			const agent = new http.Agent({ keepAlive: true });
			const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => new Promise((ok, no) => {
				http.request({ port, host: "127.0.0.1", method: "POST", agent }, async res => ok(await text(res)))
					.on("error", no).end(`body ${i}`);
			})));
			assert.equal(answers[19], "body 19");
			agent.destroy();
			server.close();
		},
		"http over IPv6 loopback": async () => {
			const server = http.createServer((_, res) => res.end("six"));
			const { port } = await listen(server, 0, "::1");
			assert.equal(await (await fetch(`http://[::1]:${port}/`)).text(), "six");
			server.closeAllConnections();
			server.close();
		},
		"unix socket in /tmp": async () => {
			const server = net.createServer(c => c.pipe(c));
			await listen(server, path.join(folder, "socket"));
			const c = net.connect(path.join(folder, "socket"));
			c.end("over a file");
			assert.equal(await text(c), "over a file");
			server.close();
		},
		"datagrams on loopback": async () => {
			const a = dgram.createSocket("udp4"), b = dgram.createSocket("udp4");
			await new Promise(ok => a.bind(0, "127.0.0.1", ok));
			b.send("hi", a.address().port, "127.0.0.1");
			assert.equal(String((await once(a, "message"))[0]), "hi");
			a.close();
			b.close();
		},
		"inspector in the process": async () => {
			const session = new inspector.Session();
			session.connect();
			const r = await promisify(session.post.bind(session))("Runtime.evaluate", { expression: "6*7" });
			assert.equal(r.result.value, 42);
			session.disconnect();
		},
		"node --inspect, connected to": async () => {
			const child = child_process.spawn(node, ["--inspect=127.0.0.1:0", "-e", "setInterval(() => {}, 1000)"]);
			let url;
			for await (const line of readline.createInterface({ input: child.stderr })) {
				url = /ws:\/\/[^ ]+/.exec(line)?.[0];
				if (url) break;
			}
			const list = JSON.parse(await get(new URL(url).port, "/json/list"));
			assert.equal(list[0].webSocketDebuggerUrl, url);
			child.kill("SIGKILL");
			await once(child, "exit");
		},
		"WebAssembly": async () => {
			const code = Buffer.from("0061736d0100000001070160027f7f017f030201000707010361646400000a09010700200020016a0b", "hex");
			const { instance } = await WebAssembly.instantiate(code);
			assert.equal(instance.exports.add(40, 2), 42);
			assert.equal(new WebAssembly.Memory({ initial: 16, maximum: 64 }).grow(16), 16);
		},
		"standard input": async () => {
			const { out } = await run("sh", ["-c", `echo from outside | '${node}' -e 'process.stdin.pipe(process.stdout)'`]);
			assert.equal(out, "from outside\n");
		},
		"readline without a terminal": async () => {
			const input = new PassThrough();
			const rl = readline.createInterface({ input, output: new PassThrough() });
			const answer = new Promise(ok => rl.question("? ", ok));
			input.write("yes\n");
			assert.equal(await answer, "yes");
			rl.close();
			assert.equal(Boolean(process.stdout.isTTY), false);
		},
		"process.report": async () => {
			const r = process.report.getReport();
			assert.equal(r.header.processId, process.pid);
			assert.ok(fs.existsSync(process.report.writeReport(path.join(folder, "report.json"))));
		},
		"process": async () => {
			assert.ok(process.memoryUsage().rss > 0 && process.cpuUsage().user >= 0 && process.resourceUsage().maxRSS > 0);
			assert.ok(process.uptime() > 0 && process.hrtime.bigint() > 0n);
			assert.ok(process.getuid() >= 0 && process.umask(0o22) >= 0);
			process.title = "features";
			os.setPriority(process.pid, 5);
		},
		"perf_hooks": async () => {
			const seen = new Promise(ok => new PerformanceObserver((l, o) => { o.disconnect(); ok(l.getEntries()); })
				.observe({ entryTypes: ["measure"] }));
			performance.mark("a");
			performance.measure("m", "a");
			assert.equal((await seen)[0].name, "m");
			const h = monitorEventLoopDelay({ resolution: 5 });
			h.enable();
			await sleep(30);
			h.disable();
			assert.ok(h.count > 0);
		},
		"async_hooks": async () => {
			const s = new async_hooks.AsyncLocalStorage();
			assert.equal(await s.run(7, async () => { await sleep(1); return s.getStore(); }), 7);
		},
		"vm": async () => {
			assert.equal(vm.runInNewContext("a * 2", { a: 21 }), 42);
			assert.throws(() => vm.runInNewContext("for (;;);", {}, { timeout: 20 }), /timed out/);
		},
		"diagnostics_channel": async () => {
			const c = diagnostics.channel("features");
			let got;
			c.subscribe(m => { got = m; });
			c.publish(5);
			assert.equal(got, 5);
		},
		"stream pipeline": async () => {
			const from = path.join(folder, "in"), to = path.join(folder, "out.gz");
			fs.writeFileSync(from, "line\n".repeat(200000));
			await stream.pipeline(fs.createReadStream(from), new Transform({ transform(c, _, ok) { ok(null, c); } }),
				zlib.createGzip(), fs.createWriteStream(to));
			assert.equal(zlib.gunzipSync(fs.readFileSync(to)).length, 1000000);
		},
		"os": async () => {
			assert.ok(os.networkInterfaces().lo.some(a => a.address === "127.0.0.1"));
			assert.ok(os.cpus().length > 0 && os.totalmem() > 0 && os.hostname() && os.release() && os.loadavg().length === 3);
			assert.ok(os.availableParallelism() > 0 && os.userInfo().uid === process.getuid());
		},
		"large buffers": async () => {
			for (const size of [64 << 20, 200 << 20]) {
				const b = Buffer.alloc(size, 1);
				assert.equal(b[size - 1], 1);
			}
			assert.equal(structuredClone(new Uint8Array(32 << 20)).length, 32 << 20);
		},
		"heap snapshot and statistics": async () => {
			assert.ok(v8.getHeapStatistics().total_heap_size > 0);
			assert.ok(fs.statSync(v8.writeHeapSnapshot(path.join(folder, "heap"))).size > 1000);
		},
		"timers and the event loop": async () => {
			await Promise.all([sleep(5), new Promise(setImmediate), new Promise(ok => process.nextTick(ok))]);
			const e = new EventEmitter();
			setTimeout(() => e.emit("x", 1), 5);
			assert.deepEqual(await once(e, "x"), [1]);
		},
		"import and require": async () => {
			fs.writeFileSync(path.join(folder, "m.mjs"), "export default 42");
			fs.writeFileSync(path.join(folder, "c.cjs"), "module.exports = 43");
			assert.equal((await import(path.join(folder, "m.mjs"))).default, 42);
			assert.equal((await import(path.join(folder, "c.cjs"))).default, 43);
		},
		"node --test": async () => {
			const file = path.join(folder, "t.test.mjs");
			fs.writeFileSync(file, 'import { test } from "node:test"; test("t", () => {});');
			const { out, code } = await run(node, ["--test", "--test-reporter=tap", file]);
			assert.equal(code, 0);
			assert.match(out, /# pass 1/);
		},
		"node --watch": async () => {
			const file = path.join(folder, "w.mjs");
			fs.writeFileSync(file, "console.log('first')");
			const child = child_process.spawn(node, ["--watch", file], { detached: true });
			for await (const line of readline.createInterface({ input: child.stdout })) {
				if (line === "first") {
					await sleep(100);
					fs.writeFileSync(file, "console.log('second')");
				}
				if (line === "second") break;
			}
			process.kill(-child.pid, "SIGKILL");
			await once(child, "exit");
		},
	};
	let failed = 0, count = 0;
	process.chdir(folder);
	for (const [name, feature] of Object.entries(features)) {
		if (only && name !== only) continue;
		count++;
		try {
			const late = new AbortController();
			const skipped = await Promise.race([feature(), sleep(8000, "late", { signal: late.signal }).then(() => {
				throw new Error("nothing for 8 seconds");
			})]);
			late.abort();
			console.log(skipped ? `skip ${name}: ${skipped}` : `ok ${name}`);
		} catch (e) {
			failed++;
			console.log(`not ok ${name}: ${String(e.message).split("\n").slice(0, 6).join(" ")}`);
		}
	}
	fs.rmSync(folder, { recursive: true, force: true });
	console.log(`features: ${count - failed} of ${count}`);
	process.exit(failed ? 1 : 0);
}
