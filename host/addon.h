/* SPDX-License-Identifier: GPL-2.0-or-later
 * addon.h - for which machine a native addon (a `.node` file) was built.  Foreign bytes: nothing in them is believed. */
#ifndef HOST_ADDON_H
#define HOST_ADDON_H

/* NULL: Node of this machine can load it, or nothing is known against it.  Else static text that continues "is built for":
 * "aarch64", "macOS", "musl".  fd: open for reading; its offset stays. */
const char *addon_foreign(int fd);
#endif
