/* SPDX-License-Identifier: GPL-2.0-or-later
 * intake.c - frames of the host, see run.h.
 *
 * Runs as: root, in the monitor.  Input: the host's frames, or a bundle file.
 * A hostile sender gains nothing: the receiver checks form, number, nonce, order and chain of every frame before it is seen
 * here; sections are copied into fixed buffers after a check of length and decoded by proto/; TWINS, FILE and DATA are handed
 * on unread to processes without privilege. */
#include "guest/run.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "guest/evidence.h"
#include "proto/cursor.h"

#define FRAMES_A_CALL 64 /* then the loop looks at its other duties */

static void
refuse(struct run *r, int err, const char *text)
{
	run_fail(r, END_FAILED, "stream", err, text);
}

/* The receiver accepted the form; here the versions meet. */
static void
take_hello(struct run *r, const struct frame *f)
{
	struct frame_hello hello;
	struct writer w;
	int version;

	if (frame_hello_decode(f->body, f->len, &hello) < 0) {
		refuse(r, EPROTO, "HELLO is malformed");
		return;
	}
	version = frame_version_choose(hello.version_min, hello.version_max);
	outbox_init(&r->outbox, r->out, hello.random);
	r->hello_sent = true;
	writer_init(&w, r->paper, sizeof(r->paper));
	evidence_hello(&w, version > 0 ? version : 0, r->self);
	(void)outbox_put(&r->outbox, FRAME_HELLO, 0, w.at, w.len);
	if (version < 0)
		run_fail(r, END_FAILED, "hello", -version, "no version of the stream that both sides speak");
}

static int
section_place(struct run *r, uint8_t section, uint8_t **buf, size_t *size, size_t **len)
{
	switch (section) {
	case PLAN_EXEC:
		*buf = r->exec_buf;
		*size = sizeof(r->exec_buf);
		*len = &r->exec_len;
		return 0;
	case PLAN_POLICY:
		*buf = r->policy_buf;
		*size = sizeof(r->policy_buf);
		*len = &r->policy_len;
		return 0;
	case PLAN_GATE:
		*buf = r->gate_buf;
		*size = sizeof(r->gate_buf);
		*len = &r->gate_len;
		return 0;
	case PLAN_TWINS:
		*buf = r->twins_buf;
		*size = sizeof(r->twins_buf);
		*len = &r->twins_len;
		return 0;
	default:
		return -EPROTO;
	}
}

static bool
is_policy_sane(const struct plan_policy *p)
{
	if (p->mode == PLAN_LOCAL)
		return true;
	return p->mode == PLAN_SANDBOX && p->workflow_uid != 0 && p->workflow_gid != 0 && p->twins_uid != 0 &&
	       p->twins_gid != 0 && p->workflow_uid != p->twins_uid;
}

static int
section_decode(struct run *r)
{
	int e;

	switch (r->section) {
	case PLAN_EXEC:
		return plan_exec_decode(r->exec_buf, r->exec_len, &r->exec);
	case PLAN_POLICY:
		e = plan_policy_decode(r->policy_buf, r->policy_len, &r->policy);
		return e == 0 && !is_policy_sane(&r->policy) ? -EPERM : e;
	case PLAN_GATE:
		return plan_gate_decode(r->gate_buf, r->gate_len, r->gate);
	default:
		return r->twins_len > 1 ? 0 : -EPROTO;
	}
}

/* One frame of a RUN record: four sections, each once and in order. */
static void
take_run(struct run *r, const struct frame *f)
{
	static const char *const names[] = { "", "EXEC", "POLICY", "GATE", "TWINS" };
	uint8_t *buf = NULL;
	size_t size = 0, *len = NULL;
	char text[64];
	int e;

	if (r->section == 0) {
		if (f->len == 0 || f->body[0] != r->sections + 1) {
			refuse(r, EPROTO, "RUN's sections do not come in order");
			return;
		}
		r->section = f->body[0];
	}
	if (section_place(r, r->section, &buf, &size, &len) < 0 || f->len > size - *len) {
		refuse(r, EMSGSIZE, "a section of RUN is too long");
		return;
	}
	memcpy(buf + *len, f->body, f->len);
	*len += f->len;
	if (f->flags & FRAME_MORE)
		return;
	e = section_decode(r);
	if (e < 0) {
		snprintf(text, sizeof(text), "section %s of RUN is malformed or not permitted", names[r->section]);
		refuse(r, -e, text);
		return;
	}
	r->sections++;
	r->section = 0;
	if (r->sections != PLAN_TWINS)
		return;
	r->sandbox = r->policy.mode == PLAN_SANDBOX;
	e = bundle_start(&r->bundle, r->policy.app_dir, r->sandbox, r->policy.workflow_uid, r->policy.workflow_gid);
	if (e < 0)
		run_fail(r, END_FAILED, "bundle", -e, "the writer of the bundle cannot be started");
}

static void
take_entry(struct run *r, const struct frame *f)
{
	int e = r->bundle.fd >= 0 ? bundle_put(&r->bundle, f->type, f->body, f->len) : -EPROTO;

	if (f->type == FRAME_FILE)
		r->files++;
	else
		r->bytes += f->len;
	if (e < 0)
		run_fail(r, END_FAILED, "bundle", -e, r->bundle.problem);
}

static void
take_commit(struct run *r, const struct frame *f)
{
	struct plan_commit c;
	int e;

	if (plan_commit_decode(f->body, f->len, &c) < 0 || r->sections != PLAN_TWINS) {
		refuse(r, EPROTO, "COMMIT is malformed or comes too early");
		return;
	}
	if (c.files != r->files || c.bytes != r->bytes ||
	    memcmp(c.chain, r->receiver.chain_before.value, sizeof(c.chain)) != 0) {
		run_fail(r, END_FAILED, "bundle", EPROTO, "COMMIT states other counts or another chain than what came");
		return;
	}
	e = bundle_finish(&r->bundle);
	if (e < 0)
		run_fail(r, END_FAILED, "bundle", -e, r->bundle.problem);
	else
		r->committed = true;
}

static void
take_frame(struct run *r, const struct frame *f)
{
	r->heard_ms = r->now;
	switch (f->type) {
	case FRAME_HELLO_HOST:
		take_hello(r, f);
		break;
	case FRAME_RUN:
		take_run(r, f);
		break;
	case FRAME_FILE:
	case FRAME_DATA:
		take_entry(r, f);
		break;
	case FRAME_COMMIT:
		take_commit(r, f);
		break;
	case FRAME_START:
		r->started = true;
		break;
	case FRAME_PING:
		if (f->len == 8) {
			struct reader in;

			reader_init(&in, f->body, f->len);
			r->ping_counter = read_u64(&in);
		}
		break;
	case FRAME_CANCEL:
		r->cancelled = true;
		run_stop(r, ENDED_CANCEL, false);
		break;
	default:
		refuse(r, EPROTO, "a frame that this guest does not know");
	}
}

/* End of input: before COMMIT the bundle is incomplete; later the host of a live stream is gone. */
static void
take_end(struct run *r)
{
	r->in_closed = true;
	if (!r->committed)
		refuse(r, EPROTO, "the stream ended before COMMIT");
	else if (r->live && (r->policy.flags & PLAN_EXIT_ON_CLOSE))
		run_stop(r, ENDED_HOST_LOST, true);
}

void
intake_read(struct run *r)
{
	static uint8_t buf[65536];
	static size_t at, len; /* bytes read but not yet taken: COMMIT stops in the middle, for the boundary's sake */
	int frames = 0;

	while (frames < FRAMES_A_CALL && !r->in_closed && !(r->failed && !r->hello_sent)) {
		struct frame f;
		size_t used = 0;
		int e;

		if (at == len) {
			ssize_t n = read(r->in, buf, sizeof(buf));

			if (n < 0 && (errno == EAGAIN || errno == EINTR))
				return;
			if (n <= 0) {
				take_end(r);
				return;
			}
			at = 0;
			len = (size_t)n;
		}
		e = frame_receive(&r->receiver, buf + at, len - at, &used, &f);
		at += used;
		if (e < 0) {
			r->in_closed = true; /* nothing after it can be believed */
			refuse(r, -e, r->receiver.problem ? r->receiver.problem : "a malformed frame");
			return;
		}
		if (e == 0)
			continue;
		frames++;
		if (r->failed && f.type != FRAME_CANCEL)
			continue;
		take_frame(r, &f);
		if (f.type == FRAME_COMMIT) {
			if (!r->live && (at < len || read(r->in, buf, 1) != 0))
				refuse(r, EPROTO, "bytes follow COMMIT in the bundle file");
			return;
		}
	}
}
