#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Node under the workflow's filter where it refuses AF_UNIX: what needs it fails in the documented way, what does not works.
. tests/lib/tap.sh
O=${O:-build}
command -v node >/dev/null || skip_all "node is not installed"
command -v "${CC:-gcc}" >/dev/null || skip_all "no compiler"
[ -e "$O/host/proto.a" ] || skip_all "$O/host/proto.a is not built"
tool=$tmp/underfilter
"${CC:-gcc}" -std=c11 -D_GNU_SOURCE -O1 -I. -isystem "$O/deps/include" -o "$tool" tests/bench/underfilter.c guest/filter.c \
	guest/filter_table.c "$O/host/proto.a" "$O/deps/lib/libbearssl.a" 2>"$tmp/err" || bail_out "underfilter: $(cat "$tmp/err")"
node=$(command -v node)
# both NAME OUTPUT-WITH OUTPUT-WITHOUT SCRIPT: the same program with AF_UNIX and without
both() {
	printf '%s\n' "$4" >"$tmp/a.mjs"
	like "$(cd "$tmp" && timeout 60 "$tool" "$node" a.mjs 2>&1)" "$2" "$1, with AF_UNIX"
	like "$(cd "$tmp" && timeout 60 "$tool" --no-unix "$node" a.mjs 2>&1)" "$3" "$1, without"
}
same() { both "$1" "$2" "$2" "$3"; }

both "a server on a path" '^listening$' '^EAFNOSUPPORT$' 'import net from "node:net";
const s = net.createServer(); s.on("error", (e) => console.log(e.code)); s.listen("s.sock", () => { console.log("listening"); s.close(); });'
both "a client of a path" '^ENOENT$' '^EAFNOSUPPORT$' 'import net from "node:net";
net.connect("none.sock").on("error", (e) => console.log(e.code));'
same "TCP on loopback" '^hello$' 'import net from "node:net";
const s = net.createServer((c) => c.end("hello")).listen(0, "127.0.0.1", () => {
	net.connect(s.address().port, "127.0.0.1").on("data", (d) => console.log(String(d))).on("close", () => s.close()); });'
same "a child with pipes" '^in out$' 'import { spawn } from "node:child_process";
const c = spawn("/bin/cat"); c.stdout.on("data", (d) => console.log(`${d} out`)); c.stdin.end("in");'
same "a child and its channel" '^from the child$' 'import { fork } from "node:child_process";
if (process.argv[2]) { process.send("from the child"); process.disconnect(); } else fork("a.mjs", ["x"]).on("message", (m) => console.log(m));'
same "a command of the shell" '^a b$' 'import { execSync } from "node:child_process"; process.stdout.write(execSync("echo a b"));'
same "a worker" '^from the worker$' 'import { Worker } from "node:worker_threads";
new Worker("require(\"node:worker_threads\").parentPort.postMessage(\"from the worker\")", { eval: true }).on("message", (m) => console.log(m));'

# The package tsx, as a loader and as a command.
tsx=$PWD/tests/compat/packages/node_modules/tsx
if [ -e "$tsx/dist/cli.mjs" ]; then
	echo 'const word: string = "typed"; console.log(word);' >"$tmp/a.ts"
	run() { (cd "$tmp" && HOME=$tmp TMPDIR=$tmp timeout 60 "$tool" "$@" 2>&1); }
	like "$(run "$node" "$tsx/dist/cli.mjs" a.ts)" '^typed$' "tsx, the command, with AF_UNIX"
	like "$(run --no-unix "$node" "$tsx/dist/cli.mjs" a.ts)" EAFNOSUPPORT "tsx, the command, without: it fails and names the reason"
	is "$(run --no-unix "$node" --import "file://$tsx/dist/loader.mjs" a.ts)" typed "node --import tsx, without"
else
	skip "tsx" "its package is not installed: run make compat"
fi
done_testing
