/* SPDX-License-Identifier: GPL-2.0-or-later
 * credential.h - which files are taken for credentials by their name. */
#ifndef HOST_CREDENTIAL_H
#define HOST_CREDENTIAL_H
#include <stdbool.h>

/* The rule that a path (relative, '/'-separated) falls under, static text such as ".npmrc" or "*.key"; NULL: none.
 * in_modules: it lies below node_modules, where fewer rules apply, since packages carry harmless namesakes. */
const char *credential_rule(const char *path, bool in_modules) __attribute__((nonnull));
#endif
