#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2001 # a pattern with a class
# What is refused before anything runs: exit 2, no receipt, and a message that names the file, the problem and the way out.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh

# refused NAME ERE WORLD: by check and by run alike
refused() {
	local command
	for command in check run; do
		"$host" $command "$3" >"$tmp/out" 2>"$tmp/err"
		is "$?" 2 "$1: $command exits 2" || diag "$(head -c 1000 "$tmp/err")"
		like "$(cat "$tmp/err")" "$2" "$1: $command says what"
		like "$(cat "$tmp/err")" '^ *fix: [A-Za-z]' "$1: $command says what to do"
		is "$(wc -c <"$tmp/out")" 0 "$1: $command prints no document"
	done
	is "$(find "$(dirname "$3/x")" -name '*.json' -path '*receipts*' 2>/dev/null | wc -l)" 0 "$1: no receipt"
}
# app NAME FILES: a world in $tmp/NAME
app() {
	world "$tmp/$1" "$2" '"node", "a.mjs"'
	echo 'console.log(1);' >"$tmp/$1/a.mjs"
}

app link '"**"'
ln -s /etc/passwd "$tmp/link/innocent.txt"
refused "a symlink outside node_modules" 'innocent\.txt' "$tmp/link"
app inner-link '"*.mjs"'
ln -s a.mjs "$tmp/inner-link/b.mjs"
refused "a symlink that stays within the root, outside node_modules" 'b\.mjs' "$tmp/inner-link"
app outside '"a.mjs", "node_modules/**"'
mkdir -p "$tmp/outside/node_modules/x"
ln -s ../../../link/a.mjs "$tmp/outside/node_modules/x/index.js"
refused "a symlink in node_modules that leaves the root" 'node_modules/x/index\.js' "$tmp/outside"
app absolute-link '"a.mjs", "node_modules/**"'
mkdir -p "$tmp/absolute-link/node_modules/.bin"
ln -s /bin/sh "$tmp/absolute-link/node_modules/.bin/sh"
refused "an absolute symlink in node_modules" 'node_modules/\.bin/sh' "$tmp/absolute-link"
app dangling '"a.mjs", "node_modules/**"'
mkdir -p "$tmp/dangling/node_modules/.bin"
ln -s ../gone/cli.js "$tmp/dangling/node_modules/.bin/gone"
refused "a dangling symlink in node_modules" '\.bin/gone' "$tmp/dangling"
app loop '"a.mjs", "node_modules/**"'
mkdir -p "$tmp/loop/node_modules"
ln -s b "$tmp/loop/node_modules/a"
ln -s a "$tmp/loop/node_modules/b"
refused "a loop of symlinks in node_modules" 'node_modules/[ab]' "$tmp/loop"
app folder-link '"src/**"'
mkdir "$tmp/folder-link/real"
cp "$tmp/folder-link/a.mjs" "$tmp/folder-link/real/"
ln -s real "$tmp/folder-link/src"
refused "a folder that is a symlink" 'src' "$tmp/folder-link"

app dotdot '"../link/a.mjs"'
refused "a path with .." '\.\.' "$tmp/dotdot"
app absolute '"/etc/passwd"'
refused "an absolute path" '/files/0: the pattern is an absolute path' "$tmp/absolute"
app bare '"a.mjs", "src"'
mkdir "$tmp/bare/src"
echo 1 >"$tmp/bare/src/b.mjs"
refused "a bare folder" 'src/\*\*' "$tmp/bare"
app nomatch '"a.mjs", "agnet.mjs"'
echo 1 >"$tmp/nomatch/agent.mjs"
refused "a pattern without a match" 'agnet\.mjs' "$tmp/nomatch"

app env '"a.mjs", ".env"'
echo KEY=1 >"$tmp/env/.env"
refused "a .env" '\.env' "$tmp/env"
app npmrc '"a.mjs", ".npmrc"'
echo '//registry.example/:_authToken=x' >"$tmp/npmrc/.npmrc"
refused "an .npmrc" '\.npmrc' "$tmp/npmrc"
app pem '"a.mjs", "notes.txt"'
{
	echo "some notes"
	# the two lines are put together here so that no key stands in this file
	printf -- '-----BEGIN %s KEY-----\n' PRIVATE
	for i in 1 2 3; do head -c 48 /dev/zero | tr '\0' "$i" | base64; done
	printf -- '-----END %s KEY-----\n' PRIVATE
} >"$tmp/pem/notes.txt"
refused "a complete private key under an innocent name" 'notes\.txt' "$tmp/pem"
app pem-text '"a.mjs", "text.js"'
printf 'export const head = "-----BEGIN %s KEY-----";\n' PRIVATE >"$tmp/pem-text/text.js"
"$host" check "$tmp/pem-text" >/dev/null 2>"$tmp/err"
is "$?" 0 "the header alone, in code, is no key" || diag "$(cat "$tmp/err")"

app pipe '"a.mjs", "pipe"'
mkfifo "$tmp/pipe/pipe"
refused "a named pipe" 'pipe' "$tmp/pipe"
if [ "$(id -u)" -eq 0 ] && app device '"a.mjs", "null"' && mknod "$tmp/device/null" c 1 3 2>/dev/null; then
	refused "a device" 'null' "$tmp/device"
else
	skip "a device" "only root makes one"
fi

# A file that grows while it is staged.
app grows '"a.mjs", "log.txt"'
head -c 100000000 /dev/zero >"$tmp/grows/log.txt"
while :; do echo more >>"$tmp/grows/log.txt"; sleep 0.005; done &
grower=$!
stop_later $grower
"$host" run --json "$tmp/grows" >"$tmp/out" 2>"$tmp/err"
status=$?
kill -KILL $grower
wait $grower 2>/dev/null
ok "a file that changes while it is staged: exit $status" test "$status" -eq 2 -o "$status" -eq 4
like "$(cat "$tmp/err")" 'log\.txt' "the message names it"
like "$(cat "$tmp/err")" 'chang|grew|size' "and says that it changed"

# Worlds that are none.
bad() { # NAME ERE TEXT
	mkdir -p "$tmp/bad"
	printf '%s' "$3" >"$tmp/bad/world.json"
	refused "$1" "$2" "$tmp/bad"
}
app good '"a.mjs"'
good=$(cat "$tmp/good/world.json")
echo 'console.log(1);' >"$tmp/a.mjs"
mkdir -p "$tmp/bad"
cp "$tmp/a.mjs" "$tmp/bad/"
bad "not JSON" 'world\.json:1' 'agenttwin: world/1'
bad "nothing" 'world\.json' ''
bad "a list" 'world\.json' '[]'
bad "cut off" 'world\.json:[0-9]+' "${good:0:200}"
bad "a duplicate key" 'twice|duplicate' "${good/\"name\": \"test\",/\"name\": \"test\", \"name\": \"other\",}"
bad "an unknown key" 'sede' "${good/\"seed\"/\"sede\"}"
bad "a kind of a later version" 'not supported by this version' "${good/\"checks\": [/\"checks\": [ { \"id\": \"c\", \"kind\": \"sql\" \},}"
bad "outcomes without one" '/outcomes' "${good/\"seed\": 1,/\"seed\": 1, \"outcomes\": [],}"
bad "an expression that is none" '/checks/0/expr.*ends in the middle' "${good/\"checks\": [/\"checks\": [ { \"id\": \"c\", \"kind\": \"jq\", \"expr\": \".a |\" \},}"
bad "a wrong type" '/seed' "${good/\"seed\": 1/\"seed\": \"one\"}"
bad "files that are no list" '/files' "${good/\"files\": \[ \"a.mjs\" \]/\"files\": \"a.mjs\"}"
bad "a check that names no service of the world" 'nowhere' "${good/\"checks\": [/\"checks\": [ { \"id\": \"c\", \"kind\": \"calls\", \"service\": \"nowhere\" \},}"
bad "no check at all" 'check' "$(sed 's/"checks": \[.*\] }/"checks": [] }/' <<<"$good")"
bad "checks that hold although nothing runs" '[Cc]heck' "$(sed 's/"checks": \[.*\] }/"checks": [ { "id": "never", "kind": "never", "service": "shop" } ] }/' <<<"$good")"
bad "an unknown name in a template" 'sohp' "${good/service.shop.url/service.sohp.url}"
bad "a secret that only env names" 'secret' "${good/\{\{service.shop.url\}\}/{{secret.tpyo\}\}}"
bad "an IP address as host" 'hosts' "${good/shop.internal/10.0.0.1}"
bad "a variable that belongs to the guest" 'PATH' "${good/\"SHOP_URL\"/\"PATH\"}"
bad "text that is not UTF-8" 'UTF-8' "${good/\"test\"/$'"\xff\xfe"'}"
bad "10,000 nested arrays" 'deep|nest|depth' "$(printf '[%.0s' $(seq 10000))"
head -c 104857600 /dev/zero | tr '\0' ' ' >"$tmp/bad/world.json"
refused "a world of 100 MiB" '1048576' "$tmp/bad"
rm "$tmp/bad/world.json"
refused "a folder without a world" 'world\.json' "$tmp/bad"
refused "a world that is not there" 'nowhere' "$tmp/nowhere"
done_testing
