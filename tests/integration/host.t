#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# host.t - `run` and `receipt show` as a user meets them, against a played guest (tests/unit/test_host.c with arguments is
# agenttwin-host with that guest in place of every backend).
O=${O:-build}
host=$PWD/$O/tests/unit/test_host
if [ ! -x "$host" ]; then
	echo "1..0 # SKIP $O/tests/unit/test_host is not built"
	exit 0
fi
n=0
dir=$(mktemp -d "${TMPDIR:-/tmp}/host t.XXXXXX") || exit 1
pid=
trap '[ -z "$pid" ] || kill -9 "$pid" 2>/dev/null; rm -rf "$dir"' EXIT
cd "$dir" || exit 1

ok() { # STATUS NAME
	n=$((n + 1))
	if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; sed 's/^/# /' err 2>/dev/null | head -n 12; fi
}
skip() { n=$((n + 1)); echo "ok $n # SKIP $1"; }
is() { [ "$1" = "$2" ]; ok $? "$3 ($1)"; }
has() { grep -qF -- "$2" "$1"; ok $? "$3"; }
run() { # SCRIPT ARGS...: exit status in $status
	FAKEGUEST=$1 "$host" run "${@:2}" >out 2>err
	status=$?
}
latest() { find .agenttwin/receipts -name '*-*.json' 2>/dev/null | sort | tail -n 1; }

cat >a.mjs <<'EOF'
console.log('done');
EOF
cat >world.json <<'EOF'
{ "agenttwin": "world/1", "name": "refund-once", "seed": 4211, "files": ["a.mjs"],
  "env": { "PAYMENTS_URL": "{{service.payments.url}}", "PAYMENTS_KEY": "{{secret.payments}}" },
  "services": [ { "name": "payments", "kind": "http", "hosts": ["payments.internal"],
    "auth": { "scheme": "bearer", "accept": "{{secret.payments}}" },
    "state": { "charges": [ { "id": "ch_1", "refunded": 0 } ], "refunds": [] },
    "routes": [ { "id": "refund.create", "match": { "method": "POST", "path": "/refunds" },
      "do": [ { "create": "refunds", "row": { "charge": "ch_1" }, "as": "refund" } ],
      "reply": { "status": 201, "body": "{{refund}}" } } ] } ],
  "workflow": { "command": ["node", "a.mjs"], "ends": { "exit": true } },
  "checks": [ { "id": "exit", "kind": "exit", "code": 0 },
    { "id": "one-refund", "kind": "state", "service": "payments", "path": "/refunds", "count": 1, "because": "once is enough" },
    { "id": "no-egress", "kind": "no-egress" } ] }
EOF

run ok
is "$status" 0 "a run that passes"
[ ! -s out ]; ok $? "without --json standard output is empty"
has err "passed" "the verdict is on stderr"
has err "boundary" "and a line for each phase"
has .agenttwin/.gitignore "*" "the folder ignores itself"
[ "$(stat -c %a "$(latest | sed 's/json$/events.jsonl/')")" = 600 ]; ok $? "the event file has mode 0600"
[ -z "$(find .agenttwin -name '*.tmp')" ]; ok $? "no temporary file is left"

run ok -q --json
is "$(grep -c phase err)" 0 "quiet"
cmp -s out "$(latest)"; ok $? "--json prints the very receipt"

run refund-twice
is "$status" 1 "a check that fails"
has err "  one-refund: once is enough" "it is explained: why the check stands there"
has err "    expected  payments /refunds counts 1" "what was expected"
has err "    actual    it counts 2  (/state/final/payments/refunds" "and what was"

run ok --receipt "r 1.json"
is "$status" 0 "--receipt"
[ -s "r 1.json" ] && [ -s "r 1.json.events.jsonl" ]; ok $? "both files are where they were asked for"
run ok --receipt nowhere/r.json
is "$status" 2 "a folder that is not there: nothing runs"

for args in --sede=1 "--runtime docker" "--runtime moon" "--seed x" "--timeout 5" "--timeout 0s" "--seed" "a b" "--repeat 0" "--seeds 5..4" "--sweep" "--repeat 2 --seeds 2" "--reproduce r.json --seed 1" "--no-snapshot"; do
	# shellcheck disable=SC2086
	run ok $args
	is "$status" 2 "usage: $args"
done
run ok --sede=1
has err "did you mean --seed?" "the nearest option is named"
run ok missing.json
is "$status" 2 "no such world"
run ok --seed 7 --timeout 3s
is "$status" 0 "--seed and --timeout"
has "$(latest)" '"seed": 7' "the receipt has the seed"
has "$(latest)" '"run_ms": 3000' "and the time"
has "$(latest)" '"reproduce": "agenttwin-host run --reproduce ' "and how to do it again"

run ok --repeat 3
is "$status" 0 "three runs that pass"
has err "reproduced: 3 runs with the fingerprint" "and are alike"
[ ! -s out ]; ok $? "standard output is empty"
run refund-twice --repeat 2 --json -q
is "$status" 1 "two runs that fail"
has out '"agenttwin": "series/1"' "a summary as JSON"
has err "reproduced: 2 runs" "they are alike all the same"
run start-fails --seeds 1..3
is "$status" 4 "a sweep of errors"
has err "  error      3 runs: seeds 1-3" "goes on to its end"
run opening-unproved --seeds 1..3
is "$status" 3 "a boundary that fails"
has err "refund-once: 1 of 3 runs" "ends it"
run hang --timeout 1s --repeat 2
is "$status" 5 "runs that time out"
has err "  timeout    2 runs" "are told"
grep -q "reproduced" err; is "$?" 1 "and not compared"

run hang --timeout 1s -q
is "$status" 5 "a guest that does not end the workflow in time"
has "$(latest)" '"status": "timeout"' "the receipt says timeout"

# A signal at any moment: never 0, always a receipt that says so, unless the run had ended before.
bad=0
for delay in 0.06 0.08 0.1 0.15 0.3; do
	for sig in INT TERM HUP; do
		rm -rf .agenttwin
		# a background command of a script ignores SIGINT until it says otherwise
		FAKEGUEST=hang env --default-signal=INT "$host" run -q >out 2>err &
		pid=$!
		sleep "$delay"
		kill "-$sig" "$pid" 2>/dev/null
		wait "$pid"
		status=$?
		pid=
		case $sig:$status in
		INT:130 | TERM:143 | HUP:143) ;;
		HUP:129) [ -z "$(latest)" ] || bad=$((bad + 1)) ;; # below
		*) bad=$((bad + 1)); echo "# $sig after $delay s: exit $status" ;;
		esac
		# Before the handlers stand, the signal ends the program itself and nothing has run.
		[ -z "$(latest)" ] || grep -q '"status": "cancelled"' "$(latest)" || bad=$((bad + 1))
	done
done
is "$bad" 0 "SIGINT, SIGTERM and SIGHUP at many moments"

"$host" receipt show >out 2>err; is "$?" 0 "receipt show"
has out "cancelled" "it shows the status"
COLUMNS=44 "$host" receipt show latest >out 2>err
[ "$(awk '{ if (length($0) > m) m = length($0) } END { print m }' out)" -le 44 ]; ok $? "and fits a narrow terminal"
"$host" receipt show "$(basename "$(latest)" .json)" >out 2>err; is "$?" 0 "by the run's id"
(cd / && "$host" receipt show "$OLDPWD") >out 2>err; is "$?" 0 "by a folder"
has out "cancelled" "its latest"
"$host" receipt show .agenttwin/receipts >out 2>err; is "$?" 0 "by the folder of receipts itself"
mkdir empty; "$host" receipt show empty >out 2>err; is "$?" 2 "a folder without receipts"
"$host" receipt show world.json >out 2>err; is "$?" 2 "what is not a receipt"
"$host" receipt show none >out 2>err; is "$?" 2 "no such receipt"
"$host" receipt shwo >out 2>err; is "$?" 2 "no such command"

if [ "$(id -u)" = 0 ]; then
	rm -rf .agenttwin
	SUDO_UID=12345 SUDO_GID=12346 run ok
	is "$(find .agenttwin ! -uid 12345 | wc -l)" 0 "under sudo everything belongs to the user"
	if unshare -m true 2>/dev/null; then
		mkdir small
		# shellcheck disable=SC2016
		FAKEGUEST=ok unshare -m sh -c 'mount -t tmpfs -o size=16k tmpfs small && exec "$0" run --receipt small/r.json' "$host" >out 2>err
		is "$?" 4 "a full disk is an error"
		# shellcheck disable=SC2016
		XDG_STATE_HOME="$dir/state" FAKEGUEST=ok unshare -m sh -c 'rm -rf .agenttwin; mount --bind . . && mount -o remount,ro,bind . && cd "$PWD" &&
			mount -t tmpfs tmpfs small && XDG_STATE_HOME="$PWD/small/state" && export XDG_STATE_HOME && "$0" run; s=$?; ls small/state/agenttwin/*-*.json && exit $s' "$host" >out 2>err
		is "$?" 0 "a folder that cannot be written: the state folder takes the receipt"
	else
		skip "no mount namespace"
		skip "no mount namespace"
	fi
else
	skip "not root"
	skip "not root"
	skip "not root"
fi
echo "1..$n"
