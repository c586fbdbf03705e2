// SPDX-License-Identifier: GPL-2.0-or-later
// One line for each package of package.json: "ok NAME VERSION" or "not ok NAME VERSION: why".  Each is tried in a node of its own
// (packages.mjs NAME) by a few lines that do what it is for; what is there to be called over HTTP is called on loopback.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import http from "node:http";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const here = path.dirname(fileURLToPath(import.meta.url));
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "packages-"));
const bin = name => path.join(here, "node_modules/.bin", name);
const exec = promisify(execFile);

/* A server that answers any request with this JSON, and remembers the requests. */
async function answering(answer) {
	const seen = [];
	const server = http.createServer(async (req, res) => {
		let body = "";
		for await (const piece of req) body += piece;
		seen.push({ method: req.method, url: req.url, body });
		res.setHeader("content-type", "application/json");
		res.end(JSON.stringify(answer));
	});
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	return { seen, port: server.address().port, url: `http://127.0.0.1:${server.address().port}` };
}
/* A server of a package: started by listen(port, host, done), answers "hi". */
async function serves(server) {
	if (!server.listening) await once(server, "listening");
	assert.equal(await (await fetch(`http://127.0.0.1:${server.address().port}/`)).text(), "hi");
}

const tries = {
	"@anthropic-ai/sdk": async ({ default: Anthropic }) => {
		const s = await answering({ id: "m", type: "message", role: "assistant", content: [{ type: "text", text: "hi" }] });
		const r = await new Anthropic({ apiKey: "k", baseURL: s.url }).messages
			.create({ model: "m", max_tokens: 5, messages: [{ role: "user", content: "hello" }] });
		assert.equal(r.content[0].text, "hi");
	},
	"@langchain/core": async () => {
		const { PromptTemplate } = await import("@langchain/core/prompts");
		const { RunnableLambda } = await import("@langchain/core/runnables");
		const chain = PromptTemplate.fromTemplate("say {x}").pipe(RunnableLambda.from(v => v.value.toUpperCase()));
		assert.equal(await chain.invoke({ x: "hi" }), "SAY HI");
	},
	"@node-rs/crc32": async m => assert.equal((m.crc32 ?? m.default.crc32)("hello"), 0x3610a686),
	"@octokit/rest": async ({ Octokit }) => {
		const s = await answering([{ number: 7 }]);
		const r = await new Octokit({ baseUrl: s.url, auth: "t" }).issues.listForRepo({ owner: "o", repo: "r" });
		assert.equal(r.data[0].number, 7);
	},
	"@slack/web-api": async ({ WebClient }) => {
		const s = await answering({ ok: true, ts: "1" });
		const r = await new WebClient("t", { slackApiUrl: `${s.url}/` }).chat.postMessage({ channel: "c", text: "hi" });
		assert.equal(r.ts, "1");
	},
	"ajv": async m => {
		const Ajv = m.default.default ?? m.default;
		assert.equal(new Ajv().compile({ type: "object", required: ["a"] })({}), false);
	},
	"async": async ({ default: a }) => assert.deepEqual(await a.mapLimit([1, 2], 1, async n => n * 2), [2, 4]),
	"axios": async ({ default: axios }) => {
		const s = await answering({ a: 1 });
		assert.deepEqual((await axios.post(s.url, { b: 2 })).data, { a: 1 });
		assert.equal(s.seen[0].body, '{"b":2}');
	},
	"bcryptjs": async ({ default: b }) => assert.ok(await b.compare("pw", await b.hash("pw", 4))),
	"chalk": async ({ Chalk }) => assert.equal(new Chalk({ level: 1 }).red("x"), "\x1b[31mx\x1b[39m"),
	"cheerio": async ({ load }) => assert.equal(load("<p>hi</p>")("p").text(), "hi"),
	"chokidar": async ({ watch }) => {
		const w = watch(folder);
		await once(w, "ready");
		const added = once(w, "add");
		fs.writeFileSync(path.join(folder, "new"), "");
		assert.equal(path.basename((await added)[0]), "new");
		await w.close();
	},
	"commander": async ({ Command }) =>
		assert.equal(new Command().option("--n <x>").parse(["node", "x", "--n", "4"]).opts().n, "4"),
	"cross-spawn": async ({ default: spawn }) => assert.equal(spawn.sync("echo", ["hi"]).stdout.toString(), "hi\n"),
	"dayjs": async ({ default: dayjs }) => assert.equal(dayjs("2020-01-31").add(1, "month").format("YYYY-MM-DD"), "2020-02-29"),
	"dotenv": async ({ default: d }) => assert.deepEqual(d.parse("A=1\nB='x y'"), { A: "1", B: "x y" }),
	"esbuild": async ({ default: e }) => {
		assert.equal((await e.transform("let a: number = 1 + 1", { loader: "ts", minify: true })).code, "let a=2;\n");
		fs.writeFileSync(path.join(folder, "in.ts"), "export const a: number = 42;");
		await e.build({ entryPoints: [path.join(folder, "in.ts")], outfile: path.join(folder, "out.mjs"), bundle: true, format: "esm" });
		assert.equal((await import(path.join(folder, "out.mjs"))).a, 42);
		await e.stop();
	},
	"execa": async ({ execa }) => {
		assert.equal((await execa`echo hi`).stdout, "hi");
		assert.equal((await execa({ shell: true })`echo a | tr a b`).stdout, "b");
	},
	"express": async ({ default: express }) => {
		const app = express();
		app.get("/", (_, res) => res.send("hi"));
		await serves(app.listen(0, "127.0.0.1"));
	},
	"fast-glob": async ({ default: g }) => assert.deepEqual(await g("*.mjs", { cwd: here }), ["packages.mjs"]),
	"fastify": async ({ default: fastify }) => {
		const app = fastify();
		app.get("/", async () => "hi");
		await app.listen({ port: 0, host: "127.0.0.1" });
		await serves(app.server);
		await app.close();
	},
	"glob": async ({ glob }) => assert.deepEqual(await glob("*.mjs", { cwd: here }), ["packages.mjs"]),
	"got": async ({ default: got }) => assert.deepEqual(await got((await answering({ a: 1 })).url).json(), { a: 1 }),
	"handlebars": async ({ default: h }) => assert.equal(h.compile("{{#each a}}{{this}};{{/each}}")({ a: [1, 2] }), "1;2;"),
	"jose": async j => {
		const key = new TextEncoder().encode("0123456789abcdef0123456789abcdef");
		const t = await new j.SignJWT({ a: 1 }).setProtectedHeader({ alg: "HS256" }).sign(key);
		assert.equal((await j.jwtVerify(t, key)).payload.a, 1);
	},
	"jsonwebtoken": async ({ default: j }) => assert.equal(j.verify(j.sign({ a: 1 }, "k"), "k").a, 1),
	"koa": async ({ default: Koa }) => {
		const app = new Koa();
		app.use(c => { c.body = "hi"; });
		await serves(app.listen(0, "127.0.0.1"));
	},
	"lodash": async ({ default: _ }) => assert.deepEqual(_.groupBy([1, 2, 3], n => n % 2), { 0: [2], 1: [1, 3] }),
	"marked": async ({ marked }) => assert.equal(marked.parse("# x"), "<h1>x</h1>\n"),
	"nanoid": async ({ nanoid }) => assert.equal(nanoid().length, 21),
	"node-fetch": async ({ default: f }) => assert.deepEqual(await (await f((await answering({ a: 1 })).url)).json(), { a: 1 }),
	"openai": async ({ default: OpenAI }) => {
		const s = await answering({ choices: [{ message: { role: "assistant", content: "hi" } }] });
		const r = await new OpenAI({ apiKey: "k", baseURL: s.url }).chat.completions
			.create({ model: "m", messages: [{ role: "user", content: "hello" }] });
		assert.equal(r.choices[0].message.content, "hi");
	},
	"p-limit": async ({ default: limit }) => assert.equal(await limit(1)(async () => 5), 5),
	"p-retry": async ({ default: retry }) =>
		assert.equal(await retry(n => { if (n < 3) throw new Error("again"); return n; }, { minTimeout: 1 }), 3),
	"pino": async ({ default: pino }) => {
		const file = path.join(folder, "log");
		const transport = pino.transport({ target: "pino/file", options: { destination: file } }); /* a worker thread */
		await once(transport, "ready");
		pino(transport).info("hi");
		transport.flushSync();
		for (let i = 0; i < 100 && fs.statSync(file).size === 0; i++) await sleep(20);
		assert.equal(JSON.parse(fs.readFileSync(file, "utf8")).msg, "hi");
	},
	"rxjs": async ({ from, map, lastValueFrom, toArray }) =>
		assert.deepEqual(await lastValueFrom(from([1, 2]).pipe(map(n => n + 1), toArray())), [2, 3]),
	"sharp": async ({ default: sharp }) => {
		const images = await Promise.all(Array.from({ length: 8 }, (_, i) =>
			sharp({ create: { width: 300 + i, height: 200, channels: 3, background: "red" } }).resize(30).webp().toBuffer()));
		assert.equal((await sharp(images[7]).metadata()).width, 30);
	},
	"socket.io": async ({ Server }) => {
		const { io: connect } = await import("socket.io-client");
		const server = http.createServer();
		new Server(server).on("connection", s => s.on("echo", (v, ok) => ok(v)));
		server.listen(0, "127.0.0.1");
		await once(server, "listening");
		const c = connect(`http://127.0.0.1:${server.address().port}`);
		assert.equal(await c.emitWithAck("echo", 7), 7);
	},
	"socket.io-client": async m => assert.equal(typeof m.io, "function"),
	"sql.js": async ({ default: init }) => {
		const db = new (await init()).Database();
		db.run("CREATE TABLE t (a); INSERT INTO t VALUES (42)");
		assert.equal(db.exec("SELECT a FROM t")[0].values[0][0], 42);
	},
	"stripe": async ({ default: Stripe }) => {
		const s = await answering({ id: "cus_1", object: "customer" });
		const c = await new Stripe("sk", { host: "127.0.0.1", port: s.port, protocol: "http" }).customers.create({ email: "a@b.c" });
		assert.equal(c.id, "cus_1");
	},
	"tsx": async () => {
		fs.writeFileSync(path.join(folder, "t.ts"), "const a: number = 42; enum E { X } console.log(a, E.X)");
		assert.equal((await exec(bin("tsx"), [path.join(folder, "t.ts")])).stdout, "42 0\n");
	},
	"typescript": async ({ default: ts }) => {
		assert.equal(ts.transpileModule("let a: number = 1", {}).outputText, "var a = 1;\n");
		fs.writeFileSync(path.join(folder, "t.ts"), "export const a: string = 'x';");
		await exec(bin("tsc"), ["--outDir", folder, path.join(folder, "t.ts")]);
		assert.ok(fs.existsSync(path.join(folder, "t.js")));
	},
	"undici": async ({ request }) => assert.deepEqual(await (await request((await answering({ a: 1 })).url)).body.json(), { a: 1 }),
	"uuid": async ({ v4, validate }) => assert.ok(validate(v4())),
	"winston": async ({ default: w }) => {
		const file = path.join(folder, "log");
		const log = w.createLogger({ transports: [new w.transports.File({ filename: file })] });
		log.info("hi");
		log.end();
		await once(log, "finish");
		await sleep(50);
		assert.equal(JSON.parse(fs.readFileSync(file, "utf8")).message, "hi");
	},
	"ws": async ({ default: WebSocket, WebSocketServer }) => {
		const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
		server.on("connection", s => s.on("message", m => s.send(m)));
		await once(server, "listening");
		const c = new WebSocket(`ws://127.0.0.1:${server.address().port}`);
		await once(c, "open");
		c.send("hi");
		assert.equal(String((await once(c, "message"))[0]), "hi");
	},
	"yargs": async ({ default: yargs }) => assert.equal(yargs(["--n", "4"]).parse().n, 4),
	"zod": async ({ z }) => assert.equal(z.object({ a: z.number() }).safeParse({ a: "x" }).success, false),
};

async function attempt(name) {
	const r = await exec(process.execPath, [fileURLToPath(import.meta.url), name], { timeout: 30000 }).catch(e => e);
	const { version } = JSON.parse(fs.readFileSync(path.join(here, "node_modules", name, "package.json")));

	if (r.stdout === "works\n") return `ok ${name} ${version}`;
	const why = /^\w*Error.*$/m.exec(r.stderr ?? "")?.[0] ?? r.message ?? r.stderr;
	return `not ok ${name} ${version}: ${String(why).split("\n")[0]}`;
}

async function main() {
	const [, , name] = process.argv;

	if (name) {
		await tries[name](name === "tsx" ? {} : await import(name));
		console.log("works");
		fs.rmSync(folder, { recursive: true, force: true });
		process.exit(0);
	}
	const wanted = Object.keys(JSON.parse(fs.readFileSync(path.join(here, "package.json"))).dependencies);
	let failed = 0;
	for (const w of wanted) {
		const line = tries[w] ? await attempt(w) : `not ok ${w} -: nothing tries it`;
		failed += line.startsWith("not");
		console.log(line);
	}
	console.log(`packages: ${wanted.length - failed} of ${wanted.length}`);
	process.exit(failed ? 1 : 0);
}
await main();
