/* SPDX-License-Identifier: GPL-2.0-or-later
 * The parser of logged packets, whose bytes are the workflow's: as a bare packet, and as the attributes of a message. */
#include <stdint.h>
#include <stdlib.h>

#include "firewall/nflog.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fw_denied_row row;

	if (fw_packet_parse(data, size, &row) == 0) {
		if ((row.family != 4 && row.family != 6) || row.destination.family != row.family)
			abort();
		if (row.port != 0 && row.protocol != 6 && row.protocol != 17)
			abort();
	}
	if (fw_log_parse(data, size, &row) == 0 && row.family != 4 && row.family != 6)
		abort();
	return 0;
}
