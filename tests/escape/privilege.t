#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The workflow is an ordinary user without groups or capabilities, and no program makes it root.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh
. tests/escape/escape.sh
need_namespace

hostile "$tmp/world" privilege.mjs
run_world "$tmp/world"
is_run passed 0 "the run itself is sound"
read_attempts
none=0000000000000000
works status-Uid=1000,1000,1000,1000 status-Gid=1000,1000,1000,1000 status-Groups= status-NoNewPrivs=1 status-Seccomp=2 \
	status-CapInh=$none status-CapPrm=$none status-CapEff=$none status-CapBnd=$none status-CapAmb=$none
denied su sudo mount umount newuidmap newgidmap pkexec passwd chsh newgrp setpriv unshare unshare-net nsenter chroot
while read -r name; do denied "$name"; done < <(awk '/^setuid-bit-owner/ { print $1 }' <<<"$attempts")
denied own-setuid-copy process-setuid process-setgroups
is "$(json "$receipt" '[r.boundary.drop.uid, r.boundary.drop.groups.length, r.boundary.drop.no_new_privs, r.boundary.drop.regain]')" '[1000,0,true,"refused"]' "the receipt says who it was"
done_testing
