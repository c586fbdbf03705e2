#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# agenttwin.sh - runs worlds in continuous integration, wherever there is a shell.  Copy it to ci/agenttwin.sh of your project.
#   agenttwin.sh build           builds AgentTwin into $AGENTTWIN_PREFIX, unless that revision is there: keep the folder in a cache
#   agenttwin.sh test [PATH...]  runs every world at and below the paths; reports and receipts go to $AGENTTWIN_OUT
# It reads:
#   AGENTTWIN_REPOSITORY, AGENTTWIN_REVISION   for build: where the source is, and which commit or tag of it
#   AGENTTWIN_PREFIX   default .cache/agenttwin
#   AGENTTWIN_OUT      default agenttwin-out
#   AGENTTWIN_SHARD    such as 2/4, when several jobs share the worlds; default: all of them
#   AGENTTWIN_OPTIONS  more options of `agenttwin-host test`, such as --retry 1
set -eu

prefix=${AGENTTWIN_PREFIX:-.cache/agenttwin}
case $prefix in /*) ;; *) prefix=$PWD/$prefix ;; esac
host=$prefix/bin/agenttwin-host

build() {
	: "${AGENTTWIN_REPOSITORY:?says where the source of AgentTwin is}" "${AGENTTWIN_REVISION:?says which commit or tag of it}"
	if [ -x "$host" ] && [ "$(cat "$prefix/revision" 2>/dev/null)" = "$AGENTTWIN_REVISION" ]; then
		echo "agenttwin.sh: $AGENTTWIN_REVISION is there already" >&2
		return
	fi
	source=$(mktemp -d)
	trap 'rm -rf "$source"' EXIT
	git clone --quiet "$AGENTTWIN_REPOSITORY" "$source"
	git -C "$source" checkout --quiet --detach "$AGENTTWIN_REVISION"
	# Compilers and libraries, where they are missing; asks nothing.
	sh "$source/.ci/packages" demo
	make -C "$source" -j"$(nproc)"
	make -C "$source" install "PREFIX=$prefix" DESTDIR= >/dev/null
	# Last: a folder without it is built again.
	printf '%s\n' "$AGENTTWIN_REVISION" >"$prefix/revision"
}

run_worlds() {
	out=${AGENTTWIN_OUT:-agenttwin-out}
	mkdir -p "$out"
	# Root can enforce every limit and needs no user namespaces; an ordinary user is enough where doctor says so.
	as_root=
	if [ "$(id -u)" -ne 0 ] && ! "$host" doctor --runtime namespace >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
		as_root="sudo -n --preserve-env=GITHUB_ACTIONS,GITHUB_WORKSPACE,GITHUB_STEP_SUMMARY"
	fi
	# It says what is missing, and the command that mends it.
	if ! $as_root "$host" doctor --runtime namespace >"$out/doctor.txt" 2>&1; then
		cat "$out/doctor.txt" >&2
		exit 4
	fi
	# exec: a signal to the job reaches it, and it leaves nothing behind.
	# shellcheck disable=SC2086 # options, word by word
	exec $as_root "$host" test --node "$(command -v node)" ${AGENTTWIN_SHARD:+--shard "$AGENTTWIN_SHARD"} \
		--junit "$out/junit.xml" --ctrf "$out/ctrf.json" --receipt "$out/receipts" ${AGENTTWIN_OPTIONS-} -- "$@"
}

case ${1-} in
build) build ;;
test)
	shift
	run_worlds "$@"
	;;
*)
	sed -n '3,11s/^# \{0,1\}//p' "$0" >&2
	exit 2
	;;
esac
