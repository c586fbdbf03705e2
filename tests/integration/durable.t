#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A receipt, signed, is there as a whole or not at all: on a full disk at every place where it may end, in a folder that cannot
# be written, and when stdout takes nothing.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh
need_namespace
unshare -m true 2>/dev/null || skip_all "no mount namespace can be made here"

world "$tmp/many" '"many.mjs"' '"node", "many.mjs"'
cat >"$tmp/many/many.mjs" <<'M'
for (let i = 0; i < 100; i++)
	await (await fetch(process.env.SHOP_URL + "/items")).text();
M
"$host" key new "$tmp/key" >/dev/null 2>&1 || bail_out "no key"
export AGENTTWIN_SIGNING_KEY="$tmp/key"
mkdir "$tmp/disk"

# on_disk OPTIONS: exit status, what stands in the receipt, whether a temporary file is left
cat >"$tmp/on_disk" <<'D'
mount -t tmpfs -o "$1" tmpfs "$tmp/disk" || exit 9
"$host" run "$tmp/many" --receipt "$tmp/disk/r.json" >/dev/null 2>"$tmp/err"
status=$?
what=none
[ ! -e "$tmp/disk/r.json" ] || what=$(node "$lib/json.mjs" "$tmp/disk/r.json" '[r.status, !!r.integrity.signature].join()' 2>/dev/null) || what=half
echo "$status $what $(find "$tmp/disk" -name '.*' | wc -l)"
umount "$tmp/disk"
D
export tmp host lib
on_disk() { unshare -m bash "$tmp/on_disk" "$1"; }

for size in 4 16 48 80 96 112 128 144 160; do
	text=$(on_disk "size=${size}k")
	like "$text" '^(4 none 0|0 passed,true 0)$' "a disk of $size KiB: $text"
	[ "${text%% *}" = 0 ] || like "$(cat "$tmp/err")" 'No space left on device' "and that is said"
done
is "$(on_disk size=4m)" "0 passed,true 0" "one with room enough"
is "$(on_disk ro)" "2 none 0" "a folder that is read-only: nothing runs"
"$host" run --json "$tmp/many" --receipt "$tmp/r.json" >/dev/full 2>"$tmp/err"
is "$?" 4 "stdout that takes nothing"
like "$(cat "$tmp/err")" 'stdout: No space left on device' "and that is said"
done_testing
