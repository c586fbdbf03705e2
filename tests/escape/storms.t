#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A workflow that does one thing as fast as the machine goes: the deadline still holds, the boundary is still verified, nothing
# survives; and what the monitor reads of it cannot be cut, sealed or grown without bound.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh
. tests/escape/escape.sh
need_namespace
need_helper

# program NAME ARGUMENTS [MEMBERS]: the helper itself is the workflow.  ARGUMENTS: the inside of a JSON array.
program() {
	world "$tmp/$1" '"helper"' "\"./helper\", $2" "${3-}" "${4-{ \"id\": \"exit\", \"kind\": \"exit\", \"code\": 0 \}}"
	cp "$tmp/helper" "$tmp/$1/"
	sed -i 's/"workflow": {/"workflow": { "stdin": "text",/' "$tmp/$1/world.json"
	run_world "$tmp/$1"
}
boundary() { json "$receipt" '[r.boundary.opening.proved, r.boundary.closing.proved, r.boundary.denied.total.postrouting, r.cleanup.confirmed]'; }

for storm in parent:60 output:20 busy:200 fork:100 stop:40 packets:8; do
	kind=${storm%:*}
	program "storm-$kind" "\"storm\", \"$kind\", \"${storm#*:}\"" '"limits": { "run_ms": 2000, "grace_ms": 300 },'
	is_run timeout 5 "a storm of $kind ends at the deadline"
	is "$(boundary)" '[true,true,0,true]' "with both verifications, and cleaned up"
	is "$(proc marked "storm $kind")$(proc marked './helper')" "" "nothing of it survives"
done

program adopt '"adopt"'
is_run passed 0 "children that the workflow makes the monitor's own change nothing: not its signals, not the exit"
program kill-all '"kill-all"'
is_run passed 0 "kill(-1) kills no one but the workflow's own"
program packets '"packets", "100000"' '' '{ "id": "exit", "kind": "exit", "code": 0 }, { "id": "no-egress", "kind": "no-egress" }'
is_run failed 1 "100000 packets fail no-egress"
is "$(failed_checks)" no-egress "and nothing else"
is "$(json "$receipt" '[r.boundary.denied.total.workflow, r.boundary.denied.recorded + r.boundary.denied.unrecorded]')" '[100000,100000]' "each is counted"
is "$(json "$receipt" 'r.outcome.stdout.tail.trim()')" 0 "each was refused"

program output '"output"'
is_run passed 0 "a program that tries its streams"
is "$(json "$receipt" 'r.outcome.stderr.tail.trim()')" "$(printf '%s\n' 'written got' 'huge denied' 'huge-reserved denied' \
	'cut denied' 'cut-anew denied' 'seal denied' 'input-write denied' 'input-anew denied' 'input-cut denied')" "only writing is possible"
is "$(json "$receipt" 'r.outcome.stdout.bytes')" 1 "and what it wrote is what arrived"
program grow '"grow"' '"limits": { "output_bytes": 1048576 },'
is_run failed 1 "a stream that is grown past its limit without being written"
is "$(json "$receipt" '[r.outcome.exit.ended_by, r.outcome.stdout.bytes]')" '["output limit",1048576]' "is over the limit"

# Without an inner room, as in a container: the run is ended by uid, and the workflow may stop and starve whoever does that.
if [ "$(id -u)" -eq 0 ] && [ -x "$O/tests/fakehost" ] && unshare -mpniuf true 2>/dev/null; then
	chmod 711 "$tmp" # the helper is started where it lies, by uid 1000
	mkdir "$tmp/app"
	for storm in stop:40 fork:60 parent:40 busy:100; do
		kind=${storm%:*}
		out=$(timeout 90 "$O/tests/fakehost" --app "$tmp/app" --env PATH=/usr/bin:/bin --run-ms 1500 --grace-ms 300 --file a:b -- \
			unshare -mpniuf tests/lib/guestbox.sh "$tmp/app" setpriv --bounding-set=-sys_admin "$guest" run -- \
			"$tmp/helper" storm "$kind" "${storm#*:}" 2>&1)
		like "$out" '^EXIT code=-1 signal=9 .*ended_by=run deadline' "no room: a storm of $kind ends at the deadline"
		like "$out" '^END result=4$' "and the guest comes to its end"
		is "$(proc marked "storm $kind")" "" "nothing of it survives"
	done
else
	skip "no room" "not root, or no $O/tests/fakehost: make tests"
fi
done_testing
