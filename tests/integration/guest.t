#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The guest alone against a small host: endings, output, failures of the stream, and the inner room's absence.
# shellcheck disable=SC2154
. tests/lib/tap.sh
O=${O:-build}
guest=$(pwd)/$O/agenttwin-guest
fake=$O/tests/fakehost
[ -x "$fake" ] || skip_all "no $fake: make tests"
node=$(command -v node) || skip_all "no node"
path=$(dirname "$node"):/usr/local/bin:/usr/bin:/bin
app=$tmp/app
mkdir "$app"
if [ "$(id -u)" -eq 0 ] && unshare -mpnif true 2>/dev/null; then
	modes="sandbox plain local"
else
	modes=local
	skip "sandbox" "NOT ROOT: only the local mode is tested here"
fi

# run MODE FILE OPTION... -- WORKFLOW...: FILE is NAME:TEXT.  Sets out and status.
run() {
	local mode=$1 file=$2 options=() in
	shift 2
	in=()
	while [ "$1" != -- ]; do
		options+=("$1")
		[ "$1" != --bundle ] || in=(--in "$2")
		shift
	done
	shift
	case $mode in
	local)
		rm -rf "$app"
		mkdir "$app"
		set -- "$guest" run "${in[@]}" -- "$@"
		options+=(--local)
		;;
	plain) # as in a container: no power to make namespaces
		set -- unshare -mpniuf tests/lib/guestbox.sh "$app" setpriv --bounding-set=-sys_admin "$guest" run "${in[@]}" -- "$@"
		;;
	*) set -- unshare -mpniuf tests/lib/guestbox.sh "$app" "$guest" run "${in[@]}" -- "$@" ;;
	esac
	out=$(timeout 90 "$fake" --app "$app" --env "PATH=$path" "${options[@]}" --file "$file" -- "$@" 2>&1)
	status=$?
}
# ends NAME RESULT ERE...: END with that result, a line for each ERE
ends() {
	local name=$1 result=$2
	shift 2
	like "$out" "^END result=$result\$" "$name: END $result" || true
	like "$out" "guest status=$([ "$result" = 0 ] && echo 0 || echo 1) .*complete=1" "$name: the guest's status"
	local i=0
	for ere; do
		i=$((i + 1))
		like "$out" "$ere" "$name: as expected ($i)" || true
	done
}

for mode in $modes; do
	run $mode 'a/b/m.js:console.log("in", require("fs").readFileSync(0, "utf8"), process.argv[2]); process.exit(7)' \
		--stdin text -- node a/b/m.js argument
	ends "$mode exit code" 0 '^EXIT code=7 signal=0 .* ended_by=itself .*digests=match' '^STDOUT in text argument'
	like "$(grep -nE '^(HELLO|phase=1 FIREWALL|READY|EXIT|phase=2 FIREWALL|END)' <<<"$out" | sed 's/.*:\([A-Z]*\).*/\1/; s/^[0-9]*:phase.*FIREWALL.*/FIREWALL/' | cut -c1-8 | tr '\n' ' ')" \
		. "$mode: frames come"

	run $mode 'm.js:process.kill(process.pid, "SIGKILL")' -- node m.js
	ends "$mode signal" 0 '^EXIT code=-1 signal=9 '

	run $mode 'm.js:process.stdout.write("x".repeat(3 << 20)); process.exit(3)' -- node m.js
	ends "$mode 3 MiB and exit" 0 '^EXIT code=3 .*stdout=3145728 stderr=0 got=3145728/0 digests=match'
	run $mode 'm.js:process.stdout.write("x".repeat(3 << 20)); process.exit(3)' --slow -- node m.js
	ends "$mode 3 MiB to a slow host" 0 '^EXIT code=3 .*got=3145728/0 digests=match'

	run $mode 'm.js:1' -- no-such-program
	ends "$mode missing program" 0 '^EXIT code=-1 signal=0 .*stage=exec errno=ENOENT '
	run $mode 'm.js:1' -- ./m.js
	ends "$mode not executable" 0 '^EXIT code=-1 .*stage=exec errno=EACCES '
	run $mode 'm.js:1' --cwd missing -- node m.js
	ends "$mode missing folder" 0 '^EXIT code=-1 .*stage=cwd errno=ENOENT '

	run $mode 'd.sh:(trap "" TERM HUP; setsid sh -c "trap \"\" TERM; while :; do sleep 1; done" &); echo started; exit 5' -- sh d.sh
	ends "$mode daemon" 0 '^EXIT code=5 .*pipe_held=1' '^STDOUT started'
	run $mode 'd.sh:trap "" TERM; (setsid sh -c "trap \"\" TERM; sleep 600" &); while :; do sleep 1; done' \
		--run-ms 700 --grace-ms 300 -- sh d.sh
	ends "$mode deadline, TERM ignored" 4 '^EXIT code=-1 signal=9 .*ended_by=run deadline'
	run $mode 'm.js:setTimeout(() => {}, 60000)' --idle-ms 700 -- node m.js
	ends "$mode idle" 4 '^EXIT .*ended_by=idle'

	run $mode 'm.js:const b = "y".repeat(65536); for (;;) require("fs").writeSync(1, b)' --output 5000000 -- node m.js
	ends "$mode flood" 0 '^EXIT .*ended_by=output limit .*got=5000000/[0-9]+ digests=match' '^TRUNCATED stdout kept=5000000 lost='

	run $mode 'm.js:setTimeout(() => {}, 60000)' --cancel-on-ready -- node m.js
	ends "$mode cancelled" 3 '^EXIT code=-1 signal=15 .*ended_by=cancel'
	run $mode 'm.js:setTimeout(() => {}, 60000)' --close-on-ready -- node m.js
	ends "$mode host gone" 1 '^EXIT .*ended_by=host lost'
	run $mode 'm.js:1' --no-start --cancel-ms 800 -- node m.js
	ends "$mode cancelled before START" 3 '^FAIL step=cancelled errno=ECANCELED '
	unlike "$out" '^(EXIT|READY)' "$mode: and nothing ran"

	for bad in --bad-digest --bad-chain --no-commit "--cut-after 3"; do
		# shellcheck disable=SC2086 # an option and its value
		run $mode 'm.js:1' $bad -- node m.js
		ends "$mode $bad" 1 '^FAIL step=(bundle|stream) errno=EPROTO '
		unlike "$out" '^(EXIT|READY|STDOUT)' "$mode $bad: nothing ran"
	done
	run $mode 'm.js:setTimeout(() => {}, 60000)' --garbage -- node m.js
	ends "$mode garbage after COMMIT" 1 '^FAIL step=stream errno=EPROTO '
	run $mode 'm.js:1' --garbage-first -- node m.js
	like "$out" '^guest status=1 .*complete=0' "$mode garbage first: nothing but a status"
	is "$status" 1 "$mode garbage first: no END"

	run $mode 'm.js:console.log("from a file")' --bundle "$tmp/bundle" -- node m.js
	ends "$mode bundle file" 0 '^STDOUT from a file' '^EXIT code=0 '
	run $mode 'm.js:1' --bundle "$tmp/bundle" --garbage -- node m.js
	ends "$mode bytes behind COMMIT" 1 '^FAIL step=stream errno=EPROTO '
	run $mode 'm.js:1' --bundle "$tmp/bundle" --no-commit -- node m.js
	ends "$mode bundle file without COMMIT" 1 '^FAIL step=stream errno=EPROTO '
done

for mode in $modes; do
	[ "$mode" != local ] || continue
	run "$mode" 'm.js:1' --bad-gate -- node m.js
	ends "$mode other policy" 2 '^FAIL step=gate errno=EPERM '
	unlike "$out" '^(EXIT|READY|STDOUT)' "$mode other policy: nothing ran"
	run "$mode" 'm.js:require("net").connect(443, "198.51.100.7").on("error", (e) => console.log(e.code, process.getuid()))' -- node m.js
	ends "$mode egress" 0 '^STDOUT ECONNREFUSED 1000' '^DENIED .*"workflow":1,.*"recorded":1,"unrecorded":0.*"destination":"198.51.100.7","port":443,"uid":1000,"owner":"workflow","count":1'
	run "$mode" 'm.js:new (require("worker_threads").Worker)("console.log(1)", { eval: true }); console.log(require("child_process").execSync("id -u; umask").toString())' -- node m.js
	ends "$mode threads and children" 0 '^EXIT code=0 '
done
if [ "$modes" != local ]; then
	run sandbox 'm.js:1' -- node m.js
	like "$out" '"inner_room":true,"namespaces":\["net","pid","mnt","ipc"\],"reason":null,"af_unix":"allowed"' "the inner room stands"
	like "$out" '"lock":2,"kind":"inner","proved":true' "and its lock is proved"
	unlike "$out" '"refused":false' "every attempt is refused"
	run plain 'm.js:require("net").createServer().on("error", (e) => console.log(e.code)).listen("s")' -- node m.js
	like "$out" '"inner_room":false,"namespaces":\[\],"reason":"the kernel refuses' "without the room its reason is told"
	like "$out" '^STDOUT EAFNOSUPPORT' "and sockets with names are refused"
	run sandbox 'm.js:const fs = require("fs"); console.log(fs.readdirSync("/run").length, fs.readdirSync("/proc").filter((n) => +n).length)' -- node m.js
	like "$out" '^STDOUT 0 2' "the room shows an empty /run and two processes"
fi

# In the background: behind BACK_PID, output in $tmp/back; the workflow's process is found by a word of its own.
back() { # MODE FILE OPTION... -- WORKFLOW...
	word=word-$$-$RANDOM
	(
		run "$@" "$word"
		printf '%s\n' "$out" >"$tmp/back"
	) &
	back_pid=$!
	stop_later "$back_pid"
	workflow=
	for _ in $(seq 200); do
		workflow=$(pgrep -f "m.js $word\$" | while read -r pid; do
			case $(cat "/proc/$pid/comm" 2>/dev/null) in node | MainThread) echo "$pid" ;; esac
		done | head -n 1)
		[ -z "$workflow" ] || break
		sleep 0.05
	done
	monitor=$(sed -n 's/^PPid:\t//p' "/proc/$workflow/status")
	twins=$(pgrep -P "$monitor" | while read -r pid; do
		[ "$pid" = "$workflow" ] || [ "$(grep -c '^Seccomp:.2' "/proc/$pid/status")" = 0 ] || echo "$pid"
	done)
}
front() {
	wait "$back_pid"
	out=$(cat "$tmp/back")
}
is_gone() { # PID: not there, or a zombie
	for _ in $(seq 100); do
		[ -d "/proc/$1" ] && ! grep -q '^State:.[ZX]' "/proc/$1/status" 2>/dev/null || return 0
		sleep 0.05
	done
	return 1
}
rest="sleep 600.$$" # a word of this test's own
is_empty() { # PATTERN: nobody has such a command line, soon
	for _ in $(seq 100); do
		pgrep -f "$1" >/dev/null || return 0
		sleep 0.05
	done
	return 1
}
forever='m.js:require("child_process").spawn("sh", ["-c", "trap \"\" TERM; setsid '$rest'"], { detached: true }); setInterval(() => {}, 1000)'
for mode in $modes; do
	back "$mode" "$forever" -- node m.js
	kill -KILL "$twins"
	front
	ends "$mode twins die" 1 '^EXIT code=-1 signal=9 .*ended_by=twins' '^FAIL step=twins .*signal 9'
	back "$mode" "$forever" -- node m.js
	kill -TERM "$monitor"
	front
	ends "$mode SIGTERM to the guest" 3 '^EXIT .*ended_by=cancel'
	back "$mode" "$forever" -- node m.js
	kill -KILL "$monitor"
	front
	like "$out" '^guest status=.* complete=0' "$mode guest killed: no END"
	ok "$mode guest killed: the workflow is gone" is_gone "$workflow"
	ok "$mode guest killed: the twins are gone" is_gone "$twins"
	if [ "$mode" = local ]; then # no namespace ends what the guest left there: the backend does
		for pid in $(pgrep -f "^$rest\$"); do kill -KILL "$pid"; done
	else
		ok "$mode guest killed: nothing is left" is_empty "^$rest\$"
	fi
	if [ "$mode" = local ] || ! command -v nft >/dev/null; then continue; fi
	back "$mode" "$forever" -- node m.js
	nsenter -t "$workflow" -n nft insert rule inet agenttwin output accept
	front
	ends "$mode table changed" 2 '^phase=3 FIREWALL ' '^EXIT .*ended_by=firewall' '^FAIL step=firewall\.'
	back "$mode" "$forever" -- node m.js
	nsenter -t "$workflow" -n nft delete table inet agenttwin
	front
	ends "$mode table deleted" 2 '^phase=3 FIREWALL ' '^FAIL step=firewall\.'
done
is "$(pgrep -f "^$guest run" | wc -l)" 0 "no guest is left"
done_testing
