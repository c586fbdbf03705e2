#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# System calls the workflow must not have: foreign sockets, io_uring, namespaces, mounts, other processes, kernel controls,
# foreign ABIs, other identities; ways out that need no privilege; and the place of a twin, which nobody else gets.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh
. tests/escape/escape.sh
need_namespace
need_helper

# A caller's realtime rights, where this machine lets us have some, must not reach the workflow.
ulimit -r 50 2>/dev/null && ulimit -e 40 2>/dev/null || diag "no realtime rights to hand on"
hostile_service='"port": 8080,'
hostile "$tmp/world" syscalls.mjs
run_world "$tmp/world"
is_run passed 0 "the run itself is sound"
read_attempts
works helper-sockets-ran helper-routes-ran helper-namespaces-ran helper-kernel-ran helper-abi-ran helper-identity-ran \
	helper-tricks-ran helper-outward-ran helper-ports-ran
works socket-inet-stream socket-inet6-dgram socket-netlink-route
# every other line of every group
while read -r name; do denied "$name"; done < <(sed -nE \
	-e 's/^\t\t\{ "(socket-[a-z0-9-]+)", .*/\1/p' -e 's/^\t(tell|tell_any|open_for|set_int)\("([a-z0-9-]+)".*/\2/p' \
	-e 's/^\tforeign\("([a-z0-9-]+)".*/\1/p' tests/escape/helper.c |
	grep -Evx 'socket-(inet-stream|inet6-dgram|netlink-route)|monitor-done|unix-abstract|unix-path|modify-ldt|iopl|ioperm|routing-header')
for kind in user net mount pid ipc uts cgroup user-net; do denied "clone-$kind" "unshare-$kind"; done
for index in 1 2 3; do denied "bind-to-device-$index" "packet-info-$index" "multicast-by-$index"; done
for place in own any any6 mapped mapped-any; do
	for way in plain reuse-address reuse-port both; do denied "shadow-$place-$way"; done
done
if [ "$(uname -m)" = x86_64 ]; then denied modify-ldt iopl ioperm; fi
# It goes to our own loopback, whose kernel does not unpack it: the chains say so.
like "$attempts" "^routing-header |\nrouting-header " "a routing header was tried"
is "$(json "$receipt" '[r.boundary.denied.total.postrouting, r.boundary.closing.proved]')" '[0,true]' "and no packet of it got past the first chain"
done_testing
