#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# http.sh [SECONDS] - requests a second of our HTTP twin, of what others use in its place, and of a bare epoll responder as the limit: one
# thread of wrk with 16 keep-alive connections against each in turn, in this same run.  Loads: `static` (one fixed reply), `create`
# (make a row and list ten, in turns: state that grows; MockServer reads one row instead, since it lists all or nothing),
# `read` (one row).  mountebank and WireMock keep no state: their fixed replies to `read` and `create` are shown, not compared.  Also the time from start to first answer, and memory after
# the loads.  Prints rates and ratios; nothing here passes or fails.  The peers come from tests/bench/peers by `make bench-http`.
set -u
O=${O:-build}
seconds=${1:-5}
peers=tests/bench/peers/node_modules
work=$(mktemp -d "${TMPDIR:-/tmp}/agenttwin-bench.XXXXXX")
pid=
stop() {
	[ -n "$pid" ] || return 0
	exec 9>&-
	for _ in {1..20}; do
		kill -0 "$pid" 2>/dev/null || break
		sleep 0.1
	done
	kill "$pid" 2>/dev/null
	for _ in {1..50}; do
		kill -0 "$pid" 2>/dev/null || break
		sleep 0.1
	done
	kill -KILL "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
	pid=
}
trap 'stop; rm -rf "$work"' EXIT
command -v wrk >/dev/null || {
	echo "bench-http: wrk is not installed" >&2
	exit 0
}
cc -O2 -o "$work/responder" tests/bench/responder.c || exit 1
now() { date +%s%N; }
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
answers() { "$work/responder" "$port" "$1"; } # PATH: waits for the first reply
memory() { # KiB of the process and its children
	local of=$1 sum=0 n
	for n in "$of" $(cat "/proc/$of/task/$of/children" 2>/dev/null); do
		sum=$((sum + $(sed -nE 's/^VmRSS:[^0-9]*([0-9]+).*/\1/p' "/proc/$n/status" 2>/dev/null || echo 0)))
	done
	echo "$sum"
}
load() { # NAME LOAD [LIST]
	local out
	out=$(wrk -t1 -c16 -d"${seconds}s" -s tests/bench/load.lua -H 'Host: s.internal' "http://127.0.0.1:$port" -- "$2" "${3-}" 2>&1 | sed -n 's/^RESULT //p')
	echo "$1 $2 ${out:-0 0 -}" >>"$work/results"
}
begin() { # NAME PATH COMMAND...
	local name=$1 path=$2 from
	shift 2
	from=$(now)
	"$@" >"$work/$name.log" 2>&1 9>&- &
	pid=$!
	if answers "$path"; then
		echo "$name start $((($(now) - from) / 1000000))" >>"$work/results"
	else
		echo "bench-http: $name does not answer: $(tail -n 2 "$work/$name.log" | tr '\n' ' ')" >&2
		stop
		return 1
	fi
}
all_loads() { # NAME LIST
	local name=$1
	load "$name" static
	load "$name" read
	load "$name" create "$2"
	echo "$name memory $(memory "$pid")" >>"$work/results"
	stop
}

port=$(free_port)
begin responder /static "$work/responder" "$port" && {
	load responder static
	echo "responder memory $(memory "$pid")" >>"$work/results"
	stop
}

cat >"$work/twins.json" <<'TWINS'
{ "run": { "id": "bench", "seed": 1, "start_ms": 1700000000000 }, "limits": { "operations": 4000000000, "state_bytes": 8589934592 }, "secrets": {},
  "services": [ { "name": "s", "kind": "http", "hosts": [ "s.internal" ], "state": { "items": [ { "id": "1", "name": "bolt", "stock": 3 } ] },
    "routes": [ { "id": "static", "match": { "method": "GET", "path": "/static" }, "reply": { "status": 200, "body": { "ok": true, "message": "hello" } } },
      { "id": "item", "match": { "method": "GET", "path": "/items/{id}" }, "resource": "items" },
      { "id": "items.create", "match": { "method": "POST", "path": "/items" }, "resource": "items" },
      { "id": "items.list", "match": { "method": "GET", "path": "/items" }, "resource": "items", "page": "cursor" } ] } ] }
TWINS
# The port is told on stdout, which carries every operation after it: into a file it would measure the disk.
twins() { "$O/tests/twinbench" "$work/twins.json" 1 <"$work/in" 2>"$work/twins.err" | { while read -r word number; do
	[ "$word" != PORT ] || { echo "$number" >"$work/port"; break; }
done; exec cat >/dev/null; }; }
mkfifo "$work/in"
from=$(now)
twins 9>&- &
pid=$!
exec 9>"$work/in"
until [ -s "$work/port" ]; do sleep 0.001; done
port=$(cat "$work/port")
answers /static && echo "agenttwin start $((($(now) - from) / 1000000))" >>"$work/results"
runner=$(pgrep -P "$pid" -x twinbench | head -n 1)
twin=$(cat "/proc/$runner/task/$runner/children")
echo "agenttwin idle $(memory "${twin% }")" >>"$work/results"
load agenttwin static
load agenttwin read
echo "agenttwin memory $(memory "${twin% }")" >>"$work/results"
load agenttwin create '/items?limit=10'
stop

if [ -d "$peers" ]; then
	port=$(free_port)
	printf '{"items":[{"id":1,"name":"bolt","stock":3}],"static":{"ok":true,"message":"hello"}}' >"$work/db.json"
	begin json-server /static node "$peers/.bin/json-server" --quiet --port "$port" --host 127.0.0.1 "$work/db.json" && all_loads json-server '/items?_limit=10'

	port=$(free_port)
	admin=$(free_port)
	cat >"$work/imposters.json" <<MB
{ "imposters": [ { "port": $port, "protocol": "http", "host": "127.0.0.1", "recordRequests": true, "stubs": [
  { "predicates": [ { "equals": { "method": "GET", "path": "/static" } } ], "responses": [ { "is": { "headers": { "Content-Type": "application/json" }, "body": "{\"ok\":true,\"message\":\"hello\"}" } } ] },
  { "predicates": [ { "equals": { "method": "GET", "path": "/items/1" } } ], "responses": [ { "is": { "body": "{\"id\":\"1\",\"name\":\"bolt\",\"stock\":3}" } } ] },
  { "predicates": [ { "equals": { "method": "POST", "path": "/items" } } ], "responses": [ { "is": { "statusCode": 201, "body": "{\"id\":\"2\",\"name\":\"bolt\",\"stock\":3}" } } ] },
  { "predicates": [ { "equals": { "method": "GET", "path": "/items" } } ], "responses": [ { "is": { "body": "[]" } } ] } ] } ] }
MB
	begin mountebank /static node "$peers/.bin/mb" start --configfile "$work/imposters.json" --port "$admin" --host 127.0.0.1 --localOnly --nologfile --pidfile "$work/mb.pid" && all_loads mountebank '/items'

	if command -v java >/dev/null; then
		port=$(free_port)
		mkdir -p "$work/wm/mappings"
		cat >"$work/wm/mappings/all.json" <<'WM'
{ "mappings": [
  { "request": { "method": "GET", "url": "/static" }, "response": { "status": 200, "jsonBody": { "ok": true, "message": "hello" } } },
  { "request": { "method": "GET", "url": "/items/1" }, "response": { "status": 200, "jsonBody": { "id": "1", "name": "bolt", "stock": 3 } } },
  { "request": { "method": "POST", "url": "/items" }, "response": { "status": 201, "jsonBody": { "id": "2" } } },
  { "request": { "method": "GET", "urlPath": "/items" }, "response": { "status": 200, "jsonBody": [] } } ] }
WM
		jar=$(find "$peers/wiremock" -name '*.jar' | head -n 1)
		begin wiremock /static java -jar "$jar" --port "$port" --bind-address 127.0.0.1 --root-dir "$work/wm" --disable-banner && all_loads wiremock '/items'

		port=$(free_port)
		cat >"$work/ms.json" <<'MS'
[ { "httpRequest": { "method": "GET", "path": "/static" }, "httpResponse": { "statusCode": 200, "body": "{\"ok\":true,\"message\":\"hello\"}" } },
  { "httpRequest": { "method": "GET", "path": "/none" }, "httpResponse": { "statusCode": 404 } } ]
MS
		jar=$PWD/$(find "$peers/mockserver-node" -name '*.jar' | head -n 1)
		begin mockserver /static env -C "$work" java -Dmockserver.logLevel=WARN -Dmockserver.initializationJsonPath="$work/ms.json" -jar "$jar" -serverPort "$port" && {
			# its own CRUD, with ids that it counts; the whole list, since it has no pages
			curl -sS -o "$work/crud" -X PUT "http://127.0.0.1:$port/mockserver/crud" -d '{"basePath":"/items","idField":"id","idStrategy":"AUTO_INCREMENT","initialData":[{"id":1,"name":"bolt","stock":3}]}' || cat "$work/crud" >&2
			all_loads mockserver '/items/1'
		}
	else
		echo "bench-http: no java: WireMock and MockServer are left out" >&2
	fi
else
	echo "bench-http: the peers are not installed: make bench-http" >&2
fi

python3 - "$work/results" <<'SUM'
import sys
rates, other = {}, {}
for line in open(sys.argv[1]):
    f = line.split()
    if f[1] in ("start", "memory", "idle"):
        other[f[0], f[1]] = int(f[2])
    else:
        rates[f[0], f[1]] = (float(f[2]), float(f[3]), f[4])
names = list(dict.fromkeys(k[0] for k in list(rates) + list(other)))
print(f"{'server':<14}{'static/s':>12}{'read/s':>12}{'create+list/s':>15}{'p50 ms static':>15}{'first answer ms':>17}{'memory KiB':>12}")
for n in names:
    r = lambda load: f"{rates[n, load][0]:.0f}" + ("" if rates[n, load][2] == "0" else "!") if (n, load) in rates else "-"
    print(f"{n:<14}{r('static'):>12}{r('read'):>12}{r('create'):>15}{rates.get((n, 'static'), (0, 0))[1]:>15.2f}{other.get((n, 'start'), 0):>17}{other.get((n, 'memory'), 0):>12}")
print("!: some replies were not 2xx, or were lost")
peers = [n for n in names if n not in ("agenttwin", "responder")]
keepers = ["json-server", "mockserver"]  # the others give the same replies whatever was created
for load in ("static", "read", "create"):
    best = max(((rates[n, load][0], n) for n in (peers if load == "static" else keepers) if (n, load) in rates), default=None)
    if best and best[0] and ("agenttwin", load) in rates:
        print(f"{load}: agenttwin / fastest peer ({best[1]}) {rates['agenttwin', load][0] / best[0]:.1f}")
if ("responder", "static") in rates and rates["responder", "static"][0]:
    print(f"static: agenttwin / bare epoll responder {rates['agenttwin', 'static'][0] / rates['responder', 'static'][0]:.2f}")
print(f"KiB of the twins with small state, before any load: {other.get(('agenttwin', 'idle'), 0)}")
SUM
