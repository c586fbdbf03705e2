#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2016,SC2317 # expanded inside the sandbox; functions called indirectly
# The namespace backend alone, with a shell in the guest's place: what is inside, what is not, and that nothing outlives it.
. tests/lib/tap.sh
O=${O:-build}
case $O in /*) ;; *) O=$PWD/$O ;; esac
nsrun=$O/tests/nsrun
guest=$O/tests/nsguest
[ -x "$nsrun" ] && [ -x "$guest" ] || bail_out "$nsrun or $guest is missing: make '$O/tests/nsrun' '$O/tests/nsguest'"
cp "$nsrun" "$tmp/nsrun"
cp "$guest" "$tmp/nsguest"
nsrun=$tmp/nsrun
guest=$tmp/nsguest
if ! text=$("$nsrun" doctor --runtime namespace 2>&1); then
	diag "$text"
	[ -z "${AGENTTWIN_REQUIRE-}" ] || bail_out "the namespace backend does not work here"
	skip_all "the namespace backend does not work here: agenttwin-host doctor says why"
fi
count=0
# inside SCRIPT [OPTION...]: runs the script as root of a new sandbox; sets out, err, status
inside() {
	local script=$1
	shift
	count=$((count + 1))
	out=$(printf '%s\n' "$script" | "${as[@]}" "$nsrun" namespace "$guest" -i "t-$$-$count" "$@" 2>"$tmp/err")
	status=$?
	err=$(cat "$tmp/err")
}
wait_for() {
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.05
	done
}
some_marked() { [ "$(python3 tests/lib/proc.py marked "$1" | wc -l)" -ge 3 ]; }
none_marked() { [ -z "$(python3 tests/lib/proc.py marked "$1")" ]; }
leases() { "${as[@]}" "$nsrun" reap --json 2>/dev/null | grep -cE "\"(t-$$-|nsmark$$|many-$$)"; }

view() { # NAME: everything about one kind of caller
	local who=$1

	inside 'echo ids $(id -u) $(id -g) $(id -G); echo host $(hostname); echo me $$; echo first $(tr "\0" " " </proc/1/cmdline)
		echo map $(cat /proc/self/uid_map | wc -l) $(awk "{n+=\$3} END {print (n >= 1001)}" /proc/self/uid_map)
		echo groups $(cat /proc/self/setgroups)
		echo root $(echo /*)
		echo homes $(ls -A /home /root /run | tr "\n" " ")
		echo var $(ls -A /var)
		echo opt $(ls -A /opt 2>/dev/null)
		echo procs $(ls /proc | grep -c "^[0-9]")
		echo env $(tr "\0" " " </proc/self/environ | wc -w)
		echo net $(ls /sys/class/net | tr "\n" " ")
		echo ipc $(tail -n +2 /proc/sysvipc/shm | wc -l)
		for f in app home/node tmp run etc dev/shm; do touch /$f/x 2>/dev/null && echo write $f; done
		for f in "" usr usr/bin bin dev opt/node lib proc sys etc/ssl etc/alternatives; do touch /$f/x 2>/dev/null && echo BADWRITE /$f; done
		for f in null zero full random urandom tty; do [ -c /dev/$f ] && echo dev $f; done
		echo x >/dev/null && echo null ok; head -c 4 /dev/urandom | wc -c
		mknod /tmp/disk b 8 0 2>/dev/null && echo BADNODE
		for f in /usr /etc/ssl / /dev /dev/null /tmp; do
			mount -o remount,rw,suid,dev,bind $f 2>/dev/null && echo BADREMOUNT $f
			umount $f 2>/dev/null && echo BADUMOUNT $f
		done
		ls /usr/bin/env
		cat /proc/1/environ >/dev/null 2>&1 && echo BADENV
		ls /proc/1/fd >/dev/null 2>&1 && echo BADFD
		ls /proc/1/root/ >/dev/null 2>&1 && echo root1 $(ls /proc/1/root | wc -l)
		kill -9 1; kill -0 1 && echo init lives
		fds=$(ls /proc/self/fd | wc -l); echo fds $fds
		grep -v -e " / / " /proc/self/mountinfo | awk "{print \$5, \$6}" | sed "s/^/mount /"'
	bad=$(grep '^BAD' <<<"$out")
	is "$status" 0 "$who: runs and is cleaned up" || diag "$err"
	like "$out" '^ids 0 0 0$' "$who: root of the sandbox, no other group"
	like "$out" '^host agenttwin$' "$who: own hostname"
	like "$out" '^me 2$' "$who: own pid namespace"
	like "$out" '^first agenttwin-init *$' "$who: PID 1 does not tell the host's arguments"
	like "$out" '^map [0-9]+ 1$' "$who: at least 1001 ids"
	like "$out" '^groups allow$' "$who: groups can be emptied"
	is "$(grep '^root' <<<"$out")" "root $(cd / && for f in app bin dev etc home lib lib32 lib64 libx32 proc root run sbin sys tmp usr var; do case $f in app) echo "/$f" ;; *) [ -e "/$f" ] && echo "/$f" ;; esac; done | tr '\n' ' ' | sed 's/ $//')" "$who: the root folder holds only what it should"
	like "$out" '^homes /home: node /root: /run: *$' "$who: no home, no /run of this machine"
	like "$out" '^var run tmp$' "$who: no /var of this machine"
	like "$out" '^opt *$' "$who: no /opt of this machine"
	like "$out" '^procs [3-6]$' "$who: own /proc"
	like "$out" '^net lo *$' "$who: own network"
	like "$out" '^ipc 0$' "$who: own ipc"
	is "$(grep '^write' <<<"$out" | tr '\n' ' ')" "write app write home/node write tmp write run write etc write dev/shm " "$who: writable places"
	is "$bad" "" "$who: nothing that must not work"
	like "$out" '^/usr/bin/env$' "$who: /usr stays"
	is "$(grep -c '^dev ' <<<"$out")" 6 "$who: six devices"
	like "$out" '^init lives$' "$who: the init cannot be killed from inside"
	like "$out" '^fds 4$' "$who: only the standard streams are open"
	unlike "$out" '^mount /(usr|etc/.*|bin|lib.*|sbin|opt.*)( .*)? rw' "$who: what is shown is read-only"
	unlike "$(grep -v '/dev' <<<"$out" | grep '^mount')" 'rw,(relatime|nodev|noexec)' "$who: every mount is nosuid"
	unlike "$(grep -v ' /dev' <<<"$out" | grep '^mount' | grep -v nodev)" . "$who: every mount but /dev is nodev"

	# As the workflow will be: no way up, other ids' things are closed.
	inside 'setpriv --reuid 1000 --regid 1000 --clear-groups sh -c "
		echo as \$(id -u) \$(id -un) \$(id -G); touch /app/mine && echo app; touch /home/node/mine && echo home; touch /tmp/mine && echo tmp
		touch /etc/x 2>/dev/null && echo BAD etc; touch /run/x 2>/dev/null && echo BAD run; ls /root 2>/dev/null && echo BAD root
		cat /etc/shadow 2>/dev/null && echo BAD shadow; echo caps \$(grep CapEff /proc/self/status)
		for p in su sudo mount passwd newuidmap chsh ping; do q=\$(command -v \$p) && [ -u \$q ] && echo suid \$p; done
		su -c id 2>/dev/null </dev/null; node -e \"console.log(process.version, os.hostname(), require(\\\"os\\\").userInfo().username)\""'
	like "$out" '^as 1000 node 1000$' "$who: the workflow's id has a name and no other group"
	is "$(grep -cE '^(app|home|tmp)$' <<<"$out")" 3 "$who: the workflow writes to /app, its home and /tmp"
	is "$(grep -E '^BAD|uid=0' <<<"$out")" "" "$who: and nowhere else, and stays what it is"
	like "$out" 'caps CapEff: 0000000000000000' "$who: without capabilities"
	like "$out" '^v[0-9.]+ agenttwin node$' "$who: Node runs as node"

	# The disk limit holds over all places together.
	inside 'head -c 3000000 /dev/zero >/app/a; head -c 3000000 /dev/zero >/tmp/b; head -c 3000000 /dev/zero >/home/node/c
		stat -c %s /app/a /tmp/b /home/node/c | paste -s -d+ | bc 2>/dev/null || stat -c %s /app/a /tmp/b /home/node/c' -d 4194304
	total=$(awk '{n += $1} END {print n}' <<<"$out")
	ok "$who: disk limit over all places ($total of 4194304)" test "$total" -gt 3000000 -a "$total" -le 4194304

	# Ends: the guest's own, by time, by SIGKILL of the host.
	mark=nsmark$$x$RANDOM
	inside "setsid sh -c 'exec -a $mark-a sleep 500' & (setsid sh -c 'trap \"\" TERM INT HUP; exec sleep 5001 $mark' >/dev/null 2>&1 &) ; echo started"
	is "$status:$out" "0:started" "$who: ends with the guest"
	ok "$who: what it left behind in the background is gone" none_marked "$mark"
	inside "sleep 400; echo late" -e 2
	is "$status:$out" "0:" "$who: ends when its time is over"
	is "$(leases)" 0 "$who: no lease is left"
	before=$(cat /proc/self/mountinfo)
	for delay in 0.002 0.005 0.01 0.015 0.02 0.03 0.1 0.3; do
		mark=nsmark$$x$RANDOM
		echo "sh -c 'trap \"\" TERM; sleep 600; :' $mark & setsid sh -c 'sleep 600; :' $mark & wait" >"$tmp/script"
		"${as[@]}" "$nsrun" namespace "$guest" -i "$mark" <"$tmp/script" >/dev/null 2>&1 &
		victim=$!
		stop_later "$victim"
		sleep "$delay"
		[ "$delay" != 0.3 ] || ok "$who: it runs before it is killed" wait_for 5 some_marked "$mark"
		kill -KILL "$victim" 2>/dev/null
		wait "$victim" 2>/dev/null
		ok "$who: host killed after $delay s: no process of the run after 5 s" wait_for 5 none_marked "$mark"
	done
	is "$(cat /proc/self/mountinfo)" "$before" "$who: nothing is mounted outside"
	"${as[@]}" "$nsrun" reap >"$tmp/reap" 2>&1
	is "$?" 0 "$who: reap cleans the leases" || diag "$(cat "$tmp/reap")"
	is "$(leases)" 0 "$who: none is left"

	# Many at once.
	pids=()
	for n in 1 2 3 4 5 6 7 8; do
		echo 'echo $(id -u) $(cut -c1-80 /proc/self/uid_map | tail -n 1 | awk "{print \$2}"); sleep 0.5; ps ax | wc -l' |
			"${as[@]}" "$nsrun" namespace "$guest" -i "many-$$-$n" >"$tmp/many-$n" 2>"$tmp/many-$n.err" &
		pids+=($!)
	done
	good=0
	for n in 1 2 3 4 5 6 7 8; do wait "${pids[n - 1]}" && good=$((good + 1)); done
	is "$good" 8 "$who: eight at once"
	if [ "$(id -u)" = 0 ] && [ "${#as[@]}" = 0 ]; then
		is "$(sed -n 1p "$tmp"/many-[1-8] | sort -u | wc -l)" 1 "$who: (ids are seen from inside)"
	fi
	is "$(sort -u <(sed -n 2p "$tmp/many-1") | tr -d ' ')" 5 "$who: none sees another's processes" || diag "$(cat "$tmp/many-1")"
}
as=()
view "$(id -un)"

# Another Node: only bin, lib/node_modules and include of its prefix; from a folder that nobody else may enter.
real=$(readlink -f "$(command -v node)")
mkdir -p "$tmp/closed/v1/bin" "$tmp/closed/v1/lib/node_modules/npm" "$tmp/closed/v1/share"
echo secret >"$tmp/closed/secret"
echo secret >"$tmp/closed/v1/share/secret"
cp "$real" "$tmp/closed/v1/bin/node"
chmod 700 "$tmp/closed"
inside 'find /opt | sort | tr "\n" " "; /opt/node/bin/node -p 1+1; touch /opt/node/bin/x 2>&1 | grep -c "Read-only"; grep -c closed /proc/self/mountinfo' -n "$tmp/closed/v1/bin/node"
like "$out" '^/opt /opt/node /opt/node/bin /opt/node/bin/node /opt/node/lib /opt/node/lib/node_modules /opt/node/lib/node_modules/npm 2$' "Node outside /usr: only its own folders"
like "$err" '^node_inside /opt/node/bin/node$' "and its place inside is told"
like "$out" '^1$' "read-only"
ln -s closed/v1/bin/node "$tmp/link"
inside '/opt/node/bin/node -p 2+2' -n "$tmp/link"
is "$out" 4 "through a link"
cp "$real" "$tmp/closed/node-alone"
inside 'find /opt -type f; /opt/node/bin/node -p 3+3' -n "$tmp/closed/node-alone"
is "$(tr '\n' ' ' <<<"$out")" "/opt/node/bin/node 6 " "a program outside a bin folder is shown alone"
printf '#!/bin/sh\nexec node "$@"\n' >"$tmp/closed/v1/bin/node2"
chmod 755 "$tmp/closed/v1/bin/node2"
inside true -n "$tmp/closed/v1/bin/node2"
is "$status" 4 "a script is refused"
like "$err" '^fix .*process.execPath' "with the way to the real one"
is "$(leases)" 0 "and leaves no lease"
inside true -e 0
is "$status" 4 "a run without time is refused"

# An ordinary user with a range of ids of its own, who exists for this test only.
if [ "$(id -u)" -ne 0 ]; then
	skip "as another user" "only root makes users"
elif ! command -v newuidmap >/dev/null || ! command -v useradd >/dev/null; then
	skip "as an ordinary user" "newuidmap or useradd is not installed"
else
	user=attest$$
	clean_user() {
		userdel "$user" 2>/dev/null
		sed -i "/^$user:/d" /etc/subuid /etc/subgid
		tap_end
	}
	trap clean_user EXIT
	useradd --system --no-log-init --create-home --home-dir "$tmp/home" --shell /bin/sh "$user" || bail_out "useradd failed"
	sed -i "/^$user:/d" /etc/subuid /etc/subgid
	as=(setpriv --reuid "$user" --regid "$user" --init-groups env -i "PATH=$PATH" "HOME=$tmp/home")
	inside true
	is "$status" 4 "user without a range: refused"
	like "$err" "^problem /etc/subuid has no range for $user" "which says so"
	like "$err" "^fix sudo usermod --add-subuids [0-9]+-[0-9]+ $user" "and the command that gives one"
	echo "$user:1800000000:500" >>/etc/subuid
	echo "$user:1800000000:500" >>/etc/subgid
	inside true
	is "$status" 4 "user with too small a range: refused"
	like "$err" '^problem .*500 ids; at least 1001' "which says so"
	sed -i "s/^$user:.*/$user:1800000000:65536/" /etc/subuid /etc/subgid
	text=$("${as[@]}" "$nsrun" doctor --runtime namespace)
	is "$?" 0 "user with a range: doctor is content" || diag "$text"
	like "$text" 'ok +subordinate ids: 65536 uids' "and counts them"
	view "ordinary user"
	inside 'echo' && like "$err" '^mode user with newuidmap$' "the mode is told"
	ok "the lease folder is the user's own" test "$(stat -c %U%a "$tmp/home/.agenttwin/leases")" = "${user}700"
fi
done_testing
