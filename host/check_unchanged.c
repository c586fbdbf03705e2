/* SPDX-License-Identifier: GPL-2.0-or-later
 * check_unchanged.c - checks of kind unchanged: between the initial and the final state nothing differs but what is excepted. */
#include <cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/check_writes.h"
#include "host/json.h"

#define SHOWN_MAX 5u
#define PATH_SIZE 1200u
#define MEMBERS_MAX 4096 /* of an object whose members are compared one by one; a larger one differs as a whole */

/* What differs so far. */
struct difference {
	const cJSON *except; /* array of texts */
	const char *service;
	uint64_t len;
	size_t used;
	char text[1800];
	char where[SHOWN_MAX][160]; /* SERVICE/COLLECTION[/ID], as the receipt has it */
	bool told;                  /* somebody asks what differs */
};

/* Whether the exception covers the path: token by token, * for any one; what stands below an excepted path is excepted. */
static bool
covers(const char *except, const char *service, const char *path)
{
	size_t name = strcspn(except, ":"), e, p;

	if (strlen(service) != name || memcmp(except, service, name) != 0 || except[name] != ':')
		return false;
	except += name + 1;
	while (*except == '/' && *path == '/') {
		except++;
		path++;
		e = strcspn(except, "/");
		p = strcspn(path, "/");
		if (!(e == 1 && *except == '*') && (e != p || memcmp(except, path, e) != 0))
			return false;
		except += e;
		path += p;
	}
	return *except == '\0';
}

static bool
is_excepted(const struct difference *d, const char *path)
{
	const cJSON *v;

	cJSON_ArrayForEach(v, d->except)
	{
		if (cJSON_IsString(v) && covers(v->valuestring, d->service, path))
			return true;
	}
	return false;
}

static void
put_value(struct difference *d, const cJSON *v)
{
	char *text = v ? json_print(v) : NULL;
	int n = snprintf(d->text + d->used, sizeof(d->text) - d->used, "%.80s%s", v ? (text ? text : "?") : "nothing",
			 text && strlen(text) > 80 ? "..." : "");

	d->used += (size_t)n < sizeof(d->text) - d->used ? (size_t)n : sizeof(d->text) - d->used - 1;
	free(text);
}

static void
differ(struct difference *d, const char *path, const cJSON *before, const cJSON *after)
{
	int n;

	if (is_excepted(d, path) || d->len++ >= SHOWN_MAX || !d->told)
		return;
	snprintf(d->where[d->len - 1], sizeof(d->where[0]), "%.60s%.90s", d->service, path);
	n = snprintf(d->text + d->used, sizeof(d->text) - d->used, "%s%.60s:%.200s was ", d->used ? "; " : "",
		     d->service, path);
	d->used += (size_t)n < sizeof(d->text) - d->used ? (size_t)n : sizeof(d->text) - d->used - 1;
	put_value(d, before);
	n = snprintf(d->text + d->used, sizeof(d->text) - d->used, ", is ");
	d->used += (size_t)n < sizeof(d->text) - d->used ? (size_t)n : sizeof(d->text) - d->used - 1;
	put_value(d, after);
}

/* Appends "/" and a token, escaped as RFC 6901 says.  False: it is too long, so what stands below is compared as a whole. */
static bool
join(char out[static PATH_SIZE], const char *path, const char *name)
{
	size_t n = strlen(path);

	memmove(out, path, n);
	out[n++] = '/';
	for (; *name && n + 3 < PATH_SIZE; name++) {
		if (*name == '~' || *name == '/') {
			out[n++] = '~';
			out[n++] = *name == '~' ? '0' : '1';
		} else {
			out[n++] = *name;
		}
	}
	out[n] = '\0';
	return *name == '\0';
}

static void compare(struct difference *d, const char *path, const cJSON *before, const cJSON *after);

/* Both are objects, or both are arrays of one length. */
static void
compare_inside(struct difference *d, const char *path, const cJSON *before, const cJSON *after)
{
	const cJSON *v, *other, *next = after ? after->child : NULL;
	char sub[PATH_SIZE], index[24];
	size_t i = 0;

	cJSON_ArrayForEach(v, before)
	{
		snprintf(index, sizeof(index), "%zu", i++);
		/* Most members stand in the same order. */
		other = !v->string || (next && strcmp(next->string, v->string) == 0) ? next
										     : json_get(after, v->string);
		next = other ? other->next : next;
		if (!join(sub, path, v->string ? v->string : index))
			differ(d, path, before, after);
		else
			compare(d, sub, v, other);
	}
	for (v = after && cJSON_IsObject(after) ? after->child : NULL; v; v = v->next)
		if (!json_get(before, v->string) && join(sub, path, v->string))
			differ(d, sub, NULL, v);
}

static void
compare(struct difference *d, const char *path, const cJSON *before, const cJSON *after)
{
	if (json_equal(before, after) || is_excepted(d, path))
		return;
	if ((cJSON_IsObject(before) && cJSON_IsObject(after) && cJSON_GetArraySize(before) <= MEMBERS_MAX &&
	     cJSON_GetArraySize(after) <= MEMBERS_MAX) ||
	    (cJSON_IsArray(before) && cJSON_IsArray(after) && cJSON_GetArraySize(before) == cJSON_GetArraySize(after)))
		compare_inside(d, path, before, after);
	else
		differ(d, path, before, after);
}

static void
id_text(const cJSON *row, char out[static 512])
{
	const cJSON *id = json_get(row, "id");
	uint64_t number;

	out[0] = '\0';
	if (cJSON_IsString(id))
		snprintf(out, 512, "%s", id->valuestring);
	else if (json_as_u64(id, UINT64_MAX, &number))
		snprintf(out, 512, "%llu", (unsigned long long)number);
}

/* Both lists are in the order of their ids, as the twins promise; of lists that are not, more differs, never less. */
static void
compare_rows(struct difference *d, const char *path, const cJSON *before, const cJSON *after)
{
	const cJSON *a = before ? before->child : NULL, *b = after ? after->child : NULL;
	char ida[512], idb[512], sub[PATH_SIZE];
	int order;

	while (a || b) {
		id_text(a, ida);
		id_text(b, idb);
		order = !a ? 1 : !b ? -1 : strcmp(ida, idb);
		if (!join(sub, path, order <= 0 ? ida : idb))
			differ(d, path, before, after);
		else if (order == 0)
			compare(d, sub, a, b);
		else
			differ(d, sub, order < 0 ? a : NULL, order > 0 ? b : NULL);
		if (order <= 0)
			a = a->next;
		if (order >= 0)
			b = b->next;
	}
}

static void
compare_service(struct difference *d, const cJSON *before, const cJSON *after)
{
	const cJSON *v;
	char path[PATH_SIZE];

	cJSON_ArrayForEach(v, before)
	{
		if (join(path, "", v->string))
			compare_rows(d, path, v, json_get(after, v->string));
	}
	cJSON_ArrayForEach(v, after)
	{
		if (!json_get(before, v->string) && join(path, "", v->string))
			compare_rows(d, path, NULL, v);
	}
}

int
check_unchanged_expect(const struct world_check *def, struct check_result *r)
{
	const cJSON *v;
	char text[600] = "";
	size_t n = 0;

	cJSON_ArrayForEach(v, json_get(def->json, "except"))
	{
		if (cJSON_IsString(v) && n < sizeof(text))
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%.200s", n ? ", " : "", v->valuestring);
	}
	return check_expected(r, "%snothing differs from the initial state%s%s", check_mode_text(def->mode),
			      n ? " but " : "", text);
}

bool
check_unchanged_row(const struct world_check *def, const char *service, const char *at, const struct cJSON *before,
		    const struct cJSON *after, char *text, size_t size)
{
	struct difference d = { .except = json_get(def->json, "except"), .service = service, .told = size > 0 };

	if (before && after)
		compare(&d, at, before, after);
	else if (before || after)
		differ(&d, at, before, after);
	if (size && d.len > SHOWN_MAX)
		snprintf(text, size, "%s; and %llu more", d.text, (unsigned long long)(d.len - SHOWN_MAX));
	else if (size)
		snprintf(text, size, "%s", d.text);
	return d.len > 0;
}

int
check_unchanged_finish(const struct world_check *def, const struct world *w, const struct check_facts *f,
		       const struct check_writes *t, struct check_result *r)
{
	struct difference d = { .except = json_get(def->json, "except"), .told = true };
	cJSON *before, *after;
	size_t i;
	int rc = check_unchanged_expect(def, r);

	if (rc < 0)
		return rc;
	if (f->truncated[TRUNCATED_STATE]) {
		check_rests_on(r, "/state/final");
		return check_unknown(r, "the final state is not whole: the limit was reached");
	}
	for (i = 0; i < w->services_len; i++) {
		before = f->initial ? f->initial(f->arg, i) : NULL;
		after = f->state(f->arg, i);
		d.service = w->services[i].name;
		if (before && after)
			compare_service(&d, json_get(before, "collections"), json_get(after, "collections"));
		else
			rc = -ENOENT;
		cJSON_Delete(before);
		cJSON_Delete(after);
		if (rc == -ENOENT) {
			check_rests_on(r, "/state");
			return check_unknown(r, "the %s state of %s was not recorded", before ? "final" : "initial",
					     d.service);
		}
	}
	for (i = 0; i < d.len && i < SHOWN_MAX; i++) {
		check_rests_on(r, "/state/final/%s", d.where[i]);
		check_writes_rests(t, d.where[i], r);
	}
	if (d.len == 0)
		check_rests_on(r, "/state/diff");
	r->held = d.len == 0;
	r->idle = r->held && t && !t->effects;
	if (r->held)
		return check_actual(r, "nothing else differs");
	if (d.len > SHOWN_MAX)
		return check_actual(r, "%s; and %llu more", d.text, (unsigned long long)(d.len - SHOWN_MAX));
	return check_actual(r, "%s", d.text);
}
