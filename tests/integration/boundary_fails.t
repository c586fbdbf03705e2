#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# If any step of the boundary fails the workflow never starts: each netlink call of the guest fails in turn, and the kernel
# seems to lack what it needs.  The programs are the real ones, but for a guest whose netlink fails as a file of the world says.
# The short form takes every 7th call of the installation and every 23rd of the rest, AGENTTWIN_LONG=1 each.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh
need_namespace
host=$O/tests/agenttwin-host-faulty
[ -x "$host" ] || skip_all "$host is not built: run make tests"

world "$tmp/w" '"a.mjs", "fail.txt"' '"node", "a.mjs"'
# the marker: one operation, and one line
cat >"$tmp/w/a.mjs" <<'E2'
await fetch(`${process.env.SHOP_URL}/items`).then((r) => r.text());
console.log('WORKFLOW-RAN');
E2
faulty() { # WORDS of fail.txt
	echo "$1" >"$tmp/w/fail.txt"
	run_world "$tmp/w"
}
boundary() { json "$receipt" "(b => $1)(r.boundary)"; }
marked() { grep -q -e WORKFLOW-RAN -e '"operations": *\[ *{' "$receipt"; }

# ---- what the kernel lacks ----
faulty none
is_run passed 0 "nothing is missing: it works"
ok "and the marker appears" marked
works() { # HIDDEN PARAMS: what the receipt says of both locks
	local f=${2%% *}
	faulty "hide $1"
	is_run passed 0 "without $1: passed"
	is "$(boundary 'b.locks.map(l => [l.params.family, l.params.reject, l.params.log].join(" ")).join("; ")')" "$2; $2" "without $1: the receipt says what was done instead"
	like "$(boundary 'b.locks.map(l => l.binding.text).join("")')" "^family ${f/+/[+]}\$" "without $1: and so does the binding"
}
works inet "ip+ip6 true true"
works reject "inet false true"
works log "inet true false"
works ct "inet true true"
works inet,reject,log "ip+ip6 false false"
unlike "$(boundary 'b.locks.map(l => l.text).join("")')" 'reject with|log group' "without reject and log neither is in the rules"
never() { # NAME STEP ERRNO
	is "$status" 3 "$1: exit 3" || explain
	is "$(json "$receipt" 'r.status + " " + r.cleanup.confirmed')" "aborted true" "$1: aborted, cleaned up"
	is "$(boundary '[b.opening.failure.step, b.opening.failure.errno, b.opening.proved].join(" ")')" "$2 $3 false" "$1: the receipt says which step and errno"
	like "$(json "$receipt" r.why)" "firewall step $2: $3" "$1: and so does why"
	like "$err" "$3" "$1: and standard error"
	ok "$1: the workflow never started" eval '! marked'
}
faulty 'hide inet,ip6'
never "IPv6 but no ip6 tables" features EOPNOTSUPP
faulty 'hide inet,ip4'
never "neither inet nor ip" features EOPNOTSUPP
# EIO is no answer that a way around exists for.  EPERM is what a missing capability answers.
faulty 'call 0 1'
never "no permission at the first call" net.lo EPERM

# ---- each call in turn ----
# One line a run: the status, whether the workflow may have run (both proofs must then be there, or the run ends in exit 3), and why.
judge() {
	json "$receipt" '(b => { const f = (b.opening || {}).failure || (b.closing || {}).failure || b.changed || {};
		return [r.status, r.cleanup.confirmed, !!(b.opening && b.opening.proved), !!(b.closing && b.closing.proved), f.step || "-", f.errno || "-"].join(" ") })(r.boundary || {})'
}
step=${AGENTTWIN_LONG:+1}
step=${step:-23}
n=0 bad=0 opening=0 later=0 passes=0 steps=
while [ "$passes" -lt 3 ] && [ "$n" -lt 5000 ]; do
	faulty "call $n 5"
	got="$status $(judge)"
	case $got in
	"3 aborted true false false "[a-z]*" EIO")
		opening=$((opening + 1))
		passes=0
		! marked || { bad=$((bad + 1)); diag "call $n: a marker without a proof"; }
		;;
	"3 aborted true true false "[a-z]*" EIO")
		later=$((later + 1))
		passes=0
		;;
	"0 passed true true true - -") passes=$((passes + 1)) ;; # beyond the last call
	*)
		bad=$((bad + 1))
		diag "call $n: $got"
		explain
		;;
	esac
	steps+=" $(cut -d' ' -f6 <<<"$got")"
	n=$((n + (n < 140 && step > 7 ? 7 : step)))
done
is "$bad" 0 "each netlink call that fails ends the run with exit 3, a step and an errno; no marker without a proof"
ok "$opening calls before the workflow, $later while it ran and in the closing verification" test "$opening" -ge $((300 / step)) -a "$later" -ge $((100 / step))
for want in net.lo net.veth net.address readback prove ${AGENTTWIN_LONG:+net.routes net.observe log install watch closing}; do
	like "$steps" "(^| )$want( |\$)" "step $want was among them"
done
done_testing
