/* SPDX-License-Identifier: GPL-2.0-or-later
 * evidence_names.c - operations of kind dns: names that the workflow asked of the DNS stub.  A name that was refused is an
 * attempt to get out, also within a message that is no question; one that was answered must be a name of the world. */
#include <cJSON.h>
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "host/evidence.h"
#include "host/json.h"

#define NAME_MAX_LEN 4096u /* 253 bytes, escaped, a secret in them named */
#define TYPE_MAX_LEN 23u

static int __attribute__((format(printf, 2, 3))) bad(char *why, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(why, 320, format, ap);
	va_end(ap);
	return -EPROTO;
}

static bool
is_name(const char *s)
{
	size_t len = s ? strlen(s) : 0;

	if (len == 0 || len > NAME_MAX_LEN)
		return false;
	for (; *s; s++)
		if (*s <= ' ' || *s > '~')
			return false;
	return true;
}

static bool
is_type(const char *s)
{
	size_t len = s ? strlen(s) : 0;

	return len > 0 && len <= TYPE_MAX_LEN && strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ") == len;
}

/* What is wrong with a message, and the one thing that its client is told then; NULL: nothing. */
static const struct problem {
	const char *name, *rcode;
} problems[] = { { "short", NULL },     { "response", NULL },    { "opcode", "NOTIMP" },
		 { "long", "FORMERR" }, { "format", "FORMERR" }, { "version", "BADVERS" } };

/* The world's spelling of a host, and whose it is; NULL none. */
static const char *
find_host(const struct world *w, const char *name, size_t *service)
{
	const cJSON *host;

	for (*service = 0; *service < w->services_len; ++*service)
		cJSON_ArrayForEach(host, w->services[*service].hosts)
		{
			if (cJSON_IsString(host) && strcasecmp(host->valuestring, name) == 0)
				return host->valuestring;
		}
	return NULL;
}

static bool
is_localhost(const char *name)
{
	size_t len = strlen(name);

	return strcasecmp(name, "localhost") == 0 ||
	       (len > 10 && strcasecmp(name + len - 10, ".localhost") == 0 && name[len - 11] != '\\');
}

/* What the stub may have answered: an address for any other name would be a way out. */
static bool
is_known(const struct world *w, const char *name)
{
	size_t service;

	return find_host(w, name, &service) || is_localhost(name);
}

static bool
is_text(const cJSON *o, const char *name, const char *want)
{
	const char *s = json_get_text(o, name);

	return s && strcmp(s, want) == 0;
}

/* Is this what the stub says of a message that is no question?  Its name, if it has one, is another than the world's. */
static bool
is_malformed(const struct cJSON *op)
{
	const cJSON *request = json_get(op, "request"), *views = json_get(op, "views"), *reply = json_get(op, "reply"),
		    *name = json_get(request, "name"), *type = json_get(request, "type");
	const struct problem *p = NULL;
	uint64_t count;
	size_t i;

	for (i = 0; i < sizeof(problems) / sizeof(problems[0]); i++)
		if (is_text(request, "problem", problems[i].name))
			p = &problems[i];
	if (!p || !is_text(request, "transport", "udp") || !json_get_u64(request, "count", UINT64_MAX, &count) ||
	    count == 0)
		return false;
	if ((name || type) &&
	    (count != 1 || !is_name(json_get_text(request, "name")) || !is_type(json_get_text(request, "type"))))
		return false;
	return (p->rcode ? is_text(reply, "rcode", p->rcode) : cJSON_IsNull(reply)) &&
	       is_text(views, "service", "rejected") &&
	       is_text(views, "client", p->rcode ? "told-error" : "told-nothing");
}

/* What no operation of kind dns has. */
static bool
is_more(const struct cJSON *op)
{
	return json_get_true(op, "unmatched") || cJSON_GetArraySize(json_get(op, "effects")) != 0 ||
	       json_get_text(op, "key") || json_get_text(op, "idempotency");
}

int
evidence_parse_name(const struct world *w, const struct cJSON *op, uint64_t n, const char **route, char why[static 320])
{
	const cJSON *request = json_get(op, "request"), *views = json_get(op, "views");
	const char *name = json_get_text(request, "name");
	bool refused = is_text(op, "route", "refused");

	if (is_text(op, "service", "dns") && is_text(op, "route", "malformed")) {
		if (!is_malformed(op) || is_more(op))
			return bad(why, "guest sent OP %llu of kind dns whose parts do not fit a malformed message",
				   (unsigned long long)n);
		*route = "malformed";
		return 0;
	}
	if (!is_text(op, "service", "dns") || (!refused && !is_text(op, "route", "answered")))
		return bad(why, "guest sent OP %llu of kind dns that was neither refused, answered nor malformed",
			   (unsigned long long)n);
	if (!is_name(name) || !is_type(json_get_text(request, "type")))
		return bad(why, "guest sent OP %llu of kind dns without request.name or request.type",
			   (unsigned long long)n);
	if (!is_text(json_get(op, "reply"), "rcode", refused ? "REFUSED" : "NOERROR") ||
	    !is_text(views, "service", refused ? "rejected" : "applied") ||
	    !is_text(views, "client", refused ? "told-error" : "told-ok"))
		return bad(why, "guest sent OP %llu of kind dns whose reply or views contradict its route",
			   (unsigned long long)n);
	if (is_more(op))
		return bad(why, "guest sent OP %llu of kind dns that is more than a question", (unsigned long long)n);
	if (!refused && !is_known(w, name))
		return bad(why, "guest answered the name '%.100s', which the world does not have", name);
	*route = refused ? "refused" : "answered";
	return 0;
}

static void
hash_lower(struct sha256 *h, const char *s)
{
	char c;

	do {
		c = (char)tolower((unsigned char)*s);
		sha256_add(h, &c, 1);
	} while (*s++);
}

/* One name and type is one row, however it was asked. */
static void
list_digest(const char *name, const char *type, uint8_t digest[static 32])
{
	struct sha256 h;

	sha256_init(&h);
	hash_lower(&h, name);
	hash_lower(&h, type);
	sha256_get(&h, digest);
}

static int
list_add(struct evidence_names *n, const char *name, const char *type, uint64_t hash, uint64_t t_ms)
{
	struct evidence_name *at;
	size_t i;

	for (i = 0; i < n->len; i++)
		if (n->list[i].hash == hash && strcasecmp(n->list[i].name, name) == 0 &&
		    strcmp(n->list[i].type, type) == 0) {
			n->list[i].count++;
			n->list[i].last_ms = t_ms;
			return 0;
		}
	if (n->len == EVIDENCE_NAMES_MAX) {
		n->unlisted++;
		return 0;
	}
	if (!n->list && !(n->list = calloc(EVIDENCE_NAMES_MAX, sizeof(*n->list))))
		return -ENOMEM;
	at = &n->list[n->len];
	*at = (struct evidence_name){ strdup(name), strdup(type), 1, t_ms, t_ms, hash };
	if (!at->name || !at->type) {
		free(at->name);
		free(at->type);
		return -ENOMEM;
	}
	n->len++;
	return 0;
}

int
evidence_names_add(struct evidence_names *n, const struct cJSON *op, uint64_t t_ms, uint8_t content[static 32])
{
	const cJSON *request = json_get(op, "request");
	const char *name = json_get_text(request, "name"), *type = json_get_text(request, "type");
	bool malformed = is_text(op, "route", "malformed"), refused = is_text(op, "route", "refused");
	uint8_t digest[32];
	struct sha256 h;
	uint64_t hash;

	sha256_init(&h);
	hash_lower(&h, malformed ? "malformed" : refused ? "refused" : "answered");
	if (malformed) { /* not how often */
		hash_lower(&h, json_get_text(request, "problem"));
		hash_lower(&h, json_get_text(request, "transport"));
	}
	hash_lower(&h, name ? name : "");
	hash_lower(&h, type ? type : "");
	sha256_get(&h, content);
	n->asked++;
	if (!refused && !(malformed && name))
		return 0;
	n->refused++;
	name = name ? name : "";
	type = type ? type : "";
	list_digest(name, type, digest);
	memcpy(&hash, digest, sizeof(hash));
	return list_add(n, name, type, hash, t_ms);
}

int
evidence_names_answered(struct evidence_names *n, const struct world *w, const struct cJSON *op)
{
	const cJSON *request = json_get(op, "request");
	const char *name = json_get_text(request, "name"), *host;
	size_t service;

	/* of other types the answer holds no address */
	if (!is_text(op, "route", "answered") || !is_text(request, "type", "A"))
		return 0;
	if ((host = find_host(w, name, &service))) {
		if (service < PLAN_SERVICES_MAX && !n->answered[service])
			n->answered[service] = host;
		return 0;
	}
	if (!n->loopback && !(n->loopback = strdup(name)))
		return -ENOMEM;
	return 0;
}

const char *
evidence_names_find(const struct evidence_names *n, const struct world *w, const char *destination, const char **from)
{
	static const char services[] = "127.64.0."; /* of service k: k + 1 */
	const cJSON *host;
	const char *digits;
	size_t k = 0;

	*from = "hosts";
	if (strcmp(destination, "::1") == 0)
		return "localhost";
	if (strcmp(destination, "127.0.0.1") == 0) {
		*from = n->loopback ? "dns" : "hosts";
		return n->loopback ? n->loopback : "localhost";
	}
	if (strncmp(destination, services, sizeof(services) - 1) != 0)
		return NULL;
	digits = destination + sizeof(services) - 1;
	for (; *digits >= '0' && *digits <= '9' && k < 1000; digits++)
		k = 10 * k + (size_t)(*digits - '0');
	if (*digits || k == 0 || k > w->services_len || k > PLAN_SERVICES_MAX)
		return NULL;
	if (n->answered[k - 1]) {
		*from = "dns";
		return n->answered[k - 1];
	}
	host = w->services[k - 1].hosts ? w->services[k - 1].hosts->child : NULL;
	return host && cJSON_IsString(host) ? host->valuestring : NULL;
}

void
evidence_names_wipe(struct evidence_names *n)
{
	size_t i;

	free(n->loopback);

	for (i = 0; i < n->len; i++) {
		free(n->list[i].name);
		free(n->list[i].type);
	}
	free(n->list);
	memset(n, 0, sizeof(*n));
}
