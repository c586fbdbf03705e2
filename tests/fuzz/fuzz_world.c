// SPDX-License-Identifier: GPL-2.0-or-later
// fuzz_world.c - the world's text, without its folder; the patterns of `files`; keys in files.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "host/diag.h"
#include "host/pattern.h"
#include "host/pem.h"
#include "host/world.h"
#include "host/world_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world w;
	struct diag d;
	struct pattern p;
	struct pem_scan whole, parts;
	const char *fix;
	size_t i;
	int r;

	memset(&w, 0, sizeof(w));
	memset(&d, 0, sizeof(d));
	w.text = malloc(size + 1);
	if (!w.text)
		return 0;
	memcpy(w.text, data, size);
	w.text[size] = '\0';
	w.text_len = size;
	r = world_read_text(&w, &d);
	// every refusal says what and what to do
	if (r < 0 && (!d.problem[0] || !d.fix[0]))
		abort();
	if (!pattern_parse(w.text, &p, &fix))
		(void)pattern_step(&p, pattern_start(&p), "node_modules", false, NULL);
	// where the input is cut means nothing
	pem_scan_init(&whole, size & 1);
	pem_scan_init(&parts, size & 1);
	pem_scan_add(&whole, data, size);
	for (i = 0; i < size; i++)
		pem_scan_add(&parts, data + i, 1);
	if (whole.found != parts.found)
		abort();
	world_wipe(&w);
	return 0;
}
