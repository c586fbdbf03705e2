#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2317 # functions called by wait_for and trap
# A run that does not end is ended: the whole tree, even when it ignores SIGTERM and has hidden in another session.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh
need_namespace

mark=agenttwin-timeout-$$-$RANDOM
world "$tmp/stubborn" '"stubborn.mjs"' "\"node\", \"stubborn.mjs\", \"$mark\"" '"limits": { "run_ms": 3000, "grace_ms": 300 },'
cp tests/integration/programs/stubborn.mjs "$tmp/stubborn/"
both_run() { [ "$(proc marked "$mark" | wc -l)" -ge 2 ]; }
start_world "$tmp/stubborn"
wait_for 20 both_run || diag "the grandchild was not seen"
proc tree "$pid" >"$tmp/tree"
end_world
is_run timeout 5 "run_ms ends it"
ok "the whole tree is gone" none_alive "$tmp/tree"
ok "and so is the grandchild" none_marked "$mark"
is "$(json "$receipt" 'r.cleanup.confirmed')" true "cleanup confirmed"
like "$(json "$receipt" 'r.outcome.stdout.tail')" WORKFLOW-RAN "what it printed is in the receipt"
is "$(json "$receipt" 'r.boundary.closing && r.boundary.closing.proved')" true "the boundary was verified at the end all the same"

run_world "$tmp/stubborn" --timeout 1s
is_run timeout 5 "--timeout beats run_ms"
is "$(json "$receipt" 'r.runtime.limits.asked.run_ms')" 1000 "the receipt says which limit it was"

# The program ends by itself and leaves a process that holds its output open.
world "$tmp/leaver" '"stubborn.mjs"' "\"node\", \"stubborn.mjs\", \"$mark\", \"exit\""
cp tests/integration/programs/stubborn.mjs "$tmp/leaver/"
run_world "$tmp/leaver"
is_run passed 0 "a process left behind does not keep the run"
ok "it is gone" none_marked "$mark"
is "$(json "$receipt" 'r.outcome.exit.pipe_held')" true "and the receipt tells of it"
done_testing
