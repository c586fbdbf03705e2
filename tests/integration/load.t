#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The twins under load use no more memory at its end than after a warm-up: one reply, a list, rows that come and go, rows up to the limit of
# the state and then refused, keys that come again, calls up to the limit of operations, one reply over TLS.  A second a load; LONG: a minute
# each.  Memory is judged, never speed.
. tests/lib/tap.sh
O=${O:-build}
tool=
for tool in wrk h2load none; do command -v "$tool" >/dev/null && break; done
[ "$tool" != none ] || skip_all "NEITHER wrk NOR h2load IS INSTALLED: nothing loads the twins here (apt-get install wrk)"
make -s O="$O" "$O/tests/twinbench" >/dev/null || bail_out "the twins cannot be built for measuring"
seconds=1 warm=1
[ -z "${AGENTTWIN_LONG-}" ] || seconds=60 warm=10
mkdir "$tmp/w"

member() { sed -n "s/^$2:[^0-9]*\([0-9]*\).*/\1/p" "/proc/$1/status"; }
# begin NAME TLS OPERATIONS: the twins with a state of at most 4 MiB; sets port and twin
begin() {
	cat >"$tmp/$1.json" <<-WORLD
		{ "run": { "id": "load", "seed": 1, "start_ms": 1700000000000 }, "limits": { "operations": $3, "state_bytes": 4194304 }, "secrets": {},
		  "services": [ { "name": "s", "kind": "http", "hosts": [ "s.internal" ], "tls": $2, $([ "$1" != keys ] || echo '"idempotency": { "on": [ "POST" ], "keep": "24h" },')
		    "state": { "items": [ { "id": "1", "name": "bolt", "stock": 3 }, { "id": "2", "name": "nut", "stock": 4 } ] },
		    "routes": [ { "id": "static", "match": { "method": "GET", "path": "/static" }, "reply": { "status": 200, "body": { "ok": true, "message": "hello" } } },
		      { "id": "item", "match": { "method": "GET", "path": "/items/{id}" }, "resource": "items" },
		      { "id": "items.delete", "match": { "method": "DELETE", "path": "/items/{id}" }, "resource": "items" },
		      { "id": "items.create", "match": { "method": "POST", "path": "/items" }, "resource": "items" },
		      { "id": "items.list", "match": { "method": "GET", "path": "/items" }, "resource": "items", "page": "cursor" } ] } ] }
	WORLD
	mkfifo "$tmp/$1.in"
	: >"$tmp/$1.port"
	# The port is told on stdout, which then carries every operation: it must be read, and a file would grow.
	"$O/tests/twinbench" "$tmp/$1.json" 1 <"$tmp/$1.in" 2>"$tmp/$1.err" | { while read -r word number; do
		[ "$word" != PORT ] || { echo "$number" >"$tmp/$1.port"; break; }
	done; exec tail -c 400 >"$tmp/$1.end"; } &
	runner=$!
	exec 9>"$tmp/$1.in"
	for _ in $(seq 400); do
		[ ! -s "$tmp/$1.port" ] || break
		sleep 0.05
	done
	port=$(cat "$tmp/$1.port")
	twin=$(sed -n 's/^TWIN //p' "$tmp/$1.err")
	[ -n "$port$twin" ] || bail_out "the twins do not serve: $(cat "$tmp/$1.err")"
	stop_later "$twin"
}
# drive SECONDS LOAD SCHEME: sets calls, refused and broken
drive() {
	local path=/static data=()
	case $tool in
	wrk)
		read -r _ calls _ refused _ broken < <(wrk -t1 -c16 -d"$1s" -s tests/bench/load.lua -H 'Host: s.internal' "$3://127.0.0.1:$port" -- "$2" 2>&1 | grep '^CALLS ')
		;;
	h2load) # told a number of calls: with a duration and HTTP/1.1 it does not always end
		case $2 in list) path='/items?limit=10' ;; fill) path=/items ;; esac
		[ "$2" != fill ] || { echo '{"name":"bolt"}' >"$tmp/row"; data=(-d "$tmp/row"); }
		h2load --h1 -t1 -c16 -n"$(($1 * 10000))" "${data[@]}" "$3://127.0.0.1:$port$path" >"$tmp/h2load" 2>&1
		calls=$(sed -n 's/^requests: .*, \([0-9]*\) done.*/\1/p' "$tmp/h2load")
		refused=$(sed -n 's/^status codes: .* \([0-9]*\) 4xx, \([0-9]*\) 5xx/\1 + \2/p' "$tmp/h2load")
		refused=$((${refused:-0}))
		broken=$(sed -n 's/^requests: .*, \([0-9]*\) errored.*/\1/p' "$tmp/h2load")
		;;
	esac
}
# load NAME REFUSED: REFUSED is none, some or any
load() {
	local tls=false scheme=http before after peak operations=4000000000
	[ "$1" != tls ] || tls=true scheme=https
	[ "$1" != spread ] || operations=20000
	case $tool-$1 in
	h2load-cycle | h2load-keys | h2load-spread)
		skip "$1" "h2load cannot send it: install wrk"
		return
		;;
	esac
	begin "$1" $tls $operations
	for _ in $(seq 30); do
		drive $warm "${1/tls/static}" $scheme
		if [ "$2" != some ] || [ "${refused:-1}" -ne 0 ]; then break; fi
	done
	[ "$2" != some ] || drive $warm "$1" $scheme # beyond the limit
	before=$(member "$twin" VmRSS)
	echo 5 >"/proc/$twin/clear_refs" # the peak counts from here
	drive $seconds "${1/tls/static}" $scheme
	peak=$(member "$twin" VmHWM)
	for _ in $(seq 50); do # until what waits for the monitor has left
		after=$(member "$twin" VmRSS)
		[ $((after - before)) -gt 512 ] || break
		sleep 0.1
	done
	ok "$1: ${calls:-no} calls were answered" test "${calls:-0}" -gt 0
	is "${broken:-none}" 0 "$1: none was lost"
	case $2 in
	none) is "${refused:-none}" 0 "$1: none was refused" ;;
	some) ok "$1: the limit was reached" test "${refused:-0}" -gt 0 ;;
	esac
	ok "$1: afterwards there is no more than after the warm-up ($before KiB, then $after KiB)" test $((after - before)) -le 512
	ok "$1: at the most, what may wait for the monitor is on top ($peak KiB)" test $((peak - before)) -le 20480
	exec 9>&-
	wait "$runner"
	like "$(cat "$tmp/$1.end")" '^DONE' "$1: the twins end in order"
}
load static none
load list none
load cycle any
load fill some
load keys any
load spread some
load tls none
done_testing
