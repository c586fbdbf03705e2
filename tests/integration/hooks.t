#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Webhooks of the four schemes, verified in a run by the verifiers of stripe, @octokit/webhooks-methods, @slack/bolt and
# standardwebhooks, which also refuse them changed and late.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh
need_namespace
command -v npm >/dev/null || skip_all "npm is not installed"
[ "$(node -p 'process.versions.node.split(".")[0]')" -ge 20 ] || skip_all "the packages need Node 20"
folder=tests/integration/hooks
make --no-print-directory "O=$O_relative" "$O_relative/hooks.stamp" >"$tmp/npm" 2>&1 || {
	diag "$(tail -n 5 "$tmp/npm")"
	skip_all "npm could not install the packages (is a registry reachable?)"
}
is "$(grep -c '"resolved"' $folder/package-lock.json)" 0 "the lock file names no registry"
mkdir "$tmp/w"
cp $folder/hooks.mjs $folder/package.json $folder/world.json "$tmp/w/"
cp -al $folder/node_modules "$tmp/w/" 2>/dev/null || cp -a $folder/node_modules "$tmp/w/"
run_world "$tmp/w"
is_run passed 0 "the run is whole" || explain
text=$(node -e 'console.log(JSON.stringify(JSON.parse(require("fs").readFileSync(process.argv[1])).workflow.trigger[0].event.data.text))' $folder/world.json)
for from in stripe github slack standard; do
	row="r.state.final.told.told.find(t => t.id === '$from')"
	is "$(json "$receipt" "$row?.text === $text")" true "$from: its own verifier takes the exact bytes"
	is "$(json "$receipt" "$row && [$row.changed, $row.spaced]")" '[true,true]' "$from: and refuses others"
	late=true
	[ $from != github ] || late=false # GitHub signs no time
	is "$(json "$receipt" "$row?.late")" $late "$from: ten minutes later: refused is $late"
done
is "$(json "$receipt" 'r.operations.filter(o => o.kind === "webhook").map(o => o.reply?.status)')" '[200,200,200,200,200]' \
	"each delivery and Slack's challenge is answered 200"
done_testing
