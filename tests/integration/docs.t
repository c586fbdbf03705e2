#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the documentation says: manual pages and --help, pages and schemas say the same; links lead somewhere; the commands of README.md
# and docs/receipts.md do what stands beside them.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh
command -v python3 >/dev/null || skip_all "python3 is not installed"
root=$PWD

# silent NAME COMMAND...: it prints nothing, and succeeds
silent() {
	local name=$1 text
	shift
	text=$("$@" 2>&1) && [ -z "$text" ] && pass "$name" && return
	fail "$name"
	diag "$(head -n 40 <<<"$text")"
}
manual() { python3 "$root/tests/lib/manual.py" "$@"; }
silent "agenttwin-host(1) and each --help: the same commands and options" manual options docs/man/agenttwin-host.1 "$host"
silent "agenttwin-guest(8) and its --help: the same" manual options docs/man/agenttwin-guest.8 "$guest"
mkdir "$tmp/empty"
silent "every command takes the options of its --help, and refuses others" sh -c 'cd "$1" && exec python3 "$2" taken - "$3"' - \
	"$tmp/empty" "$root/tests/lib/manual.py" "$host"
silent "every key of a receipt is in agenttwin-receipt(5)" manual keys docs/man/agenttwin-receipt.5 docs/schema/receipt.schema.json docs/man/agenttwin-world.5
silent "which names no other" manual names docs/man/agenttwin-receipt.5 docs/schema/receipt.schema.json
silent "every key of a world is in agenttwin-world(5)" manual keys docs/man/agenttwin-world.5 docs/schema/world.schema.json
silent "which lists no other" manual items docs/man/agenttwin-world.5 docs/schema/world.schema.json
silent "and names no key that a receipt does not have" manual names docs/man/agenttwin-world.5 docs/schema/receipt.schema.json

links() {
	local page to
	for page in *.md docs/*.md templates/*/*.md; do
		while read -r to; do
			[ -e "$(dirname "$page")/$to" ] || echo "$page: $to"
		done < <(grep -oE '\]\([^)# ]+' "$page" | sed 's/^](//' | grep -vE '^[a-z]+:')
	done
}
silent "every link of a page to a file leads to one" links
unlisted() {
	local page
	for page in docs/*.md; do
		[ "$page" = docs/README.md ] || grep -q "($(basename "$page"))" docs/README.md || echo "$page"
	done
}
silent "docs/README.md lists every page" unlisted

# ---- commands -----------------------------------------------------------------------------------------------------------
if ! "$host" doctor --runtime namespace >/dev/null 2>&1; then
	skip "the commands of the pages" "the namespace backend does not work here"
	done_testing
fi
for tool in jq openssl; do
	command -v $tool >/dev/null && continue
	skip "the commands of the pages" "$tool is not installed"
	done_testing
done
mkdir "$tmp/bin" "$tmp/site"
ln -s "$host" "$tmp/bin/agenttwin-host"
fresh() { # NAME: a checkout with one example
	rm -rf "$tmp/site"
	mkdir -p "$tmp/site/templates/worlds"
	cp -R templates/worlds/refund-agent "$tmp/site/templates/worlds/"
	rm -rf "$tmp/site/templates/worlds/refund-agent/.agenttwin"
}
# The exit status that a command of a page should have, where it is not 0, and what stands for what would take too long.
declare -A wanted=(
	["agenttwin-host run refund-twice.world.json"]=1
	["agenttwin-host test .."]=1
	["agenttwin-host receipt diff yesterday.json latest"]=1
)
# commands PAGE FOLDER: runs the lines of its sh blocks one after the other in FOLDER of the checkout; `cd` lasts.
commands() {
	local page=$1 line command got count=0
	cd "$tmp/site/$2" || return
	while IFS= read -r -u 8 line; do
		case $line in '' | make* | '#'*) continue ;; esac
		command=$(sed -E 's/ +# .*$//; s/1\.\.100/1..3/; s/--repeat 20/--repeat 2/' <<<"$line")
		eval "$command" >"$tmp/out" 2>"$tmp/err" </dev/null
		got=$?
		is "$got" "${wanted[$command]:-0}" "$page: $command" || diag "$(tail -n 5 "$tmp/out" "$tmp/err")"
		count=$((count + 1))
	done 8< <(awk '/^```sh$/ { on = 1; next } /^```/ { on = 0 } on' "$root/$page")
	cd "$root" || return
	[ "$count" -gt 0 ] || fail "$page has commands"
}
PATH=$tmp/bin:$PATH
fresh
mkdir -p "$tmp/site/templates/worlds/refund-agent/worlds"
(
	# what the README's lines take for granted: older receipts, and a folder of worlds
	cd "$tmp/site/templates/worlds/refund-agent" || exit
	agenttwin-host run -q --receipt receipt.json
	agenttwin-host run -q --seed 77 --receipt yesterday.json # unlike whichever of the others is the latest
	cp agent.mjs order.json world.json worlds/
) >"$tmp/out" 2>&1
commands README.md .
fresh
(cd "$tmp/site/templates/worlds/refund-agent" && agenttwin-host run -q) >"$tmp/out" 2>&1
commands docs/receipts.md templates/worlds/refund-agent
(
	# the same for a reader of agenttwin-receipt(5)
	cd "$tmp/site/templates/worlds/refund-agent" || exit
	cp receipt.json r.json && cp receipt.json.events.jsonl r.json.events.jsonl && cp signing.key.pub key.pub
	awk '/^With openssl alone:/ { on = 1 } on && /^\.Ed/ { exit } on && shown { print } on && /^\.Bd/ { shown = 1 }' \
		"$root/docs/man/agenttwin-receipt.5" >lines
	bash -e lines
) >"$tmp/out" 2>&1
is "$(head -n 1 "$tmp/out")" "Verified OK" "agenttwin-receipt(5): openssl verifies the signature" || diag "$(cat "$tmp/out")"
is "$(sed -n 2,3p "$tmp/out" | cut -c1-64)" "$(sed -n 4,5p "$tmp/out" | grep -E '^[0-9a-f]{64}$')" "agenttwin-receipt(5): and the digests are those of the files"
like "$(cat "$tmp/site/templates/worlds/refund-agent/receipt.html")" '<!doctype html>' "and the page is one"
is "$(stat -c %a "$tmp/site/templates/worlds/refund-agent/signing.key")" 600 "the key that they made is secret"
done_testing
