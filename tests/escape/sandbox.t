#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The guest in a sandbox that others made and use (sandbox.sh): root's daemons listen, a template left translations, a control daemon dies
# under its connection.  Without an inner room the first lock alone holds, each attempt fails as attempts.tsv says and has a record; in
# a room nobody of these is there.  The control is the same sandbox without the guest, where the same attempts must succeed.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh
. tests/escape/escape.sh
fake=$O/tests/fakehost
[ -x "$fake" ] || skip_all "no $fake: make tests"
if [ "$(id -u)" -ne 0 ] || ! unshare -mnpiuf true 2>/dev/null; then skip_all "needs root, to make the sandbox"; fi
for program in cc ip nft nsenter setpriv; do command -v "$program" >/dev/null || skip_all "no $program"; done
need_hostile
cc -O1 -static -o "$tmp/daemon" tests/escape/daemon.c 2>"$tmp/cc.err" || { diag "$(cat "$tmp/cc.err")"; bail_out "daemon.c does not compile"; }
mkdir -m 755 "$tmp/programs" "$tmp/app" "$tmp/controls"
cp "$tmp/hostile" "$tmp/daemon" "$tmp/programs/"

# sandbox OUT COMMAND...: in such a sandbox.  All ends with its first process, and that with whoever started it.
sandbox() {
	local out=$1
	shift
	mkdir -p "$out"
	timeout -k 5 60 unshare -mpniuf --kill-child tests/lib/guestbox.sh "$tmp/app" "$PWD/tests/escape/sandbox.sh" "$tmp/programs" "$out" "$tmp/app" "$@"
}
attack='./hostile daemons; ./hostile successor'

sandbox "$tmp/out-control" setpriv --reuid 1000 --regid 1000 --clear-groups sh -c "cd '$tmp/app' && cp '$tmp/programs/hostile' . && $attack" \
	>"$tmp/controls/user-sandbox" 2>"$tmp/control.err"
is "$?" 0 "the control came to its end" || diag "$(cat "$tmp/control.err" "$tmp/out-control/errors")"
# The control connection itself is seen as well: what goes to its peer counts by the peer's own word.
grep -v '^tcp 10.71.0.2 40000$' "$tmp/out-control/wire" >"$tmp/controls/wire"
for line in "tcp 7001" "udp 7001" "tcp 7007" "udp 7008" "udp 7005" "unix 0"; do
	like "$(cat "$tmp/out-control/daemons")" "^$line\$" "without the boundary root's daemon hears: $line"
done
for line in "tcp 40000" "udp 40000"; do like "$(cat "$tmp/out-control/peer")" "^$line\$" "without the boundary the peer hears: $line"; done

is "$(cat "$tmp/out-control/client")" answered "without the boundary root is answered in the place of the dead daemon"

# attacked NAME COMMAND...: the guest, started by that command, with the hostile workflow.
attacked() {
	local name=$1
	shift
	sandbox_out=$tmp/out-$name
	mkdir "$sandbox_out"
	timeout -k 5 80 "$fake" --app "$tmp/app" --control 49983 --env PATH=/usr/bin:/bin --dump "$tmp/dump-$name" --run-ms 20000 \
		--file "hostile=$tmp/hostile" --file "m.sh:$attack" -- timeout -k 5 60 unshare -mpniuf --kill-child tests/lib/guestbox.sh "$tmp/app" \
		"$PWD/tests/escape/sandbox.sh" "$tmp/programs" "$sandbox_out" "$tmp/app" "$@" "$guest" run -- sh m.sh >"$tmp/said-$name" 2>&1
	like "$(cat "$tmp/said-$name")" '^END result=0$' "$name: the run itself is sound" || diag "$(tail -n 5 "$tmp/said-$name" | cut -c1-300; cat "$sandbox_out/errors")"
	like "$(cat "$tmp/said-$name")" '^EXIT code=0 ' "$name: the hostile program came to its end"
	like "$(cat "$tmp/said-$name")" '^phase=2 FIREWALL.*"lock":1,"kind":"outer","proved":true' "$name: the first lock is proved again at the end"
	is "$(cat "$sandbox_out/daemons")" ready "$name: root's daemons heard nothing"
	is "$(cat "$sandbox_out/far")" ready "$name: the outside heard nothing"
	is "$(cat "$sandbox_out/client" 2>/dev/null)" "" "$name: nobody answered root in the place of the dead daemon"
	is "$(grep -v ^connected "$sandbox_out/peer")" ready "$name: the peer of the dead daemon heard nothing"
	is "$(grep -vE '^(ready|frame 0806 0|icmpv6 .*|tcp 10.71.0.2 40000)$' "$sandbox_out/wire")" "" "$name: nothing left but what belongs to the control connection"
}
attacked first setpriv --bounding-set=-sys_admin
for text in '"inner_room":false' '"af_unix":"refused"' '"pinned":\[\{[^]]*10\.71\.0\.2[^]]*40000'; do
	like "$(grep '^phase=1 FIREWALL' "$tmp/said-first")" "$text" "first: the evidence says $text"
done
for port in tcp:7001 udp:7001 tcp:7004 udp:7004 udp:7005 tcp:7007 udp:7008 tcp:49983; do
	like "$(grep '^phase=1 FIREWALL' "$tmp/said-first")" "\"closed\":\\[[^]]*\\{\"protocol\":\"${port%:*}\",\"port\":${port#*:}\\}" "first: closed, because somebody was there: $port"
done
cat >"$tmp/receipt.mjs" <<'JS'
// What of the guest's own words compare.mjs needs of a receipt.
import { readFileSync } from 'node:fs';
const lines = (file) => readFileSync(file, 'utf8').split('\n').filter((line) => line !== '');
let text = '';
let denied = '';
for (const line of lines(process.argv[2])) {
  const part = /^DENIED(\+?) (.*)$/.exec(line);
  if (!part) continue;
  text += part[2];
  if (part[1] === '') { denied = text; text = ''; }
}
const { total, unrecorded, rows } = JSON.parse(denied);
console.log(JSON.stringify({ state: { final: { judge: { reports: [{ attempts: lines(process.argv[3]).map((line) => JSON.parse(line)) }] } } },
  boundary: { denied: { total, unrecorded }, denied_egress: rows } }));
JS
node "$tmp/receipt.mjs" "$tmp/said-first" "$tmp/dump-first" >"$tmp/receipt" || fail "the guest's words can be read"
is "$(json "$tmp/receipt" '[r.boundary.denied.unrecorded, r.boundary.denied.total.postrouting > 0]')" '[0,true]' "first: each denied packet has a record, translated ones too"
node tests/escape/compare.mjs tests/escape/attempts.tsv "$tmp/receipt" "$tmp/controls" "${ESCAPE_TABLE:+${ESCAPE_TABLE%.txt}-sandbox.txt}" sandbox >"$tmp/verdicts" ||
	fail "the comparison came to its end"
while IFS=$'\t' read -r verdict text; do
	case $verdict in
	pass) pass "$text" ;;
	skip) skip "${text%, without the boundary *}" "no effect without the boundary either: ${text##*, without the boundary }" ;;
	count) ok "at least 30 attempts have an effect without the boundary ($text)" test "$text" -ge 30 ;;
	*) fail "${text:-$verdict}" ;;
	esac
done <"$tmp/verdicts"

attacked room
like "$(grep '^phase=1 FIREWALL' "$tmp/said-room")" '"inner_room":true' "room: there is one"
# It is alone there: whoever takes a dead daemon's port finds itself.
is "$(grep -v dead-daemon-place "$tmp/dump-room" | grep -c '"got":true')" 0 "room: no attempt reached anybody" || diag "$(grep '"got":true' "$tmp/dump-room")"
is "$(grep -c '"id"' "$tmp/dump-room")" 35 "room: all were made"
done_testing
