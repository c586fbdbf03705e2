/* SPDX-License-Identifier: GPL-2.0-or-later
 * report_markdown.h - Markdown in a given number of bytes, out of pieces that are taken whole or not at all.  Foreign text
 * becomes code, from which it cannot get out. */
#ifndef HOST_REPORT_MARKDOWN_H
#define HOST_REPORT_MARKDOWN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct markdown {
	char *text; /* owned */
	size_t len, max;
	size_t limit; /* of the section at hand: bytes that all may have until it ends */
	char *piece;  /* private: the piece at hand */
	size_t piece_len;
	FILE *f;           /* the piece at hand: written with fprintf and the functions below */
	unsigned left_out; /* pieces of the section that had no room */
	bool failed;       /* no memory */
};
/* max: bytes in all. */
int markdown_init(struct markdown *m, size_t max) __attribute__((warn_unused_result, nonnull));
void markdown_wipe(struct markdown *m) __attribute__((nonnull));
/* A section may have percent of what is left; its title is a piece.  It ends with how many pieces were left out. */
void markdown_begin(struct markdown *m, const char *title, unsigned percent) __attribute__((nonnull(1)));
void markdown_end(struct markdown *m) __attribute__((nonnull));
/* Takes what was written to m->f, if it has room.  A piece that follows one that had none is left out too. */
bool markdown_take(struct markdown *m) __attribute__((nonnull));
/* Foreign text as code within a line, cut to max bytes before it is escaped. */
void markdown_code(struct markdown *m, const char *text, size_t max) __attribute__((nonnull));
/* Foreign text of several lines as a block of code.  kind: what follows the fence. */
void markdown_block(struct markdown *m, const char *kind, const char *text, size_t len) __attribute__((nonnull));
#endif
