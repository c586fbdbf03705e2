#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What each client of npm does at each fault: how often it asks, with how many idempotency keys, and what the application gets, as
# clients/expected.txt says.  All of them in one run, through the real boundary.
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
cp -R $folder/clients.mjs $folder/package.json $folder/node_modules "$tmp/w/"
python3 $folder/world.py >"$tmp/w/world.json" || bail_out "no world"
run_world "$tmp/w"
is_run passed 0 "the run is whole" || explain
is "$(json "$receipt" 'r.faults.filter(f => !f.fired).map(f => f.id)')" '[]' "every fault fired"
json "$receipt" '(() => {
	const path = { stripe: "/v1/refunds", openai: "/v1/chat/completions", anthropic: "/v1/messages", slack: "/api/chat.postMessage", octokit: "/users/ada" };
	return r.state.final.results.lines[0].lines.map((line) => {
		const [fault, client, ...result] = line.split(" ");
		const calls = r.operations.filter((o) => o.service === fault && o.request.target === (path[client] ?? "/" + client));
		return [fault, client, calls.length, new Set(calls.map((o) => o.key).filter(Boolean)).size, result.join(" ")].join(" ");
	}).join("\n");
})()' >"$tmp/seen"
words=5
[ "$(node -p 'process.versions.node.split(".")[0]')" = 20 ] || words=4
while read -r fault client asked keys result; do
	case $fault in '' | '#'*) continue ;; esac
	[ $words = 5 ] || result=
	is "$(sed -n "s/^$fault $client //p" "$tmp/seen" | if [ $words = 5 ]; then cat; else sed -E "s/^([0-9]+ [0-9]+ ).*/\\1/"; fi)" "$asked $keys $result" "$fault: $client asks $asked times: $result"
done <$folder/expected.txt
is "$(grep -c . "$tmp/seen")" "$(grep -c '^[a-z]' $folder/expected.txt)" "nothing is left out of the table"
done_testing
