#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The main job: a world in, a verdict and a receipt out.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh
need_namespace

cp -R templates/worlds/refund-agent "$tmp/refund"
run_world "$tmp/refund"
is_run passed 0 "the example world passes"
once=$receipt
is "$(json "$once" 'r.agenttwin')" receipt/1 "the document on stdout is a receipt"
is "$(json "$once" 'r.checks.filter(c => ["exit", "one-refund", "one-call", "no-egress"].includes(c.id)).map(c => c.held)')" "[true,true,true,true]" "all four checks held"
is "$(json "$once" 'r.operations.map(o => [o.route, o.reply.status].join(" ")).join(", ")')" "charge.get 200, refund.create 201" "two operations"
is "$(json "$once" 'r.state.final.payments.refunds.map(x => [x.charge, x.amount].join(" ")).join(", ")')" "ch_1 2100" "one refund in the final state"
is "$(json "$once" 'r.state.initial.payments.refunds.length')" 0 "none in the initial state"
is "$(json "$once" 'r.boundary.opening.proved && r.boundary.closing.proved')" true "the boundary was proved at both ends"
is "$(json "$once" 'r.boundary.probes.every(p => p.verdict === "PASS" || p.verdict === "ABSENT") && r.boundary.probes.length > 8')" true "by probes that all passed"
is "$(json "$once" 'r.boundary.denied_egress.length')" 0 "and nothing tried to get out"
is "$(json "$once" 'r.bundle.files.map(f => f.path).sort()')" '["agent.mjs","order.json"]' "two files entered"
is "$(json "$once" 'r.bundle.files.find(f => f.path === "agent.mjs").sha256')" "$(sha256sum <"$tmp/refund/agent.mjs" | cut -d' ' -f1)" "with their digests"
is "$(json "$once" 'r.runtime.guest.sha256')" "$(sha256sum <"$guest" | cut -d' ' -f1)" "the guest is the one that was built"
is "$(json "$once" 'r.cleanup.confirmed')" true "cleanup confirmed"
like "$(json "$once" 'r.run.id')" '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab]' "the run has a UUIDv7"
unlike "$(cat "$once")" 'at_test_[A-Za-z0-9]{8}' "no credential in the receipt"
stored=$tmp/refund/.agenttwin/receipts/$(json "$once" 'r.run.id').json
ok "the receipt is stored beside the world" cmp -s "$stored" "$once" || diag "$(ls -R "$tmp/refund/.agenttwin" 2>&1)"
is "$(cat "$tmp/refund/.agenttwin/.gitignore" 2>/dev/null)" "*" "in a folder that git ignores"
like "$err" "passed" "stderr says the verdict"
is "$(find "$tmp/refund/.agenttwin" -type f ! -name '*.json' ! -name .gitignore ! -name '*.spool*' ! -name '*.jsonl' | wc -l)" 0 "no temporary file is left"

"$host" run "$tmp/refund" >"$tmp/out" 2>"$tmp/err"
is "$? $(wc -c <"$tmp/out")" "0 0" "without --json stdout stays empty"
run_world "$tmp/refund" --receipt "$tmp/elsewhere.json"
ok "--receipt writes the same document there" cmp -s "$tmp/elsewhere.json" "$receipt"
is "$(json "$receipt" 'r.run.fingerprint')" "$(json "$once" 'r.run.fingerprint')" "a second run has the same fingerprint"
run_world "$tmp/refund" --seed 99
is "$(json "$receipt" 'r.run.seed')" 99 "--seed is taken"
(cd "$tmp/refund" && "$host" run --json >"$tmp/here.json" 2>/dev/null)
is "$? $(json "$tmp/here.json" 'r.status')" "0 passed" "without WORLD the current folder is taken"

run_world "$tmp/refund/refund-twice.world.json"
is_run failed 1 "the program with the bug fails"
is "$(failed_checks)" "$(printf 'one-refund\none-call')" "by the two checks that see it"
like "$err" "one-refund" "stderr names the first"
like "$err" "one-call" "and the second"
like "$err" "the customer must not be paid twice" "and why it matters"
is "$(json "$receipt" 'r.outcome.exit.code')" 0 "although the program itself ended well"
is "$(json "$receipt" 'r.state.final.payments.charges[0].refunded')" 4200 "4200 was paid back"

show=$("$host" receipt show "$receipt" 2>&1)
is "$?" 0 "receipt show reads it"
like "$show" "refund-twice" "it names the world"
like "$show" "failed" "and the status"
like "$show" "one-refund" "and the check"

list=$("$host" check "$tmp/refund" 2>&1)
is "$?" 0 "check accepts the world"
like "$list" "agent\.mjs" "and lists what would enter"
like "$list" "payments\.internal" "and the hosts"
like "$list" "PAYMENTS_KEY" "and the variables"

world "$tmp/none" '"a.mjs"' '"no-such-program"'
echo 'console.log(1);' >"$tmp/none/a.mjs"
run_world "$tmp/none"
like "$(json "$receipt" 'r.status') $status" '^(failed 1|error 4)$' "a program that does not exist is no pass" || explain
like "$(cat "$receipt")$err" "ENOENT|not found|No such file" "and the reason is said"
world "$tmp/sig" '"a.mjs"' '"node", "a.mjs"'
echo 'process.kill(process.pid, "SIGKILL");' >"$tmp/sig/a.mjs"
run_world "$tmp/sig"
is_run failed 1 "a program that dies of a signal fails"
is "$(json "$receipt" '[r.outcome.exit.code, r.outcome.exit.signal]' | grep -Ec '9|KILL')" 1 "and the signal is in the receipt"

for arguments in "" "--no-such-option" "no-such-command" "run --seed x" "run --timeout never" "run --runtime nowhere" "run a b" "receipt" "receipt show"; do
	# shellcheck disable=SC2086 # several arguments on purpose
	"$host" $arguments >"$tmp/out" 2>"$tmp/err"
	is "$? $(wc -c <"$tmp/out")" "2 0" "usage: '$arguments' is refused, and stdout stays empty"
done
like "$("$host" --version)" '[0-9]+\.[0-9]+\.[0-9]+' "--version"
like "$("$host" --help)" 'run' "--help"
like "$("$host" audit)" 'agenttwin' "audit prints the policy"
done_testing
