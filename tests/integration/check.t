#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# check.t - the part of `make check` that takes seconds.
exec sh .ci/check fast
