#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The last test: every receipt, event file, summary, report and verification that the tests before it made, and every world that they
# ran, is as docs/schema says, by the word of ajv.  tests/run names the folder in which they lie (AGENTTWIN_MADE), tests/lib/collect.pl put them there.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh
made=${AGENTTWIN_MADE-}
unset AGENTTWIN_MADE
[ -n "$made" ] || skip_all "it judges what other tests made: run make test"
command -v npm >/dev/null || skip_all "npm is not installed"
make --no-print-directory "O=$O_relative" "$O_relative/judge.stamp" >"$tmp/npm" 2>&1 || {
	diag "$(tail -n 5 "$tmp/npm")"
	skip_all "npm could not install ajv (is a registry reachable?)"
}
ok "the judge has read everything" node tests/integration/judge/judge.mjs made "$made"
touch "$made/result"
for kind in receipt events series tests verification world; do
	read -r files documents < <(awk -v "kind=$kind" '$1 == kind { n++; sum += $2 } END { print n + 0, sum + 0 }' "$made/result")
	wrong=$(grep -E "^(wrong|unjudged) [^ ]*\.$kind\>" "$made/result" | head -n 40)
	is "$wrong" "" "$kind: each is as its schema says ($files files, $documents documents)"
done
ok "and there were receipts" grep -q '^receipt ' "$made/result" # a judge of nothing is always content
done_testing
