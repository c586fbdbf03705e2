#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What the twins send by themselves, seen by a raw server: second deliveries, their spacing and ids, and answers that are none.
O=${O:-build}
command -v node >/dev/null || { echo "1..0 # SKIP node is not installed"; exit 0; }
make -s O="$O" "$O/tests/twinrun" >/dev/null || { echo "1..1"; echo "not ok 1 - build of the test driver"; exit 1; }
exec node tests/integration/deliveries.mjs "$O/tests/twinrun"
