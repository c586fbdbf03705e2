/* SPDX-License-Identifier: GPL-2.0-or-later
 * build_info.h - what this program was built from and how: version, libraries with their digests, compiler, flags. */
#ifndef GUEST_BUILD_INFO_H
#define GUEST_BUILD_INFO_H

/* Lines "name value", each ended by a line feed.  The same sources, packages and compiler give the same text. */
const char *build_info(void) __attribute__((returns_nonnull));

#endif
