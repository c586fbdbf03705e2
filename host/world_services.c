/* SPDX-License-Identifier: GPL-2.0-or-later
 * world_services.c - the key `services`: names, hosts, ports, credentials, state.  Routes: world_routes.c. */
#include <cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/world_read.h"

#define COLLECTIONS_MAX 256u
#define HOSTS_BYTES_MAX 60000u /* they travel in one record of 64 KiB with the rest of the plan */
#define ROW_ID_MAX 255u

/* ---- hosts ------------------------------------------------------------------------------------------------------------ */

static bool
is_label(const char *s, size_t len)
{
	size_t i;

	if (len == 0 || len > 63 || s[0] == '-' || s[len - 1] == '-')
		return false;
	for (i = 0; i < len; i++)
		if (!((s[i] >= 'a' && s[i] <= 'z') || (s[i] >= '0' && s[i] <= '9') || s[i] == '-' || s[i] == '_'))
			return false;
	return true;
}

static bool
ends_in(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && strcmp(s + n - m, end) == 0;
}

/* NULL, or what is wrong with a host name. */
static const char *
host_problem(const char *s, const char **fix)
{
	const char *last = s, *at = s;
	size_t n, labels = 0;

	*fix = "write a name such as \"payments.internal\": lower-case letters, digits and '-' between dots";
	n = strcspn(s, ":");
	if (n > 0 && s[n] && s[n + 1] && !s[n + 1 + strspn(s + n + 1, "0123456789")])
		*fix = "write the name alone here, and the port beside \"hosts\": \"port\": 8080";
	if (strchr(s, ':') || strchr(s, '/'))
		return "a host is a name alone, without scheme, port or path, and no IP address";
	for (;; at += n + 1) {
		n = strcspn(at, ".");
		if (!is_label(at, n))
			return "this is not a host name";
		labels++;
		last = at;
		if (!at[n])
			break;
	}
	if (strspn(last, "0123456789") == strlen(last) || (last[0] == '0' && last[1] == 'x'))
		return "this is an IP address (or would be read as one), not a host name";
	*fix = "give the service a name of its own, such as \"payments.internal\"";
	if (strcmp(s, "localhost") == 0 || ends_in(s, ".localhost") || strcmp(s, "ip6-localhost") == 0 ||
	    strcmp(s, "localhost.localdomain") == 0)
		return "this name always means the machine itself";
	if (labels == 2 && strcmp(last, "local") == 0)
		return "names of one label under .local belong to multicast DNS";
	return NULL;
}

/* Compares with every host before this one; 1,000 hosts at the most. */
static int
check_host_twice(struct wr *c, const struct cJSON *v, const struct cJSON *hosts)
{
	const struct cJSON *h;
	size_t i;
	int r;

	for (h = hosts->child; h != v; h = h->next) {
		if (strcmp(h->valuestring, v->valuestring) != 0)
			continue;
		r = wr_fail(c, -EPROTO, "host \"%s\" stands here twice", v->valuestring);
		diag_fix(c->d, "keep one of the two");
		return r;
	}
	for (i = 0; i < c->w->services_len; i++) {
		for (h = c->w->services[i].hosts->child; h; h = h->next) {
			if (strcmp(h->valuestring, v->valuestring) != 0)
				continue;
			r = wr_fail(c, -EPROTO, "host \"%s\" belongs to service \"%s\" already", v->valuestring,
				    c->w->services[i].name);
			diag_fix(
				c->d,
				"one host is one service: give them different names, or put their routes into one service");
			return r;
		}
	}
	return 0;
}

static int
read_host(struct wr *c, const struct cJSON *v, void *arg)
{
	const char *s, *problem, *fix;
	char shown[80];
	int r = wr_string(c, v, 1, PLAN_HOST_NAME_MAX, &s);

	if (r < 0)
		return r;
	problem = host_problem(s, &fix);
	if (!problem)
		return check_host_twice(c, v, arg);
	escape_text(s, strlen(s), shown, sizeof(shown));
	r = wr_fail(c, -EPROTO, "\"%s\": %s", shown, problem);
	diag_fix(c->d, "%s", fix);
	return r;
}

static void
measure_hosts(const struct cJSON *hosts, size_t *n, size_t *bytes)
{
	const struct cJSON *h;

	cJSON_ArrayForEach(h, hosts)
	{
		*n += 1;
		*bytes += strlen(h->valuestring) + 1;
	}
}

static int
read_hosts(struct wr *c, const struct cJSON *v, void *arg)
{
	struct world_service *s = arg;
	size_t i, all = 0, bytes = 0;
	union {
		const struct cJSON *in;
		void *out;
	} same = { .in = v };
	int r = wr_array(c, v, 1, PLAN_HOSTS_MAX, "hosts", read_host, same.out);

	if (r < 0)
		return r;
	for (i = 0; i < c->w->services_len; i++)
		measure_hosts(c->w->services[i].hosts, &all, &bytes);
	measure_hosts(v, &all, &bytes);
	if (all > PLAN_HOSTS_MAX || bytes > HOSTS_BYTES_MAX) {
		r = wr_fail(c, -EMSGSIZE, "more than %u hosts, or %u bytes of their names, in all services",
			    PLAN_HOSTS_MAX, HOSTS_BYTES_MAX);
		diag_fix(c->d, "name fewer hosts");
	}
	s->hosts = v;
	return r;
}

/* ---- name, port, credentials ------------------------------------------------------------------------------------------ */

static int
read_name(struct wr *c, const struct cJSON *v, void *arg)
{
	struct world_service *s = arg;
	size_t i;
	int r = wr_string(c, v, 1, 63, &s->name);

	if (r < 0)
		return r;
	if (!is_identifier(s->name, true)) {
		r = wr_fail(c, -EPROTO, "a service's name has letters, digits, '_' and '-' only, not a digit first");
		diag_fix(c->d, "write a name like \"payments\"");
		return r;
	}
	if (strcmp(s->name, "trigger") == 0) {
		r = wr_fail(c, -EPROTO, "the name \"trigger\" is taken: receipts list a world's own requests under it");
		diag_fix(c->d, "choose another name");
		return r;
	}
	for (i = 0; i < c->w->services_len; i++) {
		if (strcmp(c->w->services[i].name, s->name) != 0)
			continue;
		r = wr_fail(c, -EPROTO, "there is a service \"%s\" already", s->name);
		diag_fix(c->d, "give each service a name of its own");
		return r;
	}
	return 0;
}

static int
read_kind(struct wr *c, const struct cJSON *v, void *arg)
{
	static const char *const kinds[] = { "http", "postgres", "llm", NULL };
	char text[40];
	size_t which = 0;
	int r = wr_word(c, v, kinds, &which);

	(void)arg;
	if (r < 0 || which != 1)
		return r;
	(void)snprintf(text, sizeof(text), "a service of kind \"%s\"", kinds[which]);
	r = wr_fail_later(c, text);
	diag_fix(c->d, "use kind \"http\" or \"llm\"");
	return r;
}

static int
read_port(struct wr *c, const struct cJSON *v, void *arg)
{
	struct world_service *s = arg;
	uint64_t n = 0;
	int r = wr_integer(c, v, 1, 65535, &n);

	if (r == 0)
		s->port = (uint16_t)n;
	return r;
}

static int
read_tls(struct wr *c, const struct cJSON *v, void *arg)
{
	struct world_service *s = arg;

	return wr_bool(c, v, &s->tls);
}

static int
read_scheme(struct wr *c, const struct cJSON *v, void *arg)
{
	static const char *const schemes[] = { "bearer", "basic", "header", NULL };

	return wr_word(c, v, schemes, arg);
}

static int
read_header(struct wr *c, const struct cJSON *v, void *arg)
{
	static const char token[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
	const char *s;
	int r = wr_string(c, v, 1, 100, &s);

	(void)arg;
	if (r == 0 && s[strspn(s, token)]) {
		r = wr_fail(c, -EPROTO, "this is not the name of an HTTP header");
		diag_fix(c->d, "write a name such as \"x-api-key\"");
	}
	return r;
}

static int
read_accept(struct wr *c, const struct cJSON *v, void *arg)
{
	const char *s, *p;
	int r = wr_string(c, v, 1, 1024, &s);

	(void)arg;
	for (p = s; r == 0 && *p; p++) {
		if (*p > 0x20 && *p < 0x7f)
			continue;
		if (*p == ' ' && p > s && p[1])
			continue;
		r = wr_fail(c, -EPROTO, "a credential has printable ASCII characters only, and no space at either end");
		diag_fix(c->d, "write \"{{secret.NAME}}\", or a literal value without such characters");
	}
	return r;
}

static int
read_auth(struct wr *c, const struct cJSON *v, void *arg)
{
	static const struct wr_key keys[] = {
		{ "scheme", read_scheme, WR_REQUIRED, "\"scheme\": \"bearer\"" },
		{ "header", read_header, 0, NULL },
		{ "accept", read_accept, WR_REQUIRED, "\"accept\": \"{{secret.NAME}}\"" },
		{ NULL, NULL, 0, NULL },
	};
	const struct cJSON *header;
	size_t scheme = 0;
	int r = wr_object(c, v, keys, "auth", &scheme);

	(void)arg;
	if (r < 0)
		return r;
	header = cJSON_GetObjectItemCaseSensitive(v, "header");
	if (scheme == 2 && !header) {
		r = wr_fail(c, -EPROTO, "scheme \"header\" needs the header's name");
		diag_fix(c->d, "add \"header\": \"x-api-key\"");
	} else if (scheme != 2 && header) {
		r = wr_fail(c, -EPROTO, "\"header\" stands beside a scheme that always uses Authorization");
		diag_fix(c->d, "take \"header\" out, or write \"scheme\": \"header\"");
	}
	return r;
}

/* ---- state ------------------------------------------------------------------------------------------------------------ */

static int
read_row(struct wr *c, const struct cJSON *v, void *arg)
{
	const struct cJSON *id;
	const char *text;
	size_t mark;
	int r;

	(void)arg;
	if (!cJSON_IsObject(v)) {
		r = wr_fail(c, -EPROTO, "a row is an object, found %s", wr_type(v));
		diag_fix(c->d, "write { \"id\": \"...\", ... }");
		return r;
	}
	id = cJSON_GetObjectItemCaseSensitive(v, "id");
	if (!id) {
		r = wr_fail(c, -EPROTO, "the row has no \"id\"");
		diag_fix(c->d, "add \"id\": \"...\", unique within the collection");
		return r;
	}
	mark = wr_enter(c, "id");
	r = wr_string(c, id, 1, ROW_ID_MAX, &text);
	wr_leave(c, mark);
	return r;
}

struct row_id {
	const char *text;
	size_t index;
};

static int
compare_row_ids(const void *a, const void *b)
{
	const struct row_id *x = a, *y = b;
	int r = strcmp(x->text, y->text);

	return r ? r : (x->index > y->index) - (x->index < y->index);
}

/* 80,000 rows fit into a world: sorted, so that a hostile one costs no more than an honest one. */
static int
check_row_ids(struct wr *c, const struct cJSON *rows)
{
	size_t n = (size_t)cJSON_GetArraySize(rows), i = 0, outer, inner;
	const struct cJSON *v;
	struct row_id *ids;
	int r = 0;

	if (n < 2)
		return 0;
	ids = calloc(n, sizeof(*ids));
	if (!ids)
		return diag_set(c->d, -ENOMEM, "not enough memory");
	for (v = rows->child; v; v = v->next, i++)
		ids[i] = (struct row_id){ cJSON_GetObjectItemCaseSensitive(v, "id")->valuestring, i };
	qsort(ids, n, sizeof(*ids), compare_row_ids);
	for (i = 1; i < n && r == 0; i++) {
		if (strcmp(ids[i].text, ids[i - 1].text) != 0)
			continue;
		outer = wr_enter_index(c, ids[i].index);
		inner = wr_enter(c, "id");
		r = wr_fail(c, -EPROTO, "row %zu of the collection has this id already", ids[i - 1].index);
		diag_fix(c->d, "give each row an id of its own");
		wr_leave(c, inner);
		wr_leave(c, outer);
	}
	free(ids);
	return r;
}

static bool
is_word_of_language(const char *s)
{
	static const char *const words[] = { "and", "or", "not", "true", "false", "null", NULL };
	size_t i;

	for (i = 0; words[i]; i++)
		if (strcmp(words[i], s) == 0)
			return true;
	return false;
}

static int
read_state(struct wr *c, const struct cJSON *v, void *arg)
{
	const struct cJSON *m;
	size_t mark, n = 0;
	int r = 0;

	(void)arg;
	if (!cJSON_IsObject(v)) {
		r = wr_fail(c, -EPROTO, "expected an object, found %s", wr_type(v));
		diag_fix(c->d, "write \"state\": { \"COLLECTION\": [ rows ] }");
		return r;
	}
	for (m = v->child; m && r == 0; m = m->next) {
		mark = wr_enter(c, m->string);
		if (++n > COLLECTIONS_MAX) {
			r = wr_fail_key(c, -EMSGSIZE, "more than %u collections", COLLECTIONS_MAX);
		} else if (!is_identifier(m->string, false) || is_word_of_language(m->string)) {
			r = wr_fail_key(c, -EPROTO, "this is not a name for a collection");
			diag_fix(c->d, "use letters, digits and '_', not a digit first, and no word of the language");
		} else {
			r = wr_array(c, m, 0, SIZE_MAX, "rows", read_row, NULL);
			if (r == 0)
				r = check_row_ids(c, m);
		}
		wr_leave(c, mark);
	}
	return r;
}

/* ---- one service ------------------------------------------------------------------------------------------------------ */

static int
read_unmatched(struct wr *c, const struct cJSON *v, void *arg)
{
	static const char *const words[] = { "fail", "404", NULL };
	size_t which;
	int r;

	(void)arg;
	if (cJSON_IsNumber(v) && v->valuedouble == 404.0)
		return 0;
	r = wr_word(c, v, words, &which);
	if (r < 0)
		diag_fix(c->d, "write \"fail\" (a call without a route fails the run) or 404");
	return r;
}

static const struct wr_key service_keys[] = {
	{ "name", read_name, WR_REQUIRED, "\"name\": \"payments\"" },
	{ "kind", NULL, WR_REQUIRED, "\"kind\": \"http\"" },
	{ "hosts", read_hosts, WR_REQUIRED, "\"hosts\": [ \"payments.internal\" ]" },
	{ "port", read_port, 0, NULL },
	{ "auth", read_auth, 0, NULL },
	{ "state", read_state, 0, NULL },
	{ "routes", NULL, 0, NULL },
	{ "unmatched", read_unmatched, 0, NULL },
	{ "tls", read_tls, 0, NULL },
	{ "profile", world_read_profile, 0, NULL },
	{ "variables", world_read_variables, 0, NULL },
	{ "idempotency", world_read_idempotency, 0, NULL },
	{ "rate_limit", world_read_rate_limit, 0, NULL },
	{ "events", world_read_events, 0, NULL },
	{ "script", NULL, 0, NULL },
	{ "validate", NULL, 0, NULL },
	{ "init", NULL, WR_LATER, NULL },
	{ "role", NULL, WR_LATER, NULL },
	{ "database", NULL, WR_LATER, NULL },
	{ "statements", NULL, WR_LATER, NULL },
	{ "volatile", NULL, WR_LATER, NULL },
	{ NULL, NULL, 0, NULL },
};

static int
read_service(struct wr *c, const struct cJSON *v, void *arg)
{
	struct world_service *s = &c->w->services[c->w->services_len];
	const struct cJSON *kind;
	uint16_t usual;
	size_t mark;
	int r = 0;

	(void)arg;
	memset(s, 0, sizeof(*s));
	s->json = v;
	/* The kind first: the keys of another kind would only be a stranger message. */
	kind = cJSON_GetObjectItemCaseSensitive(v, "kind");
	if (kind) {
		mark = wr_enter(c, "kind");
		r = read_kind(c, kind, NULL);
		wr_leave(c, mark);
	}
	if (r == 0)
		r = wr_object(c, v, service_keys, "a service", s);
	if (r == 0)
		r = world_read_routes(c, v);
	if (r == 0)
		r = world_check_emits(c, v);
	if (r == 0)
		r = world_read_llm(c, v);
	if (r < 0)
		return r;
	s->address[0] = 127;
	s->address[1] = 64;
	s->address[3] = (uint8_t)(c->w->services_len + 1);
	usual = s->tls ? 443 : 80;
	if (s->port == 0)
		s->port = usual;
	if (s->port == usual)
		(void)snprintf(s->url, sizeof(s->url), "%s://%s", s->tls ? "https" : "http",
			       s->hosts->child->valuestring);
	else
		(void)snprintf(s->url, sizeof(s->url), "%s://%s:%u", s->tls ? "https" : "http",
			       s->hosts->child->valuestring, s->port);
	world_llm_url(s);
	c->w->services_len++;
	return 0;
}

/* A workflow that calls nobody is judged by its exit and output alone. */
int
world_read_services(struct wr *c, const struct cJSON *v, void *arg)
{
	int n = cJSON_IsArray(v) ? cJSON_GetArraySize(v) : 0;

	c->w->services = calloc(n > 0 && n <= (int)PLAN_SERVICES_MAX ? (size_t)n : PLAN_SERVICES_MAX,
				sizeof(*c->w->services));
	if (!c->w->services)
		return diag_set(c->d, -ENOMEM, "not enough memory");
	return wr_array(c, v, 0, PLAN_SERVICES_MAX, "services", read_service, arg);
}

/* ---- the local backend ------------------------------------------------------------------------------------------------ */

static void
warn_host_names(const struct world *w)
{
	const struct cJSON *v, *h;
	size_t i;

	for (v = w->env ? w->env->child : NULL; v; v = v->next)
		for (i = 0; i < w->services_len; i++)
			for (h = w->services[i].hosts->child; h; h = h->next)
				if (strstr(v->valuestring, h->valuestring))
					log_line(
						LOG_LEVEL_WARN,
						"env.%s names the host %s, which nothing resolves on local: write {{service.%s.url}}",
						v->string, h->valuestring, w->services[i].name);
}

int
world_check_local(const struct world *w, struct diag *d)
{
	char pointer[64];
	size_t i;

	for (i = 0; i < w->checks_len; i++) {
		if (w->checks[i].kind != CHECK_NO_EGRESS)
			continue;
		(void)snprintf(pointer, sizeof(pointer), "/checks/%zu", i);
		world_place(w, pointer, false, d);
		diag_set(d, -EOPNOTSUPP,
			 "no-egress cannot be judged on local: nothing there keeps the workflow from the network");
		diag_fix(d, "use another runtime (--runtime namespace), or take the check out");
		return -EOPNOTSUPP;
	}
	for (i = 0; i < w->services_len; i++) {
		if (!w->services[i].tls)
			continue;
		(void)snprintf(pointer, sizeof(pointer), "/services/%zu/tls", i);
		world_place(w, pointer, true, d);
		diag_set(d, -EOPNOTSUPP,
			 "TLS cannot be had on local: it needs the service's host name, which nothing resolves there");
		diag_fix(d, "use another runtime (--runtime namespace), or take \"tls\" out");
		return -EOPNOTSUPP;
	}
	for (i = 0; i < w->services_len; i++) {
		if (!cJSON_GetObjectItemCaseSensitive(w->services[i].json, "port"))
			continue;
		(void)snprintf(pointer, sizeof(pointer), "/services/%zu/port", i);
		world_place(w, pointer, true, d);
		diag_set(d, -EOPNOTSUPP,
			 "a port of its own cannot be had on local: each service gets a free port of this machine");
		diag_fix(d,
			 "use another runtime (--runtime namespace), or take \"port\" out and use {{service.%s.url}}",
			 w->services[i].name);
		return -EOPNOTSUPP;
	}
	warn_host_names(w);
	return 0;
}

void
world_set_local(struct world *w, const uint16_t *ports)
{
	size_t i;

	for (i = 0; i < w->services_len; i++) {
		struct world_service *s = &w->services[i];

		s->port = ports[i];
		s->address[0] = 127;
		s->address[1] = s->address[2] = 0;
		s->address[3] = 1;
		(void)snprintf(s->url, sizeof(s->url), "http://127.0.0.1:%u", s->port);
		world_llm_url(s);
	}
}
