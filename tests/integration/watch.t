#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# watch.t - someone changes the firewall, an address or a route while the workflow runs: the run is aborted, whatever it was
# and even if it was put back.  A table of someone else is recorded.  Root only: it enters the guest's namespaces.
# shellcheck disable=SC2016 # what stands in single quotes is expanded by another shell
. tests/lib/tap.sh
. tests/lib/agenttwin.sh
[ "$(id -u)" -eq 0 ] || skip_all "needs root, to enter the run's namespaces"
for program in nft ip nsenter; do
	command -v "$program" >/dev/null || skip_all "needs $program"
done
need_namespace

world "$tmp/w" '"a.mjs"' '"node", "a.mjs"'
cat >"$tmp/w/a.mjs" <<'E2'
await fetch(`${process.env.SHOP_URL}/items`).then((r) => r.text());
await new Promise((r) => setTimeout(r, 2500));
console.log('WORKFLOW-ENDED');
E2
# The inner namespace is the workflow's; the outer one that of the guest, which makes the inner one.  Both lie below the
# process that the lease names.
# shellcheck disable=SC2317 # called through wait_for
entered() {
	local lease p name net inner_id guests=
	lease=$(grep -l "^host_pid $pid\$" /run/agenttwin/leases/*.lease 2>/dev/null) || return 1
	inner='' outer=''
	for p in $(proc tree "$(sed -n 's/^id //p' "$lease")" | sed 's/:.*//'); do
		name=$(cat "/proc/$p/comm" 2>/dev/null)
		net=$(readlink "/proc/$p/ns/net") || continue
		[[ $name != node* ]] || inner=/proc/$p/ns/net inner_id=$net
		[[ $name != memfd:* ]] || guests+=" $p"
	done
	[ -n "$inner" ] || return 1
	for p in $guests; do
		[ "$(readlink "/proc/$p/ns/net")" = "$inner_id" ] || outer=/proc/$p/ns/net
	done
	nsenter --net="$inner" nft list table inet agenttwin >/dev/null 2>&1 && nsenter --net="$outer" nft list table inet agenttwin >/dev/null 2>&1
}
export tmp
during() { # LOCK COMMAND: a run during which the command is run in the namespace of that lock
	local lock
	start_world "$tmp/w"
	wait_for 20 entered || { kill -TERM "$pid" 2>/dev/null; end_world; fail "the run's namespaces can be entered"; explain; return 1; }
	lock=$inner
	[ "$1" = inner ] || lock=$outer
	nsenter --net="$lock" sh -c "$2" >"$tmp/helper" 2>&1 || diag "the helper failed: $(cat "$tmp/helper")"
	end_world
}
lost() { # NAME LOCK COMMAND
	during "$2" "$3" || return
	is_run aborted 3 "$1 ($2): aborted, exit 3"
	is "$(json "$receipt" '[r.boundary.opening.proved, !!(r.boundary.closing && r.boundary.closing.proved), (r.boundary.changed || {}).step, (r.boundary.changed || {}).errno].join(" ")')" \
		"true false watch EPERM" "$1 ($2): the receipt says that it changed during the run"
	unlike "$(json "$receipt" 'r.outcome.stdout.tail')" ENDED "$1 ($2): the workflow did not live on"
	is "$(json "$receipt" r.cleanup.confirmed)" true "$1 ($2): cleaned up"
}
for lock in inner outer; do
	lost "a rule deleted" $lock 'nft delete rule inet agenttwin postrouting handle "$(nft -a list chain inet agenttwin postrouting | sed -n "s/.*group 7 drop # handle //p")"'
	lost "the table flushed" $lock 'nft flush table inet agenttwin'
	lost "dormant" $lock 'nft add table inet agenttwin "{ flags dormant; }"'
	lost "swapped and restored" $lock 'nft -s list table inet agenttwin >"$tmp/rs" && nft delete table inet agenttwin && nft -f "$tmp/rs"'
done
lost "a rule added and deleted" inner 'nft add rule inet agenttwin input accept; nft delete rule inet agenttwin input handle "$(nft -a list chain inet agenttwin input | sed -n "s/^[[:space:]]*accept # handle //p")"'
lost "the whole ruleset flushed" outer 'nft flush ruleset'
lost "an address added" inner 'ip addr add 192.0.2.77/32 dev atw0'
lost "a route added" inner 'ip route add 192.0.2.0/24 dev atw0'
lost "a device added" inner 'ip link add other type veth'
passes() { # NAME LOCK COMMAND CHANGES
	during "$2" "$3" || return
	is_run passed 0 "$1 ($2): passed"
	is "$(json "$receipt" "r.boundary.closing.locks.find((l) => l.kind === '$2').foreign_changes")" "$4" "$1 ($2): recorded"
	is "$(json "$receipt" 'r.boundary.closing.proved')" true "$1 ($2): proved again at the end"
}
foreign='nft add table ip other; nft add chain ip other c "{ type nat hook output priority -100; }"'
passes "a table of someone else" inner "$foreign" 2
passes "a table of someone else" outer "$foreign" 2
passes "an address added" outer 'ip addr add 192.0.2.77/32 dev atw0' 0
done_testing
