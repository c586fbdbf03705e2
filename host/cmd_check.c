/* SPDX-License-Identifier: GPL-2.0-or-later
 * cmd_check.c - `check`: validates a world and lists exactly what would enter the sandbox.  Starts nothing, makes no
 * credential. */
#include <cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/cmd.h"
#include "host/cred.h"
#include "host/diag.h"
#include "host/stage.h"
#include "host/world.h"
#include "proto/frame.h"
#include "proto/plan.h"

static const char usage[] = "usage: agenttwin-host check [--json] [WORLD]\n"
			    "  WORLD   a world file, or a folder with world.json; default: the current folder\n"
			    "  --json  the same as one JSON document\n"
			    "Exit status: 0 the world is valid, 2 it is not.\n";

struct options {
	bool json, help;
	const char *world;
};

static int
read_options(int argc, char **argv, struct options *o)
{
	bool only_names = false;
	int i;

	memset(o, 0, sizeof(*o));
	for (i = 1; i < argc; i++) {
		if (!only_names && strcmp(argv[i], "--") == 0) {
			only_names = true;
		} else if (!only_names && strcmp(argv[i], "--json") == 0) {
			o->json = true;
		} else if (!only_names && (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)) {
			o->help = true;
		} else if (!only_names && argv[i][0] == '-' && argv[i][1]) {
			log_line(LOG_LEVEL_ERROR, "check: unknown option %s", argv[i]);
			return -EINVAL;
		} else if (o->world) {
			log_line(LOG_LEVEL_ERROR, "check: one world at a time; found %s and %s", o->world, argv[i]);
			return -EINVAL;
		} else {
			o->world = argv[i];
		}
	}
	return 0;
}

/* ---- for people ------------------------------------------------------------------------------------------------------- */

static void
print_escaped(const char *s)
{
	char shown[4096 + 4];

	escape_text(s, strlen(s), shown, sizeof(shown));
	fputs(shown, stdout);
}

static void
print_files(const struct world *w, const struct stage *s)
{
	char digits[65];
	size_t i;

	printf("files: %zu, %" PRIu64 " bytes, from ", s->entries_len, s->bytes);
	print_escaped(w->root);
	putchar('\n');
	for (i = 0; i < s->entries_len; i++) {
		const struct stage_entry *e = &s->entries[i];

		sha256_hex(e->sha256, digits);
		if (e->kind == PLAN_LINK) {
			printf("  link %10s  %-64s  ", "-", "-");
			print_escaped(e->path);
			fputs(" -> ", stdout);
			print_escaped(e->target);
		} else {
			printf("  %04o %10" PRIu64 "  %s  ", e->mode, e->size, digits);
			print_escaped(e->path);
		}
		putchar('\n');
	}
	if (s->left_out_len > 0)
		printf("left out: %zu (\"keep\" takes one knowingly)\n", s->left_out_len);
	for (i = 0; i < s->left_out_len; i++) {
		printf("  %-24s  ", s->left_out[i].rule);
		print_escaped(s->left_out[i].path);
		putchar('\n');
	}
}

static void
print_world(const struct world *w)
{
	const struct cJSON *v;
	const char *base[CRED_BASE_MAX];
	size_t i, n = cred_base_env(w, base);

	printf("variables: %zu\n", n + (w->env ? (size_t)cJSON_GetArraySize(w->env) : 0));
	for (v = w->env ? w->env->child : NULL; v; v = v->next) {
		printf("  %s=", v->string);
		print_escaped(v->valuestring);
		putchar('\n');
	}
	for (i = 0; i < n; i++)
		printf("  %s (as in every run)\n", base[i]);
	printf("services: %zu\n", w->services_len);
	for (i = 0; i < w->services_len; i++) {
		const struct world_service *s = &w->services[i];

		printf("  %s  %u.%u.%u.%u port %u  ", s->name, s->address[0], s->address[1], s->address[2],
		       s->address[3], s->port);
		for (v = s->hosts->child; v; v = v->next)
			printf("%s%s", v->valuestring, v->next ? " " : "\n");
	}
	printf("command:");
	for (v = w->command->child; v; v = v->next) {
		putchar(' ');
		print_escaped(v->valuestring);
	}
	putchar('\n');
	printf("checks: %zu\n", w->checks_len);
	for (i = 0; i < w->checks_len; i++)
		printf("  %s (%s)\n", w->checks[i].id,
		       cJSON_GetObjectItemCaseSensitive(w->checks[i].json, "kind")->valuestring);
}

/* ---- for programs ----------------------------------------------------------------------------------------------------- */

static struct cJSON *
add_item(struct cJSON *array)
{
	struct cJSON *o = cJSON_CreateObject();

	if (o && cJSON_AddItemToArray(array, o))
		return o;
	cJSON_Delete(o);
	return NULL;
}

static bool
add_file(struct cJSON *o, const struct stage_entry *e)
{
	char text[65];

	if (!o || !cJSON_AddStringToObject(o, "path", e->path))
		return false;
	if (e->kind == PLAN_LINK)
		return cJSON_AddStringToObject(o, "link", e->target) != NULL;
	(void)snprintf(text, sizeof(text), "%04o", e->mode);
	if (!cJSON_AddNumberToObject(o, "size", (double)e->size) || !cJSON_AddStringToObject(o, "mode", text))
		return false;
	sha256_hex(e->sha256, text);
	return cJSON_AddStringToObject(o, "sha256", text) != NULL;
}

static bool
add_files(struct cJSON *doc, const struct stage *s)
{
	struct cJSON *list = cJSON_AddArrayToObject(doc, "files"), *o;
	size_t i;

	for (i = 0; list && i < s->entries_len; i++)
		if (!add_file(add_item(list), &s->entries[i]))
			return false;
	if (!list || !(list = cJSON_AddArrayToObject(doc, "left_out")))
		return false;
	for (i = 0; i < s->left_out_len; i++) {
		o = add_item(list);
		if (!o || !cJSON_AddStringToObject(o, "path", s->left_out[i].path) ||
		    !cJSON_AddStringToObject(o, "rule", s->left_out[i].rule))
			return false;
	}
	if (!(list = cJSON_AddArrayToObject(doc, "warnings")))
		return false;
	for (i = 0; i < s->warnings_len; i++) {
		o = cJSON_CreateString(s->warnings[i]);
		if (!o || !cJSON_AddItemToArray(list, o)) {
			cJSON_Delete(o);
			return false;
		}
	}
	return true;
}

static bool
add_copy(struct cJSON *o, const char *name, const struct cJSON *v)
{
	struct cJSON *copy = v ? cJSON_Duplicate(v, true) : cJSON_CreateObject();

	if (copy && cJSON_AddItemToObject(o, name, copy))
		return true;
	cJSON_Delete(copy);
	return false;
}

static bool
add_service(struct cJSON *o, const struct world_service *s)
{
	char address[16];

	(void)snprintf(address, sizeof(address), "%u.%u.%u.%u", s->address[0], s->address[1], s->address[2],
		       s->address[3]);
	return o && cJSON_AddStringToObject(o, "name", s->name) && add_copy(o, "hosts", s->hosts) &&
	       cJSON_AddStringToObject(o, "address", address) && cJSON_AddNumberToObject(o, "port", s->port) &&
	       cJSON_AddStringToObject(o, "url", s->url);
}

/* The variables of every run, as an object like env. */
static bool
add_base_env(struct cJSON *doc, const struct world *w)
{
	struct cJSON *o = cJSON_AddObjectToObject(doc, "env_of_every_run");
	const char *base[CRED_BASE_MAX];
	size_t n = cred_base_env(w, base), i;
	char name[64];

	for (i = 0; o && i < n; i++) {
		(void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(base[i], "="), base[i]);
		if (!cJSON_AddStringToObject(o, name, strchr(base[i], '=') + 1))
			return false;
	}
	return o != NULL;
}

static bool
fill(struct cJSON *doc, const struct world *w, const struct stage *s)
{
	struct cJSON *list, *o;
	char digits[65], path[4096 + 4], seed[24];
	size_t i;

	escape_text(w->path, strlen(w->path), path,
		    sizeof(path)); /* a path on this machine need not be UTF-8, JSON must */
	(void)snprintf(seed, sizeof(seed), "%" PRIu64, w->seed); /* cJSON would round the largest */
	sha256_hex(w->sha256, digits);
	o = cJSON_AddObjectToObject(doc, "world");
	if (!o || !cJSON_AddStringToObject(o, "name", w->name) || !cJSON_AddStringToObject(o, "path", path) ||
	    !cJSON_AddStringToObject(o, "sha256", digits) || !cJSON_AddStringToObject(o, "root", w->root) ||
	    !cJSON_AddRawToObject(o, "seed", seed) || !cJSON_AddNumberToObject(doc, "bytes", (double)s->bytes) ||
	    !add_files(doc, s) || !add_copy(doc, "env", w->env) || !add_base_env(doc, w) ||
	    !(list = cJSON_AddArrayToObject(doc, "services")))
		return false;
	for (i = 0; i < w->services_len; i++)
		if (!add_service(add_item(list), &w->services[i]))
			return false;
	if (!add_copy(doc, "command", w->command) || !(list = cJSON_AddArrayToObject(doc, "checks")))
		return false;
	for (i = 0; i < w->checks_len; i++) {
		o = add_item(list);
		if (!o || !cJSON_AddStringToObject(o, "id", w->checks[i].id) ||
		    !cJSON_AddStringToObject(o, "kind",
					     cJSON_GetObjectItemCaseSensitive(w->checks[i].json, "kind")->valuestring))
			return false;
	}
	return true;
}

static int
print_json(const struct world *w, const struct stage *s, struct diag *d)
{
	struct cJSON *doc = cJSON_CreateObject();
	char *text = NULL;

	if (doc && cJSON_AddStringToObject(doc, "agenttwin", "check/1") && fill(doc, w, s))
		text = cJSON_Print(doc);
	cJSON_Delete(doc);
	if (!text) {
		memset(d, 0, sizeof(*d));
		return diag_set(d, -ENOMEM, "not enough memory");
	}
	puts(text);
	free(text);
	return 0;
}

/* ---- the command ------------------------------------------------------------------------------------------------------ */

static int
check(const struct options *o, struct diag *d)
{
	struct stage s = { .root_fd = -1 };
	struct world w;
	size_t i;
	int r;

	memset(&w, 0, sizeof(w));
	r = world_load(o->world, &w, d);
	if (r < 0)
		return r;
	r = stage_collect(&w, &s, d);
	if (r < 0)
		goto out;
	for (i = 0; i < s.warnings_len; i++)
		log_line(LOG_LEVEL_WARN, "%s", s.warnings[i]);
	if (o->json) {
		r = print_json(&w, &s, d);
	} else {
		printf("world: %s, seed %" PRIu64 ", ", w.name, w.seed);
		print_escaped(w.path);
		putchar('\n');
		print_files(&w, &s);
		print_world(&w);
	}
	if (r == 0 && fflush(stdout) != 0) {
		memset(d, 0, sizeof(*d));
		r = diag_set(d, -EIO, "standard output cannot be written: %s", strerror(errno));
	}
out:
	stage_wipe(&s);
	world_wipe(&w);
	return r;
}

int
cmd_check(int argc, char **argv)
{
	struct options o;
	struct diag d;

	memset(&d, 0, sizeof(d));
	if (read_options(argc, argv, &o) < 0) {
		fputs(usage, stderr);
		return 2;
	}
	if (o.help) {
		fputs(usage, stdout);
		return 0;
	}
	if (check(&o, &d) < 0) {
		log_diag(&d);
		return 2;
	}
	return 0;
}
