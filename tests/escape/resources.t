#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Disk, processes and descriptors are bounded, and everything that was started is gone afterwards.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh
. tests/escape/escape.sh
need_namespace
need_helper

hostile "$tmp/world" resources.mjs '"limits": { "disk_mb": 16, "pids": 64, "files": 256, "run_ms": 60000 },'
run_world "$tmp/world"
like "$(json "$receipt" 'r.status')" '^(passed|failed)$' "the run ends by itself" || explain
read_attempts
denied fill-/app fill-/tmp fill-/home/node fill-/dev/shm descriptors
made=$(json "$receipt" 'r.outcome.stdout.tail' | awk '/^bomb/ { print $2 }')
ok "the fork bomb was bounded (made ${made:-none})" test "${made:-100000}" -lt 300
is "$(json "$receipt" 'r.cleanup.confirmed')" true "cleanup confirmed"
is "$(proc marked './helper')" "" "nothing of it survives"
done_testing
