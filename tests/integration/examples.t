#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every example world is the same run each time: twice, with AGENTTWIN_LONG=1 twenty.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh
need_namespace
times=2
[ -z "${AGENTTWIN_LONG-}" ] || times=20

mkdir "$tmp/receipts"
for folder in templates/worlds/*/; do
	name=$(basename "$folder")
	# Some need packages: their folders say so, and `make` installs them.
	if [ -e "$folder/package-lock.json" ] &&
		! make --no-print-directory "O=$O_relative" "$O_relative/$name.npm.stamp" >"$tmp/make" 2>&1; then
		skip "$name" "its packages are not installed: $(tail -n 1 "$tmp/make")"
		continue
	fi
	for world in "$folder"*world.json; do
		"$host" run --repeat "$times" --json --receipt "$tmp/receipts" "$world" >"$tmp/series.json" 2>"$tmp/err"
		is "$(json "$tmp/series.json" '[r.runs.filter(x => x.status === "passed" || x.status === "failed").length, new Set(r.runs.map(x => x.fingerprint)).size, r.not_reproduced]')" \
			"[$times,1,0]" "$world: $times runs, one fingerprint" || diag "$(cat "$tmp/err")"
	done
done
done_testing
