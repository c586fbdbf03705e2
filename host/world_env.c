/* SPDX-License-Identifier: GPL-2.0-or-later
 * world_env.c - the keys `env` and `secrets`, and the templates that the host expands. */
#include <cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host/expand.h"
#include "host/nearest.h"
#include "host/world_read.h"

#define ENV_MAX 256u
#define SECRETS_MAX 256u

/* Set by the guest for every workflow, so that a world cannot point it at programs or folders that are not there. */
static const char *const guest_sets[] = { "PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "NODE_EXTRA_CA_CERTS", NULL };

static int
read_variable(struct wr *c, const struct cJSON *v, size_t *bytes)
{
	const char *text;
	size_t i;
	int r;

	if (!is_identifier(v->string, false)) {
		r = wr_fail_key(c, -EPROTO, "this is not a name for a variable");
		diag_fix(c->d, "use letters, digits and '_', not a digit first, at most 64");
		return r;
	}
	for (i = 0; guest_sets[i]; i++) {
		if (strcmp(v->string, guest_sets[i]) != 0)
			continue;
		r = wr_fail_key(c, -EPROTO, "%s is set by the sandbox itself and may not stand in env", v->string);
		diag_fix(c->d, "take it out");
		return r;
	}
	r = wr_string(c, v, 0, PLAN_ENV_BYTES_MAX, &text);
	if (r < 0)
		return r;
	*bytes += strlen(v->string) + strlen(text) + 2;
	if (*bytes > PLAN_ENV_BYTES_MAX) {
		r = wr_fail(c, -EMSGSIZE, "the variables have more than %u bytes in all", PLAN_ENV_BYTES_MAX);
		diag_fix(c->d, "put long values into a file");
	}
	return r;
}

int
world_read_env(struct wr *c, const struct cJSON *v, void *arg)
{
	const struct cJSON *m;
	size_t mark, n = 0, bytes = 0;
	int r;

	(void)arg;
	if (!cJSON_IsObject(v)) {
		r = wr_fail(c, -EPROTO, "expected an object, found %s", wr_type(v));
		diag_fix(c->d, "write \"env\": { \"NAME\": \"value\" }");
		return r;
	}
	for (m = v->child; m; m = m->next) {
		mark = wr_enter(c, m->string);
		if (++n > ENV_MAX) {
			r = wr_fail(c, -EMSGSIZE, "more than %u variables", ENV_MAX);
			diag_fix(c->d, "put the rest into a file");
		} else {
			r = read_variable(c, m, &bytes);
		}
		wr_leave(c, mark);
		if (r < 0)
			return r;
	}
	c->w->env = v;
	return 0;
}

/* ---- secrets ---------------------------------------------------------------------------------------------------------- */

static int
read_like(struct wr *c, const struct cJSON *v, void *arg)
{
	static const char *const words[] = { "hex", "uuid", "alnum", "pem-rsa", NULL };
	size_t *which = arg;
	int r = wr_word(c, v, words, which);

	if (r == 0 && *which == 3)
		r = wr_fail_later(c, "like \"pem-rsa\"");
	return r;
}

static int
read_length(struct wr *c, const struct cJSON *v, void *arg)
{
	uint64_t n;

	(void)arg;
	/* Shorter ones would be found by chance in what the workflow writes, and be taken out of it. */
	return wr_integer(c, v, 16, 200, &n);
}

static int
read_secret(struct wr *c, const struct cJSON *v)
{
	static const struct wr_key keys[] = {
		{ "like", read_like, WR_REQUIRED, "\"like\": \"alnum\"" },
		{ "length", read_length, 0, NULL },
		{ NULL, NULL, 0, NULL },
	};
	const struct cJSON *length;
	size_t like = 0, mark;
	int r;

	if (!is_identifier(v->string, true) || strlen(v->string) > 63) {
		r = wr_fail_key(c, -EPROTO, "this is not a name for a secret");
		diag_fix(c->d, "use letters, digits, '_' and '-', not a digit first, at most 63");
		return r;
	}
	r = wr_object(c, v, keys, "a secret", &like);
	length = cJSON_GetObjectItemCaseSensitive(v, "length");
	if (r == 0 && like == 1 && length) {
		mark = wr_enter(c, "length");
		r = wr_fail_key(c, -EPROTO, "a uuid has one length only");
		diag_fix(c->d, "take \"length\" out");
		wr_leave(c, mark);
	}
	return r;
}

int
world_read_secrets(struct wr *c, const struct cJSON *v, void *arg)
{
	const struct cJSON *m;
	size_t mark, n = 0;
	int r;

	(void)arg;
	if (!cJSON_IsObject(v)) {
		r = wr_fail(c, -EPROTO, "expected an object, found %s", wr_type(v));
		diag_fix(c->d, "write \"secrets\": { \"NAME\": { \"like\": \"alnum\", \"length\": 32 } }");
		return r;
	}
	for (m = v->child; m; m = m->next) {
		mark = wr_enter(c, m->string);
		if (++n > SECRETS_MAX)
			r = wr_fail(c, -EMSGSIZE, "more than %u secrets", SECRETS_MAX);
		else
			r = read_secret(c, m);
		wr_leave(c, mark);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- templates -------------------------------------------------------------------------------------------------------- */

static bool
is_part_name(const struct expand_part *p, const char *name)
{
	return strlen(name) == p->len && memcmp(name, p->text, p->len) == 0;
}

static bool
uses_secret(const char *template, const struct expand_part *secret)
{
	struct expand_part p;

	while (expand_next(&template, &p) == 1)
		if (p.kind == EXPAND_SECRET && p.len == secret->len && memcmp(p.text, secret->text, p.len) == 0)
			return true;
	return false;
}

static const struct cJSON *
auth_accept(const struct world_service *s)
{
	return cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(s->json, "auth"), "accept");
}

static const struct cJSON *
events_secret(const struct world_service *s)
{
	return cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(s->json, "events"), "secret");
}

static int
check_secret(struct wr *c, const struct expand_part *p)
{
	const struct cJSON *declared = cJSON_GetObjectItemCaseSensitive(c->w->doc, "secrets"), *m;
	size_t i;
	int r;

	for (m = declared ? declared->child : NULL; m; m = m->next)
		if (is_part_name(p, m->string))
			return 0;
	for (i = 0; i < c->w->services_len; i++) {
		m = auth_accept(&c->w->services[i]);
		if (m && uses_secret(m->valuestring, p))
			return 0;
		m = events_secret(&c->w->services[i]);
		if (m && uses_secret(m->valuestring, p))
			return 0;
	}
	r = wr_fail(c, -EPROTO, "no service accepts secret.%.*s and \"secrets\" does not declare it", (int)p->len,
		    p->text);
	diag_fix(
		c->d,
		"name it in a service's auth.accept or events.secret, or declare it: \"secrets\": { \"%.*s\": { \"like\": \"alnum\" } }",
		(int)p->len, p->text);
	return r;
}

static int
check_service(struct wr *c, const struct expand_part *p)
{
	char name[64];
	struct nearest n;
	size_t i;
	int r;

	(void)snprintf(name, sizeof(name), "%.*s", (int)p->len, p->text);
	nearest_init(&n, name);
	for (i = 0; i < c->w->services_len; i++) {
		if (strcmp(c->w->services[i].name, name) == 0)
			return 0;
		nearest_offer(&n, c->w->services[i].name);
	}
	r = wr_fail(c, -EPROTO, "there is no service \"%s\"", name);
	if (n.best)
		diag_fix(c->d, "did you mean \"%s\"?", n.best);
	else
		diag_fix(c->d, "declare it in \"services\", or take the template out");
	return r;
}

int
world_check_host_template(struct wr *c, const char *text, bool run_names)
{
	struct expand_part p;
	char shown[128];
	int r, e = 0;

	while (e == 0 && (r = expand_next(&text, &p)) == 1) {
		if (p.kind == EXPAND_SECRET && run_names)
			e = check_secret(c, &p);
		else if (p.kind == EXPAND_URL || p.kind == EXPAND_HOST || p.kind == EXPAND_PORT)
			e = check_service(c, &p);
		else if ((p.kind == EXPAND_RUN_ID || p.kind == EXPAND_SEED) && !run_names)
			e = wr_fail(c, -EPROTO, "\"%.*s\" cannot stand here", (int)p.len, p.text);
	}
	if (e < 0 && !c->d->fix[0])
		diag_fix(c->d, "here stand secret.NAME, service.NAME.url, service.NAME.host, service.NAME.port");
	if (e < 0 || r == 0)
		return e;
	escape_text(p.text, p.len, shown, sizeof(shown));
	if (strstr(shown, "{{")) {
		e = wr_fail(c, -EPROTO, "\"{{\" without \"}}\": %s", shown);
		diag_fix(c->d, "close the template with }}, or write {{'{{'}} for two braces");
		return e;
	}
	e = wr_fail(c, -EPROTO, "\"%s\" is not known here", shown);
	diag_fix(c->d, "here stand secret.NAME, service.NAME.url, service.NAME.host, service.NAME.port%s",
		 run_names ? ", run.id, seed" : "");
	return e;
}

/* The habit of shells and of JavaScript would pass as plain text. */
static int
check_shell_template(struct wr *c, const char *text)
{
	int r;

	if (!strstr(text, "${service.") && !strstr(text, "${secret.") && !strstr(text, "${run.id}"))
		return 0;
	r = wr_fail(c, -EPROTO, "${...} is plain text here: a template has two braces on each side");
	diag_fix(c->d, "write {{service.NAME.url}} or {{secret.NAME}}, without the dollar sign");
	return r;
}

int
world_check_env(struct wr *c)
{
	const struct cJSON *v;
	size_t outer, inner, i;
	int r = 0;

	outer = wr_enter(c, "env");
	for (v = c->w->env ? c->w->env->child : NULL; v && r == 0; v = v->next) {
		inner = wr_enter(c, v->string);
		r = check_shell_template(c, v->valuestring);
		if (r == 0)
			r = world_check_host_template(c, v->valuestring, true);
		wr_leave(c, inner);
	}
	wr_leave(c, outer);
	for (i = 0; i < c->w->services_len && r == 0; i++) {
		v = events_secret(&c->w->services[i]);
		if (!v)
			continue;
		outer = wr_enter(c, "services");
		wr_enter_index(c, i);
		wr_enter(c, "events");
		wr_enter(c, "secret");
		r = world_check_host_template(c, v->valuestring, false);
		wr_leave(c, outer);
	}
	for (i = 0; i < c->w->services_len && r == 0; i++) {
		v = auth_accept(&c->w->services[i]);
		if (!v)
			continue;
		outer = wr_enter(c, "services");
		wr_enter_index(c, i);
		wr_enter(c, "auth");
		wr_enter(c, "accept");
		r = world_check_host_template(c, v->valuestring, false);
		wr_leave(c, outer);
	}
	return r;
}
