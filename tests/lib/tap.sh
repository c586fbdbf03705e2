# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# tap.sh - TAP for tests in bash.  Source it first; end with done_testing.  The current folder is the repository's root.
#   tmp                       a fresh folder, removed at the end (kept with KEEP=1)
#   not_made PATH...          files or folders below tmp that the test makes up: tests/integration/made.t does not judge them
#   stop_later PID            PID gets SIGKILL at the end, however the test ends; it must be a child or a child's child
tap_count=0
tap_failed=0
tap_stop=()
tap_done=
tap_started=$(date +%s)
tap_not_made=()
pass() { tap_count=$((tap_count + 1)); printf 'ok %d - %s\n' "$tap_count" "$1"; }
fail() { tap_count=$((tap_count + 1)); tap_failed=$((tap_failed + 1)); printf 'not ok %d - %s\n' "$tap_count" "$1"; }
skip() { tap_count=$((tap_count + 1)); printf 'ok %d - %s # SKIP %s\n' "$tap_count" "$1" "$2"; }
diag() { printf '%s\n' "$*" | sed 's/^/# /'; }
# ok NAME COMMAND...: the command's exit status decides.
ok() {
	local name=$1
	shift
	if "$@"; then pass "$name"; else fail "$name"; return 1; fi
}
# is GOT WANT NAME
is() {
	if [ "$1" = "$2" ]; then pass "$3"; return; fi
	fail "$3"
	diag "got:  $1" "" | head -c 2000
	diag "want: $2" | head -c 2000
	return 1
}
# like GOT ERE NAME, unlike GOT ERE NAME: some line of GOT matches, or none
like() {
	if grep -Eq -e "$2" <<<"$1"; then pass "$3"; return; fi
	fail "$3"
	diag "no match for: $2"
	diag "$1" | head -n 20 | head -c 3000
	return 1
}
unlike() {
	if ! grep -Eq -e "$2" <<<"$1"; then pass "$3"; return; fi
	fail "$3"
	diag "must not match: $2"
	diag "$1" | grep -E -e "$2" | head -n 5
	return 1
}
stop_later() { tap_stop+=("$1"); }
not_made() { tap_not_made+=("$@"); }
skip_all() {
	printf '1..0 # SKIP %s\n' "$1"
	tap_done=1
	exit 0
}
bail_out() {
	printf 'Bail out! %s\n' "$1"
	tap_done=1
	exit 1
}
done_testing() {
	tap_done=1
	printf '1..%d\n' "$tap_count"
	[ "$tap_failed" -eq 0 ] || exit 1
	exit 0
}
# What our programs wrote goes to the judge, see tests/integration/made.t; he comes early when there is much of it already.
tap_hand_over() {
	perl tests/lib/collect.pl "$tmp" "$AGENTTWIN_MADE" "$(basename "$0" .t)" "$tap_started" "${tap_not_made[@]}"
	[ "$(du -sk "$AGENTTWIN_MADE" | cut -f1)" -gt 100000 ] || return 0
	if make --no-print-directory "O=${O_relative:-${O:-build}}" "${O_relative:-${O:-build}}/judge.stamp" >/dev/null 2>&1; then
		node tests/integration/judge/judge.mjs made "$AGENTTWIN_MADE"
	else
		find "$AGENTTWIN_MADE" -name '*-*.*' -delete -printf 'unjudged %f\n' >>"$AGENTTWIN_MADE/result"
	fi
}
tap_end() {
	local status=$?
	local pid
	for pid in "${tap_stop[@]}"; do kill -KILL "$pid" 2>/dev/null; done
	if [ -n "${AGENTTWIN_MADE-}" ]; then (flock 9 && tap_hand_over) 9>"$AGENTTWIN_MADE/lock"; fi
	if [ -n "${KEEP-}" ]; then diag "kept: $tmp"; else rm -rf "$tmp"; fi
	if [ -z "$tap_done" ]; then
		printf 'Bail out! the test script ended early, status %d\n' "$status"
		exit 1
	fi
}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/agenttwin-test.XXXXXX") || exit 1
tmp=$(cd "$tmp" && pwd -P)
chmod 755 "$tmp"
trap tap_end EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
