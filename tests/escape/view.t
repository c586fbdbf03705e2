#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The workflow sees nothing of the host: no process, no variable, no file, no device, no socket.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh
. tests/escape/escape.sh
need_namespace
need_helper

mark=agenttwin-view-$$-$RANDOM
printf 'canary\n' >"$tmp/canary-$mark"
perl -MSocket -e '
	my ($mark, $path) = @ARGV; $0 = "perl $mark";
	socket(my $a, PF_UNIX, SOCK_STREAM, 0) or die; bind($a, pack_sockaddr_un("\0$mark")) or die; listen($a, 5) or die;
	socket(my $p, PF_UNIX, SOCK_STREAM, 0) or die; bind($p, pack_sockaddr_un($path)) or die; listen($p, 5) or die; chmod 0777, $path;
	$| = 1; print "ready\n"; sleep 300' "$mark" "$tmp/socket" >"$tmp/ready" &
stop_later $!
wait_for 5 test -s "$tmp/ready" || bail_out "the listener did not start"
hostile_env="\"HOST_MARK\": \"$mark\", \"HOST_CANARY\": \"$tmp/canary-$mark\", \"HOST_HOME\": \"$HOME\",
	\"HOST_REPOSITORY\": \"$PWD\", \"HOST_ABSTRACT\": \"$mark\", \"HOST_SOCKET\": \"$tmp/socket\""
hostile "$tmp/world" view.mjs
export HOST_SECRET=SECRET-OF-THE-HOST NPM_TOKEN=SECRET-OF-THE-HOST
run_world "$tmp/world"
is_run passed 0 "the run itself is sound"
read_attempts
works few-processes own-files app-is-cwd helper-unix-ran
denied process-of-host secret-in-own-environment secret-in-any-environment environment-of-others memory-of-others
denied descriptors-of-others root-of-others homes devices accounts-of-host mark-in-mounts link-out
denied unix-table unix-abstract unix-path
while read -r name; do denied "$name"; done < <(awk '/^(read|write)-\// { print $1 }' <<<"$attempts")
is "$(grep -c '^read-/' <<<"$attempts") $(grep -c '^write-/' <<<"$attempts")" "40 22" "all paths were tried"
is "$(grep -c SECRET-OF-THE-HOST "$receipt")" 0 "the secret is not in the receipt"
unlike "$err" SECRET-OF-THE-HOST "nor on stderr"
done_testing
