#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The workflow cannot connect out, be answered, or resolve a name; what it tried stands in the receipt, and no-egress fails.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh
. tests/escape/escape.sh
need_namespace

# A listener on the host's loopback and own address: it must not be there for the workflow.
perl -MSocket -e '
	socket(my $s, PF_INET, SOCK_STREAM, 0) or die; bind($s, sockaddr_in(0, INADDR_ANY)) or die; listen($s, 5) or die;
	$| = 1; print +(sockaddr_in(getsockname $s))[0], "\n"; while (accept(my $c, $s)) { print "CONNECTED\n" }' >"$tmp/listener" &
stop_later $!
wait_for 5 test -s "$tmp/listener" || bail_out "the listener did not start"
port=$(head -n 1 "$tmp/listener")
address=$(hostname -I 2>/dev/null | tr ' ' '\n' | grep -F . | head -n 1)
hostile_env="\"HOST_PORT\": \"$port\", \"HOST_ADDRESS\": \"${address:-192.0.2.1}\""
hostile_checks='{ "id": "exit", "kind": "exit", "code": 0 }, { "id": "no-egress", "kind": "no-egress" }'
hostile "$tmp/world" network.mjs
run_world "$tmp/world"
is_run failed 1 "the program ends well, and the run fails"
is "$(failed_checks)" no-egress "because of no-egress alone"
like "$err" "no-egress" "which stderr names"
read_attempts
works own-loopback own-loopback6 judge
places="public4 public6 documentation4 documentation6 metadata4 metadata6 private4 mapped nat64 six-to-four broadcast"
for place in $places; do denied "tcp-$place" "udp-$place"; done
denied tcp-link-local6 udp-multicast4 udp-multicast6 host-loopback host-address docker-resolver resolver-stub
denied name-lookup name-query name-foreign-resolver fetch-name fetch-address
denied ping4 ping6 nft-flush nft-list nft-delete iptables ip-route ip-link
is "$(grep -c CONNECTED "$tmp/listener")" 0 "nothing arrived at the host's listener"

rows=$(json "$receipt" 'r.boundary.denied_egress.map(d => [d.protocol, d.destination, d.port, d.uid].join(" ")).join("\n")')
for destination in 1.1.1.1 2606:4700:4700::1111 203.0.113.9 2001:db8::9 169.254.169.254 fd00:ec2::254 10.0.0.1; do
	like "$rows" "^tcp $destination 443 " "recorded: TCP to $destination"
	like "$rows" "^udp $destination 53 " "recorded: UDP to $destination"
done
names=$(json "$receipt" 'r.boundary.refused_names.map(n => n.name + " " + n.type).join("\n")')
for name in "example.com A" "example.com AAAA"; do like "$names" "^$name\$" "recorded: the name $name"; done
is "$(json "$receipt" 'r.boundary.opening.proved && r.boundary.closing.proved')" true "the boundary stood at both ends"
done_testing
