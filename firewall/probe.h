/* SPDX-License-Identifier: GPL-2.0-or-later
 * probe.h - orders to the proof's child and what it reports.  Private to firewall/. */
#ifndef FIREWALL_PROBE_H
#define FIREWALL_PROBE_H
#include <stdbool.h>
#include <stdint.h>

#include "firewall/fw.h"

#define FW_ANSWER_MS 400 /* a refusal is there in a fraction of one; a SYN is repeated after 1,000 */

enum fw_probe_kind {
	PROBE_OUT,      /* must be denied, and counted for the workflow */
	PROBE_LOOPBACK, /* must work: the positive control */
	PROBE_CLOSED,   /* must be refused, and counted as closed */
	PROBE_END,      /* the child leaves */
};
struct fw_order {
	uint8_t kind, protocol;
	bool by_lo; /* bound to the device lo */
	uint16_t port, wait_ms;
	uint32_t scope;
	struct fw_address to;
};
enum fw_probe_stage { STAGE_ENTER, STAGE_SOCKET, STAGE_SEND };
struct fw_report {
	uint8_t stage;
	bool through;     /* connected, or the kernel took the datagram */
	int32_t err;      /* positive errno, 0 none */
	uint32_t packets; /* caused */
};

/* The child's whole life: becomes the workflow, then obeys the orders that come from fd, one report each. */
_Noreturn void fw_probe_child(int fd, fw_enter_fn *enter, void *arg) __attribute__((nonnull(2)));
#endif
