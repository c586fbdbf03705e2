/* SPDX-License-Identifier: GPL-2.0-or-later
 * job.c - see job.h. */
#include "host/job.h"

#include <arpa/inet.h>
#include <cJSON.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/attest.h"
#include "host/json.h"
#include "host/local_ports.h"
#include "host/redact.h"

#define EXPIRES_MARGIN_S 60u
#define JUDGE_MS 300000u    /* checks and the receipt of a long run on a slow machine */
#define OPEN_FILES_MIN 512u /* the twins take 256, and the guest stands above that */

/* ---- before anything runs --------------------------------------------------------------------------------------------- */

/* Free ports of 127.0.0.1, all different.  Somebody may take one before the guest does: then the run is an error. */
static int
local_ports(struct world *w, struct diag *d)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	uint16_t ports[PLAN_SERVICES_MAX];
	int fds[PLAN_SERVICES_MAX];
	socklen_t len = sizeof(a);
	size_t i, n = 0;
	int r = 0;

	for (; r == 0 && n < w->services_len; n++) {
		a.sin_port = 0;
		fds[n] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fds[n] < 0 || bind(fds[n], (struct sockaddr *)&a, sizeof(a)) < 0 ||
		    getsockname(fds[n], (struct sockaddr *)&a, &len) < 0)
			r = diag_set(d, -errno, "no free port on 127.0.0.1: %s", strerror(errno));
		ports[n] = ntohs(a.sin_port);
	}
	for (i = 0; i < n; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	if (r == 0)
		world_set_local(w, ports);
	return r;
}

static int
refuse(struct job *j, const struct diag *d)
{
	j->diag = *d;
	log_diag(d);
	return 2;
}

/* 'it'\''s', or the word itself when a shell takes it as it is. */
static void
quote(const char *s, char *out, size_t size)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=@%+,";
	size_t n = 0;

	if (*s && strspn(s, plain) == strlen(s)) {
		snprintf(out, size, "%s", s);
		return;
	}
	out[n++] = '\'';
	for (; *s && n + 6 < size; s++) {
		if (*s == '\'') {
			memcpy(out + n, "'\\''", 4);
			n += 4;
		} else {
			out[n++] = *s;
		}
	}
	out[n++] = '\'';
	out[n] = '\0';
}

/* As seen from the current folder, where that is shorter. */
static const char *
shown_path(const char *path)
{
	static char here[4096];
	size_t n;

	if (!getcwd(here, sizeof(here)))
		return path;
	n = strlen(here);
	return strncmp(path, here, n) == 0 && path[n] == '/' ? path + n + 1 : path;
}

/* Seed, runtime and limits stand in the receipt itself. */
static void
say_reproduce(struct job *j)
{
	char world[400], receipt[400], node[160] = "";

	quote(j->world.path, world, sizeof(world));
	quote(shown_path(j->store.path), receipt, sizeof(receipt));
	if (j->o.node) {
		snprintf(node, sizeof(node), " --node ");
		quote(j->o.node, node + 8, sizeof(node) - 8);
	}
	snprintf(j->reproduce, sizeof(j->reproduce), "agenttwin-host run --reproduce %s%s %s", receipt, node, world);
}

/* Which seed, and who said so. */
static const char *
seed_from(const struct job *j)
{
	if (j->o.seed_from)
		return j->o.seed_from;
	return json_get(j->world.doc, "seed") ? "world" : "default";
}

static int
load_world(struct job *j, struct diag *d)
{
	int r;

	if ((r = world_load(j->o.world, &j->world, d)) < 0)
		return r;
	if (j->o.seed_given)
		j->world.seed = j->o.seed;
	if (j->o.reproduce && j->o.timeout_ms == j->world.limits.run_ms)
		j->o.timeout_ms = 0; /* the receipt's was the world's */
	if (j->o.timeout_ms)
		j->world.limits.run_ms = j->o.timeout_ms;
	progress_line(&j->progress, "world", "%s (seed %llu%s%s)", j->world.name, (unsigned long long)j->world.seed,
		      j->o.seed_from ? ", from the " : "", j->o.seed_from ? j->o.seed_from : "");
	if (!j->sandbox && ((r = world_check_local(&j->world, d)) < 0 || (r = local_ports(&j->world, d)) < 0))
		return r;
	if (!j->sandbox && !j->o.again)
		log_line(LOG_LEVEL_WARN,
			 "the runtime 'local' is not a sandbox: the workflow can do all that you can do");
	return 0;
}

static int
redaction(struct job *j)
{
	size_t i;
	int r = 0;

	j->redact = redact_new();
	if (!j->redact)
		return -ENOMEM;
	for (i = 0; r == 0 && i < j->cred.secrets_len; i++)
		r = redact_add(j->redact, j->cred.secrets[i].name, j->cred.secrets[i].value,
			       strlen(j->cred.secrets[i].value));
	if (r < 0)
		return r;
	spool_redact(&j->spool, j->redact);
	j->checks.redact = j->redact;
	return evidence_redact(&j->evidence, j->redact);
}

static void
set_limits(struct job *j)
{
	const struct world_limits *w = &j->world.limits;

	/* Pages of tmpfs are charged to the memory limit, so what is stored there is added to it. */
	j->limits.disk_bytes = ((uint64_t)w->disk_mb << 20) + j->stage.bytes;
	j->limits.output_bytes = w->output_bytes;
	j->limits.memory_bytes = ((uint64_t)w->memory_mb << 20) + j->limits.disk_bytes + 2 * w->output_bytes;
	j->limits.pids = w->pids;
	j->limits.cpu_milli = w->cpu_milli;
	j->run.run_ms = w->run_ms;
	j->run.run_ms_given = j->o.timeout_ms != 0;
	j->run.start_ms = w->start_ms;
	j->run.waits_ready = j->world.ready != NULL;
	j->run.world_ends = j->world.ends && !cJSON_GetObjectItemCaseSensitive(j->world.ends, "exit");
	j->run.grace_ms = w->grace_ms;
	j->run.idle_ms = w->idle_ms;
	j->run.bundle_ms = RUN_BUNDLE_MS + j->stage.bytes / 20480;
}

static int
make(struct job *j, struct diag *d)
{
	char path[4096];
	int fd, r;

	if (j->o.receipts)
		snprintf(path, sizeof(path), "%.4000s/%s.json", j->o.receipts, j->run_id);
	fd = store_open(&j->store, j->world.root, j->run_id, j->o.receipts ? path : j->o.receipt, d);
	if (fd < 0)
		return fd;
	say_reproduce(j);
	spool_init(&j->spool, fd, NULL);
	if ((r = checks_init(&j->checks, &j->world)) < 0 ||
	    (r = evidence_init(&j->evidence, &j->world, &j->spool, &j->checks, j->sandbox, j->guest_sha256)) < 0 ||
	    (r = redaction(j)) < 0 || (r = loop_init(&j->loop, &j->run, &j->evidence, j->start_ms)) < 0) {
		store_forget(&j->store);
		return diag_set(d, r, "the run cannot be prepared: %s", strerror(-r));
	}
	j->made = true;
	return 0;
}

/* With less the guest and the twins cannot even begin, and would say so in their own words. */
static int
enough_files(struct diag *d)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) < 0 || l.rlim_cur >= OPEN_FILES_MIN)
		return 0;
	if (l.rlim_max >= OPEN_FILES_MIN) {
		l.rlim_cur = OPEN_FILES_MIN;
		if (setrlimit(RLIMIT_NOFILE, &l) == 0)
			return 0;
	}
	diag_fix(d, "ulimit -n %u before it, where the hard limit allows that: it is %llu", OPEN_FILES_MIN,
		 (unsigned long long)l.rlim_max);
	return diag_set(d, -EMFILE, "only %llu files may be open at once, a run needs %u",
			(unsigned long long)l.rlim_cur, OPEN_FILES_MIN);
}

/* A key that is asked for and cannot be used is known before anything runs, not when the receipt is due. */
static int
signing_key(struct job *j, struct diag *d)
{
	const char *path = getenv(SIGN_ENV);

	if (!path || !*path)
		return 0;
	j->signs = true;
	return sign_key_read(path, &j->sign, d);
}

int
job_prepare(struct job *j)
{
	struct diag d = { 0 };
	uint8_t digest[32];
	size_t i;

	j->start_ms = j->progress.last_ms = loop_now_ms();
	j->started_unix_ms = loop_unix_ms();
	j->spool.fd = j->store.dir_fd = j->loop.in = j->loop.out = j->stage.root_fd = j->backend_in = j->backend_out =
		-1;
	sha256_of(j->guest, j->guest_len, digest);
	sha256_hex(digest, j->guest_sha256);
	if (uuid_make(j->started_unix_ms, j->run_id) < 0) {
		diag_set(&d, -EIO, "the system has no random numbers");
		return refuse(j, &d);
	}
	if (enough_files(&d) < 0) {
		(void)refuse(j, &d);
		return 4;
	}
	if (signing_key(j, &d) < 0 || load_world(j, &d) < 0)
		return refuse(j, &d);
	run_init(&j->run, j->sandbox, j->start_ms);
	if (stage_collect(&j->world, &j->stage, &d) < 0)
		return refuse(j, &d);
	j->staged = true;
	if (j->o.reproduce &&
	    reproduce_check(j->o.reproduce, &j->world, &j->stage, j->o.node ? j->o.node : j->world.node, &d) < 0)
		return refuse(j, &d);
	for (i = 0; i < j->stage.warnings_len && !j->o.again; i++)
		log_line(LOG_LEVEL_WARN, "%s", j->stage.warnings[i]);
	progress_line(&j->progress, "files", "%zu file%s, %llu bytes%s", j->stage.entries_len,
		      j->stage.entries_len == 1 ? "" : "s", (unsigned long long)j->stage.bytes,
		      j->stage.left_out_len ? "; some left out, see `check`" : "");
	set_limits(j);
	if (cred_make(&j->world, j->run_id, j->started_unix_ms, j->sandbox ? NULL : getenv("PATH"), &j->cred, &d) < 0)
		return refuse(j, &d);
	if (make(j, &d) < 0)
		return refuse(j, &d);
	return 0;
}

/* ---- the run ------------------------------------------------------------------------------------------------------------ */

static void
say_boundary(struct job *j)
{
	const struct gate *g = &j->evidence.gate;

	if (j->sandbox)
		progress_line(&j->progress, "boundary", "proved: %s, policy %.12s",
			      g->inner_room ? "two locks" : "one lock, no inner room", g->policy_sha256);
}

static void
changed(void *arg, enum run_state from, enum run_state to, uint64_t now_ms)
{
	struct job *j = arg;
	const struct plan_exit *x = &j->evidence.exit;

	(void)now_ms;
	if (from == RUN_HELLO && to == RUN_BUNDLE)
		progress_line(&j->progress, "sandbox", "%s, node %s", j->ops->name, j->facts.node_version);
	else if (from == RUN_BUNDLE && (to == RUN_FIREWALL || to == RUN_START))
		progress_line(&j->progress, "bundle", "sent");
	else if (from == RUN_FIREWALL && to == RUN_START)
		say_boundary(j);
	else if (to == RUN_RUNNING)
		progress_line(&j->progress, "start", "workflow started");
	else if (to == RUN_CANCELLING)
		progress_line(&j->progress, "cancel", "waiting for the guest to end");
	else if (to == RUN_CLOSING && x->signal)
		progress_line(&j->progress, "workflow", "ended by signal %u (%s)", x->signal,
			      exit_ended_by_name(x->ended_by));
	else if (to == RUN_CLOSING)
		progress_line(&j->progress, "workflow", "exit code %d, %zu operation%s", x->code, j->evidence.ops_len,
			      j->evidence.ops_len == 1 ? "" : "s");
	else if (from == RUN_CLOSING && to == RUN_ENDED && j->run.facts.closing)
		progress_line(&j->progress, "closing", "boundary verified again");
}

static void
trouble(struct job *j, const char *what, int r)
{
	struct run_event ev = { .kind = RUN_EV_BAD };
	char why[320];

	loop_signals(&j->loop); /* a signal that interrupted the call is the reason, not the error that it caused */
	if (j->run.state == RUN_OVER)
		return;
	if (r == -ETIMEDOUT && !j->diag.problem[0])
		snprintf(why, sizeof(why), "%s did not come to an end within %u s", what, RUN_PROVISION_MS / 1000);
	else
		snprintf(why, sizeof(why), "%s failed: %.250s", what,
			 j->diag.problem[0] ? j->diag.problem : strerror(-r));
	if (j->diag.problem[0])
		log_diag(&j->diag);
	ev.why = why;
	loop_event(&j->loop, &ev);
}

/* From the call of open on. */
static uint64_t
sandbox_ms(const struct job *j)
{
	const struct world_limits *w = &j->world.limits;

	return RUN_PROVISION_MS + RUN_HELLO_MS + 2 * j->run.bundle_ms + RUN_FIREWALL_MS + w->start_ms + w->run_ms +
	       w->grace_ms + DRAIN_MS + RUN_CLOSING_MS + 3 * RUN_MARGIN_MS;
}

uint64_t
job_longest_ms(const struct job *j)
{
	return sandbox_ms(j) + RUN_EOF_MS + RUN_DESTROY_MS + JUDGE_MS;
}

static int
call_open(void *arg)
{
	struct job *j = arg;
	struct host_addr *hosts = calloc(PLAN_HOSTS_MAX, sizeof(*hosts));
	struct backend_spec spec = {
		.run_id = j->run_id,
		.expires_s = (loop_unix_ms() + sandbox_ms(j)) / 1000 + EXPIRES_MARGIN_S,
		.hosts = hosts,
		.limits = j->limits,
		.node = j->o.node ? j->o.node : j->world.node,
		.guest = j->guest,
		.guest_len = j->guest_len,
	};
	const struct cJSON *host;
	size_t i;
	int r;

	if (!hosts)
		return -ENOMEM;
	if (!j->sandbox && (r = local_ports_free(&j->world, &j->diag)) < 0) {
		free(hosts);
		return r;
	}
	for (i = 0; i < j->world.services_len; i++)
		cJSON_ArrayForEach(host, j->world.services[i].hosts)
		{
			if (spec.hosts_len == PLAN_HOSTS_MAX || !host->valuestring)
				continue;
			hosts[spec.hosts_len].name = host->valuestring;
			memcpy(hosts[spec.hosts_len++].address, j->world.services[i].address, 4);
		}
	j->opening = true;
	r = j->ops->open(&j->backend, &spec, &j->diag);
	if (r < 0)
		j->opening = false; /* it came back, so it has removed what it made */
	free(hosts);
	return r;
}

static int
call_start(void *arg)
{
	struct job *j = arg;

	return j->ops->start(j->backend, -1, &j->backend_in, &j->backend_out, &j->diag);
}

static int
call_destroy(void *arg)
{
	struct job *j = arg;

	return j->ops->destroy(j->backend, &j->cleanup);
}

static bool
is_over(struct job *j)
{
	loop_signals(&j->loop);
	return j->run.state == RUN_OVER;
}

void
job_execute(struct job *j)
{
	struct run_event ev = { .kind = RUN_EV_STARTED };
	int r;

	j->loop.changed = changed;
	j->loop.bundle = job_bundle;
	j->loop.arg = j;
	if (is_over(j))
		return;
	r = loop_guarded(call_open, j, RUN_PROVISION_MS, true);
	if (r < 0) {
		trouble(j, "making the sandbox", r);
		return;
	}
	r = j->ops->describe(j->backend, &j->facts);
	if (r == 0 && j->facts.home_dir[0])
		r = cred_set_home(&j->cred, j->facts.home_dir); /* on local it is not /home/node */
	if (r < 0) {
		trouble(j, "describing the sandbox", r);
		return;
	}
	if (j->limits.cpu_milli && !j->facts.cpu_most)
		log_line(LOG_LEVEL_WARN, "limits.cpus cannot be enforced here: %s", j->facts.limits_enforced);
	j->evidence.want.control_port = j->ops->control_port;
	j->evidence.want.workflow_uid = j->facts.workflow_uid;
	j->evidence.want.workflow_gid = j->facts.workflow_gid;
	j->evidence.want.twins_uid = j->facts.twins_uid;
	if (is_over(j))
		return;
	r = loop_guarded(call_start, j, RUN_PROVISION_MS, true);
	if (r == 0)
		r = loop_open(&j->loop, j->backend_in, j->backend_out);
	if (r < 0) {
		trouble(j, "starting the sandbox", r);
		return;
	}
	j->backend_in = j->backend_out = -1; /* moved */
	loop_event(&j->loop, &ev);
	loop_run(&j->loop);
}

/* ---- the end ------------------------------------------------------------------------------------------------------------ */

static void
destroy(struct job *j)
{
	struct facts last = { 0 };
	int r = 0;

	loop_wipe(&j->loop); /* the guest sees the end of its input */
	if (j->backend_in >= 0)
		close(j->backend_in);
	if (j->backend_out >= 0)
		close(j->backend_out);
	j->backend_in = j->backend_out = -1;
	if (!j->backend) {
		/* A call to open that was left where it stood may have made something. */
		j->cleanup.confirmed = !j->opening;
		if (j->opening)
			snprintf(j->cleanup.reason, sizeof(j->cleanup.reason),
				 "making the sandbox was interrupted; run `agenttwin-host reap`");
		return;
	}
	r = loop_guarded(call_destroy, j, RUN_DESTROY_MS, false);
	if (r == -ETIMEDOUT && !j->cleanup.reason[0])
		snprintf(j->cleanup.reason, sizeof(j->cleanup.reason), "destroy did not come to an end within %u s",
			 RUN_DESTROY_MS / 1000);
	if (r < 0)
		j->cleanup.confirmed = false;
	if (r < 0 && !j->cleanup.reason[0])
		snprintf(j->cleanup.reason, sizeof(j->cleanup.reason), "%s", strerror(-r));
	if (r == -ETIMEDOUT)
		return; /* the backend is in the middle of something: it is not asked any more */
	if (j->ops->describe(j->backend, &last) == 0)
		j->facts = last;
	j->ops->release(j->backend);
	j->backend = NULL;
}

static void
explain_error(struct job *j)
{
	if (j->facts.guest_stderr[0] && !j->evidence.have_end)
		log_line(LOG_LEVEL_NOTE, "the guest wrote: %.800s", j->facts.guest_stderr);
	if (!j->cleanup.confirmed)
		log_line(LOG_LEVEL_WARN, "cleanup is not confirmed: %s",
			 j->cleanup.reason[0] ? j->cleanup.reason : "unknown reason");
}

static int
sign_receipt(struct job *j, FILE *f)
{
	char world[65];
	struct attest a = {
		.run_id = j->run_id,
		.status = run_status_name(j->verdict.status),
		.exit_code = j->verdict.exit_code,
		.fingerprint = j->fingerprint,
		.world_sha256 = world,
		.guest_sha256 = j->guest_sha256,
		.seed = j->world.seed,
	};

	sha256_hex(j->world.sha256, world);
	return attest_sign(f, j->spool.fd, &a, &j->sign);
}

void
job_receipt(struct job *j, uint64_t took_ms, struct receipt *r)
{
	*r = (struct receipt){
		.world = &j->world,
		.stage = &j->stage,
		.cred = &j->cred,
		.redact = j->redact,
		.evidence = &j->evidence,
		.checks = &j->checks,
		.outcomes = &j->outcomes,
		.run = &j->run.facts,
		.verdict = &j->verdict,
		.backend = j->ops,
		.limits = &j->limits,
		.facts = &j->facts,
		.cleanup = &j->cleanup,
		.run_id = j->run_id,
		.world_path = j->world.path,
		.reproduce = j->reproduce,
		.events_name = j->store.events,
		.guest_sha256 = j->guest_sha256,
		.seed = j->world.seed,
		.seed_from = seed_from(j),
		.fingerprint = j->fingerprint,
		.signer = j->signs ? j->sign.public.id : NULL,
		.reference = j->o.reference,
		.started_unix_ms = j->started_unix_ms,
		.ended_unix_ms = j->started_unix_ms + took_ms,
		.duration_ms = took_ms,
	};
}

static int
write_receipt(struct job *j, uint64_t took_ms)
{
	FILE *f = store_temporary(&j->store);
	struct receipt r;
	int rc;

	if (!f)
		return -errno;
	job_receipt(j, took_ms, &r);
	rc = receipt_write(f, &r);
	if (rc == 0 && j->signs)
		rc = sign_receipt(j, f);
	if (rc < 0) {
		store_abandon(&j->store, f);
		return rc;
	}
	return store_commit(&j->store, f);
}

static int
print_json(struct job *j)
{
	char buf[8192];
	ssize_t n, done, part;
	int fd = store_read(&j->store), r = 0;

	if (fd < 0)
		return fd;
	while (r == 0 && (n = read(fd, buf, sizeof(buf))) > 0)
		for (done = 0; r == 0 && done < n; done += part) {
			part = write(STDOUT_FILENO, buf + done, (size_t)(n - done));
			if (part < 0 && errno == EINTR)
				part = 0;
			else if (part < 0)
				r = -errno;
		}
	close(fd);
	return r;
}

int
job_conclude(struct job *j)
{
	uint64_t took;
	int r;

	destroy(j);
	if (j->cleanup.confirmed && j->opening)
		progress_line(&j->progress, "cleanup", "confirmed");
	took = loop_now_ms() - j->start_ms;
	job_judge(j, took);
	evidence_fingerprint(&j->evidence, j->world.seed, j->fingerprint);
	r = write_receipt(j, took);
	explain_error(j);
	if (r < 0 && (j->verdict.status == STATUS_PASSED || j->verdict.status == STATUS_FAILED)) {
		j->verdict.status = STATUS_ERROR;
		j->verdict.exit_code = 4;
		snprintf(j->verdict.why, sizeof(j->verdict.why), "the receipt could not be written");
	}
	j->took_ms = took;
	if (!j->o.series)
		progress_verdict(&j->verdict, &j->checks, &j->outcomes, j->sandbox, took,
				 r == 0 ? shown_path(j->store.path) : NULL);
	if (r < 0) {
		log_line(LOG_LEVEL_ERROR, "receipt: %s: %s", j->store.path, strerror(-r));
		return j->verdict.exit_code;
	}
	if (j->o.json && (r = print_json(j)) < 0) {
		log_line(LOG_LEVEL_ERROR, "stdout: %s", strerror(-r));
		return j->verdict.exit_code == 0 ? 4 : j->verdict.exit_code;
	}
	return j->verdict.exit_code;
}

void
job_wipe(struct job *j)
{
	loop_wipe(&j->loop);
	sign_key_wipe(&j->sign);
	if (j->evidence.w)
		evidence_wipe(&j->evidence);
	outcomes_wipe(&j->outcomes);
	checks_wipe(&j->checks);
	spool_wipe(&j->spool);
	store_wipe(&j->store);
	redact_free(j->redact);
	cred_wipe(&j->cred);
	if (j->staged)
		stage_wipe(&j->stage);
	world_wipe(&j->world);
}
