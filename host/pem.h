/* SPDX-License-Identifier: GPL-2.0-or-later
 * pem.h - finds a complete PEM private key in bytes that pass by, in bounded memory.
 *
 * Complete: a BEGIN line of some kind of PRIVATE KEY, then at least two lines of base64 (or one of 60 characters or more, as
 * Ed25519 keys have), then the END line; indentation, CR LF and the headers of encrypted keys do not hide it.  The bare
 * BEGIN text, which programs that read keys contain, is none. */
#ifndef HOST_PEM_H
#define HOST_PEM_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PEM_LABEL_MAX 64u

struct pem_scan {
	bool found;   /* sticks */
	bool escaped; /* the two characters \n count as a line break, as in JSON and source code */
	/* private */
	uint8_t state, dashes, at;
	bool backslash, end;
	char label[PEM_LABEL_MAX];
	uint32_t line_len, lines, longest;
	bool line_base64, line_done;
};
void pem_scan_init(struct pem_scan *p, bool escaped) __attribute__((nonnull));
void pem_scan_add(struct pem_scan *p, const void *data, size_t len) __attribute__((nonnull(1)));
#endif
