// SPDX-License-Identifier: GPL-2.0-or-later
// test_world_memory.c - each allocation fails in turn: reading a world, staging and making credentials end with -ENOMEM, never
// with a crash, a leak or half a result.
// LINK: -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc -Wl,--wrap=strdup -Wl,--wrap=vasprintf -Wl,--wrap=asprintf
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cJSON.h>

#include "host/cred.h"
#include "host/diag.h"
#include "host/stage.h"
#include "host/world.h"
#include "tests/lib/tap.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
char *__real_strdup(const char *s);
int __real_vasprintf(char **out, const char *format, va_list ap);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
char *__wrap_strdup(const char *s);
int __wrap_vasprintf(char **out, const char *format, va_list ap);
int __wrap_asprintf(char **out, const char *format, ...);

static long left = -1; // allocations until one fails; below 0: none does

static bool
fails(void)
{
	if (left < 0)
		return false;
	if (left > 0) {
		left--;
		return false;
	}
	left = -1;
	errno = ENOMEM;
	return true;
}

void *
__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *
__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *
__wrap_realloc(void *p, size_t size)
{
	return fails() ? NULL : __real_realloc(p, size);
}

char *
__wrap_strdup(const char *s)
{
	return fails() ? NULL : __real_strdup(s);
}

int
__wrap_vasprintf(char **out, const char *format, va_list ap)
{
	return fails() ? -1 : __real_vasprintf(out, format, ap);
}

int
__wrap_asprintf(char **out, const char *format, ...)
{
	va_list ap;
	int r;

	va_start(ap, format);
	r = __wrap_vasprintf(out, format, ap);
	va_end(ap);
	return r;
}

static char folder[] = "/tmp/test-memory-XXXXXX";

static void
put(const char *name, const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "w");
	if (!f || fputs(text, f) < 0 || fclose(f) != 0)
		abort();
}

static void
prepare(void)
{
	char path[128];

	if (!mkdtemp(folder))
		abort();
	snprintf(path, sizeof(path), "%s/node_modules", folder);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/node_modules/link", folder);
	if (symlink("zod.js", path) < 0)
		abort();
	put("node_modules/zod.js", "x");
	put("node_modules/.npmrc", "x");
	put("A.js", "x");
	put("a.js", "x");
	put("world.json",
	    "{\"agenttwin\":\"world/1\",\"name\":\"w\",\"files\":[\"*.js\",\"node_modules/**\"],\"env\":{\"A\":\"{{secret.p}}\"},"
	    "\"services\":[{\"name\":\"p\",\"kind\":\"http\",\"hosts\":[\"p.internal\"],\"unmatched\":404,\"auth\":{\"scheme\":\"bearer\",\"accept\":\"{{secret.p}}\"},"
	    "\"state\":{\"r\":[{\"id\":\"a\"},{\"id\":\"b\",\"n\":0.30000000000000004}]},\"routes\":[{\"resource\":\"r\",\"path\":\"/r\"}]}],"
	    "\"workflow\":{\"command\":[\"node\",\"b.js\"]},\"checks\":[{\"id\":\"e\",\"kind\":\"stdout\",\"contains\":\"x\"}]}");
}

static void
clean(void)
{
	static const char *const names[] = { "node_modules/link",
					     "node_modules/zod.js",
					     "node_modules/.npmrc",
					     "node_modules",
					     "A.js",
					     "a.js",
					     "world.json",
					     "" };
	char path[128];
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		remove(path);
	}
}

static int
once(void)
{
	struct stage s;
	struct world w;
	struct cred c;
	struct diag d;
	int r;

	r = world_load(folder, &w, &d);
	if (r < 0)
		return r;
	r = stage_collect(&w, &s, &d);
	if (r == 0) {
		r = cred_make(&w, "run", 1, NULL, &c, &d);
		if (r == 0)
			cred_wipe(&c);
		stage_wipe(&s);
	}
	world_wipe(&w);
	return r;
}

int
main(void)
{
	cJSON_Hooks hooks = { .malloc_fn = __wrap_malloc, .free_fn = free };
	long n, wrong = 0;
	int r;

	prepare();
	r = once();
	cJSON_InitHooks(&hooks);
	is_int(r, 0, "with all the memory there is");
	for (n = 0; n < 100000; n++) {
		left = n;
		r = once();
		if (left >= 0)
			break; // it came to its end before the n-th allocation
		left = -1;
		wrong += r != -ENOMEM;
		if (r != -ENOMEM)
			printf("# allocation %ld: %d\n", n, r);
	}
	left = -1;
	ok(n > 100 && r == 0, "at last it succeeds, after %ld failures", n);
	is_int(wrong, 0, "each failure is reported");
	clean();
	return tap_done();
}
