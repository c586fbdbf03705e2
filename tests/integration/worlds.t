#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The example worlds with packages of npm: each passes, and each variant with a mistake in its program fails for the reason that its
# `about` tells.  LONG: every world twenty times with one fingerprint.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh
need_namespace
command -v npm >/dev/null || skip_all "npm is not installed"

# world FOLDER FILE STATUS EXIT CHECK...: the checks are those that do not hold, in their order.
try() {
	local folder=$1 file=$2 status_wanted=$3 exit_wanted=$4
	shift 4
	run_world "$tmp/$folder/$file"
	is_run "$status_wanted" "$exit_wanted" "$folder/$file: $status_wanted"
	is "$(failed_checks | tr '\n' ' ' | sed 's, $,,')" "$*" "$folder/$file: ${*:-every check holds}"
}
# The packages of a world, or a skip with its reason.
packages() {
	make --no-print-directory "O=$O_relative" "$O_relative/$1.npm.stamp" >"$tmp/npm" 2>&1 || {
		diag "$(tail -n 5 "$tmp/npm")"
		skip "$1" "npm could not install the packages (is a registry reachable?)"
		return 1
	}
	is "$(grep -c '"resolved"' "templates/worlds/$1/package-lock.json")" 0 "$1: the lock file names no registry"
	cp -R "templates/worlds/$1" "$tmp/$1"
}

if packages stripe-agent; then
	try stripe-agent world.json passed 0
	is "$(json "$receipt" 'r.operations.filter(o => o.route === "refund.create").map(o => o.idempotency)')" '["first","replay","replay"]' \
		"stripe-agent: the SDK repeats with one key"
	try stripe-agent new-key.world.json failed 1 one-refund half
fi
if packages slack-notifier; then
	try slack-notifier world.json passed 0
	try slack-notifier blind.world.json failed 1 three-messages
fi
if packages github-triager; then
	try github-triager world.json passed 0
	try github-triager first-page.world.json failed 1 error-is-a-bug last-is-a-question
fi
if packages express-app; then
	try express-app world.json passed 0
	try express-app forgetful.world.json failed 1 refused
fi
if packages webhook-consumer; then
	try webhook-consumer world.json passed 0
	try webhook-consumer trusting.world.json failed 1 one-parcel
fi
done_testing
