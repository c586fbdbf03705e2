/* SPDX-License-Identifier: GPL-2.0-or-later
 * series.c - see series.h. */
#include "host/series.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "host/emit.h"
#include "host/series_checks.h"

struct series_run {
	uint64_t seed, ms;
	enum run_status status;
	int exit_code;
	bool compared, like; /* with the reference */
	char run_id[UUID_TEXT_LEN + 1], fingerprint[65];
	char *why, *receipt; /* owned; one sentence, or which checks did not hold */
	char *difference;    /* owned; of one that is not like the reference */
};
struct state {
	const struct series *s;
	struct job *j;
	struct job_options o; /* of every run */
	const struct backend_ops *ops;
	const uint8_t *guest;
	size_t guest_len;
	bool sandbox, quiet, failed;
	uint64_t first, start_ms;
	uint32_t asked;
	enum world_stop_on stop_on;
	char world[65]; /* its name */
	struct reference reference;
	bool have_reference;
	const struct reference *given; /* of --reproduce */
	struct series_run *runs;       /* owned */
	struct series_checks checks;   /* over the sweep; without one it has none */
	size_t len;
	int worst;
};

int
series_worse(int a, int b)
{
	static const int order[] = { 130, 143, 3, 4, 2, 5, 1, 0 };
	size_t i;

	for (i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		if (a == order[i] || b == order[i])
			return order[i];
	return a;
}

/* ---- what is asked ---------------------------------------------------------------------------------------------------- */

static int
refuse(struct diag *d)
{
	log_diag(d);
	return 2;
}

/* Reads the world once, to know where seeds begin; every run reads it anew.  0, or the exit status. */
static int
plan(struct state *t)
{
	const struct seeds *seeds = &t->s->seeds;
	struct diag d = { 0 };
	struct world w;
	int r = 0;

	if (world_load(t->o.world, &w, &d) < 0)
		return refuse(&d);
	snprintf(t->world, sizeof(t->world), "%s", w.name);
	t->first = t->o.seed_given ? t->o.seed : w.seed;
	t->asked = t->s->repeat;
	if (t->s->sweep) {
		t->stop_on = w.stop_on;
		if (!seeds->n)
			seeds = &w.sweep;
		t->asked = seeds->n;
		if (seeds->absolute && !(t->o.seed_given && seeds == &w.sweep))
			t->first = seeds->first;
	}
	if (t->asked == 0) {
		world_place(&w, "", false, &d);
		diag_set(&d, -EINVAL, "the world does not say over which seeds");
		diag_fix(&d, "give --seeds 20, or write \"sweep\": { \"seeds\": 20 }");
	} else if (t->s->sweep && t->first > SEED_MAX - (t->asked - 1)) {
		diag_set(&d, -EINVAL, "%u seeds from %" PRIu64 " on go beyond 2^53-1", t->asked, t->first);
		diag_fix(&d, "give fewer, or a smaller first one");
	} else if (t->s->sweep) {
		r = series_checks_init(&t->checks, &w, t->asked);
	}
	world_wipe(&w);
	if (d.problem[0])
		return refuse(&d);
	t->runs = r == 0 && t->asked > 0 ? calloc(t->asked, sizeof(*t->runs)) : NULL;
	if (t->runs)
		return 0;
	series_checks_wipe(&t->checks);
	diag_set(&d, -ENOMEM, "not enough memory");
	log_diag(&d);
	return 4;
}

static int
check_folder(const char *receipts)
{
	struct diag d = { 0 };
	struct stat st;

	if (!receipts || (stat(receipts, &st) == 0 && S_ISDIR(st.st_mode)))
		return 0;
	snprintf(d.file, sizeof(d.file), "%.500s", receipts);
	diag_set(&d, -ENOTDIR, "several runs have several receipts, and this is no folder");
	diag_fix(&d, "name a folder that is there: each receipt goes to FOLDER/RUNID.json");
	return refuse(&d);
}

/* ---- one run ---------------------------------------------------------------------------------------------------------- */

/* "not held: exit, one-refund", or the sentence of the receipt; with outcomes always that. */
static char *
explain(const struct job *j)
{
	char text[600];
	size_t i, n = 0, count = 0;

	if (j->verdict.status != STATUS_FAILED || j->outcomes.len)
		return strdup(j->verdict.status == STATUS_PASSED ? "" : j->verdict.why);
	text[0] = '\0';
	for (i = 0; i < j->checks.results_len; i++) {
		if (j->checks.results[i].held || strcmp(j->checks.results[i].role, "required") != 0)
			continue;
		if (n < sizeof(text))
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%.64s",
					      count ? ", " : "not held: ", j->checks.results[i].id);
		count++;
	}
	return strdup(text);
}

static bool
is_judged(enum run_status s)
{
	return s == STATUS_PASSED || s == STATUS_FAILED;
}

/* Compares with the first run of this seed that came to its end, or with the receipt that is reproduced. */
static void
compare(struct state *t, struct series_run *r)
{
	char text[COMPARE_TEXT_MAX];

	if (t->s->sweep || !is_judged(r->status))
		return;
	if (!t->have_reference) {
		t->have_reference = true;
		snprintf(t->reference.run_id, sizeof(t->reference.run_id), "%s", r->run_id);
		memcpy(t->reference.fingerprint, r->fingerprint, sizeof(r->fingerprint));
		snprintf(t->reference.path, sizeof(t->reference.path), "%s", r->receipt);
		return;
	}
	r->compared = true;
	r->like = reference_compare(&t->reference, r->fingerprint, r->receipt, text);
	if (!r->like)
		r->difference = strdup(text);
}

/* Runs once.  False: nothing more runs. */
static bool
once(struct state *t)
{
	struct series_run *r = &t->runs[t->len];
	struct job *j = t->j;
	int status;

	memset(j, 0, sizeof(*j));
	j->o = t->o;
	j->o.series = true;
	j->o.again = t->len != 0;
	j->o.seed = t->s->sweep ? t->first + t->len : t->first;
	j->o.seed_given = t->s->sweep || t->o.seed_given;
	if (t->s->sweep)
		j->o.seed_from = "sweep";
	j->o.reference = t->have_reference ? &t->reference : NULL;
	j->ops = t->ops;
	j->sandbox = t->sandbox;
	j->guest = t->guest;
	j->guest_len = t->guest_len;
	j->progress.quiet = true;
	status = job_prepare(j);
	if (status != 0) { /* it was said */
		int number = loop_signal_take();

		t->worst = series_worse(t->worst, number ? 128 + (number == 2 ? 2 : 15) : status);
		job_wipe(j);
		return false;
	}
	job_execute(j);
	r->exit_code = job_conclude(j);
	r->seed = j->world.seed;
	r->status = j->verdict.status;
	r->ms = j->took_ms;
	memcpy(r->run_id, j->run_id, sizeof(r->run_id));
	memcpy(r->fingerprint, j->fingerprint, sizeof(r->fingerprint));
	r->receipt = strdup(j->store.path);
	r->why = explain(j);
	if (series_checks_take(&t->checks, r->seed, &j->checks, is_judged(r->status)) < 0)
		t->failed = true;
	t->len++;
	t->worst = series_worse(t->worst, r->exit_code);
	if (!r->receipt || !r->why) {
		t->failed = true;
		t->worst = series_worse(t->worst, 4);
	} else {
		compare(t, r);
	}
	if (r->compared && !r->like)
		t->worst = series_worse(t->worst, 1);
	job_wipe(j);
	if (t->failed || r->status == STATUS_CANCELLED || r->status == STATUS_ABORTED)
		return false;
	if (t->stop_on == STOP_ERROR && !is_judged(r->status))
		return false;
	return !(t->stop_on == STOP_FAILED && r->status != STATUS_PASSED);
}

/* ---- what is told ----------------------------------------------------------------------------------------------------- */

static const char *
shown_status(const struct state *t, const struct series_run *r)
{
	return r->status == STATUS_PASSED && !t->sandbox ? "passed, not sandboxed" : run_status_name(r->status);
}

static void
tell(const struct state *t, const struct series_run *r)
{
	char text[700];
	int width = snprintf(NULL, 0, "%" PRIu64, t->first + (t->s->sweep ? t->asked - 1 : 0));

	if (t->quiet)
		return;
	if (r->why[0])
		snprintf(text, sizeof(text), "%.500s", r->why);
	else
		snprintf(text, sizeof(text), "fingerprint %.12s", r->fingerprint);
	log_line(LOG_LEVEL_PHASE, "  %*zu/%u  seed %*" PRIu64 "  %-9s %6.2f s  %s", snprintf(NULL, 0, "%u", t->asked),
		 t->len, t->asked, width, r->seed, shown_status(t, r), (double)r->ms / 1000, text);
	if (r->compared && !r->like)
		log_line(LOG_LEVEL_PHASE, "      not reproduced: fingerprint %.12s, not %.12s; %.700s", r->fingerprint,
			 t->reference.fingerprint, r->difference ? r->difference : "?");
}

/* "  failed    2 runs: seeds 7, 11-12", for each outcome; of seeds only in a sweep. */
static void
tell_outcomes(const struct state *t)
{
	static const enum run_status order[] = { STATUS_PASSED, STATUS_FAILED,  STATUS_TIMEOUT,
						 STATUS_ERROR,  STATUS_ABORTED, STATUS_CANCELLED };
	uint64_t *seeds = calloc(t->len + 1, sizeof(*seeds));
	char list[400];
	size_t i, k, n;

	for (k = 0; seeds && k < sizeof(order) / sizeof(order[0]); k++) {
		for (i = n = 0; i < t->len; i++)
			if (t->runs[i].status == order[k])
				seeds[n++] = t->runs[i].seed;
		if (n == 0)
			continue;
		seeds_list(seeds, n, list, sizeof(list));
		log_line(LOG_LEVEL_PHASE, "  %-9s  %zu run%s%s%s%s", run_status_name(order[k]), n, n == 1 ? "" : "s",
			 t->s->sweep ? (n == 1 ? ": seed " : ": seeds ") : "", t->s->sweep ? list : "",
			 order[k] == STATUS_PASSED && !t->sandbox ? ", not sandboxed" : "");
	}
	free(seeds);
}

static size_t
count_unlike(const struct state *t)
{
	size_t i, n = 0;

	for (i = 0; i < t->len; i++)
		n += t->runs[i].compared && !t->runs[i].like;
	return n;
}

static void
tell_folder(const struct state *t)
{
	const char *path = t->runs[0].receipt, *slash = path ? strrchr(path, '/') : NULL;

	if (slash)
		log_line(LOG_LEVEL_PHASE, "receipts: %.*s", (int)(slash - path), path);
}

static void
tell_summary(const struct state *t)
{
	size_t unlike = count_unlike(t), like = 0, i;

	for (i = 0; i < t->len; i++)
		like += t->runs[i].compared && t->runs[i].like;
	log_line(LOG_LEVEL_PHASE, "%s: %zu of %u runs  (%.2f s)", t->world, t->len, t->asked,
		 (double)(loop_now_ms() - t->start_ms) / 1000);
	tell_outcomes(t);
	series_checks_tell(&t->checks);
	if (unlike)
		log_line(LOG_LEVEL_PHASE, "  not reproduced: %zu of %zu runs differ from run %s", unlike, unlike + like,
			 t->reference.run_id);
	else if (like && t->given)
		log_line(LOG_LEVEL_PHASE, "  reproduced: %zu run%s with the fingerprint %.12s of run %s", like,
			 like == 1 ? "" : "s", t->reference.fingerprint, t->reference.run_id);
	else if (like)
		log_line(LOG_LEVEL_PHASE, "  reproduced: %zu runs with the fingerprint %.12s", like + 1,
			 t->reference.fingerprint);
}

static int
print_json(const struct state *t)
{
	struct emit e;
	size_t i;

	if (emit_init(&e, stdout, NULL) < 0)
		return -ENOMEM;
	emit_open(&e, NULL, '{');
	emit_text(&e, "agenttwin", "series/1");
	emit_text(&e, "kind", t->s->sweep ? "sweep" : "repeat");
	emit_text(&e, "world", t->world);
	emit_i64(&e, "exit_code", t->worst);
	emit_u64(&e, "asked", t->asked);
	emit_u64(&e, "not_reproduced", count_unlike(t));
	emit_open(&e, "runs", '[');
	for (i = 0; i < t->len; i++) {
		const struct series_run *r = &t->runs[i];

		emit_open(&e, NULL, '{');
		emit_text(&e, "id", r->run_id);
		emit_u64(&e, "seed", r->seed);
		emit_text(&e, "status", run_status_name(r->status));
		emit_i64(&e, "exit_code", r->exit_code);
		emit_text(&e, "why", r->why && r->why[0] ? r->why : NULL);
		emit_u64(&e, "duration_ms", r->ms);
		emit_text(&e, "fingerprint", r->fingerprint);
		if (r->compared)
			emit_bool(&e, "reproduced", r->like);
		else
			emit_null(&e, "reproduced");
		emit_text(&e, "difference", r->difference);
		emit_text(&e, "receipt", r->receipt);
		emit_close(&e);
	}
	emit_close(&e);
	series_checks_emit(&t->checks, &e);
	emit_close(&e);
	return emit_finish(&e);
}

int
series_run(const struct series *s, struct job *j)
{
	struct state t = { .s = s,
			   .j = j,
			   .o = j->o,
			   .ops = j->ops,
			   .guest = j->guest,
			   .guest_len = j->guest_len,
			   .sandbox = j->sandbox,
			   .quiet = j->o.quiet,
			   .given = j->o.reference,
			   .start_ms = loop_now_ms() };
	bool json = j->o.json, more = true;
	int number, r;
	size_t i;

	t.o.receipts = j->o.receipt;
	t.o.receipt = NULL;
	t.o.json = false;
	if (t.given) {
		t.reference = *t.given;
		t.have_reference = true;
	}
	if ((r = check_folder(t.o.receipts)) || (r = plan(&t)))
		return r;
	while (more && t.len < t.asked) {
		if ((number = loop_signal_take())) {
			t.worst = series_worse(t.worst, 128 + (number == 2 ? 2 : 15));
			break;
		}
		i = t.len;
		more = once(&t);
		if (t.len > i && !t.failed)
			tell(&t, &t.runs[i]);
	}
	if (series_checks_not_held(&t.checks))
		t.worst = series_worse(t.worst, 1);
	if (t.len) {
		tell_summary(&t);
		tell_folder(&t);
	}
	if (json && t.len && (r = print_json(&t)) < 0) {
		log_line(LOG_LEVEL_ERROR, "stdout: %s", strerror(-r));
		t.worst = series_worse(t.worst, 4);
	}
	for (i = 0; i < t.len; i++) {
		free(t.runs[i].why);
		free(t.runs[i].receipt);
		free(t.runs[i].difference);
	}
	free(t.runs);
	series_checks_wipe(&t.checks);
	return t.worst;
}
