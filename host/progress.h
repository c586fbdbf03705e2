/* SPDX-License-Identifier: GPL-2.0-or-later
 * progress.h - what a person sees of a run on stderr: a line a phase with its time, then the verdict, then each check that
 * did not hold, explained. */
#ifndef HOST_PROGRESS_H
#define HOST_PROGRESS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/check.h"
#include "host/outcome.h"
#include "host/run.h"

struct progress {
	bool quiet;
	uint64_t last_ms; /* when the last line was printed, monotonic */
};
/* "  PHASE      TEXT      N ms", the time since the last line. */
void progress_line(struct progress *p, const char *phase, const char *format, ...)
	__attribute__((format(printf, 3, 4), nonnull));
/* The verdict line and the explanations.  Colour only on a terminal without NO_COLOR. */
void progress_verdict(const struct run_verdict *v, const struct checks *c, const struct outcomes *o, bool sandbox,
		      uint64_t took_ms, const char *receipt) __attribute__((nonnull(1, 2, 3)));
/* A label padded to indent columns, then text; in lines of width columns (0: in one), wrapped beneath itself. */
void progress_item(unsigned width, const char *label, size_t indent, const char *format, ...)
	__attribute__((format(printf, 4, 5), nonnull(2, 4)));
/* "  (operations 0, 1, 2)", before them the first other place in the receipt; "" when there is none. */
void progress_rests(const struct check_result *c, char *out, size_t size) __attribute__((nonnull));
#endif
