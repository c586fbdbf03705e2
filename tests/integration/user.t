#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2317 # functions called by wait_for and trap
# As an ordinary user: with subordinate ids it works like as root; without them it is refused.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh
need_namespace
[ "$(id -u)" -eq 0 ] || skip_all "only root can make users for this; every other test ran as the ordinary user you are"
command -v useradd >/dev/null || skip_all "no useradd"
command -v newuidmap >/dev/null || skip_all "uidmap is not installed"

with=atwin-w$$ without=atwin-o$$
remove_users() {
	userdel "$with" 2>/dev/null
	userdel "$without" 2>/dev/null
	tap_end
}
trap remove_users EXIT
useradd --no-create-home --home-dir "$tmp/home-w" --shell /bin/sh "$with" || bail_out "useradd failed"
useradd --no-create-home --home-dir "$tmp/home-o" --shell /bin/sh "$without" || bail_out "useradd failed"
first=$((800000000 + $$ % 1000 * 65536))
usermod --add-subuids $first-$((first + 65535)) --add-subgids $first-$((first + 65535)) "$with"
sed -i "/^$without:/d" /etc/subuid /etc/subgid
cp "$host" "$tmp/agenttwin-host"
chmod 755 "$tmp/agenttwin-host"
for user in "$with" "$without"; do
	home=$tmp/home-${user:6:1}
	mkdir "$home"
	cp -R templates/worlds/refund-agent "$home/world"
	chown -R "$user": "$home"
done
as() { # USER COMMAND...
	local user=$1
	shift
	(cd / && setpriv --reuid "$user" --regid "$user" --init-groups env -i HOME="$(getent passwd "$user" | cut -d: -f6)" \
		USER="$user" PATH="$PATH" TMPDIR=/tmp "$@")
}
as "$with" "$tmp/agenttwin-host" run --json "$tmp/home-w/world" >"$tmp/receipt.json" 2>"$tmp/err"
status=$? receipt=$tmp/receipt.json err=$(cat "$tmp/err")
is_run passed 0 "with subordinate ids the example passes"
is "$(json "$receipt" 'r.boundary.opening.proved && r.boundary.closing.proved')" true "the boundary is proved"
is "$(json "$receipt" 'r.boundary.drop.uid')" 1000 "the workflow has a uid of its own"
is "$(json "$receipt" 'r.boundary.locks.length')" 2 "both locks"
is "$(json "$receipt" 'r.cleanup.confirmed')" true "cleanup confirmed"
as "$with" "$tmp/agenttwin-host" run "$tmp/home-w/world/refund-twice.world.json" >/dev/null 2>&1
is "$?" 1 "and the program with the bug fails"
world "$tmp/home-w/https" '"a.mjs"' '"node", "a.mjs"'
sed -i 's/"shop.internal" ],/& "tls": true,/' "$tmp/home-w/https/world.json"
cat >"$tmp/home-w/https/a.mjs" <<'CA'
import fs from 'node:fs';
try { fs.writeFileSync(process.env.NODE_EXTRA_CA_CERTS, ''); } catch (e) { console.log(e.code, (await fetch(process.env.SHOP_URL + '/items')).status); }
CA
chown -R "$with": "$tmp/home-w/https"
as "$with" "$tmp/agenttwin-host" run --json "$tmp/home-w/https" >"$tmp/receipt-t.json" 2>"$tmp/err"
status=$? receipt=$tmp/receipt-t.json err=$(cat "$tmp/err")
is_run passed 0 "https works too"
is "$(json "$receipt" 'r.outcome.stdout.tail.trim()')" "EACCES 200" "with an authority that the workflow cannot change"
as "$with" "$tmp/agenttwin-host" doctor --runtime namespace >"$tmp/doctor" 2>&1
is "$?" 0 "doctor agrees" || diag "$(cat "$tmp/doctor")"
as "$with" "$tmp/agenttwin-host" reap >/dev/null 2>&1
is "$?" 0 "reap works"

as "$without" "$tmp/agenttwin-host" run --json "$tmp/home-o/world" >"$tmp/receipt-o.json" 2>"$tmp/err"
status=$? receipt=$tmp/receipt-o.json err=$(cat "$tmp/err")
is "$status" 4 "without subordinate ids: exit 4" || explain
like "$err" 'uidmap|subuid' "with the way out"
if [ -s "$receipt" ]; then is "$(json "$receipt" 'r.status + " " + r.operations.length')" "error 0" "the receipt says error, and nothing ran"; fi
as "$without" "$tmp/agenttwin-host" doctor --runtime namespace >"$tmp/doctor" 2>&1
is "$?" 4 "doctor says it does not work"
like "$(cat "$tmp/doctor")" 'uidmap|subuid' "and why"
done_testing
