#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Receipts as pages: whole HTML that loads nothing, whatever the workflow wrote into it; and, where Chromium is installed, what a
# browser makes of it.
. tests/lib/tap.sh
. tests/lib/agenttwin.sh
need_namespace

mkdir "$tmp/app"
cat >"$tmp/app/world.json" <<'WORLD'
{ "agenttwin": "world/1", "name": "hostile", "about": "\"><script>alert(1)</script>", "seed": 1, "files": [ "*.mjs" ],
  "env": { "SHOP_URL": "{{service.shop.url}}" },
  "services": [ { "name": "shop", "kind": "http", "hosts": [ "shop.internal" ], "unmatched": "404", "state": { "items": [ { "id": "a", "n": 1 } ] },
    "routes": [ { "resource": "items", "path": "/items" } ] } ],
  "faults": [ { "id": "late", "class": "timeout-after-write", "on": { "service": "shop", "route": "items.create" }, "call": { "nth": 2 }, "phase": "after-effect", "how": { "end": "fin" } } ],
  "workflow": { "command": [ "node", "a.mjs" ] },
  "checks": [ { "id": "exit", "kind": "exit", "code": 0 }, { "id": "one", "kind": "state", "service": "shop", "path": "/items", "count": 2, "because": "<img src=x onerror=alert(1)>" } ] }
WORLD
cat >"$tmp/app/a.mjs" <<'JS'
const evil = '</pre></style><script>document.title="owned"</script><img src=http://192.0.2.1/x onerror=alert(1)>&lt;\u202etxt.exe\u0007';
const post = (body) => fetch(process.env.SHOP_URL + '/items', { method: 'POST', headers: { 'content-type': 'application/json', 'x-evil': '"\'><script>' }, body: JSON.stringify(body) });
for (const n of [1, 2]) await post({ n, evil, [evil]: evil }).catch((e) => console.log(e.message));
await fetch(process.env.SHOP_URL + '/' + encodeURIComponent(evil) + "?q='><script>");
console.log(evil);
console.error(evil);
JS
"$host" run -q --receipt "$tmp/r.json" "$tmp/app" 2>"$tmp/err"
is "$?" 1 "a run with foreign text everywhere" || diag "$(cat "$tmp/err")"
"$host" receipt html "$tmp/r.json" >"$tmp/r.html" 2>"$tmp/err"
is "$?" 0 "becomes a page" || diag "$(cat "$tmp/err")"
"$host" receipt html -o "$tmp/other.html" "$tmp/r.json"
ok "the same in a file" cmp -s "$tmp/r.html" "$tmp/other.html"
if command -v python3 >/dev/null; then
	python3 - "$tmp/r.html" >"$tmp/found" <<'PY'
import re, sys
from html.parser import HTMLParser
void = {'meta', 'link', 'br', 'img', 'hr', 'input', 'line', 'rect', 'circle', 'path'}
class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.bad, self.ids, self.links, self.tags, self.text = [], [], [], [], {}, []
    def handle_starttag(self, tag, attributes):
        self.tags[tag] = self.tags.get(tag, 0) + 1
        for name, value in attributes:
            if name == 'id': self.ids.append(value)
            if name in ('href', 'src', 'action', 'data', 'srcset'): self.links.append(value)
            if name.startswith('on') or name == 'style': self.bad.append(name)
        if tag not in void: self.open.append(tag)
    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in void: self.open.pop()
    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag: self.bad.append('/' + tag)
    def handle_data(self, data): self.text.append(data)
text = open(sys.argv[1], encoding='utf-8', errors='strict').read()
p = Page()
p.feed(text)
p.close()
print('balanced', not p.open and not p.bad, p.open, p.bad)
print('foreign', sorted(set(p.tags) & {'script', 'img', 'iframe', 'link', 'object', 'b', 'base', 'form', 'input'}))
print('links', all(l.startswith('#') for l in p.links), all(l[1:] in p.ids for l in p.links), len(p.ids) == len(set(p.ids)))
print('shown', '</pre></style><script>document.title="owned"</script>' in ''.join(p.text), '\u202e' in text, '\x07' in text)
print('parts', all(i in p.ids for i in ['checks', 'faults', 'operations', 'state', 'boundary', 'output', 'evidence', 'limits', 'op-0', 'op-1', 'op-2']))
print('tables', p.tags.get('table', 0) == p.tags.get('caption', 0), p.tags.get('svg', 0))
PY
	is "$(cat "$tmp/found")" "balanced True [] []
foreign []
links True True True
shown True False False
parts True
tables True 1" "its tags are closed, no foreign one is among them, it loads nothing, and what was written is shown"
else
	skip "its tags are closed" "python3 is not installed"
fi
ok "no script may run on it" grep -q "Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline'\"" "$tmp/r.html"
"$host" receipt html "$tmp/none.json" 2>"$tmp/err"
is "$?" 2 "a receipt that is not there"
"$host" receipt html -o "$tmp/none/r.html" "$tmp/r.json" 2>"$tmp/err"
is "$?" 2 "a folder that is not there"
"$host" receipt html -o /dev/null "$tmp/r.json"
is "$? $(stat -c %F /dev/null)" "0 character special file" "a device is written to, not replaced"
"$host" receipt html "$tmp/r.json" >/dev/full 2>"$tmp/err"
is "$?" 2 "a full disk"
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if [ -z "$chromium" ]; then
	skip "a browser shows it" "chromium is not installed"
else
	timeout 60 "$chromium" --headless --no-sandbox --disable-gpu --user-data-dir="$tmp/profile" --window-size=390,2000 --hide-scrollbars \
		--screenshot="$tmp/phone.png" --dump-dom "file://$tmp/r.html" >"$tmp/dom" 2>"$tmp/browser"
	like "$(head -c 400 "$tmp/dom")" "<title>failed: hostile" "a browser shows it, and nothing in it has run"
	ok "it makes a picture" test -s "$tmp/phone.png"
fi
done_testing
