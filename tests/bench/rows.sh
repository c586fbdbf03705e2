#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# rows.sh - what a call costs at 10, 10,000 and 1,000,000 rows; needs about 1 GiB of memory and a minute.
set -eu
exec "${O:-build}/tests/rows"
