/* SPDX-License-Identifier: GPL-2.0-or-later
 * redact_keys.h - keys of one JSON object that redaction made equal: two forms of one value are both {{secret.NAME}}, and a
 * document with the same key twice is refused by whoever reads it strictly.  The second becomes {{secret.NAME}}#2. */
#ifndef HOST_REDACT_KEYS_H
#define HOST_REDACT_KEYS_H
#include <stddef.h>

#include "host/redact.h"

#define REDACT_KEYS_DEPTH 128u /* keys deeper than this stay as they are; no reader of ours goes below JSON_DEPTH_MAX */

/* json is one JSON value after redaction.  Only keys that hold the beginning of a name of a secret are looked at, all in linear
 * time; what has different keys already passes unchanged.  0, -ENOMEM or what the sink says. */
int redact_keys(const char *json, size_t len, redact_sink *sink, void *arg)
	__attribute__((warn_unused_result, nonnull(1, 3)));
#endif
