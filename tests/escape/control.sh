#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# control.sh PROGRAMS OUT - the attempts of attempts.tsv without the boundary, for control.t: run as root within new mount, network,
# process, ipc and uts namespaces; all traffic stays between this network and one more that is made here.  PROGRAMS: the folder
# of hostile, helper, hostile.mjs.  OUT gets what each control said, and `wire`: the packets that arrived at the other side.
# shellcheck disable=SC2086 # $nobody is a command and its arguments
set -u
nobody="setpriv --reuid 65534 --regid 65534 --clear-groups --"
mount --make-rprivate /
mount -t proc proc /proc
# What attempts leave in /tmp is left in a folder of our own.
mount -t tmpfs none /mnt || exit 1
programs=/mnt/programs out=/mnt/out
mkdir "$programs" "$out" && mount --bind "$1" "$programs" && mount --bind "$2" "$out" || exit 1
mkdir -m 1777 "$out/tmp"
mount --bind "$out/tmp" /tmp
cd /tmp || exit 1

# The other side: two links, routes to everywhere, an eye.
unshare -n sleep 600 &
peer=$!
here=$(readlink /proc/self/ns/net)
until there=$(readlink "/proc/$peer/ns/net") && [ "$there" != "$here" ]; do sleep 0.01; done
ip link set lo up
for n in 0 1; do
	ip link add "veth$n" address "02:00:00:00:0$n:01" type veth peer name "far$n" address "02:00:00:00:0$n:02"
	ip link set "veth$n" addrgenmode none
	ip link set "far$n" netns "$peer"
	nsenter -t "$peer" -n ip link set "far$n" up
	ip link set "veth$n" up
	ip address add "192.0.2.$((n * 4 + 1))/30" dev "veth$n"
	ip -6 address add "fe80::$((n + 1))/64" dev "veth$n" nodad
	ip -6 address add "fd00:a$n::1/64" dev "veth$n" nodad
	for far in "192.0.2.$((n * 4 + 2))" fe80::99 203.0.113.31; do ip neigh add "$far" lladdr "02:00:00:00:0$n:02" dev "veth$n"; done
	ip route add default via "192.0.2.$((n * 4 + 2))" dev "veth$n" metric $((n + 1))
	ip -6 route add default via fe80::99 dev "veth$n" metric $((n + 1))
done
ip route add 203.0.113.31 dev veth0
echo "0 2147483647" >/proc/sys/net/ipv4/ping_group_range
nsenter -t "$peer" -n "$programs/hostile" sniff any >"$out/wire" &
until [ -s "$out/wire" ]; do sleep 0.01; done

# The same attempts by an ordinary user, and by root for those that need it.
timeout 30 $nobody "$programs/hostile" net >"$out/user-net"
timeout 30 "$programs/hostile" net >"$out/root-net"
# Who gives root away: an empty password, and everybody may sudo.
mkdir "$out/etc"
cp -a /etc/. "$out/etc/" 2>/dev/null
mount --bind "$out/etc" /etc
sed -i 's/^root:[^:]*:/root::/' /etc/shadow
echo 'ALL ALL=(ALL:ALL) NOPASSWD: ALL' >/etc/sudoers 2>/dev/null
timeout 60 $nobody node "$programs/hostile.mjs" control >"$out/user-node" 2>"$out/user-node.err"

# By a user beside others of its own, which is how it is where no boundary gives each an id.
$nobody sleep 600 &
until grep -zqx sleep "/proc/$!/cmdline"; do sleep 0.01; done
timeout 30 $nobody "$programs/hostile" others 1 >"$out/user-others"
exec 9>"$out/descriptor"
timeout 30 $nobody "$programs/hostile" machine >"$out/user-machine"
exec 9>&-
(ulimit -n 4096; timeout 30 $nobody "$programs/hostile" floods 400 2000 600
	timeout 30 $nobody "$programs/hostile" memory 600) >"$out/user-floods"
for group in sockets kernel identity tricks namespaces; do
	timeout 30 $nobody "$programs/helper" "$group" >"$out/user-$group" </dev/null
done
timeout 30 "$programs/hostile" paths >"$out/root-paths"
timeout 30 "$programs/hostile" machine >"$out/root-machine"
timeout 30 "$programs/helper" sockets >"$out/root-sockets"

# A listener of each kind, here.
perl -MSocket -e '
	socket(my $s, PF_UNIX, SOCK_STREAM, 0) or die; bind($s, pack_sockaddr_un("\0agenttwin-control")) or die; listen($s, 5);
	socket(my $t, PF_UNIX, SOCK_STREAM, 0) or die; bind($t, pack_sockaddr_un($ARGV[0])) or die; listen($t, 5); chmod 0777, $ARGV[0];
	sleep 600' "$out/tmp/socket" &
for _ in {1..100}; do [ -S "$out/tmp/socket" ] && break; sleep 0.02; done
timeout 30 $nobody "$programs/helper" unix agenttwin-control "$out/tmp/socket" >"$out/user-unix"

# What outlives its parent.  A name is enough, since whoever looks too late sees the next of its kind.
timeout 10 $nobody "$programs/hostile" survive
: >"$out/user-survive"
for _ in {1..10}; do
	for kind in child session double-fork clone-parent fork-storm vfork-storm; do
		grep -zqx "$kind" /proc/[0-9]*/cmdline 2>/dev/null && echo "survive-$kind 0" >>"$out/user-survive"
	done
	sleep 0.02
done

# Root of namespaces of its own, who may not touch the machine either.
for group in routes namespaces identity tricks; do
	timeout 30 unshare -Urmnpiufc --mount-proc "$programs/helper" "$group" >"$out/room-$group" </dev/null
done
sleep 0.1
kill -KILL "$peer"
exit 0 # as process 1: what is left goes with it
