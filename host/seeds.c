/* SPDX-License-Identifier: GPL-2.0-or-later
 * seeds.c - see seeds.h. */
#include "host/seeds.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool
number(const char **at, uint64_t max, uint64_t *out)
{
	char *end;

	if (**at < '0' || **at > '9')
		return false;
	errno = 0;
	*out = strtoull(*at, &end, 10);
	*at = end;
	return errno == 0 && *out <= max;
}

int
seeds_parse(const char *text, struct seeds *out, const char **problem)
{
	uint64_t first, last;

	*out = (struct seeds){ 0 };
	*problem = "write how many seeds, as 20, or the first and the last one, as 100..119";
	if (!number(&text, SEED_MAX, &first))
		return -EPROTO;
	if (*text == '\0') {
		*problem = "from 1 to 10000 seeds are a sweep";
		if (first == 0 || first > SEEDS_MAX)
			return -EPROTO;
		out->n = (uint32_t)first;
		return 0;
	}
	if (strncmp(text, "..", 2) != 0)
		return -EPROTO;
	text += 2;
	if (!number(&text, SEED_MAX, &last) || *text)
		return -EPROTO;
	*problem = "the last seed stands before the first";
	if (last < first)
		return -EPROTO;
	*problem = "from 1 to 10000 seeds are a sweep";
	if (last - first >= SEEDS_MAX)
		return -EPROTO;
	out->n = (uint32_t)(last - first + 1);
	out->absolute = true;
	out->first = first;
	return 0;
}

void
seeds_list(const uint64_t *seeds, size_t len, char *out, size_t size)
{
	char one[64];
	size_t i = 0, to, n = 0, w;

	if (size)
		out[0] = '\0';
	while (i < len) {
		for (to = i; to + 1 < len && seeds[to + 1] == seeds[to] + 1; to++)
			;
		if (to == i)
			w = (size_t)snprintf(one, sizeof(one), "%s%" PRIu64, i ? ", " : "", seeds[i]);
		else
			w = (size_t)snprintf(one, sizeof(one), "%s%" PRIu64 "-%" PRIu64, i ? ", " : "", seeds[i],
					     seeds[to]);
		if (n + w + sizeof(", ...") > size) {
			if (n + sizeof(", ...") <= size)
				memcpy(out + n, ", ...", sizeof(", ..."));
			return;
		}
		memcpy(out + n, one, w + 1);
		n += w;
		i = to + 1;
	}
}
