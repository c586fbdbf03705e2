/* SPDX-License-Identifier: GPL-2.0-or-later
 * remove.h - removes a folder that somebody else filled: no link followed, no other filesystem entered, any depth. */
#ifndef HOST_REMOVE_H
#define HOST_REMOVE_H

/* path: absolute.  0, also when it is not there; -EXDEV something is mounted inside; other -errno: something is left. */
int remove_tree(const char *path) __attribute__((warn_unused_result, nonnull));
#endif
