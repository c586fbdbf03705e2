/* SPDX-License-Identifier: GPL-2.0-or-later
 * check_select.c - which operations a check is about: the selector that calls, never, order and the named properties share. */
#include <cJSON.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "host/check.h"
#include "host/json.h"

static int
hex_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

/* The next byte of a segment, percent-decoded as the twins decode it; -1 at its end. */
static int
next_byte(const char **at, const char *end)
{
	const char *p = *at;
	int high, low;

	if (p == end)
		return -1;
	if (*p == '%' && end - p > 2 && (high = hex_digit(p[1])) >= 0 && (low = hex_digit(p[2])) >= 0) {
		*at = p + 3;
		return high << 4 | low;
	}
	*at = p + 1;
	return (unsigned char)*p;
}

static bool
segment_is(const char *a, size_t a_len, const char *b, size_t b_len)
{
	const char *a_end = a + a_len, *b_end = b + b_len;
	int c;

	do
		if ((c = next_byte(&a, a_end)) != next_byte(&b, b_end))
			return false;
	while (c >= 0);
	return true;
}

/* A path of the selector: segment by segment, "{name}" and "*" stand for any one segment; the query is not looked at, nor
 * the authority of "http://payments.internal/refunds".  "/%72efunds" is /refunds: the twins take it for that. */
static bool
path_matches(const char *pattern, const char *target)
{
	size_t p, t;

	if (strncasecmp(target, "http://", 7) == 0) {
		target += 7 + strcspn(target + 7, "/?#");
		if (*target != '/')
			target = "/";
	}
	for (;;) {
		p = strcspn(pattern, "/");
		t = strcspn(target, "/?#");
		if (!(p == 1 && pattern[0] == '*' && t) &&
		    !(p > 1 && pattern[0] == '{' && pattern[p - 1] == '}' && t) && !segment_is(pattern, p, target, t))
			return false;
		pattern += p;
		target += t;
		if (*pattern != '/' || *target != '/')
			return *pattern == '\0' && *target != '/';
		pattern++;
		target++;
	}
}

static bool
text_is(const cJSON *def, const char *name, const char *value)
{
	const char *want = json_get_text(def, name);

	return !want || (value && strcmp(want, value) == 0);
}

/* A check is about what the workflow asked, unless it names what the twins sent: the service "trigger", a webhook's event.  Of
 * that only counts what reached the workflow: a webhook that was never sent was not delivered. */
static bool
is_meant(const cJSON *def, const cJSON *op)
{
	const char *kind = json_get_text(op, "kind"), *service = json_get_text(op, "service"),
		   *view = json_get_text(json_get(op, "views"), "service");
	bool webhook = kind && strcmp(kind, "webhook") == 0, trigger = service && strcmp(service, "trigger") == 0;

	if ((webhook || trigger) && view && strcmp(view, "not-reached") == 0)
		return false;
	if (webhook)
		return json_get_text(def, "route") != NULL;
	return !trigger || json_get_text(def, "service") != NULL;
}

/* What the service answered, or the workflow for a trigger and a webhook. */
static bool
status_is(const cJSON *def, const cJSON *op)
{
	const cJSON *want = json_get(def, "status"), *status = json_get(json_get(op, "reply"), "status");

	return !want || (cJSON_IsNumber(status) && status->valuedouble == want->valuedouble);
}

bool
check_selects(const cJSON *def, const cJSON *op)
{
	const cJSON *request = json_get(op, "request");
	const char *path = json_get_text(def, "path"), *target = json_get_text(request, "target");

	return is_meant(def, op) && text_is(def, "service", json_get_text(op, "service")) &&
	       text_is(def, "route", json_get_text(op, "route")) &&
	       text_is(def, "method", json_get_text(request, "method")) &&
	       text_is(def, "idempotency", json_get_text(op, "idempotency")) && status_is(def, op) &&
	       (!path || (target && path_matches(path, target)));
}

/* see check.h */
bool
check_is_near(const cJSON *def, const cJSON *op)
{
	return is_meant(def, op) && text_is(def, "service", json_get_text(op, "service"));
}

void
check_describe(const cJSON *def, char *out, size_t size)
{
	static const char *const names[] = { "service", "route", "method", "path", "idempotency" };
	const char *v;
	size_t i, n = 0;

	out[0] = '\0';
	for (i = 0; i < sizeof(names) / sizeof(names[0]) && n < size; i++)
		if ((v = json_get_text(def, names[i])))
			n += (size_t)snprintf(out + n, size - n, "%s%s %.100s", n ? ", " : "", names[i], v);
	if (json_get(def, "status") && n < size)
		n += (size_t)snprintf(out + n, size - n, "%sstatus %d", n ? ", " : "",
				      json_get(def, "status")->valueint);
	if (n == 0)
		snprintf(out, size, "any operation");
}

bool
check_is_reading(const cJSON *op)
{
	const char *method = json_get_text(json_get(op, "request"), "method");

	return method && (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0 || strcmp(method, "OPTIONS") == 0);
}

bool
check_is_call(const struct cJSON *op)
{
	const char *kind = json_get_text(op, "kind");

	return !kind || (strcmp(kind, "tcp") != 0 && strcmp(kind, "dns") != 0);
}
