#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# System calls the workflow must not have: foreign sockets, io_uring, namespaces, mounts, other processes, kernel controls,
# foreign ABIs, other identities.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh
. tests/escape/escape.sh
need_namespace
need_helper

hostile "$tmp/world" syscalls.mjs
run_world "$tmp/world"
is_run passed 0 "the run itself is sound"
read_attempts
works helper-sockets-ran helper-routes-ran helper-namespaces-ran helper-kernel-ran helper-abi-ran helper-identity-ran
works socket-inet-stream socket-inet6-dgram socket-netlink-route
# every other line of every group
while read -r name; do denied "$name"; done < <(sed -nE \
	-e 's/^\t\t\{ "(socket-[a-z0-9-]+)", .*/\1/p' -e 's/^\ttell(_any)?\("([a-z0-9-]+)".*/\2/p' \
	-e 's/^\tforeign\("([a-z0-9-]+)".*/\1/p' tests/escape/helper.c |
	grep -Evx 'socket-(inet-stream|inet6-dgram|netlink-route)|monitor-done|unix-abstract|unix-path|modify-ldt|iopl|ioperm')
for kind in user net mount pid ipc uts cgroup user-net; do denied "clone-$kind" "unshare-$kind"; done
if [ "$(uname -m)" = x86_64 ]; then denied modify-ldt iopl ioperm; fi
done_testing
