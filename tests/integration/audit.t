#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the programs say of themselves is what a real run enforces: digests, rules, powers of each process.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh

# ---- text ----
"$guest" audit --seccomp >"$tmp/native"
is "$?" 0 "audit --seccomp"
"$guest" audit --seccomp >"$tmp/again"
ok "it is stable" cmp "$tmp/native" "$tmp/again"
case $(uname -m) in x86_64 | aarch64) native=$(uname -m) ;; *) skip_all "neither x86_64 nor aarch64" ;; esac
for arch in x86_64 aarch64; do
	"$guest" audit --seccomp --arch $arch >"$tmp/$arch"
	is "$(grep -c '^# ' "$tmp/$arch")" 3 "$arch: three programs"
	is "$(grep -Ec "^# (workflow|workflow without AF_UNIX|twins), $arch: [0-9]+ instructions, SHA-256 [0-9a-f]{64}\$" "$tmp/$arch")" 3 "$arch: each with its digest"
	is "$(awk -v want=1 '/^#/ { want = 0; next } $1 != want++ { print }' "$tmp/$arch")" "" "$arch: every instruction once, in order"
	is "$(awk '/^# /{ if (n != said) print name; name = $0; sub(/:.*/, "", name); said = $0; sub(/.*: /, "", said); sub(/ .*/, "", said); n = 0; next }
		{ n++ } END { if (n != said) print name }' "$tmp/$arch")" "" "$arch: as many as the head says"
	unlike "$(cat "$tmp/$arch")" 'never reached|instruction 0x|action 0x|if A |word [0-9]' "$arch: nothing that a person would have to decode"
	is "$(awk '/^# /{ last = $0 } / goto /{ for (i = 1; i < NF; i++) if (($i == "goto" || $i == "else") && $(i + 1) <= $1) print last, $0 }' "$tmp/$arch")" "" "$arch: jumps go forward"
	"$host" audit --seccomp --arch $arch >"$tmp/host"
	ok "$arch: the host prints the same" cmp "$tmp/host" "$tmp/$arch"
done
ok "the default is this machine's" cmp "$tmp/native" "$tmp/$native"
like "$(cat "$tmp/x86_64")" '^ +[0-9]+  if nr == 101 \(ptrace\) goto [0-9]+ else [0-9]+$' "x86_64: calls by name and number"
like "$(cat "$tmp/aarch64")" '^ +[0-9]+  if nr == 117 \(ptrace\) goto [0-9]+ else [0-9]+$' "aarch64: calls by name and number"
like "$(cat "$tmp/x86_64")" '^ +[0-9]+  return (allow|kill process|errno 1 EPERM)$' "actions by name"
# What one call meets: A call's comparison is followed by what it gets.
meets() { grep -A1 -E "\\($1\\) goto" "$2" | sed -nE '2s/^ *[0-9]+  //p'; }
is "$(meets ptrace "$tmp/x86_64")" "return errno 1 EPERM" "ptrace is refused"
is "$(meets io_uring_setup "$tmp/aarch64")" "return errno 38 ENOSYS" "io_uring does not exist"

"$guest" audit --caps >"$tmp/caps"
is "$?" 0 "audit --caps"
"$host" audit --caps >"$tmp/host"
ok "the host prints the same powers" cmp "$tmp/host" "$tmp/caps"
"$guest" audit --json >"$tmp/audit.json"
"$guest" audit --json | cmp -s - "$tmp/audit.json"
is "$?" 0 "audit --json is stable"
is "$("$host" audit --json | cmp - "$tmp/audit.json" 2>&1)" "" "the host prints the same JSON"
is "$(json "$tmp/audit.json" 'Object.keys(r).join() + " " + Object.keys(r.build).join()')" \
	"guest,policy,filter,build arch,version,package,pin,compiler,flags" "its members"
is "$(json "$tmp/audit.json" 'Array.isArray(r.build.package) && Array.isArray(r.build.pin) && r.build.package.length > 5')" true "packages and pins are lists"
is "$(json "$tmp/audit.json" 'r.guest.sha256')" "$(sha256sum "$guest" | cut -d' ' -f1)" "the guest's digest is its file's"
head_digest() { sed -nE "s/^# $1, $native: .* SHA-256 //p" "$tmp/native"; }
is "$(json "$tmp/audit.json" '[r.filter.workflow, r.filter.workflow_without_unix, r.filter.twins].join(" ")')" \
	"$(head_digest workflow) $(head_digest "workflow without AF_UNIX") $(head_digest twins)" "JSON and text give the same digests"

for program in "$guest" "$host"; do
	for options in "--seccomp twins" "--seccomp --arch" "--seccomp --arch mips" "--seccomp --arch x86_64 more" "--arch x86_64" "--caps --json" "--caps more"; do
		# shellcheck disable=SC2086
		"$program" audit $options >"$tmp/out" 2>"$tmp/err"
		is "$? $(wc -c <"$tmp/out")" "2 0" "$(basename "$program") audit $options: usage"
	done
	"$program" audit --seccomp >/dev/full 2>/dev/null
	is "$?" 1 "$(basename "$program") audit --seccomp to a full disk fails"
done

# ---- nft ----
if [ "$(id -u)" -ne 0 ] || ! command -v nft >/dev/null || ! unshare -n true 2>/dev/null; then
	skip "nft takes audit --nft" "needs root, nft and network namespaces"
else
	for lock in inner outer; do
		"$guest" audit --nft $lock >"$tmp/rules"
		ok "nft takes audit --nft $lock" unshare -n nft -f "$tmp/rules"
	done
fi

# ---- a real run ----
need_namespace
mark=agenttwin-audit-$$-$RANDOM
world "$tmp/slow" '"slow.mjs"' "\"node\", \"slow.mjs\", \"$mark\""
cp tests/integration/programs/slow.mjs "$tmp/slow/"
runs() { [ -n "$(proc marked "$mark")" ]; }
start_world "$tmp/slow" --timeout 60s
wait_for 20 runs || bail_out "the workflow did not start"
# field PID NAME: of /proc/PID/status
field() { sed -nE "s/^$2:[[:space:]]*//p" "/proc/$1/status" | tr '\t' ' '; }
# powers PID: as the columns of audit --caps say them
powers() {
	local all=none bounding=none nnp=no filter=none
	[ "$(field "$1" CapInh)$(field "$1" CapPrm)$(field "$1" CapEff)$(field "$1" CapAmb)" = "$(printf '%064d' 0)" ] || all=some
	[ "$(field "$1" CapEff)" != "$(field "$1" CapBnd)" ] || [ "$all" = none ] || all=all
	[ "$(field "$1" CapBnd)" = 0000000000000000 ] || bounding=all
	[ "$(field "$1" NoNewPrivs)" = 0 ] || nnp=yes
	[ "$(field "$1" Seccomp)" = 0 ] || filter=$2
	echo "$all $bounding $nnp $filter"
}
said() { awk -v name="$1" '$1 == name { print $3, $4, $5, $6 }' "$tmp/caps"; }
workflow=$(proc marked "$mark" | while read -r p; do [ "$(cat "/proc/$p/comm")" = agenttwin-host ] || echo "$p"; done | tail -n 1)
monitor=$(field "$workflow" PPid)
twins=''
init=''
for p in $(cat "/proc/$monitor/task/$monitor/children"); do
	if [ "$p" = "$workflow" ]; then continue; fi
	if [ "$(field "$p" Seccomp)" = 2 ]; then twins=$p; else init=$p; fi
done
ok "monitor, room-init, twins and workflow are found" test -n "$monitor" -a -n "$init" -a -n "$twins" -a -n "$workflow"
is "$(powers "$monitor" '')" "$(said monitor)" "the monitor's powers"
is "$(powers "$init" '')" "$(said room-init)" "the room's first process's powers"
is "$(powers "$twins" twins)" "$(said twins)" "the twins' powers"
is "$(powers "$workflow" workflow)" "$(said workflow)" "the workflow's powers"
for p in $monitor $init $twins $workflow; do is "$(field "$p" Groups | tr -d ' ')" "" "$(cat "/proc/$p/comm"): no groups"; done
kill -TERM "$pid"
end_world
is "$(json "$receipt" 'r.boundary.drop.filter_sha256')" \
	"$(if [ "$(json "$receipt" 'r.boundary.af_unix')" = allowed ]; then head_digest workflow; else head_digest "workflow without AF_UNIX"; fi)" \
	"the receipt's workflow filter is the printed one"
is "$(json "$receipt" 'r.boundary.drop.filter_twins_sha256')" "$(head_digest twins)" "and the twins'"
is "$(json "$receipt" 'r.boundary.policy.sha256')" "$(json "$tmp/audit.json" 'r.policy.sha256')" "and the policy"
is "$(json "$receipt" 'r.runtime.guest.sha256')" "$(json "$tmp/audit.json" 'r.guest.sha256')" "and the guest"

# ---- what docs/auditing.md tells to do ----
if ! command -v jq >/dev/null; then
	skip "the commands of docs/auditing.md" "jq is not installed"
	done_testing
fi
"$host" run --receipt "$tmp/r.json" templates/worlds/refund-agent >"$tmp/out" 2>&1
is "$?" 0 "the example passes" || diag "$(cat "$tmp/out")"
# page START END: the command between these lines, inclusive, and what the page says that it prints
page() { awk -v start="$1" -v end="$2" 'index($0, start) == 1 { on = 1 } on { print } on && index($0, end) { exit }' docs/auditing.md; }
printed() { awk -v start="$1" 'index($0, start) == 1 { on = 1 } on && /^→ / { sub(/^→ /, ""); print; exit }' docs/auditing.md; }
for start in "jq -n --slurpfile" "jq -e '.boundary"; do
	case $start in *slurpfile) end=' -c' ;; *) end="' r.json" ;; esac
	page "$start" "$end" >"$tmp/command"
	is "$(cd "$tmp" && sh "$tmp/command" 2>&1)" "$(printed "$start")" "docs/auditing.md: $start"
done
done_testing
