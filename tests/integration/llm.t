#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Language models as the SDKs of OpenAI and Anthropic use them, unmodified: conversations, streams, streams that are cut or say an error.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh
need_namespace
mkdir "$tmp/w"
cp tests/integration/programs/llm/* "$tmp/w/"
for name in support-agent anthropic-agent; do
	folder=templates/worlds/$name
	make --no-print-directory "O=$O_relative" "$O_relative/$name.npm.stamp" >"$tmp/npm" 2>&1 || {
		diag "$(tail -n 5 "$tmp/npm")"
		skip_all "npm could not install the packages of $name (is a registry reachable?)"
	}
	cp -a "$folder/node_modules" "$tmp/w/"
	is "$(grep -c '"resolved"' "$folder/package-lock.json")" 0 "the lock file of $name names no registry"
done
for file in world.json streams.world.json cuts.world.json; do
	ok "the schema accepts $file" python3 tests/lib/schema.py docs/schema/world.schema.json "$tmp/w/$file"
	run_world "$tmp/w/$file"
	is_run passed 0 "$file: the SDKs see what they should" || diag "$(json "$receipt" 'r.outcome.stderr.tail')"
	is "$(failed_checks)" "" "$file: every check holds"
	ok "$file: the receipt is valid" python3 tests/lib/schema.py docs/schema/receipt.schema.json "$receipt"
	case $file in
	streams.*)
		views() { json "$receipt" "[...new Set(r.operations.filter(o => $1.includes(o.route)).map(o => o.views.service + ' ' + o.views.client))].join()"; }
		is "$(views '["garble", "error"]')" "applied told-error" "a broken frame and an error tell of an error"
		is "$(views '["fin", "rst"]')" "applied told-nothing" "a stream that is cut tells nothing"
		is "$(views '["clean", "nostop"]')" "applied told-ok" "one that ends in order looks whole"
		;;
	esac
done
is "$(json "$receipt" 'r.operations.filter(o => ["fin", "rst"].includes(o.route)).map(o => o.views.service + " " + o.views.client).join()')" \
	"applied told-nothing,applied told-nothing,applied told-nothing,applied told-nothing" "what was cut was said, and not heard"
is "$(json "$receipt" 'r.operations.filter(o => o.route === "slow").map(o => o.views.client).join()')" told-ok "who leaves a stream after its last frame has heard all of it"
for name in support-agent anthropic-agent; do
	for file in templates/worlds/"$name"/*world.json; do
		run_world "$file"
		case $file in
		*/world.json) is_run passed 0 "$file passes" ;;
		*) is_run failed 1 "$file fails" ;;
		esac
		case $file in
		*support-agent/world.json) is "$(json "$receipt" r.outcome.matched)" line-cancelled "by the end that is wanted" ;;
		*support-agent/*) is "$(json "$receipt" r.outcome.matched)" order-cancelled "by the end that is not" ;;
		esac
	done
done
done_testing
