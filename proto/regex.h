/* SPDX-License-Identifier: GPL-2.0-or-later
 * regex.h - extended regular expressions (POSIX ERE without collating elements and back references) that match in time
 * linear in the text: a set of states walks over it once, nothing is tried twice.  Pure: no allocation, no I/O.
 *
 * The text is UTF-8, one character a step; a byte that is none is a character by itself. */
#ifndef PROTO_REGEX_H
#define PROTO_REGEX_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REGEX_LEN_MAX 256u   /* bytes of a pattern */
#define REGEX_INST_MAX 1024u /* steps it may be compiled to: x{100} has a hundred */
#define REGEX_RANGES_MAX 256u
#define REGEX_TEXT_MAX 65536u /* bytes of a text; a longer one matches nothing */

struct regex_inst {
	uint8_t op; /* private */
	int16_t a, b;
	uint32_t c;
};
struct regex_range {
	uint32_t low, high;
};
/* Where a pattern is compiled to, about 14 KiB. */
struct regex_build {
	size_t len, ranges_len;
	struct regex_inst inst[REGEX_INST_MAX];
	struct regex_range ranges[REGEX_RANGES_MAX];
	/* private: what is being read */
	const char *text;
	size_t at, text_len, depth;
	const char *problem;
};
/* What matches: slices of a build, or copies of them. */
struct regex {
	size_t len;
	const struct regex_inst *inst;
	const struct regex_range *ranges;
};
/* 0; -EPROTO with b->problem, static text, at byte b->at; -EMSGSIZE likewise, a bound. */
int regex_compile(struct regex_build *b, const char *text, size_t len) __attribute__((warn_unused_result, nonnull));
/* The pattern is found somewhere in text. */
bool regex_matches(const struct regex *x, const char *text, size_t len) __attribute__((nonnull));

#endif
