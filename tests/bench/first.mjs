// SPDX-License-Identifier: GPL-2.0-or-later
// The first instruction of a workflow: says when it ran, in nanoseconds of the wall clock.
console.log(String(BigInt(Math.round((performance.timeOrigin + performance.now()) * 1000)) * 1000n));
