// SPDX-License-Identifier: GPL-2.0-or-later
// Waits, for as long as it is let.  The argument is a mark by which the test finds the process.
console.log('WORKFLOW-RAN');
setInterval(() => {}, 1000);
