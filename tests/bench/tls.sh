#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# tls.sh [SECONDS] - what HTTPS costs the twins, as ratios against openssl s_server with a key and suite of the same kind, measured
# in turns by the same client (openssl s_time) in this same run: full handshakes, resumed ones, processor time of the server for
# each; and the memory of 1,000 connections.  Prints one "name value" line each; nothing here passes or fails.
set -eu
O=${O:-build}
seconds=${1:-3}
command -v openssl >/dev/null || { echo "tls: openssl is not installed" >&2; exit 0; }
[ -x "$O/tests/twinbench" ] || make -s O="$O" "$O/tests/twinbench"
work=$(mktemp -d "${TMPDIR:-/tmp}/agenttwin-tls.XXXXXX")
twin=''
server=''
holder=''
stop() {
	for pid in $twin $server $holder; do kill "$pid" 2>/dev/null || :; done
	rm -rf "$work"
}
trap stop EXIT
trap 'exit 1' INT TERM
cat >"$work/world.json" <<'WORLD'
{"run":{"seed":1,"start_ms":1800000000000},"limits":{"operations":4000000,"state_bytes":1000000},"secrets":{},
"services":[{"name":"pay","kind":"http","hosts":["pay.example"],"tls":true,"state":{"rows":[{"id":"1"}]},
"routes":[{"resource":"rows","path":"/rows"}]}]}
WORLD
mkfifo "$work/end"
: >"$work/out"
sleep 3600 >"$work/end" &
holder=$!
"$O/tests/twinbench" "$work/world.json" 1 <"$work/end" >"$work/out" 2>"$work/err" &
for _ in $(seq 100); do
	grep -q '^PORT' "$work/out" && break
	sleep 0.1
done
port=$(sed -n 's/^PORT //p' "$work/out")
twin=$(sed -n 's/^TWIN //p' "$work/err")
sed -n '/BEGIN/,/END/p' "$work/out" | sed 's/^CA //' >"$work/ca.pem"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=pay.example -keyout "$work/key.pem" \
	-out "$work/cert.pem" 2>/dev/null
peer=$((20000 + $$ % 10000))
openssl s_server -accept "127.0.0.1:$peer" -key "$work/key.pem" -cert "$work/cert.pem" -tls1_2 -no_ticket \
	-www -quiet >/dev/null 2>&1 &
server=$!
sleep 0.5
# handshakes PORT PID -new|-reuse: "HANDSHAKES-PER-SECOND TICKS-PER-1000" of the server
handshakes() {
	before=$(($(cut -d' ' -f14,15 "/proc/$2/stat" | tr ' ' +)))
	n=$(openssl s_time -connect "127.0.0.1:$1" "$3" -time "$seconds" -tls1_2 -cipher ECDHE-ECDSA-AES128-GCM-SHA256 2>/dev/null |
		sed -nE 's/^([0-9]+) connections in [0-9]+ real seconds.*/\1/p')
	after=$(($(cut -d' ' -f14,15 "/proc/$2/stat" | tr ' ' +)))
	echo "$((n / seconds)) $(((after - before) * 1000000 / n))"
}
line() { printf '%-58s %s\n' "$1" "$2"; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", b ? a / b : 0 }'; }
for kind in -new -reuse; do
	ours=$(handshakes "$port" "$twin" $kind)
	theirs=$(handshakes "$peer" "$server" $kind)
	name=$([ $kind = -new ] && echo full || echo resumed)
	line "$name handshakes a second, twins / s_server" "$(ratio "${ours% *}" "${theirs% *}")"
	line "$name handshakes a second, twins and s_server" "${ours% *} ${theirs% *}"
	line "$name handshake, server's time, twins / s_server" "$(ratio "${ours#* }" "${theirs#* }")"
	line "microseconds each (at ticks of 10 ms), twins and s_server" "$((${ours#* } / 100)) $((${theirs#* } / 100))"
done
cat >"$work/hold.mjs" <<'HOLD'
import { readFileSync } from 'node:fs';
import tls from 'node:tls';
const [, , port, ca, pid] = process.argv;
const rss = () => Number(readFileSync(`/proc/${pid}/status`, 'utf8').match(/VmRSS:\s+(\d+)/)[1]);
const before = rss();
const all = [];
for (let i = 0; i < 1000; i++)
	all.push(await new Promise((done, fail) => {
		const s = tls.connect({ port: Number(port), host: '127.0.0.1', servername: 'pay.example', ca: readFileSync(ca) }, () => {
			s.write('GET /rows HTTP/1.1\r\nHost: pay.example\r\n\r\n');
			s.once('data', () => done(s));
		});
		s.on('error', fail);
	}));
console.log('KiB of the twins: before, and a connection of 1,000'.padEnd(58), before, ((rss() - before) / 1000).toFixed(1));
for (const s of all) s.destroy();
HOLD
if command -v node >/dev/null; then node "$work/hold.mjs" "$port" "$work/ca.pem" "$twin"; fi
