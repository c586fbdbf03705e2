# SPDX-License-Identifier: GPL-2.0-or-later
"""world.py NAME: the world for NAME.mjs: one service a fault, all of which answer the same; on stdout."""
import json
import sys

AFTER = ("timeout-after-write", "after-effect")
REPLY = ("timeout-after-write", "mid-reply")
BEFORE = ("server-error", "before-effect")
CONNECT = ("blackhole", "connect")
SYN = (CONNECT, {"end": "drop"}, {"lasts": "to the end"})
SECOND = {"nth": 2, "key": "request.path"}
# service: class and phase, how, and what else is to be said of the fault
WORLDS = {
    "matrix": {
        "none": None,
        "fin": (AFTER, {"end": "fin"}),
        "rst": (AFTER, {"end": "rst"}),
        "stall": (AFTER, {"end": "stall"}),
        "fin-in-body": (REPLY, {"end": "fin"}),
        "rst-in-body": (REPLY, {"end": "rst"}),
        "stall-in-body": (REPLY, {"end": "stall"}),
        "syn": SYN,
        "garble": (BEFORE, {"body": "garble"}),
        "wrong-length": (BEFORE, {"body": "wrong-length"}),
        "html": (BEFORE, {"body": "html"}),
        "not-http": (BEFORE, {"body": "not-http"}),
        "ok-html": (BEFORE, {"status": 200, "body": "html"}),
        "ok-wrong-length": (BEFORE, {"status": 200, "body": "wrong-length"}),
        "ok-error": (BEFORE, {"status": 200, "code": "no_such_thing"}),
        "bad-chunk": (BEFORE, {"status": 200, "body": "bad-chunk"}),
        "unterminated": (BEFORE, {"status": 200, "body": "unterminated"}),
        "no-length": (BEFORE, {"status": 200, "code": "no_such_thing", "body": "no-length"}),
        "s400": (BEFORE, {"status": 400}),
        "s409": (BEFORE, {"status": 409}),
        "s500": (BEFORE, {"status": 500}),
        "s503-wait": (BEFORE, {"status": 503, "retry_after": 1}),
        "s429-wait": (BEFORE, {"status": 429, "retry_after": 1}),
    },
    "reuse": {
        "kept": None,
        "reused-fin": (AFTER, {"end": "fin"}, {"call": SECOND}),
        "reused-rst": (AFTER, {"end": "rst"}, {"call": SECOND}),
        "wide": (("server-error", "mid-reply"), {"slow": {"first_ms": 1000, "chunk_ms": 0}}),
        "syn": SYN,
        "queue": (AFTER, {"end": "fin"}, {"call": {"nth": 1}}),
    },
    "tls": {"tls": None},
    "proxy": {"kept": None},
    "long": {
        "silent": (AFTER, {"end": "stall"}),
        "silent-body": (REPLY, {"end": "stall"}),
        "syn": SYN,
        "idle": None,
    },
}
world = sys.argv[1]
body = {"id": "re_1", "object": "refund", "ok": True, "padding": "x" * 600}
services, faults = [], []
for name, fault in WORLDS[world].items():
    services.append({"name": name, "kind": "http", "hosts": [name + ".internal"], "unmatched": "404", **({"tls": True} if name == "tls" else {}),
                     **({"profile": "stripe/v1"} if name in ("ok-error", "no-length") else {}), # whose error is an object
                     "state": {"seen": []},
                     "routes": [{"id": "get", "match": {"method": "GET", "path": "/{client}"}, "reply": {"status": 200, "body": body}},
                                {"id": "get2", "match": {"method": "GET", "path": "/users/{client}"}, "reply": {"status": 200, "body": body}},
                                {"id": "post", "match": {"method": "POST", "path": "/{client}"}, "reply": {"status": 200, "body": body}},
                                {"id": "post2", "match": {"method": "POST", "path": "/{a}/{b}"}, "reply": {"status": 200, "body": body}},
                                {"id": "post3", "match": {"method": "POST", "path": "/{a}/{b}/{c}"}, "reply": {"status": 200, "body": body}}]})
    if fault:
        (cls, phase), how, *more = fault
        faults.append({"id": name, "class": cls, "on": {"service": name}, "call": {"every": 1}, "phase": phase, "how": how,
                       **(more[0] if more else {})})
        if "lasts" in faults[-1]:
            del faults[-1]["call"]
services.append({"name": "results", "kind": "http", "hosts": ["results.internal"], "state": {"lines": []},
                 "routes": [{"resource": "lines", "path": "/lines"}]})
env = {"FAULTS": " ".join(WORLDS[world])}
if world == "proxy":
    env.update({name: "http://proxy.internal:3128" for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy")})
print(json.dumps({
    "agenttwin": "world/1", "name": world, "seed": 1, "limits": {"run_ms": 980000 if world == "long" else 240000, "start_ms": 30000},
    "files": ["*.mjs", "package.json", "node_modules/**"],
    "env": env, "services": services, "faults": faults,
    "workflow": {"command": ["node", world + ".mjs"]},
    "checks": [{"id": "exit", "kind": "exit", "code": 0}, {"id": "no-egress", "kind": "no-egress"}]}, indent=1))
