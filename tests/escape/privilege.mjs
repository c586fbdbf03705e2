// SPDX-License-Identifier: GPL-2.0-or-later
// Tries to become someone else: programs with the set-user-id bit, and what /proc says of our own process.
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, readFileSync, statSync } from 'node:fs';
import { attempt, fail, report, run } from './escape.mjs';

const status = Object.fromEntries(readFileSync('/proc/self/status', 'utf8').split('\n').map((l) => l.split(/:\s*/)));

for (const name of ['Uid', 'Gid', 'Groups', 'CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb', 'NoNewPrivs', 'Seccomp']) {
  await attempt(`status-${name}=${status[name].trim().replace(/\s+/g, ',')}`, () => 'as it is');
}
for (const [name, ...command] of [
  ['su', 'su', '-c', 'id -u'], ['sudo', 'sudo', '-n', 'id', '-u'], ['mount', 'mount', '-t', 'tmpfs', 'none', '/tmp'],
  ['umount', 'umount', '/tmp'], ['newuidmap', 'newuidmap', String(process.pid), '0', '0', '1'],
  ['newgidmap', 'newgidmap', String(process.pid), '0', '0', '1'], ['pkexec', 'pkexec', 'id', '-u'],
  ['passwd', 'passwd', '-d', 'root'], ['chsh', 'chsh', '-s', '/bin/sh', 'root'], ['newgrp', 'sg', 'root', 'id -u'],
  ['setpriv', 'setpriv', '--reuid', '0', 'id', '-u'], ['unshare', 'unshare', '-Ur', 'id', '-u'],
  ['unshare-net', 'unshare', '-n', 'true'], ['nsenter', 'nsenter', '-t', '1', '-a', 'true'], ['chroot', 'chroot', '/tmp', 'true'],
]) {
  await attempt(name, () => run(...command));
}
// A set-user-id program of another owner must not change our effective id.
for (const path of ['/usr/bin/su', '/usr/bin/sudo', '/usr/bin/mount', '/usr/bin/newuidmap', '/usr/bin/passwd']) {
  if (!existsSync(path)) continue;
  await attempt(`setuid-bit-owner-${path}`, () => {
    const s = statSync(path);
    return (s.mode & 0o4000) !== 0 && s.uid === 0 && run('/bin/sh', '-c', `${path} --version >/dev/null 2>&1; id -u`).trim() === '0'
      ? 'root' : fail('stays who it is');
  });
}
await attempt('own-setuid-copy', () => {
  copyFileSync('/usr/bin/id', '/tmp/id');
  chmodSync('/tmp/id', 0o6755);
  const { stdout } = spawnSync('/tmp/id', ['-u']);
  return stdout?.toString().trim() === '0' ? 'root' : fail('stays who it is');
});
await attempt('process-setuid', () => { process.setuid(0); return process.getuid(); });
await attempt('process-setgroups', () => { process.setgroups([0]); return process.getgroups(); });
await report('privilege');
