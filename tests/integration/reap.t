#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2317 # functions called by wait_for
# Hosts that died: what reap finds, ends, removes, and leaves alone.  Also the local backend's own end of things.
. tests/lib/tap.sh
O=${O:-build}
case $O in /*) ;; *) O=$PWD/$O ;; esac
nsrun=$O/tests/nsrun
guest=$O/tests/nsguest
[ -x "$nsrun" ] && [ -x "$guest" ] || bail_out "$nsrun or $guest is missing: make '$O/tests/nsrun'"
wait_for() {
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.05
	done
}
some_marked() { [ "$(python3 tests/lib/proc.py marked "$1" | wc -l)" -ge 2 ]; }
none_marked() { [ -z "$(python3 tests/lib/proc.py marked "$1")" ]; }
is_stopped() { grep -q '^State:.T' "/proc/$1/status" 2>/dev/null; }
export TMPDIR="$tmp"
mkdir -p "$tmp/run"
chmod 700 "$tmp/run"
if [ "$(id -u)" -ne 0 ]; then export XDG_RUNTIME_DIR="$tmp/run"; leases=$tmp/run/agenttwin/leases; else leases=/run/agenttwin/leases; fi
lease_of() { echo "$leases/$1.lease"; }
field() { sed -n "s/^$2 //p" "$(lease_of "$1")"; }
# start BACKEND RUNID SCRIPT: in the background; sets pid
start() {
	echo "$3" >"$tmp/script"
	"$nsrun" "$1" "$guest" -i "$2" -m 268435456 -p 64 <"$tmp/script" >"$tmp/out" 2>"$tmp/err" &
	pid=$!
	stop_later "$pid"
}
groups() { find /sys/fs/cgroup -maxdepth 12 -type d -name "agenttwin-$1" 2>/dev/null; }
by_cgroup=
backends="local"
if "$nsrun" doctor --runtime namespace >"$tmp/doctor" 2>&1; then
	backends="namespace local"
	by_cgroup=$(grep 'ok     limits: ' "$tmp/doctor")
else
	skip "the namespace backend" "does not work here: agenttwin-host doctor says why"
fi
for backend in $backends; do
	mark=reap$$x$RANDOM
	script="sh -c 'trap \"\" TERM HUP; sleep 600; :' $mark & (setsid sh -c 'trap \"\" TERM; sleep 600; :' $mark &) ; wait"
	run=$mark
	start $backend "$run" "$script"
	ok "$backend: runs" wait_for 10 some_marked "$mark"
	ok "$backend: the lease is on disk" test -f "$(lease_of "$run")"
	is "$(stat -c %a "$leases")" 700 "$backend: in a folder of our own"
	is "$(field "$run" host_pid)" "$pid" "$backend: it names the host"
	if [ $backend = namespace ] && [ -n "$by_cgroup" ]; then
		is "$(field "$run" cgroup | sort)" "$(groups "$run" | sort)" "$backend: and the control groups, all of them"
		ok "$backend: there are some" test -n "$(groups "$run")"
	fi
	out=$("$nsrun" reap)
	is "$?" 0 "$backend: reap while the host lives"
	like "$out" "^$run  $backend  running$" "$backend: leaves the run alone"
	ok "$backend: it still runs" some_marked "$mark"
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	ok "$backend: host killed: nothing runs after 5 s" wait_for 5 none_marked "$mark"
	out=$("$nsrun" reap --json)
	is "$?" 0 "$backend: reap of the dead host's lease"
	like "$out" "\"run\":[[:space:]]*\"$run\"" "$backend: names it"
	ok "$backend: the lease is gone" test ! -e "$(lease_of "$run")"
	ok "$backend: the folder is gone" test ! -e "$tmp/agenttwin-$run"
	is "$(groups "$run")" "" "$backend: no control group is left"

	# The init is stopped: it cannot end by itself, although the host is dead.
	run=s$mark
	start $backend "$run" "$script"
	wait_for 10 some_marked "$mark"
	init=$(field "$run" id)
	if [ $backend = local ]; then
		kill -STOP "$init"
		wait_for 5 is_stopped "$init"
		kill -KILL "$pid"
		wait "$pid" 2>/dev/null
		out=$("$nsrun" reap)
		is "$?" 0 "$backend: a stopped watchdog: reap ends it" || diag "$out"
		ok "$backend: and everything below it" none_marked "$mark"
		ok "$backend: and removes its folder" test ! -e "$tmp/agenttwin-$run"
	else
		kill -KILL "$pid"
		wait "$pid" 2>/dev/null
		wait_for 5 none_marked "$mark"
		# A pid that now belongs to somebody else: the lease is written by hand, the process is ours.
		sleep 600 &
		other=$!
		stop_later "$other"
		sed -i "s/^id .*/id $other/" "$(lease_of "$run")"
		out=$("$nsrun" reap)
		is "$?" 0 "$backend: the pid was reused: reap drops the lease"
		ok "$backend: and does not touch the process" kill -0 "$other"
		ok "$backend: the lease is gone" test ! -e "$(lease_of "$run")"
		# The same process, rightly named: reap ends it.
		start $backend "$run" "$script"
		wait_for 10 some_marked "$mark"
		cp "$(lease_of "$run")" "$tmp/lease"
		kill -KILL "$pid"
		wait "$pid" 2>/dev/null
		wait_for 5 none_marked "$mark"
		ticks=$(sed 's/.*) //' "/proc/$other/stat" | cut -d' ' -f20)
		sed "s/^id .*/id $other/; s/^start_time .*/start_time $ticks/" "$tmp/lease" >"$(lease_of "$run")"
		chmod 600 "$(lease_of "$run")"
		"$nsrun" reap >/dev/null
		is "$?" 0 "$backend: a process that is still there and rightly named"
		wait "$other" 2>/dev/null
		is "$?" 137 "$backend: is ended"
	fi
	# Ended by the host itself: nothing is left either.
	run=e$mark
	start $backend "$run" "echo here; (setsid sleep 600 $mark >/dev/null 2>&1 &); exit 0"
	wait "$pid"
	is "$?" 0 "$backend: an ordinary end" || diag "$(cat "$tmp/err")"
	ok "$backend: no process is left" none_marked "$mark"
	ok "$backend: no lease is left" test ! -e "$(lease_of "$run")"
	ok "$backend: no folder is left" test ! -e "$tmp/agenttwin-$run"
	is "$(groups "*$mark")" "" "$backend: no control group of any of these is left"
done

# local: another process of the same user is never touched; files with odd modes go.
sleep 600 &
bystander=$!
stop_later "$bystander"
start local "odd$$" 'cd "$TMPDIR" 2>/dev/null; mkdir -p '"$tmp/agenttwin-odd$$"'/app/a/b; touch '"$tmp/agenttwin-odd$$"'/app/a/b/c; ln -s / '"$tmp/agenttwin-odd$$"'/app/root; chmod 0 '"$tmp/agenttwin-odd$$"'/app/a; chmod 0 '"$tmp/agenttwin-odd$$"'/app'
wait "$pid"
is "$?" 0 "local: cleaned up"
ok "local: folders without permissions are removed" test ! -e "$tmp/agenttwin-odd$$"
ok "local: a bystander lives" kill -0 "$bystander"

# Leases that are none.
printf 'agenttwin-lease 1\nbackend elsewhere\n' >"$(lease_of "bad$$")"
out=$("$nsrun" reap)
is "$?" 4 "a malformed lease: something is left"
like "$out" 'unreadable' "and said"
rm -f "$(lease_of "bad$$")"
cat >"$(lease_of "evil$$")" <<L
agenttwin-lease 1
backend local
run_id evil$$
id 
start_time 0
expires_s 1
host_pid 1
host_start_time 0
boot_id x
folder $tmp/run
L
chmod 600 "$(lease_of "evil$$")"
out=$("$nsrun" reap)
is "$?" 4 "a lease that names a folder that is not a run's"
ok "does not remove it" test -d "$tmp/run"
rm -f "$(lease_of "evil$$")"
# Not a control group, not of this run: neither is removed.
mkdir -p "$tmp/agenttwin-evil$$" "$tmp/agenttwin-other"
for folder in "$tmp/agenttwin-evil$$" "$tmp/agenttwin-other"; do
	printf 'agenttwin-lease 1\nbackend namespace\nrun_id evil%s\nid \nstart_time 0\nexpires_s 1\nhost_pid 1\nhost_start_time 0\nboot_id x\nfolder \ncgroup %s\n' \
		$$ "$folder" >"$(lease_of "evil$$")"
	chmod 600 "$(lease_of "evil$$")"
	out=$("$nsrun" reap)
	is "$?" 4 "a lease that names a control group that is none of the run's"
	like "$out" 'left: control group ' "is told"
	ok "and not removed" test -d "$folder"
	rm -f "$(lease_of "evil$$")"
done
"$nsrun" reap --frob >/dev/null 2>"$tmp/err"
is "$?" 2 "an unknown argument"
"$nsrun" reap >/dev/null
is "$?" 0 "nothing left"
done_testing
