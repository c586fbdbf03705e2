#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the build promises: the guest is the same bytes wherever it is built, both programs are hardened, the lists of what is
# linked in are whole.
. tests/lib/tap.sh
O=${O:-build}
[ -x "$O/agenttwin-guest" ] && [ -x "$O/agenttwin-host" ] || bail_out "build first: make"

# ---- reproducible: one build here, compared with the one that is tested; make reproduce does two ----
out=$(O=$O sh .ci/reproduce once 2>&1)
is "$?" 0 "a build in another folder is the same bytes" || diag "$out"
like "$out" "^sha256 $(sha256sum "$O/agenttwin-guest" | cut -d' ' -f1)\$" "its digest is printed"
like "$out" '^compiler gcc' "and what it was built with"
mkdir -p "$tmp/deps"
cp "$O/agenttwin-guest" "$tmp/"
printf '#!/bin/sh\nmkdir -p build/gen/guest && echo other >build/agenttwin-guest && echo >build/gen/guest/build_info.inc\n' >"$tmp/make"
chmod 755 "$tmp/make"
O=$tmp MAKE=$tmp/make sh .ci/reproduce once >"$tmp/out" 2>&1
ok "another guest is told apart" test "$?" -ne 0
like "$(cat "$tmp/out")" 'the builds differ' "and that is said"

# ---- hardened ----
out=$(sh .ci/hardening 2>&1)
is "$?" 0 "hardening" || diag "$out"
is "$(grep -c ' ok$' <<<"$out")" "$(($(wc -l <<<"$out") - 1))" "every row is ok"
echo 'int main(void) { return 0; }' >"$tmp/soft.c"
gcc -w -O0 -no-pie -fno-stack-protector -U_FORTIFY_SOURCE -Wl,-z,norelro,-z,lazy,-z,execstack,-rpath,/nowhere -o "$tmp/agenttwin-guest" "$tmp/soft.c"
cp "$tmp/agenttwin-guest" "$tmp/agenttwin-guest.debug"
cp "$tmp/agenttwin-guest" "$tmp/agenttwin-host"
out=$(O=$tmp sh .ci/hardening 2>&1)
is "$?" 1 "a soft program fails"
for row in 'guest +PIE' 'guest +RELRO' 'guest +NX' 'guest +search path' 'guest +interpreter' 'guest +needs libraries' 'guest +stack protector' \
	'host +PIE' 'host +RELRO' 'host +NX' 'host +stack protector' 'host +FORTIFY'; do
	like "$out" "^$row .* MISSING\$" "missing is said: $row"
done

# ---- what is linked in ----
export O SOURCE_DATE_EPOCH=1700000000
bom() { # guest|host
	if [ "$1" = guest ]; then
		perl .ci/sbom agenttwin-guest 0.1.0 "$O/agenttwin-guest" "$O/agenttwin-guest.debug.map"
	else
		perl .ci/sbom agenttwin-host 0.1.0 "$O/agenttwin-host" "$O/agenttwin-host.map" agenttwin-guest "$O/agenttwin-guest"
	fi
}
json() { node tests/lib/json.mjs "$1" "$2"; }
problems='(() => {
	const bad = [], hex = /^[0-9a-f]{64}$/, seen = new Set();
	const need = (c, what) => { if (!c) bad.push(what); };
	const sum = (x, what) => need(x.hashes?.length === 1 && x.hashes[0].alg === "SHA-256" && hex.test(x.hashes[0].content), what + ": hash");
	const license = (x, what) => need(x.licenses?.length === 1 && (x.licenses[0].expression || x.licenses[0].license?.id), what + ": license");
	need(r.bomFormat === "CycloneDX" && r.specVersion === "1.5" && r.version === 1, "head");
	need(/^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(r.serialNumber), "serialNumber");
	need(r.metadata.timestamp === "2023-11-14T22:13:20Z", "timestamp");
	sum(r.metadata.component, "program"); license(r.metadata.component, "program");
	for (const c of r.components) {
		need(c.name && c.version && ["library", "application"].includes(c.type), c.name + ": name");
		need(!seen.has(c["bom-ref"]), c.name + ": bom-ref twice"); seen.add(c["bom-ref"]);
		sum(c, c.name); license(c, c.name);
		if (c.type === "library") {
			need(/^pkg:deb\/debian\/[a-z0-9.+-]+@[A-Za-z0-9.~_%-]+\?arch=[a-z0-9]+$/.test(c.purl), c.name + ": purl");
			need(c.components.length > 0, c.name + ": files");
			for (const f of c.components) { need(f.type === "file" && f.name, f.name); sum(f, f.name); }
		}
	}
	const refs = new Set(r.dependencies.map(d => d.ref));
	need(refs.size === seen.size + 1 && r.dependencies[0].dependsOn.every(d => seen.has(d)) && r.dependencies[0].dependsOn.length === seen.size, "dependencies");
	return bad.join("; ");
})()'
if ! command -v node >/dev/null; then
	skip "SBOM" "node is not installed"
	done_testing
fi
for program in guest host; do
	bom $program >"$tmp/$program.json" 2>"$tmp/err"
	is "$?$(cat "$tmp/err")" 0 "SBOM of the $program"
	bom $program | cmp - "$tmp/$program.json" >"$tmp/out" 2>&1
	is "$?" 0 "it is the same every time"
	is "$(json "$tmp/$program.json" "$problems")" "" "its fields are those that CycloneDX 1.5 requires"
	is "$(json "$tmp/$program.json" 'r.metadata.component.hashes[0].content')" "$(sha256sum "$O/agenttwin-$program" | cut -d' ' -f1)" "it is of this $program"
	unlike "$(cat "$tmp/$program.json")" '://|/usr/|/home/|debian\.org|\.com' "no host, no path of this machine"
done
is "$(json "$tmp/guest.json" '[...new Set(r.components.map(c => c.name))].sort().join()' | sed -E 's/libgcc-[0-9]+-dev/libgcc/')" \
	"BearSSL,cJSON,libgcc,libmnl,libnftnl,llhttp,musl" "all that is linked into the guest"
is "$(json "$tmp/guest.json" 'r.components.filter(c => c.licenses[0].license).map(c => c.name + " " + c.licenses[0].license.id).sort().join()')" \
	"BearSSL MIT,cJSON MIT,libmnl LGPL-2.1-or-later,libnftnl GPL-2.0-or-later,llhttp MIT,musl MIT" "under these licenses"
is "$(json "$tmp/guest.json" 'r.components.find(c => c.name === "musl").components.map(f => f.name).sort().join()')" "crti.o,crtn.o,libc.a,rcrt1.o" "musl's files"
for library in libnftnl libmnl libbearssl; do
	like "$(json "$tmp/guest.json" 'r.components.map(c => c.hashes[0].content).join("\n")')" "^$(sha256sum "$O/deps/lib/$library.a" | cut -d' ' -f1)\$" "$library by the digest of its file"
done
is "$(json "$tmp/host.json" 'r.components.find(c => c.name === "agenttwin-guest").hashes[0].content')" "$(sha256sum "$O/agenttwin-guest" | cut -d' ' -f1)" "the host carries this guest"
# An object of nobody is an error, not an omission.
{ cat "$O/agenttwin-guest.debug.map"; echo "LOAD $tmp/soft.o"; } >"$tmp/map"
: >"$tmp/soft.o"
perl .ci/sbom agenttwin-guest 0.1.0 "$O/agenttwin-guest" "$tmp/map" >/dev/null 2>"$tmp/err"
ok "what no package owns is an error" test "$?" -ne 0
like "$(cat "$tmp/err")" 'no package owns' "and says so"
done_testing
