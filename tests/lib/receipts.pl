#!/usr/bin/env perl
# SPDX-License-Identifier: GPL-2.0-or-later
# receipts.pl N [SEED [CHANGE]] - a receipt/1 of N operations on stdout, made up.  CHANGE: every so many-th operation is
# answered otherwise.
use strict;
use warnings;
my ($count, $seed, $change) = (shift // 1000, shift // 7, shift // 0);
my $digest = 'd' x 64;
print qq({
  "agenttwin": "receipt/1",
  "status": "failed",
  "why": "1 of 2 checks did not hold",
  "exit_code": 1,
  "run": {
    "id": "01a22e44-514f-7d14-b974-561d70213ef4",
    "started": "2026-11-30T21:02:38.927Z",
    "ended": "2026-11-30T21:02:39.316Z",
    "duration_ms": 389,
    "host": {
      "version": "0.1.0"
    },
    "seed": $seed,
    "seed_from": "world",
    "world": {
      "name": "many",
      "about": null,
      "path": "many.world.json",
      "sha256": "$digest"
    },
    "fingerprint": "$digest",
    "reproduces": null,
    "reproduce": "agenttwin-host run --reproduce many.json many.world.json"
  },
  "bundle": { "files": [], "bytes": 0, "left_out": [], "variables": [], "credentials": [] },
  "runtime": { "backend": "local", "guest": { "sha256": "$digest" }, "node": { "version": "20.0.0" } },
  "boundary": { "kind": "none", "opening": null, "closing": null, "locks": [], "probes": [], "denied_egress": [], "refused_names": [] },
  "outcome": { "declared": null, "matched": null, "exit": { "code": 0, "ended_by": "itself" }, "stdout": { "bytes": 0, "tail": "" } },
  "operations": [);
my $headers = '{"host":"payments.internal","connection":"keep-alive","authorization":"Bearer {{secret.payments}}",'
    . '"content-type":"application/json","accept":"*/*","accept-language":"*","sec-fetch-mode":"cors","user-agent":"node"}';
for my $n (0 .. $count - 1) {
	my $body = sprintf '%064x', $n % 5000;
	my $status = $change && $n % $change == $change - 1 ? 500 : 201;
	my $fault = $n % 1000 == 999 ? '{"id":"lost","phase":"after-effect","end":"rst","draw":null,"bytes":0}' : 'null';
	my $client = $n % 1000 == 999 ? 'told-nothing' : 'told-ok';
	print $n ? ",\n    " : "\n    ",
	    qq({"n":$n,"t_ms":$n,"service":"payments","kind":"http","conn":$n,"route":"refund.create","request":{"method":"POST",),
	    qq("target":"/refunds","path":{},"query":{},"headers":$headers,"body":{"bytes":31,"sha256":"$body","json":{"charge":"ch_1","amount":$n}}},),
	    qq("key":"key-$n","idempotency":"first","resend_of":null,"effects":[{"create":"/refunds/r_$n"},{"increment":"/charges/ch_1/refunded"}],),
	    qq("reply":{"status":$status,"bytes":53,"sha256":"$body"},"fault":$fault,),
	    qq("views":{"service":"applied","client":"$client"},"nearest":null,"unmatched":false});
}
print $count ? "\n  ],\n" : "],\n";
print qq(  "faults": [ { "id": "lost", "class": "timeout-after-write", "declared": {}, "armed": true, "fired": true, "count": 1, "operations": [999] } ],
  "checks": [ { "id": "exit", "kind": "exit", "role": "required", "held": true, "expected": "exit code 0", "actual": "exit code 0", "rests_on": ["/outcome/exit"] },
    { "id": "one", "kind": "calls", "role": "required", "held": false, "expected": "exactly 1 call", "actual": "$count", "rests_on": ["/operations/0", "/operations/3", "/operations/999"] } ],
  "state": { "initial": { "payments": { "refunds": [] } }, "final": { "payments": { "refunds": [] } }, "final_sha256": { "payments": "$digest" }, "diff": [] },
  "cleanup": { "confirmed": true, "attempts": 1, "reason": null, "expires": null },
  "integrity": { "chain": "$digest", "frames": { "count": 1, "chain": "$digest", "agreed": true }, "spool": { "file": "x", "records": 0, "bytes": 0, "chain": "$digest", "lost": 0, "error": null }, "truncated": [], "signature": null },
  "limits": [ "It is made up." ]
}
);
