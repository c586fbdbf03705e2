#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The workflow cannot stop, starve or imitate the processes that watch it: its bytes are bytes, whatever they look like.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh
. tests/escape/escape.sh
need_namespace
need_helper

hostile "$tmp/world" monitor.mjs
run_world "$tmp/world"
is_run failed 1 "the workflow's exit status counts, not the frames it printed"
is "$(failed_checks)" exit "the exit check alone fails"
is "$(json "$receipt" 'r.outcome.exit.code')" 7 "with the status it had"
read_attempts
works helper-monitor-ran monitor-done others-visible bind-own
denied stop-1 kill-1 prlimit-1 setpriority-1 write-to-foreign-descriptors inherited-descriptors
while read -r name; do denied "$name"; done < <(awk '/^(stop|kill|prlimit|setpriority|node-kill)-[0-9]/ && !/-1 / { print $1 }' <<<"$attempts")
denied bind-twin-port bind-any-80 bind-any6-80 bind-443 bind-dns
said=$(json "$receipt" 'r.outcome.stderr.tail')
is "$(json "$receipt" '[r.outcome.stdout.bytes, r.outcome.stdout.sha256].join(" ")')" "$said" "forged frames arrive as plain output, whole"
is "$(LC_ALL=C tr -d '\t\n -~\200-\377' <"$receipt" | wc -c)" 0 "the receipt holds no control byte of theirs"
is "$(LC_ALL=C tr -d '\t\n -~\200-\377' <"$tmp/err-$run_count" | wc -c)" 0 "nor does stderr"

# A program that is started directly has exactly stdin, stdout and stderr.
mkdir -p "$tmp/fds"
cp "$tmp/helper" "$tmp/fds/"
cat >"$tmp/fds/world.json" <<'WORLD'
{ "agenttwin": "world/1", "name": "fds", "seed": 1, "files": [ "helper" ], "services": [ { "name": "none", "kind": "http", "hosts": [ "none.internal" ],
    "state": {}, "routes": [ { "id": "ping", "match": { "method": "GET", "path": "/" }, "reply": { "status": 204 } } ] } ],
  "workflow": { "command": [ "./helper", "fds" ] }, "checks": [ { "id": "exit", "kind": "exit", "code": 0 } ] }
WORLD
run_world "$tmp/fds"
is_run passed 0 "a static program runs"
is "$(json "$receipt" 'r.outcome.stdout.tail.trim()')" "$(printf 'fd 0\nfd 1\nfd 2')" "descriptors 0, 1, 2 and no other"
done_testing
