#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# sandbox.sh PROGRAMS OUT APP PROGRAM [ARG]... - a sandbox such as a template and a provider leave it, for sandbox.t: as root within new
# mount, process and network namespaces.  Root's daemons listen (daemon.c), ports and addresses are translated, IPv6 is forwarded,
# a control daemon holds a connection from outside until the file APP/go is there; APP/gone says that it is dead and its peer waits, with
# APP/up root looks for it again.
# Then runs the program.  All traffic stays between this network and one more that is made here; all processes end with the
# process namespace.  OUT gets what arrived where: daemons, far, peer, client, wire.
set -eu
programs=$1 out=$2 app=$3
shift 3
exec 8>"$out/errors" # nobody in the background may hold the ends of the guest's pipes: who reads them would wait for ever
up() { # FILE LINE: waits until the file has that line
	for _ in {1..500}; do
		if grep -qx "$2" "$1" 2>/dev/null; then return; fi
		sleep 0.01
	done
	echo "not up: $1 $2" >&8
	exit 1
}
unshare -n sleep 600 </dev/null >&8 2>&8 &
peer=$!
here=$(readlink /proc/self/ns/net)
for _ in {1..500}; do
	if there=$(readlink "/proc/$peer/ns/net") && [ "$there" != "$here" ]; then break; fi
	sleep 0.01
done
ip link set lo up
ip link add veth0 type veth peer name far0 netns "$peer"
ip link set veth0 addrgenmode none
far() { nsenter -t "$peer" -n "$@"; }
far ip link set lo up
far ip link set far0 addrgenmode none
far ip address add 10.71.0.2/30 dev far0
far ip link set far0 up
ip address add 10.71.0.1/30 dev veth0
ip link set veth0 up
ip -6 address add fd00:a0::1/64 dev veth0 nodad
far ip -6 address add fd00:a0::2/64 dev far0 nodad
ip route add default via 10.71.0.2
ip -6 route add default via fd00:a0::2
echo 1 >/proc/sys/net/ipv4/conf/all/route_localnet
echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
for device in all lo veth0; do [ ! -e "/proc/sys/net/ipv6/conf/$device/seg6_enabled" ] || echo 1 >"/proc/sys/net/ipv6/conf/$device/seg6_enabled"; done

# What a template may have left: names of the outside that lead in, ports that lead to others, loopback that leads out.
nft -f - <<'NFT'
table ip left {
	chain output {
		type nat hook output priority -100;
		ip daddr 203.0.113.70 meta l4proto { tcp, udp } th dport 7101 dnat to 127.0.0.1:7001
		ip daddr 127.0.0.1 meta l4proto { tcp, udp } th dport 7102 redirect to :7007
		ip daddr 127.0.0.1 meta l4proto { tcp, udp } th dport 7104 dnat to 10.71.0.2:7002
		ip daddr 10.71.0.1 meta l4proto { tcp, udp } th dport 7105 dnat to 10.71.0.2:7004
	}
	chain postrouting {
		type nat hook postrouting priority 100;
		oifname "veth0" masquerade
	}
}
table ip6 left {
	chain output {
		type nat hook output priority -100;
		ip6 daddr ::1 meta l4proto { tcp, udp } th dport 7103 redirect to :7008
		ip6 daddr fd00:a0::1 meta l4proto { tcp, udp } th dport 7106 dnat to [fd00:a0::2]:7004
	}
	chain postrouting {
		type nat hook postrouting priority 100;
		oifname "veth0" masquerade
	}
}
NFT

"$programs/daemon" serve "$out/daemons" &
up "$out/daemons" ready
far "$programs/daemon" serve "$out/far" &
up "$out/far" ready
far "$programs/hostile" sniff any </dev/null >"$out/wire" 2>&8 &
up "$out/wire" ready
"$programs/daemon" control "$out/control" &
daemon=$!
up "$out/control" listens
far "$programs/daemon" peer 10.71.0.1 "$out/peer" &
up "$out/control" ready
(
	for _ in {1..3000}; do
		[ ! -e "$app/go" ] || break
		sleep 0.02
	done
	kill -KILL "$daemon"
	up "$out/peer" ready
	: >"$app/gone"
	for _ in {1..3000}; do
		[ ! -e "$app/up" ] || break
		sleep 0.02
	done
	timeout -k 1 5 "$programs/daemon" client "$out/client" || :
) </dev/null >&8 2>&8 &
exec 8>&-
exec "$@"
