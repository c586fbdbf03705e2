// SPDX-License-Identifier: GPL-2.0-or-later
import { helper, report } from './escape.mjs';

for (const group of ['sockets', 'routes', 'namespaces', 'kernel', 'abi', 'identity', 'tricks', 'outward']) helper(group);
helper('ports', '127.64.0.1', '8080');
await report('syscalls');
