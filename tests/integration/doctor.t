#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What doctor says on this machine, and on machines that lack something.
. tests/lib/tap.sh
O=${O:-build}
case $O in /*) ;; *) O=$PWD/$O ;; esac
nsrun=$O/tests/nsrun
[ -x "$nsrun" ] || bail_out "$nsrun is missing: make '$O/tests/nsrun'"
doctor() { out=$("$nsrun" doctor "$@" 2>"$tmp/err"); status=$?; err=$(cat "$tmp/err"); }

doctor
like "$out" '^namespace: (works|does not work)$' "namespace is judged"
like "$out" '^local: works \(is no sandbox\)$' "local is judged"
is "$status" 0 "one works"
doctor --json
ok "--json is JSON" python3 -c 'import json, sys
d = json.loads(sys.argv[1])
assert [r["runtime"] for r in d["runtimes"]] == ["namespace", "local"]
for r in d["runtimes"]:
    assert r["sandbox"] == (r["runtime"] == "namespace")
    for i in r["items"]:
        assert set(i) == {"ok", "what", "found", "fix"} and i["what"] and i["found"], i
        assert i["ok"] or i["fix"], i' "$out"
doctor --runtime namespace
if [ "$status" = 0 ]; then like "$out" 'ok +a sandbox comes up: as ' "it was tried"; else like "$out" '^ +fix: ' "the way out is said"; fi
works=$status
doctor --runtime=local
is "$status" 0 "--runtime=local"
unlike "$out" '^namespace' "only the asked one"
doctor --runtime nonsense
is "$status" 2 "no such runtime"
like "$err" nonsense "is named"
doctor --runtime
is "$status" 2 "--runtime without a name"
doctor --help
is "$status ${out:+text}" "0 text" "--help"
doctor --frob
is "$status" 2 "an unknown argument"

without_path() { out=$(env PATH=/nonexistent "$@" 2>"$tmp/err"); status=$?; }
without_path "$nsrun" doctor --runtime namespace
is "$status" 4 "no Node in PATH"
like "$out" 'no +Node.js: no program called node in PATH' "is said"
like "$out" '^ +fix: .*--node' "with the way out"
if [ "$(id -u)" -eq 0 ]; then
	SUDO_USER=somebody without_path "$nsrun" doctor --runtime local
	like "$out" 'fix: .*sudo --preserve-env=PATH' "under sudo: how to keep the PATH"
else
	skip "under sudo" "only root"
fi
if [ "$works" = 0 ] && [ "$(id -u)" -eq 0 ]; then
	# As in a container without capabilities.
	out=$(setpriv --bounding-set -setuid --inh-caps -all "$nsrun" doctor --runtime namespace 2>&1)
	is "$?" 4 "root without CAP_SETUID"
	like "$out" 'no +a sandbox comes up: root without CAP_SETUID' "is recognised"
	like "$out" '^ +fix: ' "with the way out"
	# A masked /proc, as containers have it.
	out=$(unshare -m sh -c 'mount --make-rprivate / && mount -t tmpfs tmpfs /proc/scsi 2>/dev/null || mount -t tmpfs tmpfs /proc/driver; exec "$0" doctor --runtime namespace' "$nsrun" 2>&1)
	is "$?" 4 "a masked /proc" || diag "$out"
	like "$out" 'no +a sandbox comes up: sandbox: proc /proc: Operation not permitted' "is recognised"
else
	skip "root without capabilities" "only root where it works"
fi
done_testing
