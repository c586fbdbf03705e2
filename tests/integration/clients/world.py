# SPDX-License-Identifier: GPL-2.0-or-later
"""The world for clients.mjs: one service a fault, all of which answer the same; on stdout."""
import json

AFTER = ("timeout-after-write", "after-effect")
REPLY = ("timeout-after-write", "mid-reply")
BEFORE = ("server-error", "before-effect")
FAULTS = {
    "none": None,
    "fin": (AFTER, {"end": "fin"}),
    "rst": (AFTER, {"end": "rst"}),
    "stall": (AFTER, {"end": "stall"}),
    "fin-in-body": (REPLY, {"end": "fin"}),
    "rst-in-body": (REPLY, {"end": "rst"}),
    "stall-in-body": (REPLY, {"end": "stall"}),
    "garble": (BEFORE, {"body": "garble"}),
    "wrong-length": (BEFORE, {"body": "wrong-length"}),
    "html": (BEFORE, {"body": "html"}),
    "s400": (BEFORE, {"status": 400}),
    "s409": (BEFORE, {"status": 409}),
    "s500": (BEFORE, {"status": 500}),
    "s503-wait": (BEFORE, {"status": 503, "retry_after": 1}),
    "s429-wait": (BEFORE, {"status": 429, "retry_after": 1}),
}
body = {"id": "re_1", "object": "refund", "ok": True, "padding": "x" * 600}
services, faults = [], []
for name, fault in FAULTS.items():
    services.append({"name": name, "kind": "http", "hosts": [name + ".internal"], "unmatched": "404",
                     "state": {"seen": []},
                     "routes": [{"id": "get", "match": {"method": "GET", "path": "/{client}"}, "reply": {"status": 200, "body": body}},
                                {"id": "get2", "match": {"method": "GET", "path": "/users/{client}"}, "reply": {"status": 200, "body": body}},
                                {"id": "post", "match": {"method": "POST", "path": "/{client}"}, "reply": {"status": 200, "body": body}},
                                {"id": "post2", "match": {"method": "POST", "path": "/{a}/{b}"}, "reply": {"status": 200, "body": body}},
                                {"id": "post3", "match": {"method": "POST", "path": "/{a}/{b}/{c}"}, "reply": {"status": 200, "body": body}}]})
    if fault:
        (cls, phase), how = fault
        faults.append({"id": name, "class": cls, "on": {"service": name}, "call": {"every": 1}, "phase": phase, "how": how})
services.append({"name": "results", "kind": "http", "hosts": ["results.internal"], "state": {"lines": []},
                 "routes": [{"resource": "lines", "path": "/lines"}]})
print(json.dumps({
    "agenttwin": "world/1", "name": "clients", "seed": 1, "limits": {"run_ms": 60000},
    "files": ["clients.mjs", "package.json", "node_modules/**"],
    "env": {"FAULTS": " ".join(FAULTS)}, "services": services, "faults": faults,
    "workflow": {"command": ["node", "clients.mjs"]},
    "checks": [{"id": "exit", "kind": "exit", "code": 0}, {"id": "no-egress", "kind": "no-egress"}]}, indent=1))
