#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Each denied packet is counted, exactly, by destination, port, protocol and owner.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh
. tests/escape/escape.sh
need_namespace

hostile_env='"TCP": "[[\"203.0.113.1\",81,7],[\"198.51.100.2\",443,3],[\"2001:db8::3\",82,5],[\"169.254.169.254\",80,2]]",'
hostile_env+='"UDP": "[[\"203.0.113.4\",53,11],[\"2001:db8::5\",123,6],[\"8.8.8.8\",53,1]]"'
hostile "$tmp/world" accounting.mjs
run_world "$tmp/world"
is_run passed 0 "denied packets alone fail nothing where no-egress was not asked for"
is "$(json "$receipt" 'r.boundary.denied_egress.map(d => [d.protocol, d.destination, d.port, d.count].join(" ")).sort().join("\n")')" \
	"$(sort <<-'ROWS'
		tcp 203.0.113.1 81 7
		tcp 198.51.100.2 443 3
		tcp 2001:db8::3 82 5
		tcp 169.254.169.254 80 2
		tcp 203.0.113.77 7777 20
		udp 203.0.113.4 53 11
		udp 2001:db8::5 123 6
		udp 8.8.8.8 53 1
	ROWS
	)" "exactly these packets, and no others (no probe of our own either)"
is "$(json "$receipt" '[...new Set(r.boundary.denied_egress.map(d => d.uid))]')" '[1000]' "all owned by the workflow"
is "$(json "$receipt" 'r.boundary.denied_egress.every(d => r.run.started <= d.first && d.first <= d.last && d.last <= r.run.ended)')" true "with times within the run"
is "$(json "$receipt" '[r.boundary.denied.total.workflow, r.boundary.denied.total.postrouting, r.boundary.denied.unrecorded]')" "[55,0,0]" "the kernel's counters agree"
is "$(json "$receipt" 'r.outcome.stdout.tail')" ECONNREFUSED "and refused at once, not dropped"

hostile "$tmp/flood" flood.mjs
run_world "$tmp/flood"
is "$(json "$receipt" 'r.boundary.denied.total.workflow')" 5000 "a flood to 2000 places: the total is exact"
is "$(json "$receipt" 'r.boundary.denied.recorded + r.boundary.denied.unrecorded')" 5000 "and what is not listed is counted as that"
is "$(json "$receipt" 'r.status + " " + r.integrity.truncated.some(t => t.what === "denied")')" "failed true" "a list that was cut says so, and fails within-limits"
done_testing
