/* SPDX-License-Identifier: GPL-2.0-or-later
 * redact_forms.h - private to redact*.c: the forms in which a secret value is looked for. */
#ifndef HOST_REDACT_FORMS_H
#define HOST_REDACT_FORMS_H
#include <stddef.h>
#include <stdint.h>

typedef int redact_form_sink(void *arg, const uint8_t *form, size_t len);
/* Hands each form of the value to sink, some of them more than once, until it returns anything but 0, which is the result.
 * -ENOMEM. */
int redact_forms(const uint8_t *value, size_t len, redact_form_sink *sink, void *arg)
	__attribute__((warn_unused_result, nonnull(1, 3)));
#endif
