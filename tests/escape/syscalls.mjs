// SPDX-License-Identifier: GPL-2.0-or-later
import { helper, report } from './escape.mjs';

for (const group of ['sockets', 'routes', 'namespaces', 'kernel', 'abi', 'identity']) helper(group);
await report('syscalls');
