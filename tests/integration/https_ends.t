#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# How a connection over TLS ends: in order with close_notify, by a fault without it, by a reset, or not at all.  Seen on the wire.
. tests/lib/tap.sh
O=${O:-build}
command -v node >/dev/null || skip_all "node is not installed"
make -s O="$O" "$O/tests/twinrun" >/dev/null || bail_out "the test driver cannot be built"

fault() { # ID PHASE HOW: on the route of that name
	printf '{"id":"%s","class":"timeout-after-write","on":{"service":"pay","route":"%s"},"call":{"every":1},"phase":"%s","how":%s}' "$1" "$1" "$2" "$3"
}
route() { printf '{"id":"%s","match":{"method":"GET","path":"/%s"},"reply":{"status":200,"body":{"text":"%0200d"}}}' "$1" "$1" 0; }
cat >"$tmp/world.json" <<WORLD
{ "run": { "seed": 1, "start_ms": 1800000000000 }, "limits": { "operations": 1000, "state_bytes": 1000000 }, "secrets": {},
  "faults": [ $(fault fin mid-reply '{"end":"fin","bytes":300}'), $(fault rst mid-reply '{"end":"rst","bytes":300}'),
    $(fault none after-effect '{"end":"fin"}'), $(fault reset after-effect '{"end":"rst"}'), $(fault stall mid-reply '{"end":"stall","bytes":300}') ],
  "services": [ { "name": "pay", "kind": "http", "hosts": [ "api.pay.example" ], "tls": true,
    "routes": [ $(route order), $(route fin), $(route rst), $(route none), $(route reset), $(route stall) ] } ] }
WORLD
mkfifo "$tmp/end"
sleep 300 >"$tmp/end" &
holder=$!
stop_later "$holder"
: >"$tmp/out"
"$O/tests/twinrun" "$tmp/world.json" 1 <"$tmp/end" >"$tmp/out" 2>"$tmp/err" &
stop_later $!
for _ in $(seq 200); do
	grep -q -e '^PORT' -e '^FAILED' "$tmp/out" && break
	sleep 0.1
done
sed -n '/BEGIN/,/END/p' "$tmp/out" | sed 's/^CA //' >"$tmp/ca.pem"
NODE_EXTRA_CA_CERTS=$tmp/ca.pem PAY_HOST=127.0.0.1 PAY_NAME=api.pay.example PAY_PORT=$(sed -n 's/^PORT //p' "$tmp/out") \
	node tests/integration/programs/https.mjs ends /order /fin /rst /none /reset /stall >"$tmp/said" 2>&1
said() { sed -n "s|^/$1 ||p" "$tmp/said"; }
# end of the socket, type of the last record (21 alert, 22 handshake, 23 data), a part of the reply, bytes of half a record
is "$(said order)" '["fin",21,true,0]' "in order: close_notify, then FIN"
is "$(said fin)" '["fin",23,true,0]' "fin inside a reply: no close_notify"
is "$(said rst)" '["ECONNRESET",23,true,0]' "rst inside a reply: what was sent arrives, then the reset"
is "$(said none)" '["fin",22,false,0]' "fin before a reply: nothing after the handshake"
is "$(said reset)" '["ECONNRESET",22,false,0]' "rst before a reply"
is "$(said stall)" '["stall",23,true,0]' "a stall leaves the connection open"
kill "$holder"
wait
is "$(grep -c '"client":"told-nothing"' "$tmp/out") $(grep -c '"client":"told-ok"' "$tmp/out")" "5 1" "operations say what the client was told"
done_testing
