/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_list.c - lists by fields, cursors and pages; and the indexes below them against plain scans of the same rows. */
#include "guest/index.h"

#include <cJSON.h>

#include "tests/lib/twinask.h"

static int
start(const char *with, const char *route, int rows)
{
	struct buf text;
	int r;

	buf_init(&text, 32u << 20);
	buf_format(&text, "{\"name\":\"s\",\"kind\":\"http\",\"hosts\":[\"s.internal\"],%s\"state\":{\"rows\":[", with);
	for (int i = 0; i < rows; i++)
		buf_format(&text, "%s{\"id\":\"r%d\",\"kind\":\"%s\",\"n\":%d}", i > 0 ? "," : "", i,
			   i % 3 == 0 ? "a" : "b", i % 2);
	buf_format(&text,
		   "]},\"routes\":[{\"resource\":\"rows\",\"path\":\"/v1/rows\",\"filter\":[\"kind\",\"n\"]%s}]}",
		   route);
	buf_terminate(&text);
	r = ok(load(text.at), "a service with %d rows %s%s", rows, with, route);
	buf_wipe(&text);
	return r;
}

/* "r1,r2+" : the ids of a reply, + when there are more. */
static const char *
ids(void)
{
	static char out[2048];
	struct cJSON *all = cJSON_Parse(body()), *data = cJSON_IsArray(all) ? all : cJSON_GetObjectItem(all, "data"),
		     *row;

	out[0] = '\0';
	cJSON_ArrayForEach(row, data) snprintf(out + strlen(out), sizeof(out) - strlen(out), "%s%s", out[0] ? "," : "",
					       cJSON_GetObjectItem(row, "id")->valuestring);
	if (cJSON_IsTrue(cJSON_GetObjectItem(all, "has_more")))
		strcat(out, "+");
	cJSON_Delete(all);
	return out;
}

static void
lists(const char *query, const char *want)
{
	char target[300];

	snprintf(target, sizeof(target), "/v1/rows%s", query);
	if (ask("GET", target, "", "") != 200)
		printf("# %s\n", reply.at);
	is_str(ids(), want, query);
}

static void
test_plain(void)
{
	if (!start("", "", 7))
		return;
	lists("", "r0,r1,r2,r3,r4,r5,r6");
	lists("?kind=a", "r0,r3,r6");
	lists("?kind=a&n=0", "r0,r6");
	lists("?kind=a&kind=b&n=1", "r1,r3,r5");
	lists("?kind=c", "");
	lists("?kind=a&n=2", "");
	lists("?other=1", "r0,r1,r2,r3,r4,r5,r6");
	ask("PATCH", "/v1/rows/r6", "", "{\"kind\":\"b\"}");
	ask("PATCH", "/v1/rows/r1", "", "{\"kind\":\"a\"}");
	lists("?kind=a", "r0,r1,r3");
	ask("DELETE", "/v1/rows/r0", "", "");
	ask("POST", "/v1/rows", "", "{\"id\":\"r9\",\"kind\":\"a\",\"n\":\"1\"}");
	ask("POST", "/v1/rows", "", "{\"id\":\"r8\",\"kind\":{\"a\":1},\"n\":null}");
	lists("?kind=a", "r1,r3,r9");
	lists("?n=1", "r1,r3,r5,r9");
	unload();
}

static void
test_cursor(void)
{
	if (!start("\"profile\":\"stripe/v1\",", "", 12))
		return;
	lists("", "r11,r10,r9,r8,r7,r6,r5,r4,r3,r2+");
	ok(has("{\"object\":\"list\",\"data\":[") && has("\"has_more\":true,\"url\":\"/v1/rows\"}"), "its form");
	lists("?limit=3", "r11,r10,r9+");
	lists("?limit=3&starting_after=r9", "r8,r7,r6+");
	lists("?limit=3&starting_after=r2", "r1,r0");
	lists("?limit=2&starting_after=r2", "r1,r0");
	lists("?starting_after=r0", "");
	lists("?limit=3&ending_before=r5", "r8,r7,r6+");
	lists("?limit=3&ending_before=r8", "r11,r10,r9");
	lists("?ending_before=r11", "");
	lists("?kind=a&limit=2", "r9,r6+");
	lists("?kind=a&limit=2&starting_after=r6", "r3,r0");
	lists("?kind=a&limit=2&starting_after=r5", "r3,r0");
	lists("?kind=a&limit=1&ending_before=r2", "r3+");
	lists("?kind=a&n=0&limit=1&starting_after=r6", "r0");
	lists("?kind=a&kind=b&limit=2", "r11,r10+");
	is_int(ask("GET", "/v1/rows?limit=0", "", ""), 400, "a limit of none");
	is_int(ask("GET", "/v1/rows?limit=101", "", ""), 400, "a limit of too many");
	is_int(ask("GET", "/v1/rows?limit=x", "", ""), 400, "a limit that is none");
	is_int(ask("GET", "/v1/rows?starting_after=zz", "", ""), 400, "a cursor that is no row");
	ok(has("\"code\":\"resource_missing\""), "its code");
	is_int(ask("GET", "/v1/rows?starting_after=r1&ending_before=r3", "", ""), 400, "both ends");
	is_int(ask("POST", "/v1/rows/r3", "Content-Type: application/x-www-form-urlencoded\r\n", "kind=z"), 200,
	       "POST updates");
	lists("?kind=z", "r3");
	is_int(ask("DELETE", "/v1/rows/r3", "", ""), 200, "DELETE");
	is_str(body(), "{\"id\":\"r3\",\"deleted\":true}", "says what is gone");
	unload();
	if (!start("", ",\"page\":\"cursor\"", 4))
		return;
	lists("?limit=3", "r0,r1,r2+");
	lists("?limit=3&starting_after=r2", "r3");
	lists("?limit=2&ending_before=r3", "r1,r2+");
	unload();
}

static void
test_pages(void)
{
	if (!start("\"profile\":\"github\",", "", 65))
		return;
	ask("GET", "/v1/rows", "", "");
	ok(has("Link: <http://s.internal/v1/rows?page=2>; rel=\"next\", <http://s.internal/v1/rows?page=3>; rel=\"last\"\r\n"),
	   "the first page links on");
	lists("?page=3", "r60,r61,r62,r63,r64");
	ok(has("Link: <http://s.internal/v1/rows?page=2>; rel=\"prev\", <http://s.internal/v1/rows?page=1>; rel=\"first\"\r\n"),
	   "the last one back");
	lists("?per_page=2&page=2", "r2,r3");
	ok(has("<http://s.internal/v1/rows?per_page=2&page=1>; rel=\"prev\"") && has("page=33>; rel=\"last\""),
	   "the others both ways");
	lists("?per_page=3&page=2&kind=a", "r9,r12,r15");
	ok(has("?per_page=3&kind=a&page=8>; rel=\"last\""), "the query stays");
	lists("?per_page=2&page=2&kind=a&n=0", "r12,r18");
	lists("?per_page=2&kind=a&kind=b&page=2", "r2,r3");
	lists("?page=99", "");
	ok(has("page=3>; rel=\"prev\""), "beyond the end");
	lists("?page=0&per_page=1", "r0");
	lists("?page=x&per_page=1", "r0");
	lists("?kind=none", "");
	ok(strstr(reply.at, "Link:") == NULL, "one page has no links");
	ask("GET", "/v1/rows?per_page=1000", "", "");
	ok(strlen(ids()) > 200 && strstr(reply.at, "Link:") == NULL, "at most 100 a page");
	lists("?per_page=1&a=%22%3E%0d&page=1", "r0");
	ok(has("?per_page=1&a=%22%3E%0D&page=2>"), "what is sent back is encoded");
	unload();
}

/* ---- indexes against scans --------------------------------------------------------------------------------------------- */

static unsigned long long seed = 99;

static unsigned
next(unsigned n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned)(seed >> 33) % n;
}

static struct cJSON *
some_row(const char *id)
{
	static const char *const texts[] = { "x", "1", "true", "", "y" };
	struct cJSON *row = cJSON_CreateObject();

	cJSON_AddStringToObject(row, "id", id);
	switch (next(6)) {
	case 0:
		cJSON_AddNumberToObject(row, "f", (double)next(3));
		break;
	case 1:
		cJSON_AddBoolToObject(row, "f", next(2) == 1);
		break;
	case 2:
		break;
	case 3:
		cJSON_AddArrayToObject(row, "f");
		break;
	default:
		cJSON_AddStringToObject(row, "f", texts[next(5)]);
	}
	return row;
}

/* Every bucket holds exactly the rows that a scan finds, in their order. */
static int
is_true_to(struct state *s, struct collection *c)
{
	static const char *const keys[] = { "0", "1", "2", "true", "false", "x", "y", "", "none" };
	struct index *x = index_get(s, c, "f"), *all = index_get(s, c, NULL);
	const struct index_bucket *whole = index_find(s, all, "");
	size_t i, n = 0;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const struct index_bucket *b = index_find(s, x, keys[i]);
		size_t at = 0, counts[INDEX_KINDS] = { 0 };

		for (struct row *row = c->first; row != NULL; row = row->after) {
			char number[NUMBER_TEXT_SIZE + 1];
			enum index_kind kind;
			const char *text = index_text(cJSON_GetObjectItemCaseSensitive(row->json, "f"), number, &kind);

			if (text == NULL || strcmp(text, keys[i]) != 0)
				continue;
			if (b == NULL || at >= bucket_len(b) || bucket_at(b, at) != row ||
			    bucket_rank(b, row->number) != at)
				return 0;
			counts[kind]++;
			at++;
		}
		if (b != NULL && (bucket_len(b) != at || at == 0))
			return 0;
		for (int k = 0; b != NULL && k < INDEX_KINDS; k++)
			if (bucket_count(b, (enum index_kind)k) != counts[k])
				return 0;
	}
	for (struct row *row = c->first; row != NULL; row = row->after, n++)
		if (bucket_at(whole, n) != row)
			return 0;
	return c->rows_len == 0 ? whole == NULL : bucket_len(whole) == n;
}

static void
test_index(void)
{
	struct state_budget budget = { .max = 64u << 20, .key = { 5, 6 } };
	struct state s;
	struct collection *c;
	size_t used;
	int bad = 0;

	state_init(&s, &budget, 64u << 20);
	c = state_add_collection(&s, "rows");
	ok(c != NULL && index_get(&s, c, "f") != NULL && index_get(&s, c, NULL) != NULL, "two indexes");
	for (int round = 0; round < 600; round++) {
		for (unsigned i = next(8); i > 0; i--) {
			char id[16];
			struct row *row;
			int r;

			snprintf(id, sizeof(id), "r%u", next(60));
			row = collection_row(&s, c, id);
			if (row == NULL)
				r = state_create(&s, c, id, some_row(id), &row);
			else if (next(3) == 0)
				r = state_delete(&s, c, row);
			else
				r = state_replace(&s, c, row, some_row(id));
			bad += r != 0;
		}
		if (next(2) == 0)
			state_undo(&s);
		else
			state_keep(&s);
		bad += !is_true_to(&s, c);
	}
	is_int(bad, 0, "kept and undone in all ways, they say what a scan says");
	used = budget.indexes;
	ok(used > 0, "they cost something");
	index_wipe(&s, c);
	is_int((long long)budget.indexes, 0, "and nothing when they are gone");
	ok(index_get(&s, c, "f") != NULL && index_get(&s, c, NULL) != NULL && is_true_to(&s, c),
	   "made again from the rows");
	is_int((long long)budget.indexes <= (long long)used, 1, "for no more");
	for (int i = 0; i < 80; i++) {
		char field[16];

		snprintf(field, sizeof(field), "f%d", i);
		bad += (index_get(&s, c, field) != NULL) != (i < 62);
	}
	is_int(bad, 0, "but not without end");
	state_wipe(&s);
	is_int((long long)budget.indexes, 0, "with the state they go");
}

static void
test_aggregates(void)
{
	static const char routes[] =
		"{\"name\":\"s\",\"kind\":\"http\",\"hosts\":[\"s.internal\"],\"state\":{\"rows\":[]},\"routes\":["
		"{\"id\":\"a\",\"match\":{\"method\":\"POST\",\"path\":\"/rows\"},\"do\":[{\"create\":\"rows\"}]},"
		"{\"id\":\"b\",\"match\":{\"method\":\"GET\",\"path\":\"/sums\"},\"reply\":{\"body\":[\"{{count(state.rows, 'k', 'a')}}\",\"{{count(state.rows, 'k', 1)}}\","
		"\"{{count(state.rows, 'k', '1')}}\",\"{{count(state.rows, 'k', true)}}\",\"{{count(state.rows, 'k', null)}}\",\"{{sum(state.rows, 'v', 'k', 'a')}}\",\"{{sum(state.rows, 'v')}}\",\"{{count(state.rows, 'k', 'zz')}}\"]}}]}";
	char text[100], want[200];

	if (!ok(load(routes), "counts and sums"))
		return;
	for (int i = 0; i < 200; i++) {
		static const char *const kinds[] = { "\"a\"", "1", "\"1\"", "true", "null" };

		snprintf(text, sizeof(text), "{\"k\":%s,\"v\":%d}", kinds[i % 5], i);
		ask("POST", "/rows", "", text);
		if (i != 9 && i != 199)
			continue;
		ask("GET", "/sums", "", "");
		snprintf(want, sizeof(want), "[%d,%d,%d,%d,%d,%d,%d,0]", (i + 1) / 5, (i + 1) / 5, (i + 1) / 5,
			 (i + 1) / 5, (i + 1) / 5, i == 9 ? 5 : 3900, i == 9 ? 45 : 19900);
		is_str(body(), want, i == 9 ? "by a scan" : "by an index");
	}
	ok(world.services[0].state.collections->indexes != NULL, "which there is");
	unload();
}

int
main(void)
{
	test_plain();
	test_cursor();
	test_pages();
	test_index();
	test_aggregates();
	return tap_done();
}
