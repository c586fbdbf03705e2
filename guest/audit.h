/* SPDX-License-Identifier: GPL-2.0-or-later
 * audit.h - what an auditor asks the guest outside of a run: its rules, what it was built from, whether it can work here. */
#ifndef GUEST_AUDIT_H
#define GUEST_AUDIT_H
#include <stdbool.h>

#include "firewall/fw.h"
#include "guest/filter.h"

/* The rules of one lock as an nft script, with the ids and addresses of a plain sandbox.  0 or -errno. */
int audit_nft(enum fw_lock_kind lock) __attribute__((warn_unused_result));
/* Version, digests of policy and filters, libraries and flags; as JSON or as text. */
int audit_summary(bool json) __attribute__((warn_unused_result));
/* The syscall filters as text, each with the digest that a receipt gives: workflow, workflow without AF_UNIX, twins. */
int audit_seccomp(enum filter_arch arch) __attribute__((warn_unused_result));
/* Which process keeps which powers. */
int audit_caps(void) __attribute__((warn_unused_result));
/* One line a finding.  0 when the guest can make a boundary here, else -ENOTSUP. */
int audit_doctor(void) __attribute__((warn_unused_result));

#endif
