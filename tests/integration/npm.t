#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A real node_modules with .bin links enters the sandbox whole and works there.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh
need_namespace
folder=templates/worlds/npm-agent
command -v npm >/dev/null || skip_all "npm is not installed"
make --no-print-directory "O=$O_relative" "$O_relative/npm-agent.npm.stamp" >"$tmp/npm" 2>&1 || {
	diag "$(tail -n 5 "$tmp/npm")"
	skip_all "npm could not install the packages (is a registry reachable?)"
}
is "$(grep -cE '"resolved"' $folder/package-lock.json)" 0 "the lock file names no registry"
cp -R "$folder" "$tmp/world"
run_world "$tmp/world"
is_run passed 0 "the program passes"
links=$(json "$receipt" 'r.bundle.files.filter(f => f.path.includes("/.bin/")).map(f => f.path).sort().join(" ")')
like "$links" "node_modules/.bin/semver" "the links of .bin are in the bundle"
count=$(json "$receipt" 'r.bundle.files.length')
ok "some hundred files entered ($count)" test "$count" -gt 500
is "$(json "$receipt" 'r.operations.filter(o => o.route === "orders.create").length')" 2 "two orders were made"
done_testing
