/* SPDX-License-Identifier: GPL-2.0-or-later
 * limits.h - every bound of the product, with its unit and its reason. */
#ifndef PROTO_LIMITS_H
#define PROTO_LIMITS_H

/* The stream, agenttwin-frames(7). */
#define FRAME_HEADER_LEN 24u
#define FRAME_BODY_MAX 65536u  /* bytes; one frame fits any pipe and a stack-free static buffer */
#define RECORD_MAX (16u << 20) /* bytes of one record of several frames (MORE) */
#define FRAME_NONCE_LEN 8u     /* bytes in each header: the first 8 of the random 16 */
#define FRAME_RANDOM_LEN 16u   /* bytes, in the host's HELLO */
#define FRAME_VERSION_MIN 1u
#define FRAME_VERSION_MAX 1u
#define PING_INTERVAL_MS 5000u /* both directions, live streams only */
#define PING_LOST_MS 30000u    /* this long without the other's PING or PONG ends the run */

/* The bundle, world reference section 6. */
#define BUNDLE_ENTRIES_MAX 200000u
#define BUNDLE_BYTES_MAX (4ull << 30)
#define BUNDLE_FILE_MAX (1ull << 30)
#define BUNDLE_PATH_MAX 1024u /* bytes of one path, and of one link target */

/* The plan (RUN). */
#define PLAN_EXEC_MAX (2u << 20) /* bytes of the EXEC section: argv, environment, stdin */
#define PLAN_ARGS_MAX 1024u
#define PLAN_ENV_MAX 320u /* 256 of the world, the guest's own besides */
#define PLAN_ENV_BYTES_MAX (64u << 10)
#define PLAN_STDIN_MAX (1u << 20)
#define PLAN_SERVICES_MAX 250u /* 127.64.0.1 .. 127.64.0.250 */
#define PLAN_HOSTS_MAX 1000u
#define PLAN_HOST_NAME_MAX 253u        /* bytes of a host name, RFC 1035 */
#define PLAN_POLICY_MAX FRAME_BODY_MAX /* bytes of the POLICY section */

/* The world. */
#define WORLD_BYTES_MAX (1u << 20)
#define WORLD_DEPTH_MAX 32u
#define JSON_DEPTH_MAX 64u        /* foreign JSON: bodies of requests, records of the guest */
#define TWINS_JSON_MAX (8u << 20) /* bytes of the TWINS section: services with expanded secrets */

/* The run, defaults of world key `limits`. */
#define RUN_MS_DEFAULT 60000u
#define RUN_MS_MAX 86400000u
#define START_MS_DEFAULT 10000u
#define GRACE_MS_DEFAULT 2000u
#define TRIGGER_MS_DEFAULT 30000u /* the answer to one trigger */
#define MEMORY_MB_DEFAULT 1024u
#define PIDS_DEFAULT 256u
#define FILES_DEFAULT 4096u
#define DISK_MB_DEFAULT 256u
#define OUTPUT_BYTES_DEFAULT (64ull << 20) /* a stream */
#define OPERATIONS_DEFAULT 100000u
#define STATE_BYTES_DEFAULT (64ull << 20)
#define DRAIN_MS 2000u /* output and records after the workflow's own exit */

/* The HTTP twin. */
#define HTTP_HEAD_MAX 65536u /* bytes of request line and headers */
#define HTTP_HEADERS_MAX 256u
#define HTTP_BODY_MAX (8u << 20)   /* bytes of one request body */
#define HTTP_CONNECTIONS_MAX 1024u /* over all services */
#define HTTP_IDLE_MS 65000u        /* a keep-alive connection without a request */

/* Language of guards and templates, world reference section 3. */
#define LANG_TEXT_MAX 1024u
#define LANG_NODES_MAX 64u
#define LANG_DEPTH_MAX 16u
#define LANG_AGGREGATES_MAX 8u
#define LANG_VISIT_MAX 100000u

/* Denied egress: distinct destination, port, protocol, uid. */
#define DENIED_ROWS_MAX 1024u

#endif
