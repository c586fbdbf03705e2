#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What each client of npm does at each fault: how often it asks, with how many idempotency keys, over how many connections, and what the
# application gets, as clients/expected/ says.  All clients in one run a table, through the real boundary: each fault once, connections
# that are used again, clients that do not trust the authority, a proxy in the environment.  LONG: clients at their own limits.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh
need_namespace
command -v npm >/dev/null || skip_all "npm is not installed"
folder=tests/integration/clients
make --no-print-directory "O=$O_relative" "$O_relative/clients.stamp" >"$tmp/npm" 2>&1 || {
	diag "$(tail -n 5 "$tmp/npm")"
	skip_all "npm could not install the packages (is a registry reachable?)"
}
is "$(grep -c '"resolved"' $folder/package-lock.json)" 0 "the lock file names no registry"
mkdir "$tmp/w"
cp -R $folder/*.mjs $folder/package.json $folder/node_modules "$tmp/w/"
words=
[ "$(node -p 'process.versions.node.split(".")[0]')" = 20 ] || words=no

# Runs the world of a table and compares each line.  table NAME STATUS EXIT
table() {
	local service client asked keys conns result line seen
	declare -A got=()
	python3 $folder/world.py "$1" >"$tmp/w/world.json" || bail_out "no world"
	# a proxy of the caller's does not enter: axios would ask it
	HTTP_PROXY=http://127.0.0.1:9 HTTPS_PROXY=http://127.0.0.1:9 http_proxy=http://127.0.0.1:9 run_world "$tmp/w"
	is_run "$2" "$3" "$1: the run is whole" || diag "$(json "$receipt" 'r.outcome.stderr.tail')"
	is "$(json "$receipt" 'r.faults.filter(f => !f.fired).map(f => f.id)')" '[]' "$1: every fault fired"
	node $folder/table.mjs "$receipt" >"$tmp/seen-$1"
	while read -r service client line; do got["$service $client"]=$line; done <"$tmp/seen-$1"
	while read -r service client asked keys conns result; do
		case $service in '' | '#'*) continue ;; esac
		read -r -a seen <<<"${got["$service $client"]-none}"
		[ "$conns" != - ] || seen[2]=-
		[ -z "$words" ] || { result=$words; seen=("${seen[@]:0:3}" "$words"); }
		# alternatives: what was seen stands for them if it is one
		case " || $result || " in *" || ${seen[*]:3} || "*) result=${seen[*]:3} ;; esac
		is "${seen[*]}" "$asked $keys $conns $result" "$1, $service: $client asks $asked times: $result"
	done <"$folder/expected/$1.txt"
	is "$(grep -c . "$tmp/seen-$1")" "$(grep -c '^[a-z]' "$folder/expected/$1.txt")" "$1: nothing is left out of the table"
}
# The smallest time between two calls of one client to one service.
gap() {
	json "$receipt" "(t => Math.min(...t.slice(1).map((x, i) => x - t[i])))(r.operations.filter(o => o.service === '$1' && o.request.target === '$2').map(o => o.t_ms).sort((a, b) => a - b))"
}

table matrix passed 0
for service in s503-wait s429-wait; do
	for target in /got-get /v1/chat/completions /v1/messages; do
		ok "$service: who asks for $target waits for as long as Retry-After says" test "$(gap $service $target)" -ge 995
	done
done
ok "s429-wait: and so does slack" test "$(gap s429-wait /api/chat.postMessage)" -ge 995
table reuse passed 0
table tls passed 0
is "$(json "$receipt" 'r.operations.every(o => !o.unmatched)')" true "tls: who does not trust sends no request"
table proxy failed 1
is "$(failed_checks)" no-egress "proxy: the call to it is seen"
if [ -n "${AGENTTWIN_LONG-}" ]; then
	table long passed 0
else
	skip "clients at their own limits, up to eleven minutes" "only with AGENTTWIN_LONG=1: make test-long"
fi
done_testing
