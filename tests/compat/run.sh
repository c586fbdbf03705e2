#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# run.sh [--write] - packages of npm inside: prints a table of what works, or puts it into docs/compatibility.md.  `make compat`
# installs the packages first.  Fails when one does not work, so that nobody reads of it in the documents alone.
set -eu
host=${O:-build}/agenttwin-host
world=tests/compat/packages
page=docs/compatibility.md
[ -x "$host" ] || { echo "run.sh: $host is missing: run make first" >&2; exit 2; }
[ -d $world/node_modules ] || { echo "run.sh: $world/node_modules is missing: run make compat" >&2; exit 2; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
"$host" run --json $world >"$tmp/receipt" 2>"$tmp/err" || true
node tests/lib/json.mjs "$tmp/receipt" 'r.outcome.stdout.tail' >"$tmp/out" || { cat "$tmp/err" >&2; exit 2; }
grep -q '^packages: ' "$tmp/out" || { cat "$tmp/out" "$tmp/err" >&2; exit 2; }
{
	echo '| Package | Version | Inside |'
	echo '| --- | --- | --- |'
	sed -nE -e 's/^ok ([^ ]+) ([^ ]+)$/| `\1` | \2 | works |/p' \
		-e 's/^not ok ([^ ]+) ([^ ]+): (.*)$/| `\1` | \2 | fails: \3 |/p' "$tmp/out"
} >"$tmp/table"
if [ "${1-}" = --write ]; then
	sed -e "/^| Package/,/^\$/{/^| Package/r $tmp/table" -e '/./d}' "$page" >"$tmp/page"
	cat "$tmp/page" >"$page"
else
	cat "$tmp/table"
fi
grep '^packages: ' "$tmp/out" >&2
! grep -q '^not ok' "$tmp/out"
