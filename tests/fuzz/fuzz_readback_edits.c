/* SPDX-License-Identifier: GPL-2.0-or-later
 * fuzz_readback_edits.c - see fuzz_readback.c: a true ruleset with edits. */
#define READBACK_EDITS true
#include "tests/fuzz/fuzz_readback.c"
