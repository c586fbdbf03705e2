/* SPDX-License-Identifier: GPL-2.0-or-later
 * receipt.c - see receipt.h: the parts in their fixed order. */
#include "host/receipt.h"

#include <cJSON.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "host/emit.h"
#include "host/json.h"

/* Over what came of the run, so it is not known before all checks are. */
static void
fingerprint_part(struct emit *e, const struct receipt *r)
{
	emit_text(e, "fingerprint", r->fingerprint);
	if (r->reference) {
		emit_open(e, "reproduces", '{');
		emit_text(e, "run", r->reference->run_id);
		emit_text(e, "fingerprint", r->reference->fingerprint);
		emit_bool(e, "equal", strcmp(r->reference->fingerprint, r->fingerprint) == 0);
		emit_close(e);
	} else {
		emit_null(e, "reproduces");
	}
}

static void
run_part(struct emit *e, const struct receipt *r)
{
	emit_open(e, "run", '{');
	emit_text(e, "id", r->run_id);
	emit_time(e, "started", r->started_unix_ms);
	emit_time(e, "ended", r->ended_unix_ms);
	emit_u64(e, "duration_ms", r->duration_ms);
	emit_open(e, "host", '{');
	emit_text(e, "version", AGENTTWIN_VERSION);
	emit_close(e);
	emit_u64(e, "seed", r->seed);
	emit_text(e, "seed_from", r->seed_from);
	emit_open(e, "world", '{');
	emit_text(e, "name", r->world->name);
	emit_text(e, "about", r->world->about);
	emit_text(e, "path", r->world_path);
	emit_hex(e, "sha256", r->world->sha256);
	emit_close(e);
	if (!r->draft)
		fingerprint_part(e, r);
	emit_text(e, "reproduce", r->reproduce);
	emit_close(e);
}

static void
bundle_part(struct emit *e, const struct receipt *r)
{
	static const char *const kinds[] = { "?", "file", "link", "twins-file" };
	size_t i;
	char mode[8];

	emit_open(e, "bundle", '{');
	emit_open(e, "files", '[');
	for (i = 0; i < r->stage->entries_len; i++) {
		const struct stage_entry *f = &r->stage->entries[i];

		emit_open(e, NULL, '{');
		emit_text(e, "path", f->path);
		emit_text(e, "kind", kinds[f->kind < 4 ? f->kind : 0]);
		emit_u64(e, "size", f->size);
		snprintf(mode, sizeof(mode), "%04o", f->mode & 07777u);
		emit_text(e, "mode", mode);
		emit_hex(e, "sha256", f->sha256);
		if (f->target)
			emit_text(e, "target", f->target);
		emit_close(e);
	}
	emit_close(e);
	emit_u64(e, "bytes", r->stage->bytes);
	emit_open(e, "left_out", '[');
	for (i = 0; i < r->stage->left_out_len; i++) {
		emit_open(e, NULL, '{');
		emit_text(e, "path", r->stage->left_out[i].path);
		emit_text(e, "rule", r->stage->left_out[i].rule);
		emit_close(e);
	}
	emit_close(e);
	emit_open(e, "variables", '[');
	for (i = 0; i < r->cred->env_len; i++)
		emit_bytes(e, NULL, r->cred->env[i], strcspn(r->cred->env[i], "="));
	emit_close(e);
	emit_open(e, "credentials", '[');
	for (i = 0; i < r->cred->secrets_len; i++) {
		emit_open(e, NULL, '{');
		emit_text(e, "name", r->cred->secrets[i].name);
		emit_text(e, "fingerprint", r->cred->secrets[i].fingerprint);
		emit_close(e);
	}
	emit_close(e);
	emit_close(e);
}

static void
known(struct emit *e, const char *key, const char *s)
{
	emit_text(e, key, s && *s ? s : NULL);
}

/* The digest of the authority that the twins made, from the initial state of a service with tls. */
static void
authority(struct emit *e, const struct receipt *r)
{
	const char *digest = NULL;
	cJSON *doc = NULL;
	size_t i;

	for (i = 0; i < r->world->services_len && !doc; i++)
		if (r->world->services[i].tls)
			doc = evidence_state_doc(r->evidence, 0, i);
	digest = json_get_text(doc, "ca_sha256");
	known(e, "ca_sha256",
	      digest && strlen(digest) == 64 && strspn(digest, "0123456789abcdef") == 64 ? digest : NULL);
	cJSON_Delete(doc);
}

static void
runtime_part(struct emit *e, const struct receipt *r)
{
	const struct facts *f = r->facts;
	const cJSON *hello = r->evidence->hello;

	emit_open(e, "runtime", '{');
	emit_text(e, "backend", r->backend->name);
	known(e, "mode", f->mode);
	known(e, "sandbox_id", f->sandbox_id);
	known(e, "image_digest", f->image_digest);
	emit_open(e, "guest", '{');
	emit_text(e, "sha256", r->guest_sha256);
	emit_text(e, "version", json_get_text(json_get(hello, "guest"), "version"));
	emit_bool(e, "confirmed", hello != NULL); /* HELLO with another digest ends the run before it is kept */
	emit_close(e);
	emit_text(e, "kernel", json_get_text(hello, "kernel"));
	emit_text(e, "arch", json_get_text(hello, "arch"));
	emit_json(e, "features", json_get(hello, "features"));
	emit_open(e, "node", '{');
	known(e, "path", f->node_path);
	known(e, "inside", f->node_inside);
	known(e, "version", f->node_version);
	known(e, "sha256", f->node_sha256);
	emit_close(e);
	authority(e, r);
	emit_open(e, "limits", '{');
	emit_open(e, "asked", '{');
	emit_u64(e, "memory_bytes", r->limits->memory_bytes);
	emit_u64(e, "disk_bytes", r->limits->disk_bytes);
	emit_u64(e, "output_bytes", r->limits->output_bytes);
	emit_u64(e, "pids", r->limits->pids);
	if (r->limits->cpu_milli)
		emit_u64(e, "cpu_milli", r->limits->cpu_milli);
	emit_u64(e, "files", r->world->limits.files);
	emit_u64(e, "run_ms", r->world->limits.run_ms);
	emit_u64(e, "start_ms", r->world->limits.start_ms);
	emit_u64(e, "idle_ms", r->world->limits.idle_ms);
	emit_u64(e, "grace_ms", r->world->limits.grace_ms);
	emit_u64(e, "operations", r->world->limits.operations);
	emit_u64(e, "state_bytes", r->world->limits.state_bytes);
	emit_close(e);
	known(e, "enforced", f->limits_enforced);
	emit_open(e, "reached", '{'); /* null: nobody counted */
	if (f->memory_most)
		emit_u64(e, "oom_kills", f->oom_kills);
	else
		emit_null(e, "oom_kills");
	if (f->pids_most)
		emit_u64(e, "pids_refused", f->pids_refused);
	else
		emit_null(e, "pids_refused");
	emit_close(e);
	emit_close(e);
	emit_open(e, "uids", '{');
	emit_u64(e, "workflow", f->workflow_uid);
	emit_u64(e, "twins", f->twins_uid);
	emit_close(e);
	emit_close(e);
}

static void
stream(struct emit *e, const char *name, const struct evidence *ev, const struct evidence_stream *s, uint64_t wrote)
{
	uint8_t digest[32], tail[EVIDENCE_TAIL];
	size_t len = s->tail_total < EVIDENCE_TAIL ? (size_t)s->tail_total : EVIDENCE_TAIL;
	size_t i, from = (size_t)((s->tail_total - len) % EVIDENCE_TAIL);

	for (i = 0; i < len; i++)
		tail[i] = s->tail[(from + i) % EVIDENCE_TAIL];
	/* A tail that starts in the middle of a character would show a replacement for each of its last bytes. */
	for (i = 0; s->tail_total > len && i < 3 && i < len && (tail[i] & 0xc0) == 0x80; i++)
		;
	sha256_get(&s->raw, digest);
	emit_open(e, name, '{');
	emit_hex(e, "sha256", digest);
	emit_u64(e, "bytes", s->bytes);
	emit_u64(e, "wrote", ev->have_exit ? wrote : s->bytes);
	emit_bytes(e, "tail", tail + i, len - i);
	emit_bool(e, "truncated", !ev->have_exit || wrote != s->bytes);
	emit_close(e);
}

static void
outcome_part(struct emit *e, const struct receipt *r)
{
	const struct evidence *ev = r->evidence;
	const struct plan_exit *x = &ev->exit;

	emit_open(e, "outcome", '{');
	if (!r->draft)
		receipt_outcomes(e, r);
	if (ev->have_exit) {
		emit_open(e, "exit", '{');
		if (x->stage == EXEC_OK && x->signal == 0)
			emit_i64(e, "code", x->code);
		else
			emit_null(e, "code");
		if (x->signal)
			emit_u64(e, "signal", x->signal);
		else
			emit_null(e, "signal");
		emit_text(e, "signal_name", x->signal ? sigabbrev_np(x->signal) : NULL);
		emit_bool(e, "core", x->core);
		emit_bool(e, "oom", x->oom);
		emit_bool(e, "pipe_held", x->pipe_held);
		emit_text(e, "stage", exec_stage_name(x->stage));
		known(e, "errno", x->errno_name);
		emit_text(e, "ended_by", exit_ended_by_name(x->ended_by));
		emit_close(e);
	} else {
		emit_null(e, "exit");
	}
	stream(e, "stdout", ev, &ev->out, x->stdout_bytes);
	stream(e, "stderr", ev, &ev->err, x->stderr_bytes);
	if (ev->have_exit) {
		emit_open(e, "resources", '{');
		emit_u64(e, "user_us", x->user_us);
		emit_u64(e, "system_us", x->system_us);
		emit_u64(e, "wall_us", x->wall_us);
		emit_u64(e, "max_rss_kib", x->max_rss_kib);
		emit_close(e);
	} else {
		emit_null(e, "resources");
	}
	if (ev->have_fail) {
		emit_open(e, "failure", '{');
		emit_text(e, "step", ev->fail_step);
		known(e, "errno", ev->fail_errno);
		emit_text(e, "text", ev->fail_text);
		emit_close(e);
	} else {
		emit_null(e, "failure");
	}
	emit_close(e);
}

static void
operations_part(struct emit *e, const struct receipt *r)
{
	struct evidence *ev = r->evidence;
	char *text;
	size_t i;
	int rc;

	emit_open(e, "operations", '[');
	for (i = 0; i < ev->ops_len; i++) {
		if (ev->ops[i].place.len == 0)
			continue; /* did not fit into the spool, which integrity.truncated says */
		rc = spool_read(ev->spool, &ev->ops[i].place, &text);
		if (rc < 0) {
			e->error = e->error ? e->error : rc;
			break;
		}
		emit_raw(e, NULL, text, (size_t)ev->ops[i].place.len);
		free(text);
	}
	emit_close(e);
}

static void
cleanup_part(struct emit *e, const struct receipt *r)
{
	const struct cleanup *c = r->cleanup;

	emit_open(e, "cleanup", '{');
	emit_bool(e, "confirmed", c->confirmed);
	emit_u64(e, "attempts", c->attempts);
	known(e, "reason", c->reason);
	if (!c->confirmed && c->expires_s)
		emit_time(e, "expires", c->expires_s * 1000);
	else
		emit_null(e, "expires");
	emit_close(e);
}

static void
integrity_part(struct emit *e, const struct receipt *r)
{
	const struct evidence *ev = r->evidence;
	const struct spool *s = ev->spool;
	size_t i;

	emit_open(e, "integrity", '{');
	emit_hex(e, "chain", ev->chain);
	emit_open(e, "frames", '{');
	emit_u64(e, "count", ev->frames);
	emit_hex(e, "chain", ev->chain);
	emit_bool(e, "agreed", r->run->ended && r->run->whole);
	emit_close(e);
	emit_open(e, "spool", '{');
	emit_text(e, "file", r->events_name);
	emit_u64(e, "records", s->records);
	emit_u64(e, "bytes", s->bytes);
	emit_hex(e, "chain", s->chain);
	emit_u64(e, "lost", s->lost);
	emit_text(e, "error", s->error ? strerrorname_np(-s->error) : NULL);
	emit_close(e);
	emit_open(e, "truncated", '[');
	for (i = 0; i < ev->truncated_len; i++) {
		emit_open(e, NULL, '{');
		emit_text(e, "what", truncated_what_name(ev->truncated[i].what));
		emit_u64(e, "kept", ev->truncated[i].kept);
		emit_u64(e, "lost", ev->truncated[i].lost);
		emit_close(e);
	}
	if (s->lost) {
		emit_open(e, NULL, '{');
		emit_text(e, "what", "events");
		emit_u64(e, "kept", s->records);
		emit_u64(e, "lost", s->lost);
		emit_close(e);
	}
	emit_close(e);
	emit_null(e, "signature"); /* attest_sign puts one here */
	emit_close(e);
}

static void
limits_part(struct emit *e, const struct receipt *r)
{
	bool sandbox = r->evidence->sandbox;

	emit_open(e, "limits", '[');
	if (!sandbox) {
		emit_text(
			e, NULL,
			"The workflow ran directly on this machine: nothing kept it from the network, from files or from other "
			"processes, and nothing here says what it did there.");
		emit_text(
			e, NULL,
			"Only calls to the declared services are recorded; a program that ignores the injected addresses is not seen.");
	} else {
		emit_text(
			e, NULL,
			"The boundary is as strong as the kernel that enforces it: a flaw in the kernel is not covered.");
		emit_text(
			e, NULL,
			"The evidence of the boundary comes from the sandbox itself; the host compares it with its own rules but "
			"does not see the kernel.");
		if (r->evidence->opening && !r->evidence->gate.inner_room)
			emit_text(e, NULL, "No inner room could be made: one lock held, not two.");
	}
	emit_text(e, NULL, "The services are stand-ins: that the real ones would have answered alike is not proved.");
	emit_text(e, NULL, "One run is one schedule of events: another seed, machine or timing may end otherwise.");
	emit_text(
		e, NULL,
		"Secrets are found as they are, in hexadecimal, base64, base32 and UTF-16, and escaped for JSON, JavaScript, URLs and "
		"HTML; a value that the workflow changed in another way is not recognised and not removed.");
	emit_text(
		e, NULL,
		"The chain of frames was compared with the guest's when the run ended and cannot be recomputed from this document.");
	if (r->signer)
		emit_text(
			e, NULL,
			"The signature says that whoever holds the key made this document and that nobody changed it since, not that "
			"the machine on which the run took place told the truth.");
	else
		emit_text(e, NULL, "This receipt is not signed: whoever can write the file can change it.");
	emit_close(e);
}

int
receipt_write(FILE *f, const struct receipt *r)
{
	struct emit e;
	int rc;

	if ((rc = emit_init(&e, f, r->redact)) < 0)
		return rc;
	emit_open(&e, NULL, '{');
	emit_text(&e, "agenttwin", "receipt/1");
	if (!r->draft) {
		emit_text(&e, "status", run_status_name(r->verdict->status));
		emit_text(&e, "why", r->verdict->why);
		emit_i64(&e, "exit_code", r->verdict->exit_code);
	}
	run_part(&e, r);
	bundle_part(&e, r);
	runtime_part(&e, r);
	receipt_boundary(&e, r);
	outcome_part(&e, r);
	operations_part(&e, r);
	receipt_faults(&e, r);
	receipt_checks(&e, r);
	receipt_state(&e, r);
	cleanup_part(&e, r);
	if (!r->draft)
		integrity_part(&e, r);
	limits_part(&e, r);
	emit_close(&e);
	return emit_finish(&e);
}
