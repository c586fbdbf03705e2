#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# receipt.sh [OPERATIONS...] - what it costs to write and to read receipts of 1,000, 100,000 and 1,000,000 operations: time
# and the most memory of any process.  Needs the namespace backend, 3 GiB of disk and a quarter of an hour.
set -eu
O=${O:-build}
[ $# -gt 0 ] || set -- 1000 100000 1000000
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
host=$(realpath "$O/agenttwin-host")
measure() {
	python3 - "$@" <<'P'
import resource, subprocess, sys, time
start = time.time()
p = subprocess.run(sys.argv[2:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
u = resource.getrusage(resource.RUSAGE_CHILDREN)
print("%-22s exit %d %8.2f s %8.2f s of CPU %8d KiB" % (sys.argv[1], p.returncode, time.time() - start,
      u.ru_utime + u.ru_stime, u.ru_maxrss), flush=True)
P
}
cat >"$tmp/many.mjs" <<'J'
import net from "node:net";
const total = Number(process.argv[2]), conns = 4, depth = 32;
const at = new URL(process.env.SHOP_URL);
let left = total, bad = 0;
const one = Buffer.from(`GET /items HTTP/1.1\r\nHost: ${at.host}\r\n\r\n`);
await Promise.all(Array.from({ length: conns }, (_, k) => new Promise((done, fail) => {
  let mine = Math.floor(total / conns) + (k < total % conns ? 1 : 0), sent = 0, got = 0, text = "";
  if (!mine) return done();
  const s = net.connect(Number(at.port || 80), at.hostname);
  const send = () => { while (sent < mine && sent - got < depth) { s.write(one); sent++; } };
  s.on("connect", send);
  s.on("error", fail);
  s.on("data", d => {
    text += d.toString("latin1");
    let i;
    while ((i = text.indexOf("\r\n\r\n")) >= 0) {
      const len = Number(/content-length: (\d+)/i.exec(text.slice(0, i))[1]);
      if (text.length < i + 4 + len) break;
      if (!text.startsWith("HTTP/1.1 200 ")) bad++;
      text = text.slice(i + 4 + len); got++;
    }
    if (got === mine) { s.end(); done(); } else send();
  });
  s.on("close", () => got === mine ? done() : fail(new Error(`closed after ${got} of ${mine}`)));
})));
if (bad) { console.error(bad); process.exit(1); }
J
for n; do
	cat >"$tmp/world.json" <<W
{ "agenttwin": "world/1", "name": "million", "seed": 1,
  "limits": { "operations": $n, "run_ms": 900000, "memory_mb": 2048 },
  "files": [ "many.mjs" ],
  "env": { "SHOP_URL": "{{service.shop.url}}" },
  "services": [ { "name": "shop", "kind": "http", "hosts": [ "shop.internal" ], "state": { "items": [] },
    "routes": [ { "resource": "items", "path": "/items" } ] } ],
  "workflow": { "command": [ "node", "many.mjs", "$n" ] },
  "checks": [ { "id": "exit", "kind": "exit", "code": 0 },
   { "id": "calls", "kind": "calls", "service": "shop", "exactly": $n } ] }
W
	r=$tmp/$n.json
	measure "run $n" "$host" run "$tmp" --receipt "$r"
	for what in show verify evidence html; do
		measure "$what $n" "$host" receipt "$what" "$r"
	done
	measure "diff $n" "$host" receipt diff "$r" "$r"
	rm -f "$r" "$r.events.jsonl"
done
