/* SPDX-License-Identifier: GPL-2.0-or-later
 * nl.h - netlink sockets of the firewall room: a batch of messages out, acknowledgements or a dump back.
 * Private to firewall/.  All buffers are the caller's. */
#ifndef FIREWALL_NL_H
#define FIREWALL_NL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nlmsghdr;
struct fw_failure;

#define FW_NL_ROOM 2048u       /* bytes that each message is promised */
#define FW_NL_DEADLINE_MS 5000 /* the kernel answers at once; more means that something is badly wrong */

/* A non-blocking socket of the present network namespace, its receive buffer as large as may be had (at most bytes).
 * groups: mask of the first 32 multicast groups.  The descriptor, or -errno. */
int fw_nl_open(int protocol, uint32_t groups, int bytes) __attribute__((warn_unused_result));

/* One exchange under construction.  fw_nl_begin, then fw_nl_message for each message (attributes are put behind it with
 * libmnl before the next), then fw_nl_talk. */
struct fw_nl {
	int fd;
	uint32_t *seq;    /* of the last message; continues over exchanges */
	uint32_t first;   /* of this exchange */
	uint8_t *tx, *rx; /* 8-byte aligned */
	size_t tx_size, rx_size, tx_len;
	struct nlmsghdr *last; /* the message being built, or NULL */
	bool full;             /* a message did not fit */
	bool disturbed;        /* a dump saw a change */
	uint32_t failed;       /* after an error answer: index of the message that was refused, from 0 */
};
/* space is divided: the last 32 KiB (or half) receive. */
void fw_nl_begin(struct fw_nl *n, int fd, uint32_t *seq, uint8_t *space, size_t size) __attribute__((nonnull));
/* A new message of this type and flags (NLM_F_REQUEST is added), at least FW_NL_ROOM bytes long.  Never NULL: when the
 * buffer is full the failure sticks and the message goes nowhere. */
struct nlmsghdr *fw_nl_message(struct fw_nl *n, uint16_t type, uint16_t flags)
	__attribute__((returns_nonnull, nonnull));
/* The same for nf_tables: type is NFT_MSG_*, family a netfilter protocol.  Begin and end of a batch are messages too. */
struct nlmsghdr *fw_nl_nft(struct fw_nl *n, uint16_t type, uint8_t family, uint16_t flags)
	__attribute__((returns_nonnull, nonnull));
void fw_nl_batch_begin(struct fw_nl *n) __attribute__((nonnull));
void fw_nl_batch_end(struct fw_nl *n) __attribute__((nonnull));

/* Called for each message of an answer that is neither an error nor the end.  Negative ends the exchange with it, and no
 * other dump can be asked for on this socket: a reader that only dislikes what it sees remembers it and returns 0. */
typedef int fw_nl_fn(void *arg, const struct nlmsghdr *h);
/* Called for each acknowledgement: index of the message, 0 or positive errno.  Negative ends the exchange. */
typedef int fw_nl_ack_fn(void *arg, uint32_t index, int err);
/* Sends all and reads until the last message is acknowledged or its dump has ended.  The first message that asks for
 * neither (no NLM_F_ACK, no NLM_F_DUMP) but is the last ends with its first answer.  ack NULL: the first error answer
 * ends it.  0; -errno of the kernel's refusal (n->failed names the message) or of the socket; -EINTR when a dump was
 * disturbed by a change; -ETIMEDOUT; -EMSGSIZE when the messages did not fit. */
int fw_nl_talk(struct fw_nl *n, fw_nl_fn *fn, fw_nl_ack_fn *ack, void *arg)
	__attribute__((warn_unused_result, nonnull(1)));

/* Reads one datagram that nobody asked for.  Its length; -EAGAIN none waits; -ENOBUFS some were lost; -EMSGSIZE it was cut
 * (count as lost); other -errno. */
int fw_nl_receive(int fd, uint8_t *buf, size_t size) __attribute__((warn_unused_result, nonnull));

/* Is a whole message at h, len bytes being left?  As mnl_nlmsg_ok, which takes lengths above INT_MAX for negative ones. */
bool fw_nl_ok(const struct nlmsghdr *h, int len) __attribute__((nonnull));

/* Attributes, one after another; every length is checked. */
struct fw_attrs {
	const uint8_t *at;
	size_t left;
	bool bad; /* what was left is not an attribute */
};
struct fw_attr {
	uint16_t type;       /* without the nested and byte order flags */
	uint16_t len;        /* bytes of data */
	const uint8_t *data; /* borrowed */
};
/* Those of a message behind its family header of header bytes; of a nested attribute. */
void fw_attrs_of(struct fw_attrs *it, const struct nlmsghdr *h, size_t header) __attribute__((nonnull));
void fw_attrs_in(struct fw_attrs *it, const struct fw_attr *nest) __attribute__((nonnull));
bool fw_attr_next(struct fw_attrs *it, struct fw_attr *out) __attribute__((nonnull));
/* A value of exactly this size, big-endian or in host order; false if the size is another. */
bool fw_attr_be32(const struct fw_attr *a, uint32_t *out) __attribute__((warn_unused_result, nonnull));
bool fw_attr_be64(const struct fw_attr *a, uint64_t *out) __attribute__((warn_unused_result, nonnull));
bool fw_attr_u32(const struct fw_attr *a, uint32_t *out) __attribute__((warn_unused_result, nonnull));
/* Is it this NUL-terminated string? */
bool fw_attr_is(const struct fw_attr *a, const char *s) __attribute__((nonnull));

/* Fills a failure and returns -err (-EPROTO when err is 0), so that callers can return it. */
int fw_fail(struct fw_failure *f, const char *step, int err, const char *format, ...)
	__attribute__((format(printf, 4, 5), nonnull(1, 2, 4)));
#endif
