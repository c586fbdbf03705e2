/* SPDX-License-Identifier: GPL-2.0-or-later
 * cmd_doctor.c - agenttwin-host doctor: which backends work on this machine, and what mends those that do not. */
#include <cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/backend.h"
#include "host/cmd.h"
#include "host/diag.h"

#define EXIT_USAGE 2
#define EXIT_NONE 4

static const char *const names[] = { "namespace", "local" };
#define NAMES_LEN (sizeof(names) / sizeof(names[0]))

static void
print_text(const char *name, bool works, const struct doctor *d)
{
	bool paint = isatty(STDOUT_FILENO) == 1 && log_is_colour();
	char found[600], fix[1100];
	const struct doctor_item *i;
	size_t k;

	printf("%s: %s%s\n", name, works ? "works" : "does not work",
	       strcmp(name, "local") == 0 ? " (is no sandbox)" : "");
	for (k = 0; k < d->items_len; k++) {
		i = &d->items[k];
		escape_text(i->found, strlen(i->found), found, sizeof(found));
		escape_text(i->fix, strlen(i->fix), fix, sizeof(fix));
		printf("  %s%-6s%s %s: %s\n",
		       !paint  ? ""
		       : i->ok ? "\033[32m"
			       : "\033[31m",
		       i->ok ? "ok" : "no", paint ? "\033[0m" : "", i->what, found);
		if (!i->ok && fix[0])
			printf("         fix: %s\n", fix);
	}
}

static void
add_json(cJSON *list, const char *name, bool works, const struct backend_ops *ops, const struct doctor *d)
{
	cJSON *b = cJSON_CreateObject(), *items, *o;
	const struct doctor_item *i;
	size_t k;

	cJSON_AddStringToObject(b, "runtime", name);
	cJSON_AddBoolToObject(b, "works", works);
	cJSON_AddBoolToObject(b, "sandbox", (ops->flags & BACKEND_SANDBOX) != 0);
	items = cJSON_AddArrayToObject(b, "items");
	for (k = 0; k < d->items_len; k++) {
		i = &d->items[k];
		o = cJSON_CreateObject();
		cJSON_AddBoolToObject(o, "ok", i->ok);
		cJSON_AddStringToObject(o, "what", i->what);
		cJSON_AddStringToObject(o, "found", i->found);
		if (i->fix[0])
			cJSON_AddStringToObject(o, "fix", i->fix);
		else
			cJSON_AddNullToObject(o, "fix");
		cJSON_AddItemToArray(items, o);
	}
	cJSON_AddItemToArray(list, b);
}

static const char help[] =
	"usage: agenttwin-host doctor [--runtime NAME] [--json]\n"
	"Says which backends work on this machine, and names the command that mends what is missing.\n"
	"  --runtime NAME  this one alone: namespace or local\n"
	"  --json          the same as one JSON document\n"
	"Exit status: 0 the named runtime (else: at least one) works, 4 it does not.\n";

static int
usage(const char *what, const char *arg)
{
	struct diag d = { 0 };

	diag_fix(&d, "agenttwin-host doctor [--runtime namespace|local] [--json]");
	diag_set(&d, -EINVAL, "%s%s%s", what, arg ? " " : "", arg ? arg : "");
	log_diag(&d);
	return EXIT_USAGE;
}

static int
examine(const char *only, bool json)
{
	cJSON *doc = json ? cJSON_CreateObject() : NULL, *list = json ? cJSON_AddArrayToObject(doc, "runtimes") : NULL;
	static struct doctor d;
	bool any = false, works;
	char *text;
	size_t k;

	for (k = 0; k < NAMES_LEN; k++) {
		const struct backend_ops *ops = backend_find(names[k]);

		if (!ops || (only && strcmp(only, names[k]) != 0))
			continue;
		memset(&d, 0, sizeof(d));
		works = ops->doctor(&d) == 0;
		any |= works;
		if (json)
			add_json(list, names[k], works, ops, &d);
		else
			print_text(names[k], works, &d);
	}
	if (json) {
		text = cJSON_Print(doc);
		cJSON_Delete(doc);
		if (!text)
			return EXIT_NONE;
		puts(text);
		cJSON_free(text);
	}
	return fflush(stdout) == 0 && !ferror(stdout) && any ? 0 : EXIT_NONE;
}

/* see cmd.h */
int
cmd_doctor(int argc, char **argv)
{
	const char *only = NULL;
	bool json = false;
	int i;

	for (i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--json") == 0)
			json = true;
		else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
			return fputs(help, stdout) < 0 || fflush(stdout) != 0 ? 2 : 0;
		else if (strncmp(argv[i], "--runtime=", 10) == 0)
			only = argv[i] + 10;
		else if (strcmp(argv[i], "--runtime") == 0 && i + 1 < argc)
			only = argv[++i];
		else if (strcmp(argv[i], "--runtime") == 0)
			return usage("--runtime needs a name", NULL);
		else
			return usage("doctor does not know", argv[i]);
	}
	if (only && !backend_find(only))
		return usage("no such runtime:", only);
	return examine(only, json);
}
