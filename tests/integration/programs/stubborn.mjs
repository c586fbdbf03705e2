// SPDX-License-Identifier: GPL-2.0-or-later
// Ignores SIGTERM, and leaves a grandchild behind in a session of its own that does so too.  Arguments: mark, and `exit` to
// end at once, leaving them.
import { spawn } from 'node:child_process';

const [, , mark, how] = process.argv;
const deaf = "for (const s of ['SIGTERM','SIGINT','SIGHUP']) process.on(s, () => {}); setInterval(() => {}, 1000);";
const middle = `require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(deaf)}, ${JSON.stringify(mark)}],
  { detached: true, stdio: ['ignore', 'inherit', 'inherit'] }).unref();`;
process.on('SIGTERM', () => {});
spawn(process.execPath, ['-e', middle], { detached: true, stdio: ['ignore', 'inherit', 'inherit'] }).on('exit', () => {
  console.log('WORKFLOW-RAN');
  if (how === 'exit') process.exit(0);
});
if (how !== 'exit') setInterval(() => {}, 1000);
