// SPDX-License-Identifier: GPL-2.0-or-later
// Uses up what there is: disk, processes, descriptors.  Each must end in an error for us, not in trouble for the machine.
import { spawnSync } from 'node:child_process';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { attempt, fail, report } from './escape.mjs';

const chunk = Buffer.alloc(1 << 20, 'x');
for (const folder of ['/app', '/tmp', '/home/node', '/dev/shm']) {
  await attempt(`fill-${folder}`, () => {
    const fd = openSync(`${folder}/fill`, 'w');
    let written = 0;
    try {
      while (written < 200 << 20) written += writeSync(fd, chunk);
    } catch (error) {
      fail(`${error.code} after ${written >> 20} MiB`);
    } finally {
      closeSync(fd);
      rmSync(`${folder}/fill`);
    }
    return `${written >> 20} MiB`;
  });
}
await attempt('descriptors', () => {
  let n = 0;
  const open = [];
  try {
    for (; n < 100000; n++) open.push(openSync('/dev/null', 'r'));
  } catch (error) {
    open.forEach((fd) => closeSync(fd));
    fail(`${error.code} after ${n}`);
  }
  return n;
});
await report('resources');
// its children hold the descriptors they inherit, so no pipe
spawnSync('./helper', ['bomb'], { stdio: 'inherit' });
