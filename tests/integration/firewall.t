#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# firewall.t - the firewall room against a real kernel, nft and traffic, in network namespaces of its own.
# Root is needed for the workflow's uid: in a user namespace of an ordinary user there is only one.
# shellcheck disable=SC2016 # what stands in single quotes is expanded by another shell
set -u
bin=${O:-build}
tool=$bin/tests/fwtool
tmp=
skip_all() {
	echo "1..0 # SKIP $1"
	exit 0
}
[ "$(id -u)" = 0 ] || skip_all "needs root"
command -v nft >/dev/null || skip_all "needs nft"
[ -x "$tool" ] || skip_all "$tool is not built"
unshare -n true 2>/dev/null || skip_all "network namespaces cannot be made here"
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
export tmp

n=0
ok() { # STATUS NAME
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
		[ -f "$tmp/out" ] && sed 's/^/# /' "$tmp/out" | tail -n 20
	fi
}
run() { # STEP... in a namespace of its own; output in $tmp/out
	timeout 60 unshare -n "$tool" "$@" >"$tmp/out" 2>&1
}
says() {
	grep -Eq "$1" "$tmp/out"
}
# A listener that lives until the test ends, in the namespace of the caller.
cat >"$tmp/listen.sh" <<'EOF'
perl -e 'use Socket; socket(S,AF_INET,SOCK_STREAM,0); setsockopt(S,SOL_SOCKET,SO_REUSEADDR,1); bind(S,sockaddr_in($ARGV[0],INADDR_ANY)) or die; listen(S,5);
	 socket(U,AF_INET6,SOCK_DGRAM,0); bind(U,pack_sockaddr_in6($ARGV[0]+1,Socket::IN6ADDR_ANY)) or die; open(F,">",$ARGV[1]); close F; sleep 20' "$1" "$2" &
echo $! >"$2.pid"
for i in $(seq 100); do [ -e "$2" ] && break; sleep 0.05; done
EOF
# TCP and UDP to both families, as many as asked: TRIES
cat >"$tmp/traffic.pl" <<'EOF'
use Socket;
my ($n) = @ARGV; my $got = 0;
my $a4 = sub { sockaddr_in($_[0], inet_aton("203.0.113.9")) };
my $a6 = sub { pack_sockaddr_in6($_[0], Socket::inet_pton(AF_INET6, "2001:db8::9")) };
for my $k ([AF_INET, $a4, 0], [AF_INET6, $a6, 1]) {
	for (1 .. $n + $k->[2]) { socket(my $s, $k->[0], SOCK_STREAM, 0); $got++ if connect($s, $k->[1]->(443)); close $s }
	for (1 .. $n + 2 + $k->[2]) { socket(my $s, $k->[0], SOCK_DGRAM, 0); $got++ if send($s, "x", 0, $k->[1]->(53)); close $s }
}
exit($got != 0);
EOF
cat >"$tmp/flood.pl" <<'EOF'
use Socket;
socket(my $s, AF_INET, SOCK_DGRAM, 0);
my @to = map { pack_sockaddr_in($_, inet_aton("203.0.113.7")) } 1000 .. 1099;
send($s, "x", 0, $to[$_ % 100]) for 1 .. 50000;
EOF
chmod 755 "$tmp"
export as_workflow='setpriv --reuid 1000 --clear-groups'

# ---- the script and our own installation list equally ----
compare() { # NAME OPTION...
	local name=$1
	shift
	timeout 60 unshare -n sh -c '[ "$1" = - ] || sh "$tmp/listen.sh" 4711 "$tmp/ready.$$"; shift; exec "$@"' sh "${listen:--}" \
		"$tool" "$@" install text sh:'nft -s list ruleset >"$tmp/ours"' >"$tmp/script" 2>&1
	for f in "$tmp"/ready.*.pid; do [ -e "$f" ] && kill "$(cat "$f")"; rm -f "$f"; done
	unshare -n sh -c 'ip link set lo up; nft -f "$tmp/script" && nft -s list ruleset' >"$tmp/theirs" 2>"$tmp/out"
	[ -s "$tmp/ours" ] && cmp "$tmp/ours" "$tmp/theirs" >>"$tmp/out" 2>&1
	ok $? "nft -f of the script and our installation list equally: $name"
}
compare "inner, inet"
compare "inner, split" -f inet
compare "inner, no reject" -f reject
compare "inner, no log" -f log
compare "outer, inet" -o
compare "outer, split" -o -f inet
listen=yes compare "outer with closed ports" -o
grep -q 'tcp dport 4711 goto closed' "$tmp/ours" && grep -q 'udp dport 4712 goto closed' "$tmp/ours"
ok $? "listeners that existed are closed"
listen=yes compare "outer with closed ports, split" -o -f inet
grep -q 'fd00:a7::1' "$tmp/ours"
ok $? "own addresses are in the rules"

# ---- what auditors are given ----
for lock in "" inner outer; do
	# shellcheck disable=SC2086
	"$bin/agenttwin-guest" audit --nft $lock >"$tmp/script" 2>"$tmp/out" && "$bin/agenttwin-host" audit --nft $lock 2>>"$tmp/out" | cmp - "$tmp/script" >>"$tmp/out" 2>&1
	ok $? "host and guest print the same script: ${lock:-default}"
	[ -n "$lock" ] || cp "$tmp/script" "$tmp/default"
	[ "$lock" != inner ] || { cmp "$tmp/script" "$tmp/default" >"$tmp/out" 2>&1; ok $? "the default is the inner lock"; }
	unshare -n sh -c 'nft -f "$tmp/script" && nft -s list table inet agenttwin >"$tmp/ours" && nft flush ruleset && nft -f "$tmp/ours" && nft -s list table inet agenttwin' >"$tmp/theirs" 2>"$tmp/out" &&
		cmp "$tmp/ours" "$tmp/theirs" >>"$tmp/out" 2>&1
	ok $? "nft takes it, and its own listing of it: ${lock:-default}"
done
run install text && cmp "$tmp/out" "$tmp/default" >/dev/null
ok $? "and it is what a namespace without a route gets"
for options in "--nft both" "--nft inner outer" "--nft --json"; do
	for program in guest host; do
		# shellcheck disable=SC2086
		"$bin/agenttwin-$program" audit $options >"$tmp/out" 2>&1
		[ $? = 2 ] || break
		program=
	done
	[ -z "$program" ]
	ok $? "audit $options: usage"
done

# ---- proof ----
for options in "" "-f inet" "-o" "-o -f inet" "-f reject" "-f log" "-f inet,reject,log"; do
	# shellcheck disable=SC2086
	run $options install prove probes sleep:50 watch closing && ! grep -E '^probe' "$tmp/out" | grep -Evq '^probe (PASS|ABSENT)'
	ok $? "installs, proves, stays, closes: ${options:-plain}"
done
# The machine is so busy that a SYN is repeated before connect() has returned: two packets, both denied.
if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
	ASAN_OPTIONS=detect_leaks=0 timeout 60 unshare -n strace -f -qq -o /dev/null -e inject=connect:delay_exit=1300000:when=6 \
		"$tool" -f reject install prove probes >"$tmp/out" 2>&1 && says '^probe PASS .* packets=2 denied=2 '
	ok $? "an attempt that was repeated counts as often"
else
	n=$((n + 1))
	echo "ok $n - an attempt that was repeated counts as often # SKIP no strace"
fi
run install sh:'nft flush ruleset' prove
[ $? = 1 ] && says 'prove: E(PERM|PROTO)'
ok $? "negative control: without rules the proof fails"
run install sh:'nft add table inet agenttwin "{ flags dormant; }"' prove
[ $? = 1 ] && says 'prove: E(PERM|PROTO)'
ok $? "a dormant table does not prove"
run install sh:'nft insert rule inet agenttwin output accept' prove
[ $? = 1 ] && says 'prove: EPERM.*FAIL'
ok $? "an accepting rule is a FAIL"
run -o install sh:'nft insert rule inet agenttwin loopback accept' prove
[ $? = 1 ] && says 'prove: E(PERM|PROTO)'
ok $? "the forwarding resolver reachable is a FAIL"
run install sh:'nft insert rule inet agenttwin output meta skuid 1000 drop' prove
[ $? = 1 ] && says 'prove: EPROTO.*UNKNOWN'
ok $? "dropped but not counted is UNKNOWN, not PASS"

off='for c in all default lo; do echo 1 >/proc/sys/net/ipv6/conf/$c/disable_ipv6; done'
timeout 60 unshare -n sh -c "$off; exec \"\$0\" install prove probes closing" "$tool" >"$tmp/out" 2>&1 && says '^probe PASS tcp6 .2001'
ok $? "IPv6 that is switched off is switched on for our own devices"
timeout 60 unshare -nm sh -c "$off; mount --bind -o ro /proc/sys /proc/sys; mount -o remount,bind,ro /proc/sys; exec \"\$0\" install prove probes closing" \
	"$tool" >"$tmp/out" 2>&1 && says '^probe ABSENT tcp6 .2001' && says '^probe PASS tcp6 .::ffff:169'
ok $? "IPv6 that cannot be switched on is ABSENT, and mapped addresses are still denied"

# ---- changes ----
changed() { # NAME COMMAND
	run install prove sh:"$2" watch
	[ $? = 1 ] && says 'watch: EPERM'
	ok $? "fatal: $1"
}
changed "a removed rule" 'h=$(nft -a list chain inet agenttwin postrouting | sed -n "s/.*group 7 drop # handle //p"); nft delete rule inet agenttwin postrouting handle $h'
changed "an added rule" 'nft add rule inet agenttwin input accept'
changed "an added set" 'nft add set inet agenttwin s "{ type inet_service; }"'
changed "dormant" 'nft add table inet agenttwin "{ flags dormant; }"'
changed "dormant and back" 'nft add table inet agenttwin "{ flags dormant; }"; nft add table inet agenttwin'
changed "swapped and restored" 'nft -s list ruleset >"$tmp/rs"; nft flush ruleset; nft -f "$tmp/rs"'
changed "deleted" 'nft delete table inet agenttwin'
changed "a policy" 'nft chain inet agenttwin output "{ policy accept; }"'
changed "an address in the inner namespace" 'ip addr add 192.0.2.77/32 dev atw0'
changed "a route in the inner namespace" 'ip route add 192.0.2.0/24 dev atw0'
changed "a device in the inner namespace" 'ip link add dummy0 type veth'
run -o install prove sh:'ip addr add 192.0.2.77/32 dev atw0' watch && says 'watch 0 .*routes=[1-9]'
ok $? "an address in the outer namespace is recorded only"
run install prove sh:'nft add table ip t; nft add chain ip t c "{ type nat hook output priority -100; }"' watch watch closing &&
	says '^watch 1 foreign=2' && says '^watch 0 foreign=2'
ok $? "a foreign table is recorded, re-verified, and not fatal"
run install prove sh:'nft add table ip t; nft delete table inet agenttwin' closing
[ $? = 1 ]
ok $? "closing verification finds the table gone"
timeout 60 unshare -n sh -c 'nft add table ip agenttwin; exec "$0" install' "$tool" >"$tmp/out" 2>&1
[ $? = 1 ] && says 'EEXIST'
ok $? "a table of that name that is not ours is an error"

# ---- records ----
run install prove sh:'$as_workflow perl "$tmp/traffic.pl" 10' denied counters closing denied counters &&
	says '^denied 4 6 203.0.113.9 443 uid=1000 count=10$' && says '^denied 6 6 2001:db8::9 443 uid=1000 count=11$' &&
	says '^denied 4 17 203.0.113.9 53 uid=1000 count=12$' && says '^denied 6 17 2001:db8::9 53 uid=1000 count=13$' &&
	[ "$(grep -c '^records 46 overflow 0 lossy 0' "$tmp/out")" = 2 ] && [ "$(grep -c '^run workflow=46 twins=0 others=0 .* postrouting=0' "$tmp/out")" = 2 ]
ok $? "each denied TCP and UDP packet of both families is recorded once; the proofs' own are not"
run install prove sh:'perl "$tmp/traffic.pl" 1' denied counters && says '^run workflow=0 twins=0 others=10 ' && says 'uid=0 count'
ok $? "another owner's packets are another's"
run -f log install prove sh:'$as_workflow perl "$tmp/traffic.pl" 5' denied counters && says '^records 0 ' && says '^run workflow=26 '
ok $? "without a log the total is exact"
run install prove sh:'$as_workflow perl "$tmp/flood.pl"' denied counters closing && says '^run workflow=50000 '
ok $? "50,000 packets: the total is exact, whatever was recorded"

# ---- the control connection: a daemon with an open stream, as a provider's ----
cat >"$tmp/control.sh" <<'EOF'
# $1 tool, then its arguments; runs in the sandbox's namespace, whose parent is the host's
set -e
tool=$1; shift
ip link set lo up
sleep 60 & holder=$!
unshare -n sh -c 'echo $$ >"$tmp/sandbox"; exec sleep 60' & sandbox=$!
trap 'kill $holder $sandbox $server $client 2>/dev/null' EXIT
for i in $(seq 100); do [ -s "$tmp/sandbox" ] && break; sleep 0.05; done
ns="nsenter --net=/proc/$(cat "$tmp/sandbox")/ns/net"
ip link add h0 type veth peer name s0 netns "$(cat "$tmp/sandbox")"
ip addr add 169.254.0.22/30 dev h0; ip link set h0 up
$ns sh -c 'ip link set lo up; ip addr add 169.254.0.21/30 dev s0; ip link set s0 up; ip route add default via 169.254.0.22'
$ns perl -MSocket -e '$|=1; socket(S,AF_INET6,SOCK_STREAM,0); setsockopt(S,SOL_SOCKET,SO_REUSEADDR,1); bind(S,pack_sockaddr_in6(49983,Socket::IN6ADDR_ANY)) or die $!; listen(S,5);
	accept(C,S); open(F,">",$ARGV[0]); close F; while(1){ syswrite(C,"tick\n") or exit; select(undef,undef,undef,0.1) }' "$tmp/accepted" & server=$!
sleep 0.5
perl -MSocket -e '$|=1; socket(S,AF_INET,SOCK_STREAM,0); connect(S,sockaddr_in(49983,inet_aton("169.254.0.21"))) or die $!; while(sysread(S,$b,99)){ print $b }' >"$tmp/ticks" & client=$!
for i in $(seq 100); do [ -e "$tmp/accepted" ] && break; sleep 0.05; done
export new='timeout 1 bash -c "exec 3<>/dev/tcp/169.254.0.21/49983"'
$ns "$tool" "$@"
before=$(wc -l <"$tmp/ticks"); sleep 1; after=$(wc -l <"$tmp/ticks")
echo "ticks $((after - before))"
if eval "$new" 2>/dev/null; then echo "new connection got in"; else echo "new connection refused"; fi
EOF
control() {
	rm -f "$tmp/sandbox" "$tmp/accepted" "$tmp/ticks"
	timeout 90 unshare -n bash "$tmp/control.sh" "$tool" "$@" >"$tmp/out" 2>&1
	says '^ticks ([5-9]|1[0-9])$' && says '^new connection refused'
}
control -o -c 49983 install prove text sleep:300 watch && says 'ip saddr 169.254.0.22 tcp sport [0-9]+ tcp dport 49983 accept' && ! says 'ct state'
ok $? "pinned: the open control stream goes on, nothing new gets in, and it proves"
control -o -f inet -c 49983 install prove
ok $? "pinned, split"
control -o -p -c 49983 install prove text && says 'tcp dport 49983 ct state established accept'
ok $? "two steps with heartbeats where it cannot be pinned"
run -o -p -f ct -c 49983 install
[ $? = 1 ] && says 'EOPNOTSUPP step=features'
ok $? "no connection tracking and no pinned peer: an error"
run -o -c 49983 install
[ $? = 1 ] && says 'ENOTCONN'
ok $? "no control connection and no heartbeat: an error"

echo "1..$n"
