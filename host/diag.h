/* SPDX-License-Identifier: GPL-2.0-or-later
 * diag.h - what a person is told: an error that names place, reason and next step; and the one writer of stderr. */
#ifndef HOST_DIAG_H
#define HOST_DIAG_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct diag {
	char file[512];        /* as the user wrote it, or "" */
	char pointer[256];     /* JSON Pointer, or "" */
	uint32_t line, column; /* from 1; 0 unknown */
	char problem[512];
	char fix[512]; /* imperative sentence, or "" */
};
/* Fill problem / fix; keep what is set already elsewhere.  Return err, so that `return diag_set(d, -EPROTO, ...)` works. */
int diag_set(struct diag *d, int err, const char *format, ...) __attribute__((format(printf, 3, 4), nonnull(1, 3)));
void diag_fix(struct diag *d, const char *format, ...) __attribute__((format(printf, 2, 3), nonnull(1, 2)));

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_NOTE, LOG_LEVEL_PHASE };
/* One line on stderr; bytes that a terminal could take as commands are escaped; errno is preserved. */
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3), nonnull(2)));
/* "error: FILE:LINE:COL: at POINTER: PROBLEM" and "  fix: FIX" */
void log_diag(const struct diag *d) __attribute__((nonnull));
bool log_is_colour(void); /* stderr is a terminal and NO_COLOR is not set */
/* Copies s with control bytes, DEL and non-UTF-8 escaped as \xNN; always terminated. */
void escape_text(const char *s, size_t len, char *out, size_t size) __attribute__((nonnull));
#endif
