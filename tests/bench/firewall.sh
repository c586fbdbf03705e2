#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# firewall.sh - what our installation costs against `nft -f` of the same script, in the same run: medians of RUNS, each in
# a new network namespace.  Ours does more (device pair, routes, read-back with comparison), and is a library call; nft is
# a program to be started, so the start of a program that does nothing is subtracted from it.
# shellcheck disable=SC2016 # what stands in single quotes is expanded by another shell
set -eu
bench=${O:-build}/tests/fwbench
runs=${1:-21}
[ "$(id -u)" = 0 ] || { echo "firewall.sh: needs root" >&2; exit 1; }
[ -x "$bench" ] || { echo "firewall.sh: $bench is not built" >&2; exit 1; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
unshare -n "$bench" install text >"$tmp/script"
now_us() { echo $(($(date +%s%N) / 1000)); }
# Times "$@" in a namespace that is made outside the time.
time_in_namespace() {
	export -f now_us
	for _ in $(seq "$runs"); do
		unshare -n bash -c 'ip link set lo up; a=$(now_us); "$@" >/dev/null; b=$(now_us); echo $((b - a))' _ "$@"
	done | sort -n | sed -n "$(((runs + 1) / 2))p"
}
ours=
for _ in $(seq "$runs"); do
	ours="$ours$(unshare -n "$bench" time:1)
"
done
install=$(printf '%s' "$ours" | awk '{print $2}' | sort -n | sed -n "$(((runs + 1) / 2))p")
prove=$(printf '%s' "$ours" | awk '{print $4}' | sort -n | sed -n "$(((runs + 1) / 2))p")
nothing=$(time_in_namespace true)
nft=$(time_in_namespace nft -f "$tmp/script")
echo "install with device pair, read-back, subscriptions: $install us"
echo "proof by $(unshare -n "$bench" install prove probes | grep -c ^probe) probes:                               $prove us"
echo "nft -f of the same script (start of a program subtracted): $((nft - nothing)) us"
awk -v a="$install" -v p="$prove" -v b="$((nft - nothing))" \
	'BEGIN { printf "ratio install / nft -f: %.2f\nratio install and proof / nft -f: %.2f\n", a / b, (a + p) / b }'
