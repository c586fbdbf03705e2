#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Output: nothing of it is lost, however much; the host's memory stays small; a limit cuts it openly.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh
need_namespace

flood=tests/integration/programs/flood.mjs
digest() { node "$flood" "$1" 2>/dev/null | head -c "$2" | sha256sum | cut -d' ' -f1; } # MIB BYTES

world "$tmp/tail" '"flood.mjs"' '"node", "flood.mjs", "3", "exit"'
cp "$flood" "$tmp/tail/"
run_world "$tmp/tail"
is_run passed 0 "3 MiB, then process.exit"
is "$(json "$receipt" '[r.outcome.stdout.bytes, r.outcome.stdout.sha256].join(" ")')" "3145728 $(digest 3 3145728)" "arrive whole"

world "$tmp/big" '"flood.mjs"' '"node", "flood.mjs", "256"' '"limits": { "output_bytes": 300000000 },'
cp "$flood" "$tmp/big/"
proc peak "$tmp/peak.json" "$host" run --json "$tmp/big" >"$tmp/big.json" 2>"$tmp/big.err"
status=$? receipt=$tmp/big.json err=$(cat "$tmp/big.err")
is_run passed 0 "256 MiB within the world's limit"
is "$(json "$receipt" '[r.outcome.stdout.bytes, r.outcome.stdout.sha256, r.outcome.stdout.truncated].join(" ")')" \
	"268435456 $(digest 256 268435456) false" "all bytes counted, digest right"
ok "in bounded memory: $(cat "$tmp/peak.json") KiB" test "$(json "$tmp/peak.json" 'r.self')" -lt 65536
ok "the receipt holds only the tail ($(wc -c <"$receipt") bytes)" test "$(wc -c <"$receipt")" -lt 1000000
like "$(json "$receipt" 'r.outcome.stdout.tail')" 'line 000004194303 x+$' "and it is the last line"

world "$tmp/cut" '"flood.mjs"' '"node", "flood.mjs", "64"' '"limits": { "output_bytes": 10000000 },'
cp "$flood" "$tmp/cut/"
run_world "$tmp/cut"
is_run failed 1 "over the limit: failed"
like "$(failed_checks)" within-limits "by the check within-limits"
is "$(json "$receipt" 'r.outcome.stdout.truncated')" true "the stream is marked as cut"
kept=$(json "$receipt" 'r.integrity.truncated.find(t => t.what === "stdout").kept')
ok "what was kept ($kept) is what the limit allows" test "${kept:-0}" -le 10000000 -a "${kept:-0}" -gt 9000000
is "$(json "$receipt" 'r.outcome.stdout.sha256')" "$(digest 16 "${kept:-0}")" "the digest is that of the bytes kept"

world "$tmp/err" '"a.mjs"' '"node", "a.mjs"' '' '{ "id": "out", "kind": "stdout", "equals": "to stdout\n" }, { "id": "err", "kind": "stderr", "contains": "to stderr" }'
printf '%s\n' 'process.stdout.write("to stdout\n"); process.stderr.write("to stderr\n");' >"$tmp/err/a.mjs"
run_world "$tmp/err"
is_run passed 0 "stdout and stderr are kept apart"
world "$tmp/bin" '"a.mjs"' '"node", "a.mjs"'
printf '%s\n' 'process.stdout.write(Buffer.from([0, 255, 27, 91, 50, 74, 10, 0xc3]));' >"$tmp/bin/a.mjs"
run_world "$tmp/bin"
is_run passed 0 "bytes that are no text"
is "$(json "$receipt" 'r.outcome.stdout.bytes')" 8 "are counted as they are"

# Shells open /dev/stdout again, and that cuts a regular file: nothing may be missing in silence.  Whole, or marked as cut, or
# refused in a way that the program sees.
honest() { # NAME WANT
	local got
	got=$(json "$receipt" '[r.status, r.outcome.stdout.truncated, r.outcome.stdout.tail].join("|")')
	if [ "$got" = "passed|false|$2" ] || [[ $got == failed\|true\|* ]] ||
		[[ $(json "$receipt" 'r.outcome.stderr.tail') =~ permitted|denied|EPERM|EACCES ]]; then pass "$1"; else fail "$1"; diag "$got"; explain; fi
}
world "$tmp/reopen" '"a.sh"' '"/bin/sh", "a.sh"'
printf '%s\n' 'echo one' 'sleep 0.3' 'echo two >/dev/stdout' 'sleep 0.3' 'echo three' 'echo four >/dev/stdout' 'echo five' >"$tmp/reopen/a.sh"
run_world "$tmp/reopen"
honest "echo >/dev/stdout: whole, or marked as cut" "$(printf 'one\ntwo\nthree\nfour\nfive')"
world "$tmp/quick" '"a.sh"' '"/bin/sh", "a.sh"'
printf '%s\n' 'echo one' 'echo two >/dev/stdout' 'echo three' >"$tmp/quick/a.sh"
run_world "$tmp/quick"
honest "the same without a pause" "$(printf 'one\ntwo\nthree')"
world "$tmp/shrink" '"a.mjs"' '"node", "a.mjs"'
cat >"$tmp/shrink/a.mjs" <<'E2'
import { ftruncateSync, writeSync } from 'node:fs';
const rest = () => new Promise((resolve) => setTimeout(resolve, 300));
writeSync(1, 'first, and long enough\n');
await rest();
try { ftruncateSync(1, 0); } catch (error) { writeSync(2, `${error.code}\n`); }
writeSync(1, 'short\n');
await rest();
writeSync(1, 'last\n');
E2
run_world "$tmp/shrink"
honest "a stream that the program cuts: whole, or marked as cut" "$(printf 'first, and long enough\nshort\nlast')"
done_testing
