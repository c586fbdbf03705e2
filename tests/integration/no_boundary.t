#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Where the boundary cannot be made the workflow never starts, and a receipt says why; no pass or fail without both proofs.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh
need_namespace

world "$tmp/marker" '"a.mjs"' '"node", "a.mjs"'
# the marker: one operation, and one line
cat >"$tmp/marker/a.mjs" <<'E2'
await fetch(`${process.env.SHOP_URL}/items`).then((r) => r.text());
console.log('WORKFLOW-RAN');
E2
run_world "$tmp/marker"
is_run passed 0 "here it works"
is "$(json "$receipt" 'r.operations.length + " " + r.outcome.stdout.tail.trim()')" "1 WORKFLOW-RAN" "and the marker appears"
never_started() { # NAME
	like "$status" '^[34]$' "$1: exit 3 or 4" || explain
	ok "$1: there is a receipt" test -s "$receipt"
	like "$(json "$receipt" 'r.status')" '^(aborted|error)$' "$1: aborted or error"
	is "$(json "$receipt" '(r.operations || []).length')" 0 "$1: no operation"
	is "$(grep -c WORKFLOW-RAN "$receipt")" 0 "$1: no output"
	like "$err" '[a-z]{3}' "$1: and a message"
}
within() { # COMMAND PREFIX...: runs the world under it
	run_count=$((run_count + 1))
	receipt=$tmp/receipt-$run_count.json
	"$@" "$host" run --json "$tmp/marker" >"$receipt" 2>"$tmp/err"
	status=$?
	err=$(cat "$tmp/err")
}
# Namespaces are forbidden by a limit, one kind at a time, within a user namespace of our own.
export host
for kind in user net pid mnt ipc; do
	# shellcheck disable=SC2016 # expanded by the inner shell
	within unshare --user --map-root-user sh -c 'echo 0 >/proc/sys/user/max_'$kind'_namespaces && exec "$@"' -
	never_started "no new $kind namespaces"
done
if [ "$(id -u)" -eq 0 ]; then
	within setpriv --bounding-set=-all --inh-caps=-all
	never_started "root without capabilities"
	within setpriv --bounding-set=-net_admin
	like "$status $(json "$receipt" 'r.status')" '^(0 passed|[34] (aborted|error))$' "root without NET_ADMIN: works in its own namespace, or not at all"
fi

# Kernel answers that fail, injected one by one into the calls that speak netlink and make namespaces.
if ! command -v strace >/dev/null || ! strace -f -o /dev/null true 2>/dev/null; then
	skip "injected failures" "strace does not work here"
	done_testing
fi
consistent() { # NAME: exit 0 and 1 only with both proofs; never a marker without the first proof
	local got
	got=$(json "$receipt" '[r.status, !!(r.boundary.opening && r.boundary.opening.proved), !!(r.boundary.closing && r.boundary.closing.proved),
		JSON.stringify(r).includes("WORKFLOW-RAN")].join(" ")' 2>/dev/null)
	like "$status $got" '^(0 passed true true true|1 failed true true (true|false)|[345] (aborted|error|timeout) (true|false) (true|false) (true|false)|2 |4 )' "$1: $status $got" || explain
	unlike "$got" '^[a-z]+ false [a-z]+ true$' "$1: no marker without a proof"
}
for rule in sendto:error=ENOBUFS sendto:error=EPERM sendmsg:error=EOPNOTSUPP recvmsg:error=ENOBUFS socket:error=EPROTONOSUPPORT \
	unshare:error=ENOSPC seccomp:error=EINVAL setresuid:error=EAGAIN prctl:error=EPERM mount:error=EPERM; do
	for when in 1 3${AGENTTWIN_LONG:+ 2 4 5 6 7 8 9 10 12 15}; do
		within strace -f -qq -o /dev/null -e "inject=$rule:when=$when"
		consistent "${rule/:error=/ fails with }, call $when of each process"
	done
done
done_testing
