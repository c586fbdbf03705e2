/* SPDX-License-Identifier: GPL-2.0-or-later
 * receipt_read.h - receipts that were written before, read again: strictly, in one pass, in memory that does not grow with the
 * number of operations.  A file that is changed, cut or removed meanwhile is an error, never a crash.
 *
 *	struct receipt_cursor c = { 0 };
 *	while ((r = receipt_next(&doc, &c, &op)) == 1) {
 *		... op is number c.index - 1 of the list ...
 *		cJSON_Delete(op);
 *	}
 */
#ifndef HOST_RECEIPT_READ_H
#define HOST_RECEIPT_READ_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct cJSON;

#define RECEIPT_REST_MAX (256u << 20)     /* bytes of all parts but operations */
#define RECEIPT_OPERATION_MAX (16u << 20) /* bytes of one operation; RECORD_MAX of the guest */
#define RECEIPT_HEAD_MAX (2u << 20)       /* bytes up to the end of run; a world's about is at most 1 MiB */
#define RECEIPT_WHY_MAX 320u

struct receipt_doc {
	struct cJSON *rest;        /* owned: the document; its operations are an empty list */
	uint64_t operations;       /* how many there are */
	uint64_t size;             /* bytes of the file */
	uint64_t signature_at;     /* offset of the value of integrity.signature; 0: there is no such member */
	uint64_t signature_len;    /* its bytes */
	char why[RECEIPT_WHY_MAX]; /* what receipt_next and receipt_bytes have against it: place and problem */
	/* private */
	int fd;           /* -1: text is in memory */
	const char *text; /* borrowed, or NULL */
	char *window;     /* owned: bytes [window_at, window_at + window_len) of the file */
	size_t window_size, window_len;
	uint64_t window_at, list_at;
	struct timespec changed;
};
/* A place in the list of operations.  Zero: before the first.  May be copied, kept and used again. */
struct receipt_cursor {
	uint64_t index; /* operations before it */
	uint64_t at;    /* private: offset of the next one */
};
/* Reads all but the operations, which are counted.  0 and *doc for receipt_close; -errno; -EPROTO: no receipt/1, or broken;
 * why says what and where. */
int receipt_open(const char *path, struct receipt_doc *doc, char why[static RECEIPT_WHY_MAX])
	__attribute__((warn_unused_result, nonnull));
/* The same of text that lives as long as *doc. */
int receipt_open_text(const char *text, size_t len, struct receipt_doc *doc, char why[static RECEIPT_WHY_MAX])
	__attribute__((warn_unused_result, nonnull));
/* Reads what comes before the first member after run: status, why, exit_code and run; operations stays 0. */
int receipt_open_head(int dir_fd, const char *path, struct receipt_doc *doc, char why[static RECEIPT_WHY_MAX])
	__attribute__((warn_unused_result, nonnull));
/* 1: *op, owned by the caller, is the next operation, an object; 0: there was none; -errno: doc->why. */
int receipt_next(struct receipt_doc *doc, struct receipt_cursor *cursor, struct cJSON **op)
	__attribute__((warn_unused_result, nonnull));
/* Exactly len bytes of the file at an offset.  0, or -errno with doc->why. */
int receipt_bytes(struct receipt_doc *doc, uint64_t at, void *out, size_t len)
	__attribute__((warn_unused_result, nonnull));
void receipt_close(struct receipt_doc *doc) __attribute__((nonnull));
#endif
