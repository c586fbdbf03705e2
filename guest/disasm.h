/* SPDX-License-Identifier: GPL-2.0-or-later
 * disasm.h - a syscall filter as text that a person can check: one line an instruction, calls by name. */
#ifndef GUEST_DISASM_H
#define GUEST_DISASM_H
#include "guest/filter.h"
#include "proto/cursor.h"

/* From the instructions alone, not from what they were made of: only a number's name is looked up in the tables.  A word that
 * is none of the instructions that the kernel takes is written as such.  What did not fit: w->failed. */
void disasm_write(struct writer *w, const struct filter_program *p, enum filter_arch arch) __attribute__((nonnull));

#endif
