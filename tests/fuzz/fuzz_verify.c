/* SPDX-License-Identifier: GPL-2.0-or-later
 * fuzz_verify.c - a receipt and its event file, divided by a byte 0, both of anybody: they are verified, or it is said why not. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host/verify.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *zero = memchr(data, 0, size);
	size_t len = zero ? (size_t)(zero - data) : size, rest = zero ? size - len - 1 : 0;
	char why[RECEIPT_WHY_MAX], path[64];
	static struct verify v;
	struct receipt_doc doc;
	size_t i;
	int fd;

	if (receipt_open_text((const char *)data, len, &doc, why) < 0)
		return 0;
	fd = memfd_create("events", MFD_CLOEXEC);
	if (fd < 0 || (rest && write(fd, zero + 1, rest) != (ssize_t)rest))
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	v = (struct verify){ .doc = &doc, .path = "receipt.json", .events = path };
	if (verify_receipt(&v) == 0)
		for (i = 0; i < v.len; i++)
			if (!v.items[i].what || !v.items[i].text[0])
				abort();
	close(fd);
	receipt_close(&doc);
	return 0;
}
