#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154 # variables of agenttwin.sh
# Many worlds at once, all at the same moment: none is lost, none is taken for another, nothing is left.  Twelve; with
# AGENTTWIN_LONG=1 a hundred, and as many again as processors allow.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh
need_namespace

count=12
[ -z "${AGENTTWIN_LONG-}" ] || count=100
mark=agenttwin-many-$$-$RANDOM
# Each counts to a number of its own: every third world says a wrong one, and must be the one that fails.
for i in $(seq "$count"); do
	name=w$(printf %03d "$i")
	world "$tmp/many/$name" '"a.mjs"' "\"node\", \"a.mjs\", \"$i\", \"$mark\"" "\"limits\": { \"start_ms\": 60000, \"run_ms\": 120000 }," \
		"{ \"id\": \"items\", \"kind\": \"state\", \"service\": \"shop\", \"path\": \"/items\", \"count\": $((i % 5 + 1 + (i % 3 == 0))) }"
	sed -i "s/\"name\": \"test\"/\"name\": \"$name\"/" "$tmp/many/$name/world.json"
	cat >"$tmp/many/$name/a.mjs" <<-'JS'
		for (let n = process.argv[2] % 5 + 1; n > 0; n--)
			await fetch(process.env.SHOP_URL + '/items', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' });
	JS
done
ready=$(find "$tmp/many" -name world.json | wc -l)
is "$ready" "$count" "$count worlds"

# all ARGUMENT...: sets status and out
all() {
	"$host" test --json -q --receipt "$tmp/receipts" "$@" "$tmp/many" >"$tmp/out.json" 2>"$tmp/err"
	status=$?
	out=$tmp/out.json
	is "$status" 1 "$*: the exit status is that of those which fail" || diag "$(tail -n 30 "$tmp/err")"
	is "$(json "$out" 'r.worlds.length + " " + r.worlds_counted.passed + " " + r.worlds_counted.failed')" \
		"$count $((count - count / 3)) $((count / 3))" "$*: none is lost" || diag "$(tail -n 30 "$tmp/err")"
	is "$(json "$out" 'r.worlds.filter(w => w.status !== (+w.name.slice(1) % 3 ? "passed" : "failed")).map(w => w.name + " " + w.status).join()')" \
		"" "$*: each has its own result"
	is "$(json "$out" 'new Set(r.worlds.map(w => w.runs[0].tries[0].id)).size')" "$count" "$*: each is a run of its own"
	ok "$*: nothing is left" none_marked "$mark"
}
all -j "$count"
is "$(find "$tmp/receipts" -name '*-*.json' | wc -l)" "$count" "a receipt each"
for receipt in "$tmp"/receipts/*-*.json; do json "$receipt" '[r.cleanup.confirmed, r.boundary.opening.proved, r.boundary.closing.proved].join()'; done |
	sort | uniq -c >"$tmp/counted"
is "$(tr -s ' ' <"$tmp/counted")" " $count true,true,true" "every sandbox was proved at both ends, and is gone"
[ -z "${AGENTTWIN_LONG-}" ] || all
[ -z "${AGENTTWIN_LONG-}" ] || all --repeat 2 -j 50
done_testing
