/* SPDX-License-Identifier: GPL-2.0-or-later
 * cred.c - see cred.h.  All values of one run are drawn from 32 random bytes by SHA-256; nothing of the caller's
 * environment is read. */
#include "host/cred.h"

#include <cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "host/check.h"
#include "host/diag.h"
#include "host/expand.h"
#include "host/json.h"
#include "host/world.h"
#include "proto/frame.h"
#include "proto/plan.h"

#define GENERIC_PREFIX "at_test_"
#define GENERIC_LEN 32u
#define LIKE_LEN 32u

static const char alnum[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
static const char hex[] = "0123456789abcdef";

static int
out_of_memory(struct diag *d)
{
	return diag_set(d, -ENOMEM, "not enough memory");
}

/* ---- random characters ------------------------------------------------------------------------------------------------ */

/* Bytes for one secret: SHA-256(master, name, counter), one block after the other. */
struct stream {
	const uint8_t *master;
	const char *name;
	uint32_t counter;
	size_t at;
	uint8_t block[32];
};

static uint8_t
next_byte(struct stream *s)
{
	struct sha256 h;

	if (s->counter == 0 || s->at == sizeof(s->block)) {
		s->counter++;
		s->at = 0;
		sha256_init(&h);
		sha256_add(&h, s->master, 32);
		sha256_add(&h, s->name, strlen(s->name) + 1);
		sha256_add(&h, &s->counter, sizeof(s->counter));
		sha256_get(&h, s->block);
		explicit_bzero(&h, sizeof(h));
	}
	return s->block[s->at++];
}

/* len characters of an alphabet, each as likely as the others. */
static void
draw(struct stream *s, const char *alphabet, char *out, size_t len)
{
	size_t n = strlen(alphabet), i = 0;
	unsigned limit = 256u - 256u % (unsigned)n;
	uint8_t b;

	while (i < len) {
		b = next_byte(s);
		if (b < limit)
			out[i++] = alphabet[b % n];
	}
	out[len] = '\0';
}

static void
draw_uuid(struct stream *s, char *out)
{
	static const size_t groups[] = { 8, 4, 4, 4, 12 };
	size_t i, at = 0;

	for (i = 0; i < 5; i++) {
		if (i > 0)
			out[at++] = '-';
		draw(s, hex, out + at, groups[i]);
		at += groups[i];
	}
	out[14] = '4';
	out[19] = "89ab"[next_byte(s) & 3];
}

/* ---- the secrets ------------------------------------------------------------------------------------------------------ */

static const struct cJSON *
declared(const struct world *w, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(w->doc, "secrets"), name);
}

static const struct cJSON *
auth_accept(const struct world_service *s)
{
	return cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(s->json, "auth"), "accept");
}

/* How the credentials of a service look, so that a client that checks the prefix of its key accepts it. */
static const struct shape {
	const char *profile, *prefix;
	size_t len;
} shapes[] = {
	{ "stripe/v1", "sk_test_", 24 }, { "openai", "sk-test-", 32 }, { "anthropic", "sk-ant-test-", 32 },
	{ "slack", "xoxb-test-", 32 },   { "github", "ghp_test", 32 },
};

static const struct cJSON *
events_secret(const struct world_service *s)
{
	return cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(s->json, "events"), "secret");
}

static bool
names_secret(const char *text, const char *name)
{
	struct expand_part p;

	while (expand_next(&text, &p) == 1)
		if (p.kind == EXPAND_SECRET && strlen(name) == p.len && memcmp(name, p.text, p.len) == 0)
			return true;
	return false;
}

/* The shape that the first service which accepts the credential gives it; NULL: none in particular. */
static const struct shape *
shape_of(const struct world *w, const char *name)
{
	const struct cJSON *accept, *profile;
	size_t i, k, len;

	for (i = 0; i < w->services_len; i++) {
		static const struct shape signing = { "", "whsec_",
						      32 }; /* letters and digits are base64 too: 24 bytes */

		accept = events_secret(&w->services[i]);
		if (accept && names_secret(accept->valuestring, name))
			return &signing;
		accept = auth_accept(&w->services[i]);
		if (!accept || !names_secret(accept->valuestring, name))
			continue;
		profile = cJSON_GetObjectItemCaseSensitive(w->services[i].json, "profile");
		for (k = 0; profile && k < sizeof(shapes) / sizeof(shapes[0]); k++) {
			len = strlen(shapes[k].profile);
			if (strncmp(profile->valuestring, shapes[k].profile, len) == 0 &&
			    (!profile->valuestring[len] || profile->valuestring[len] == '/'))
				return &shapes[k];
		}
		return NULL;
	}
	return NULL;
}

static void
make_value(const struct world *w, const uint8_t master[static 32], struct secret *out)
{
	struct stream s = { .master = master, .name = out->name };
	const struct cJSON *shape = declared(w, out->name), *like, *length;
	const struct shape *known = shape_of(w, out->name);
	size_t len = LIKE_LEN, n = sizeof(GENERIC_PREFIX) - 1;
	uint8_t digest[32];
	char digits[65];

	like = cJSON_GetObjectItemCaseSensitive(shape, "like");
	length = cJSON_GetObjectItemCaseSensitive(shape, "length");
	if (length && length->valueint >= 16 && length->valueint <= 200)
		len = (size_t)length->valueint;
	if (!like && known) {
		n = strlen(known->prefix);
		memcpy(out->value, known->prefix, n);
		draw(&s, alnum, out->value + n, known->len);
	} else if (!like) {
		memcpy(out->value, GENERIC_PREFIX, n);
		draw(&s, alnum, out->value + n, GENERIC_LEN);
	} else if (strcmp(like->valuestring, "uuid") == 0) {
		draw_uuid(&s, out->value);
	} else {
		draw(&s, strcmp(like->valuestring, "hex") == 0 ? hex : alnum, out->value, len);
	}
	sha256_of(out->value, strlen(out->value), digest);
	sha256_hex(digest, digits);
	(void)snprintf(out->fingerprint, sizeof(out->fingerprint), "sha256:%.16s", digits);
	explicit_bzero(&s, sizeof(s));
	explicit_bzero(digest, sizeof(digest));
	explicit_bzero(digits, sizeof(digits));
}

static const struct secret *
find_secret(const struct cred *c, const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < c->secrets_len; i++)
		if (strlen(c->secrets[i].name) == len && memcmp(c->secrets[i].name, name, len) == 0)
			return &c->secrets[i];
	return NULL;
}

static int
add_secret(struct cred *c, const char *name, size_t len, struct diag *d)
{
	struct secret *p;

	if (len >= sizeof(p->name) || find_secret(c, name, len))
		return 0;
	p = realloc(c->secrets, (c->secrets_len + 1) * sizeof(*p));
	if (!p)
		return out_of_memory(d);
	c->secrets = p;
	p += c->secrets_len++;
	memset(p, 0, sizeof(*p));
	memcpy(p->name, name, len);
	return 0;
}

static int
add_used(struct cred *c, const char *text, struct diag *d)
{
	struct expand_part p;
	int r = 0;

	while (r == 0 && expand_next(&text, &p) == 1)
		if (p.kind == EXPAND_SECRET)
			r = add_secret(c, p.text, p.len, d);
	return r;
}

static int
compare_secrets(const void *a, const void *b)
{
	const struct secret *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int
fill_random(uint8_t out[static 32])
{
	size_t have = 0;
	ssize_t n;

	while (have < 32) {
		n = getrandom(out + have, 32 - have, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -errno;
		have += (size_t)n;
	}
	return 0;
}

static int
make_secrets(const struct world *w, struct cred *c, struct diag *d)
{
	const struct cJSON *all = cJSON_GetObjectItemCaseSensitive(w->doc, "secrets"), *v;
	uint8_t master[32];
	size_t i;
	int r = 0;

	for (v = all ? all->child : NULL; v && r == 0; v = v->next)
		r = add_secret(c, v->string, strlen(v->string), d);
	for (i = 0; i < w->services_len && r == 0; i++) {
		v = auth_accept(&w->services[i]);
		if (v)
			r = add_used(c, v->valuestring, d);
		v = events_secret(&w->services[i]);
		if (v && r == 0)
			r = add_used(c, v->valuestring, d);
	}
	if (r < 0 || c->secrets_len == 0)
		return r;
	qsort(c->secrets, c->secrets_len, sizeof(*c->secrets), compare_secrets);
	r = fill_random(master);
	if (r < 0)
		return diag_set(d, r, "the system gives no random bytes: %s", strerror(-r));
	for (i = 0; i < c->secrets_len; i++)
		make_value(w, master, &c->secrets[i]);
	explicit_bzero(master, sizeof(master));
	return 0;
}

/* ---- templates -------------------------------------------------------------------------------------------------------- */

struct run {
	const struct world *w;
	const struct cred *c;
	const char *id;
	uint64_t start_ms;
};

static const struct world_service *
find_service(const struct world *w, const struct expand_part *p)
{
	size_t i;

	for (i = 0; i < w->services_len; i++)
		if (strlen(w->services[i].name) == p->len && memcmp(w->services[i].name, p->text, p->len) == 0)
			return &w->services[i];
	return NULL;
}

static bool
is_local(const struct world_service *s)
{
	return s->address[1] == 0;
}

/* The text of one part; scratch for numbers.  The world's check has seen every name. */
static const char *
part_text(const struct run *run, const struct expand_part *p, char scratch[static 24], size_t *len)
{
	const struct world_service *s;
	const struct secret *secret;
	const char *text = "";

	*len = p->len;
	switch (p->kind) {
	case EXPAND_TEXT:
		return p->text;
	case EXPAND_SECRET:
		secret = find_secret(run->c, p->text, p->len);
		text = secret ? secret->value : "";
		break;
	case EXPAND_URL:
	case EXPAND_HOST:
	case EXPAND_PORT:
		s = find_service(run->w, p);
		(void)snprintf(scratch, 24, "%u", s ? s->port : 0u);
		if (p->kind == EXPAND_PORT)
			text = scratch;
		else if (s && p->kind == EXPAND_URL)
			text = s->url;
		else if (s)
			text = is_local(s) ? "127.0.0.1" : s->hosts->child->valuestring;
		break;
	case EXPAND_RUN_ID:
		text = run->id;
		break;
	case EXPAND_SEED:
		(void)snprintf(scratch, 24, "%" PRIu64, run->w->seed);
		text = scratch;
		break;
	}
	*len = strlen(text);
	return text;
}

/* "NAME=" and the expanded value, or the value alone when name is NULL; to be freed.  NULL without memory. */
static char *
expand(const struct run *run, const char *name, const char *template)
{
	size_t len = name ? strlen(name) + 1 : 0, n, pass;
	struct expand_part p;
	const char *at, *text;
	char scratch[24], *out = NULL;

	for (pass = 0; pass < 2; pass++) {
		if (pass == 1) {
			out = malloc(len + 1);
			if (!out)
				return NULL;
			len = name ? (size_t)sprintf(out, "%s=", name) : 0;
		}
		at = template;
		while (expand_next(&at, &p) == 1) {
			text = part_text(run, &p, scratch, &n);
			if (out)
				memcpy(out + len, text, n);
			len += n;
		}
	}
	out[len] = '\0';
	return out;
}

/* ---- the environment -------------------------------------------------------------------------------------------------- */

/* The switches keep tools from phoning home, which the boundary would refuse and the no-egress check report. */
static const char *const defaults[] = {
	"LANG=C.UTF-8",
	"TZ=UTC",
	"NO_COLOR=1",
	"NPM_CONFIG_UPDATE_NOTIFIER=false",
	"NPM_CONFIG_FUND=false",
	"NPM_CONFIG_AUDIT=false",
	"NO_UPDATE_NOTIFIER=1",
	"NEXT_TELEMETRY_DISABLED=1",
	"CHECKPOINT_DISABLE=1",
	"DO_NOT_TRACK=1",
};
/* The world cannot set these (world_env.c). */
static const char *const fixed[] = { "HOME=/home/node", "USER=node", "LOGNAME=node", "TMPDIR=/tmp",
				     "PATH=/opt/node/bin:/usr/local/bin:/usr/bin:/bin:/app/node_modules/.bin" };
static const char authority[] = "NODE_EXTRA_CA_CERTS=" PLAN_CA_FILE; /* where a service has tls */
#define LEN(a) (sizeof(a) / sizeof((a)[0]))

static bool
world_sets(const struct world *w, const char *variable)
{
	char name[64];

	(void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(variable, "="), variable);
	return w->env && cJSON_GetObjectItemCaseSensitive(w->env, name);
}

static int
compare_variables(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

size_t
cred_base_env(const struct world *w, const char *out[static CRED_BASE_MAX])
{
	size_t i, n = 0;

	_Static_assert(LEN(defaults) + LEN(fixed) + 1 <= CRED_BASE_MAX, "all of them fit");
	for (i = 0; i < LEN(defaults); i++)
		if (!world_sets(w, defaults[i]))
			out[n++] = defaults[i];
	for (i = 0; i < LEN(fixed); i++)
		out[n++] = fixed[i];
	for (i = 0; i < w->services_len; i++) {
		if (!w->services[i].tls)
			continue;
		out[n++] = authority;
		break;
	}
	return n;
}

/* The world's text was measured when it was read; values may be longer than their templates. */
static int
check_env_size(const struct world *w, const struct cred *c, struct diag *d)
{
	size_t bytes = 0, i;

	for (i = 0; i < c->env_len; i++)
		bytes += strlen(c->env[i]) + 1;
	if (bytes <= PLAN_ENV_BYTES_MAX)
		return 0;
	world_place(w, "/env", true, d);
	diag_set(d, -EMSGSIZE, "with their values the variables have %zu bytes in all; at most %u are allowed", bytes,
		 PLAN_ENV_BYTES_MAX);
	diag_fix(d, "put long values into a file");
	return -EMSGSIZE;
}

static int
make_env(const struct run *run, const char *path_local, struct cred *c, struct diag *d)
{
	const char *base[CRED_BASE_MAX];
	size_t n = run->w->env ? (size_t)cJSON_GetArraySize(run->w->env) : 0, base_len = cred_base_env(run->w, base), i;
	const struct cJSON *v;
	char *text;

	c->env = calloc(n + base_len + 1, sizeof(char *));
	if (!c->env)
		return out_of_memory(d);
	for (v = run->w->env ? run->w->env->child : NULL; v; v = v->next) {
		text = expand(run, v->string, v->valuestring);
		if (!text)
			return out_of_memory(d);
		c->env[c->env_len++] = text;
	}
	for (i = 0; i < base_len; i++) {
		if (!path_local || strncmp(base[i], "PATH=", 5) != 0)
			text = strdup(base[i]);
		else if (asprintf(&text, "PATH=%s", path_local) < 0)
			text = NULL;
		if (!text)
			return out_of_memory(d);
		c->env[c->env_len++] = text;
	}
	qsort(c->env, c->env_len, sizeof(char *), compare_variables);
	return check_env_size(run->w, c, d);
}

int
cred_set_home(struct cred *c, const char *home)
{
	char *text;
	size_t i;

	for (i = 0; i < c->env_len; i++) {
		if (strncmp(c->env[i], "HOME=", 5) != 0)
			continue;
		if (asprintf(&text, "HOME=%s", home) < 0)
			return -ENOMEM;
		free(c->env[i]);
		c->env[i] = text;
	}
	return 0;
}

/* ---- the twins' JSON -------------------------------------------------------------------------------------------------- */

static bool
add_number(struct cJSON *o, const char *name, uint64_t n)
{
	return cJSON_AddNumberToObject(o, name, (double)n) != NULL;
}

/* Every string of v with its templates' values. */
static bool
expand_strings(const struct run *run, struct cJSON *v)
{
	struct cJSON *m;
	char *value;
	bool done;

	if (cJSON_IsString(v)) {
		value = expand(run, NULL, v->valuestring);
		done = value && cJSON_SetValuestring(v, value);
		if (value)
			explicit_bzero(value, strlen(value));
		free(value);
		return done;
	}
	cJSON_ArrayForEach(m, v)
	{
		if ((cJSON_IsString(m) || cJSON_IsObject(m) || cJSON_IsArray(m)) && !expand_strings(run, m))
			return false;
	}
	return true;
}

/* A service as the world has it, but with its credentials' values. */
static bool
add_service(const struct run *run, const struct world_service *s, struct cJSON *all)
{
	struct cJSON *copy = cJSON_Duplicate(s->json, true), *accept;

	if (!copy || !cJSON_AddItemToArray(all, copy)) {
		cJSON_Delete(copy);
		return false;
	}
	/* The world may write 404 as a number; the twins know the word. */
	if (cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(copy, "unmatched"))) {
		accept = cJSON_CreateString("404");
		if (!accept || !cJSON_ReplaceItemInObjectCaseSensitive(copy, "unmatched", accept)) {
			cJSON_Delete(accept);
			return false;
		}
	}
	accept = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(copy, "events"), "secret");
	if (accept && !expand_strings(run, accept))
		return false;
	accept = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(copy, "auth"), "accept");
	return !accept || expand_strings(run, accept);
}

/* Requests and events; a condition is no template. */
static bool
expand_triggers(const struct run *run, struct cJSON *triggers)
{
	struct cJSON *t, *part;

	cJSON_ArrayForEach(t, triggers)
	{
		part = cJSON_GetObjectItemCaseSensitive(t, "http");
		if (part && !expand_strings(run, part))
			return false;
		part = cJSON_GetObjectItemCaseSensitive(t, "event");
		if (part && !expand_strings(run, part))
			return false;
	}
	return true;
}

/* What of `workflow` is the twins' affair: ready, trigger with its templates' values, ends. */
static bool
add_workflow(const struct run *run, struct cJSON *doc)
{
	const struct world *w = run->w;
	struct cJSON *o = cJSON_AddObjectToObject(doc, "workflow"), *copy;
	const struct {
		const char *name;
		const struct cJSON *json;
	} parts[] = { { "ready", w->ready }, { "trigger", w->triggers }, { "ends", w->ends } };
	size_t i;

	if (!o || !add_number(o, "trigger_ms", w->limits.trigger_ms))
		return false;
	for (i = 0; i < LEN(parts); i++) {
		if (!parts[i].json)
			continue;
		copy = cJSON_Duplicate(parts[i].json, true);
		if (!copy || !cJSON_AddItemToObject(o, parts[i].name, copy)) {
			cJSON_Delete(copy);
			return false;
		}
		if (parts[i].json == w->triggers && !expand_triggers(run, copy))
			return false;
	}
	return true;
}

static bool
add_clock(const struct world_clock *k, struct cJSON *run)
{
	static const char *const modes[] = { "real", "fixed", "virtual" };
	struct cJSON *o;

	if (k->mode == WORLD_CLOCK_REAL && !k->have_start)
		return true;
	o = cJSON_AddObjectToObject(run, "clock");
	return o && cJSON_AddStringToObject(o, "mode", modes[k->mode]) && add_number(o, "start_ms", k->start_ms) &&
	       (k->mode != WORLD_CLOCK_VIRTUAL || add_number(o, "step_ms", k->step_ms));
}

static bool
fill_twins(const struct run *run, struct cJSON *doc)
{
	struct cJSON *o;
	size_t i;

	o = cJSON_AddObjectToObject(doc, "run");
	if (!o || !cJSON_AddStringToObject(o, "id", run->id) || !add_number(o, "seed", run->w->seed) ||
	    !add_number(o, "start_ms", run->start_ms) || !add_clock(&run->w->clock, o) ||
	    (checks_want_rows(run->w) && !cJSON_AddTrueToObject(o, "rows")))
		return false;
	o = cJSON_AddObjectToObject(doc, "limits");
	if (!o || !add_number(o, "operations", run->w->limits.operations) ||
	    !add_number(o, "state_bytes", run->w->limits.state_bytes))
		return false;
	o = cJSON_AddObjectToObject(doc, "secrets");
	for (i = 0; o && i < run->c->secrets_len; i++)
		if (!cJSON_AddStringToObject(o, run->c->secrets[i].name, run->c->secrets[i].value))
			return false;
	if (!o || !(o = cJSON_AddArrayToObject(doc, "services")))
		return false;
	for (i = 0; i < run->w->services_len; i++)
		if (!add_service(run, &run->w->services[i], o))
			return false;
	if (run->w->faults && !cJSON_AddItemToObject(doc, "faults", cJSON_Duplicate(run->w->faults, true)))
		return false;
	return !world_is_driven(run->w) || add_workflow(run, doc);
}

static void
wipe_strings(struct cJSON *v)
{
	for (; v; v = v->next) {
		if (cJSON_IsString(v) && v->valuestring)
			explicit_bzero(v->valuestring, strlen(v->valuestring));
		wipe_strings(v->child);
	}
}

static int
make_twins(const struct run *run, struct cred *c, struct diag *d)
{
	struct cJSON *doc = cJSON_CreateObject();
	int r = 0;

	if (!doc || !fill_twins(run, doc) || !(c->twins_json = json_print(doc)))
		r = out_of_memory(d);
	else
		c->twins_json_len = strlen(c->twins_json);
	if (doc)
		wipe_strings(doc->child);
	cJSON_Delete(doc);
	if (r == 0 && c->twins_json_len > TWINS_JSON_MAX)
		return diag_set(d, -EMSGSIZE, "the services have more than %u bytes", TWINS_JSON_MAX);
	return r;
}

int
cred_make(const struct world *w, const char *run_id, uint64_t start_ms, const char *path_local, struct cred *out,
	  struct diag *d)
{
	struct cred c;
	struct run run = { .w = w, .c = &c, .id = run_id, .start_ms = start_ms };
	int r;

	memset(&c, 0, sizeof(c));
	memset(d, 0, sizeof(*d));
	r = make_secrets(w, &c, d);
	if (r == 0)
		r = make_env(&run, path_local, &c, d);
	if (r == 0)
		r = make_twins(&run, &c, d);
	if (r < 0)
		cred_wipe(&c);
	else
		*out = c;
	return r;
}

void
cred_wipe(struct cred *c)
{
	size_t i;

	if (c->secrets)
		explicit_bzero(c->secrets, c->secrets_len * sizeof(*c->secrets));
	free(c->secrets);
	for (i = 0; i < c->env_len; i++) {
		if (c->env[i])
			explicit_bzero(c->env[i], strlen(c->env[i]));
		free(c->env[i]);
	}
	free(c->env);
	if (c->twins_json)
		explicit_bzero(c->twins_json, c->twins_json_len);
	free(c->twins_json);
	memset(c, 0, sizeof(*c));
}
