#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every attempt of attempts.tsv as a workflow, and again without the boundary (control.sh): inside it must fail as the table says and
# be explained by the receipt; outside it must have an effect, so that this test can fail.  Where no control on this machine shows
# an effect, it is skipped with what the control said.  ESCAPE_TABLE names a file for the table that `make escape` prints.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh
. tests/escape/escape.sh
need_namespace
need_helper
if [ "$(id -u)" -ne 0 ] || ! unshare -mnpiuf true 2>/dev/null; then skip_all "the controls need root"; fi
for program in ip setpriv nsenter perl; do command -v "$program" >/dev/null || skip_all "no $program"; done
need_hostile

mkdir -m 755 "$tmp/programs" "$tmp/controls"
cp "$tmp/hostile" "$tmp/helper" tests/escape/hostile.mjs "$tmp/programs/"
ok "the controls were made" timeout -k 5 120 unshare -mnpiuf --kill-child "$PWD/tests/escape/control.sh" "$tmp/programs" "$tmp/controls" 2>"$tmp/control.err" ||
	diag "$(tail -n 5 "$tmp/control.err")"

# Listeners of the machine itself for the workflow to look for.
perl -MSocket -e '
	socket(my $s, PF_UNIX, SOCK_STREAM, 0) or die; bind($s, pack_sockaddr_un("\0agenttwin-$$")) or die; listen($s, 5);
	socket(my $t, PF_UNIX, SOCK_STREAM, 0) or die; bind($t, pack_sockaddr_un($ARGV[0])) or die; listen($t, 5); chmod 0777, $ARGV[0];
	sleep 600' "$tmp/socket" &
listener=$!
stop_later "$listener"
wait_for 5 test -S "$tmp/socket" || bail_out "the listener did not start"
hostile_env="\"HOST_ABSTRACT\": \"agenttwin-$listener\", \"HOST_SOCKET\": \"$tmp/socket\""
hostile "$tmp/world" hostile.mjs '"limits": { "disk_mb": 64, "pids": 64, "files": 256, "run_ms": 60000 },'
cp "$tmp/hostile" "$tmp/world/"
sed -i 's/"files": \[ /&"hostile", /' "$tmp/world/world.json"
run_world "$tmp/world"
# The floods reach the process limit, which a control group counts where there is one; nothing else may be wrong.
like "$status $(json "$receipt" 'r.status + " " + r.checks.filter((c) => !c.held).map((c) => c.id + ": " + c.actual).join("; ")')" \
	'^(0 passed |1 failed within-limits: process limit of 64 reached: [0-9]+ not started)$' "the run itself is sound" || explain
is "$(json "$receipt" '[r.boundary.opening.proved, r.boundary.closing.proved, r.boundary.denied.total.postrouting, r.boundary.denied.unrecorded]')" \
	'[true,true,0,0]' "the boundary stood at both ends, nothing got past its first chain, each packet has a record"
for kind in child session double-fork clone-parent fork-storm vfork-storm; do
	if ! grep -qx "survive-$kind 0" "$tmp/controls/user-survive"; then
		skip "surviving the kill: $kind" "it does not survive without the boundary either"
	else
		is "$(grep -lzx "$kind" /proc/[0-9]*/cmdline 2>/dev/null)" "" "surviving the kill: $kind: gone, without the boundary it stays"
	fi
done
is "$(json "$receipt" 'r.cleanup.confirmed')" true "and the receipt says so"

node tests/escape/compare.mjs tests/escape/attempts.tsv "$receipt" "$tmp/controls" ${ESCAPE_TABLE:+"$ESCAPE_TABLE"} >"$tmp/verdicts" ||
	fail "the comparison came to its end"
while IFS=$'\t' read -r verdict text; do
	case $verdict in
	pass) pass "$text" ;;
	fail) fail "$text" ;;
	skip) skip "${text%, without the boundary *}" "no effect without the boundary either: ${text##*, without the boundary }" ;;
	count) ok "at least 80 attempts have an effect without the boundary ($text)" test "$text" -ge 80 ;;
	*) fail "$verdict" ;;
	esac
done <"$tmp/verdicts"
done_testing
