// SPDX-License-Identifier: GPL-2.0-or-later
// Looks for the host: its processes, environment, files, devices, sockets; and tries to write where it must not.
import { appendFileSync, existsSync, openSync, readFileSync, readdirSync, readlinkSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { attempt, fail, helper, report } from './escape.mjs';

const { HOST_MARK, HOST_CANARY, HOST_HOME, HOST_REPOSITORY, HOST_ABSTRACT, HOST_SOCKET } = process.env;
const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
const read = (path) => { try { return readFileSync(path, 'latin1'); } catch { return ''; } };
const needle = 'SECRET-OF-THE-' + 'HOST';

await attempt('process-of-host', () => pids.find((p) => read(`/proc/${p}/cmdline`).includes(HOST_MARK)) ?? fail('none seen'));
await attempt('few-processes', () => (pids.length <= 8 ? pids.length : fail(`${pids.length} processes`)));
await attempt('secret-in-own-environment', () => (JSON.stringify(process.env).includes(needle) ? 'there' : fail('not there')));
await attempt('secret-in-any-environment', () => pids.find((p) => read(`/proc/${p}/environ`).includes(needle)) ?? fail('not there'));
await attempt('environment-of-others', () => pids.find((p) => p !== String(process.pid) && read(`/proc/${p}/environ`) !== '')
  ?? fail('unreadable'));
await attempt('memory-of-others', () => pids.filter((p) => p !== String(process.pid))
  .find((p) => { try { openSync(`/proc/${p}/mem`, 'r'); return true; } catch { return false; } }) ?? fail('unreadable'));
await attempt('descriptors-of-others', () => pids.filter((p) => p !== String(process.pid))
  .find((p) => { try { return readdirSync(`/proc/${p}/fd`).length > 0; } catch { return false; } }) ?? fail('unreadable'));
await attempt('root-of-others', () => pids.filter((p) => p !== String(process.pid))
  .find((p) => { try { return readdirSync(`/proc/${p}/root/`).length > 0; } catch { return false; } }) ?? fail('unreadable'));

for (const path of ['/etc/shadow', '/etc/gshadow', '/etc/sudoers', '/etc/machine-id', '/etc/ssh', '/root', '/run/systemd', '/run/dbus',
  '/run/user', '/run/docker.sock', '/var/run/docker.sock', '/var/lib', '/var/log', '/boot', '/srv', '/mnt', '/media', '/proc/kcore',
  '/proc/1/environ', '/proc/1/maps', '/sys/kernel/debug', '/sys/kernel/tracing', '/sys/fs/cgroup/cgroup.procs', '/dev/mem', '/dev/kmsg',
  '/dev/kvm', '/dev/vsock', '/dev/net/tun', '/dev/fuse', '/dev/vda', '/dev/sda', '/dev/userfaultfd', '/dev/loop-control',
  '/dev/mqueue', '/dev/hugepages', '/dev/ttyS0', '/dev/console', HOST_HOME, HOST_CANARY, HOST_REPOSITORY]) {
  await attempt(`read-${path.replaceAll(' ', '_')}`, () => {
    if (statSync(path).isDirectory()) return readdirSync(path).length > 0 ? 'listed' : fail('empty');
    const fd = openSync(path, 'r');
    return `open ${fd}`;
  });
}
await attempt('homes', () => readdirSync('/home').find((name) => name !== 'node') ?? fail('none but ours'));
await attempt('devices', () => {
  const known = new Set('null zero full random urandom tty fd stdin stdout stderr pts ptmx shm'.split(' '));
  return readdirSync('/dev').find((name) => !known.has(name)) ?? fail('only the harmless ones');
});
await attempt('accounts-of-host', () => (readFileSync('/etc/passwd', 'utf8').trim().split('\n').length > 6 ? 'many' : fail('ours')));
await attempt('mark-in-mounts', () => (read('/proc/self/mountinfo').includes(HOST_MARK) ? 'there' : fail('not there')));

for (const path of ['/etc/hosts', '/etc/resolv.conf', '/etc/passwd', '/usr/bin/x', '/bin/x', '/lib/x', '/opt/x', '/opt/node/x', '/x', '/etc/x',
  '/etc/ld.so.preload', '/proc/sys/kernel/hostname', '/proc/sys/kernel/core_pattern', '/proc/sys/net/ipv4/ip_forward', '/proc/sysrq-trigger',
  '/proc/self/uid_map', '/proc/self/oom_score_adj', '/sys/kernel/uevent_helper', '/dev/x', '/home/x', '/run/x', '/var/x']) {
  await attempt(`write-${path}`, () => {
    if (path === '/proc/self/oom_score_adj') { writeFileSync(path, '-1000'); return 'protected'; }
    appendFileSync(path, existsSync(path) ? '1\n' : 'x');
    return 'written';
  });
}
await attempt('link-out', () => { symlinkSync(HOST_CANARY, '/tmp/link'); return readFileSync('/tmp/link', 'utf8'); });
await attempt('unix-table', () => (read('/proc/net/unix').includes(HOST_ABSTRACT) ? 'there' : fail('not there')));
await attempt('own-files', () => { writeFileSync('/app/own', '1'); writeFileSync('/tmp/own', '1'); writeFileSync('/home/node/own', '1'); return 'ok'; });
await attempt('app-is-cwd', () => (readlinkSync('/proc/self/cwd') === '/app' ? 'ok' : fail(process.cwd())));
helper('unix', HOST_ABSTRACT, HOST_SOCKET);
await report('view');
