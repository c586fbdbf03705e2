#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154 # variables of agenttwin.sh
# templates/ci: the commands of each file are taken out of it and run, in a project as its users have.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh
need_namespace
command -v git >/dev/null || skip_all "git is not installed"
ci=templates/ci

# ---- a project, and a repository from which the program is built in no time: it is built already ----
project="$tmp/my project"
mkdir -p "$project/ci" "$project/worlds" "$tmp/source/.ci"
cp "$ci/agenttwin.sh" "$project/ci/"
world "$project/worlds/good" '"a.mjs"' '"node", "a.mjs"'
world "$project/worlds/with space" '"a.mjs"' '"node", "a.mjs"'
for w in good "with space"; do echo 'await fetch(process.env.SHOP_URL + "/items");' >"$project/worlds/$w/a.mjs"; done
printf "all:\ninstall:\n\tmkdir -p '\$(PREFIX)/bin'\n\tcp '%s' '\$(PREFIX)/bin/agenttwin-host'\n\techo x >>'%s'\n" "$host" "$tmp/installed" \
	>"$tmp/source/Makefile"
echo 'exit 0' >"$tmp/source/.ci/packages"
(cd "$tmp/source" && git init -q -b main . && git add . && git -c user.name=x -c user.email=x@example.org commit -qm first && git tag v0.1.0) ||
	bail_out "git"
export AGENTTWIN_REPOSITORY=$tmp/source AGENTTWIN_REVISION=v0.1.0
unset GITHUB_ACTIONS GITHUB_STEP_SUMMARY

# What each runs, in order.
github() { sed -n 's/^        run: //p' "$ci/github.yml"; }
gitlab() { sed -n '/^  before_script:/,/^  artifacts:/s/^    - //p' "$ci/gitlab.yml"; }
# run_commands: each line of stdin by a shell of its own, as the runners do; sets status, that of the first that fails
run_commands() {
	status=0
	while IFS= read -r line; do
		echo "+ $line" >>"$tmp/log"
		(cd "$project" && sh -e -c "$line") </dev/null >>"$tmp/log" 2>&1 || { status=$?; break; }
	done
}
fresh() { rm -rf "$project/agenttwin-out" "$project/.cache" "$tmp/installed"; : >"$tmp/log"; }

is "$(github | wc -l) $(gitlab | wc -l)" "3 3" "three commands each"
for file in github gitlab; do
	fresh
	export AGENTTWIN_SHARD=1/1 CI_NODE_INDEX=1 CI_NODE_TOTAL=1
	run_commands < <($file)
	is "$status" 0 "$file: its commands run" || diag "$(tail -n 20 "$tmp/log")"
	like "$(cat "$tmp/log")" '^2 worlds: 2 passed$' "$file: both worlds"
	is "$(find "$project/agenttwin-out/receipts" -name '*-*.json' | wc -l)" 2 "$file: receipts are kept"
	ok "$file: and the report" test -s "$project/agenttwin-out/junit.xml" -a -s "$project/agenttwin-out/ctrf.json"
	run_commands < <($file)
	is "$status $(wc -l <"$tmp/installed")" "0 1" "$file: a second time nothing is built"
	echo 'process.exit(1)' >"$project/worlds/good/a.mjs"
	rm -rf "$project/agenttwin-out"
	run_commands < <($file)
	is "$status" 1 "$file: a run that fails fails the job"
	is "$(find "$project/agenttwin-out/receipts" -name '*-*.json' | wc -l)" 2 "$file: its receipt is kept"
	echo 'await fetch(process.env.SHOP_URL + "/items");' >"$project/worlds/good/a.mjs"
done
for i in 1 2; do
	export AGENTTWIN_SHARD=$i/2
	rm -rf "$project/agenttwin-out"
	run_commands < <(github | tail -n 1)
	grep -o '<testsuite name="[^"]*"' "$project/agenttwin-out/junit.xml"
done >"$tmp/suites"
is "$(sort -u "$tmp/suites" | wc -l) $(wc -l <"$tmp/suites")" "2 2" "two jobs run each world once"
unset AGENTTWIN_SHARD

# ---- the script by itself ----
script() { (cd "$project" && sh ci/agenttwin.sh "$@") >"$tmp/out" 2>&1; status=$?; }
script
is "$status" 2 "without a command it says how it is used"
like "$(cat "$tmp/out")" 'AGENTTWIN_REVISION' "with its variables"
AGENTTWIN_OPTIONS="--seed 5 -q" AGENTTWIN_OUT="o u t" script test "worlds/with space"
is "$status $(grep -o 'worlds/with space/world.json seed' "$project/o u t/junit.xml" | wc -l) $(grep -c 'name="seed" value="5"' "$project/o u t/junit.xml")" "0 0 1" "options, and names with spaces"
(unset AGENTTWIN_REPOSITORY && cd "$project" && sh ci/agenttwin.sh build) >"$tmp/out" 2>&1
is "$?" 2 "building wants to know from where"
AGENTTWIN_REVISION=nowhere script build
ok "a revision that is not there is an error" test "$status" -ne 0
AGENTTWIN_REVISION=$(git -C "$tmp/source" rev-parse HEAD) script build
is "$status $(wc -l <"$tmp/installed")" "0 2" "another revision is built" || diag "$(cat "$tmp/out")"

# ---- form ----
if python3 -c 'import yaml' 2>/dev/null; then
	for file in github gitlab; do
		python3 - "$ci/$file.yml" >"$tmp/out" 2>&1 <<-'PY'
			import sys, yaml
			d = yaml.safe_load(open(sys.argv[1]))
			if 'jobs' in d:
			    job = d['jobs']['worlds']
			    steps = job['steps']
			    assert [s for s in steps if 'upload-artifact' in s.get('uses', '')][0]['if'] == '${{ !cancelled() }}'
			    assert [s for s in steps if 'cache@' in s.get('uses', '')][0]['with']['path'] == '.cache/agenttwin'
			    print('\n'.join(s['run'] for s in steps if 'run' in s))
			else:
			    job = d['worlds']
			    assert job['artifacts']['when'] == 'always' and job['artifacts']['reports']['junit'] == 'agenttwin-out/junit.xml'
			    print('\n'.join(job['before_script'] + job['script']))
		PY
		is "$(cat "$tmp/out")" "$($file)" "$file: for a YAML parser too these are its commands"
	done
else
	skip "YAML" "python3 has no module yaml"
fi
if command -v shellcheck >/dev/null; then
	ok "the script is as shellcheck wants it" shellcheck -s sh "$ci/agenttwin.sh"
else
	skip "shellcheck" "it is not installed"
fi
done_testing
