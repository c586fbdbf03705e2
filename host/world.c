/* SPDX-License-Identifier: GPL-2.0-or-later
 * world.c - see world.h.  Finds and reads the file, checks its text, then hands each key to the file of its subject. */
#include "host/world.h"

#include <assert.h>
#include <cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/json.h"
#include "host/world_read.h"
#include "proto/cursor.h"
#include "proto/frame.h"
#include "proto/number.h"

#define ABOUT_MAX 1024u

void
world_place(const struct world *w, const char *pointer, bool key, struct diag *d)
{
	uint32_t line = 0, column = 0;

	if (w->path)
		(void)snprintf(d->file, sizeof(d->file), "%s", w->path);
	(void)snprintf(d->pointer, sizeof(d->pointer), "%s", pointer);
	d->line = d->column = 0;
	if (w->text && json_locate(w->text, w->text_len, pointer, key, &line, &column) == 0) {
		d->line = line;
		d->column = column;
	}
}

/* ---- the file --------------------------------------------------------------------------------------------------------- */

static int
out_of_memory(struct diag *d)
{
	return diag_set(d, -ENOMEM, "not enough memory");
}

/* Appends the names of the worlds in a folder, "a.world.json, b.world.json", as far as they fit. */
static size_t
list_worlds(const char *folder, char *out, size_t size)
{
	static const char ending[] = ".world.json";
	struct dirent **all = NULL;
	char shown[128];
	size_t len, found = 0, at = 0;
	int n = scandir(folder, &all, NULL, alphasort), i, w;

	out[0] = '\0';
	for (i = 0; i < n; i++) {
		len = strlen(all[i]->d_name);
		if (len > sizeof(ending) - 1 && strcmp(all[i]->d_name + len - (sizeof(ending) - 1), ending) == 0 &&
		    found++ < 8 && at < size) {
			escape_text(all[i]->d_name, len, shown, sizeof(shown));
			w = snprintf(out + at, size - at, "%s%s", at ? ", " : "", shown);
			at += w > 0 ? (size_t)w : 0;
		}
		free(all[i]);
	}
	free(all);
	return found;
}

static int
fail_missing(const char *where, bool folder, struct diag *d)
{
	char names[320];

	if (!folder) {
		(void)snprintf(d->file, sizeof(d->file), "%s", where);
		diag_set(d, -ENOENT, "there is no such file or folder");
		diag_fix(d, "give the path of a world file, or of a folder with a world.json");
		return -ENOENT;
	}
	(void)snprintf(d->file, sizeof(d->file), "%s/world.json", where);
	diag_set(d, -ENOENT, "looked for a world here and found none");
	if (list_worlds(where, names, sizeof(names)) > 0)
		diag_fix(d, "this folder has %s: name the one you mean", names);
	else
		diag_fix(d, "write a world.json in %s, or give the path of a world file", where);
	return -ENOENT;
}

/* Turns what the user gave into the path of a file. */
static int
find_file(const char *where, char **path, struct diag *d)
{
	struct stat st;
	bool folder;
	int r;

	if (!where)
		where = ".";
	if (stat(where, &st) < 0) {
		if (errno == ENOENT || errno == ENOTDIR)
			return fail_missing(where, false, d);
		(void)snprintf(d->file, sizeof(d->file), "%s", where);
		r = diag_set(d, -errno, "cannot be looked at: %s", strerror(errno));
		diag_fix(d, "give the path of a world file that you may read");
		return r;
	}
	folder = S_ISDIR(st.st_mode);
	if (!folder)
		*path = strdup(where);
	else if (strcmp(where, ".") == 0)
		*path = strdup("world.json");
	else if (asprintf(path, "%s%sworld.json", where, where[strlen(where) - 1] == '/' ? "" : "/") < 0)
		*path = NULL;
	if (!*path)
		return out_of_memory(d);
	if (folder && stat(*path, &st) < 0 && errno == ENOENT)
		return fail_missing(where, true, d);
	return 0;
}

static int
fail_size(struct diag *d, uint64_t size)
{
	int r;

	if (size > 0)
		r = diag_set(d, -EMSGSIZE, "the world has %llu bytes; at most %u are read", (unsigned long long)size,
			     WORLD_BYTES_MAX);
	else
		r = diag_set(d, -EMSGSIZE, "the world has more than %u bytes", WORLD_BYTES_MAX);
	diag_fix(d, "a world describes services and checks; keep data in files that the workflow reads");
	return r;
}

static int
read_all(int fd, struct world *w, struct diag *d)
{
	size_t have = 0;
	ssize_t n;

	w->text = malloc(WORLD_BYTES_MAX + 2u);
	if (!w->text)
		return out_of_memory(d);
	do {
		n = read(fd, w->text + have, WORLD_BYTES_MAX + 1u - have);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return diag_set(d, -errno, "cannot be read: %s", strerror(errno));
		have += (size_t)n;
	} while (n != 0 && have <= WORLD_BYTES_MAX);
	if (have > WORLD_BYTES_MAX)
		return fail_size(d, 0);
	w->text[have] = '\0';
	w->text_len = have;
	return 0;
}

static int
read_file(struct world *w, struct diag *d)
{
	struct stat st;
	int fd, r;

	assert(w->path);
	(void)snprintf(d->file, sizeof(d->file), "%s", w->path);
	/* O_NONBLOCK: a fifo in its place must not make us wait. */
	fd = open(w->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0) {
		r = diag_set(d, -errno, "cannot be opened: %s", strerror(errno));
		diag_fix(d, "give the path of a world file that you may read");
		return r;
	}
	if (fstat(fd, &st) < 0) {
		r = diag_set(d, -errno, "cannot be looked at: %s", strerror(errno));
	} else if (!S_ISREG(st.st_mode)) {
		r = diag_set(d, -EPROTO, "is not a regular file");
		diag_fix(d, "give the path of a world file, or of a folder with a world.json");
	} else if (st.st_size > (off_t)WORLD_BYTES_MAX) {
		r = fail_size(d, (uint64_t)st.st_size);
	} else {
		r = read_all(fd, w, d);
	}
	close(fd);
	return r;
}

/* ---- the text --------------------------------------------------------------------------------------------------------- */

/* Encodings that editors write by accident get their own message; a JSON error would only confuse. */
static int
check_encoding(const struct world *w, struct diag *d)
{
	const unsigned char *t = (const unsigned char *)w->text;
	size_t n = w->text_len;
	const char *nul;
	int r = 0;

	if (n == 0) {
		r = diag_set(d, -EPROTO, "the file is empty");
		diag_fix(d, "write a world: { \"agenttwin\": \"world/1\", \"name\": ... }");
	} else if (n >= 3 && t[0] == 0xef && t[1] == 0xbb && t[2] == 0xbf) {
		r = diag_set(d, -EPROTO, "the file starts with a byte order mark");
		diag_fix(d, "save it as UTF-8 without a BOM");
	} else if (n >= 2 &&
		   ((t[0] == 0xff && t[1] == 0xfe) || (t[0] == 0xfe && t[1] == 0xff) || t[0] == 0 || t[1] == 0)) {
		r = diag_set(d, -EPROTO, "the file is UTF-16 or UTF-32, not UTF-8");
		diag_fix(d, "save it as UTF-8 without a BOM");
	} else if ((nul = memchr(w->text, 0, n))) {
		r = diag_set(d, -EPROTO, "there is a NUL byte at offset %zu: this is not a text file",
			     (size_t)(nul - w->text));
		diag_fix(d, "save it as plain UTF-8 text");
	}
	if (r < 0)
		d->line = d->column = 1;
	return r;
}

static int
fail_scan(int r, const struct world *w, const struct json_scan *s, struct diag *d)
{
	(void)snprintf(d->pointer, sizeof(d->pointer), "%.*s", (int)sizeof(d->pointer) - 1, s->pointer);
	d->line = s->line;
	d->column = s->column;
	diag_set(d, r, "%s", s->problem ? s->problem : "malformed JSON");
	if (r == -EMSGSIZE)
		diag_fix(d, "nest at most %u levels deep", WORLD_DEPTH_MAX);
	else
		diag_fix(d, "%s", world_syntax_fix(w->text, w->text_len, s));
	return r;
}

static int
check_numbers(struct wr *c, const struct cJSON *v)
{
	const struct cJSON *m;
	size_t mark, i = 0;
	int r = 0;

	if (cJSON_IsNumber(v) && !(fabs(v->valuedouble) <= NUMBER_EXACT_MAX)) {
		r = wr_fail(c, -EPROTO, "this number is too large to be exact");
		diag_fix(c->d, "stay within 9007199254740991 (2^53-1), or write it as a string");
		return r;
	}
	if (!cJSON_IsObject(v) && !cJSON_IsArray(v))
		return 0;
	for (m = v->child; m && r == 0; m = m->next, i++) {
		mark = m->string ? wr_enter(c, m->string) : wr_enter_index(c, i);
		r = check_numbers(c, m);
		wr_leave(c, mark);
	}
	return r;
}

/* ---- the top-level keys ----------------------------------------------------------------------------------------------- */

static int
read_version(struct wr *c, const struct cJSON *v, void *arg)
{
	const char *text;
	int r = wr_string(c, v, 0, SIZE_MAX, &text);

	(void)arg;
	if (r < 0 || strcmp(text, "world/1") == 0)
		return r;
	if (strncmp(text, "world/", 6) == 0) {
		r = wr_fail(c, -EOPNOTSUPP, "this version reads worlds of format \"world/1\" only");
		diag_fix(c->d, "install a newer version, or write \"world/1\"");
		return r;
	}
	r = wr_fail(c, -EPROTO, "this is not the format of a world");
	diag_fix(c->d, "write \"agenttwin\": \"world/1\"");
	return r;
}

static int
read_name(struct wr *c, const struct cJSON *v, void *arg)
{
	const char *s;
	size_t i;
	int r = wr_string(c, v, 1, 64, &s);

	(void)arg;
	if (r < 0)
		return r;
	for (i = 0; s[i]; i++) {
		if ((s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z') || (s[i] >= '0' && s[i] <= '9') ||
		    (i > 0 && strchr("._-", s[i])))
			continue;
		r = wr_fail(c, -EPROTO,
			    "a name has letters, digits, '.', '_' and '-' only and starts with a letter or digit");
		diag_fix(c->d, "write a name like \"refund-once\"");
		return r;
	}
	c->w->name = s;
	return 0;
}

static int
read_about(struct wr *c, const struct cJSON *v, void *arg)
{
	(void)arg;
	return wr_string(c, v, 0, ABOUT_MAX, &c->w->about);
}

static int
read_seed(struct wr *c, const struct cJSON *v, void *arg)
{
	(void)arg;
	return wr_integer(c, v, 0, 9007199254740991u, &c->w->seed);
}

static int
read_root(struct wr *c, const struct cJSON *v, void *arg)
{
	const char *s;
	int r = wr_string(c, v, 1, BUNDLE_PATH_MAX, &s);

	(void)arg;
	if (r < 0 || s[0] != '/')
		return r;
	r = wr_fail(c, -EPROTO, "root is an absolute path");
	diag_fix(c->d, "write it relative to the world's folder, such as \"..\"");
	return r;
}

static const struct wr_key world_keys[] = {
	{ "$schema", wr_read_text, 0, NULL },
	{ "agenttwin", read_version, WR_REQUIRED, "\"agenttwin\": \"world/1\" as the first key" },
	{ "name", read_name, WR_REQUIRED, "\"name\": \"what-this-world-tests\"" },
	{ "about", read_about, 0, NULL },
	{ "seed", read_seed, 0, NULL },
	{ "limits", world_read_limits, 0, NULL },
	{ "root", read_root, 0, NULL },
	{ "files", world_read_files, WR_REQUIRED,
	  "\"files\": [ \"package.json\", \"src/**\" ]: what may enter the sandbox" },
	{ "keep", world_read_keep, 0, NULL },
	{ "env", world_read_env, 0, NULL },
	{ "secrets", world_read_secrets, 0, NULL },
	{ "services", world_read_services, 0, NULL },
	{ "workflow", world_read_workflow, WR_REQUIRED, "\"workflow\": { \"command\": [ \"node\", \"agent.mjs\" ] }" },
	{ "checks", world_read_checks, WR_REQUIRED,
	  "\"checks\": [ { \"id\": \"exit\", \"kind\": \"exit\", \"code\": 0 } ]; a run without a check proves nothing" },
	{ "sweep", world_read_sweep, 0, NULL },
	{ "clock", world_read_clock, 0, NULL },
	{ "faults", NULL, 0, NULL },
	{ "outcomes", NULL, 0, NULL },
	{ NULL, NULL, 0, NULL },
};

/* What does not even fit as text cannot fit as rows in memory: said here instead of by the twins, a minute later. */
static int
check_state_bytes(struct wr *c)
{
	const struct cJSON *state;
	size_t i, bytes = 0, mark;
	char *text;
	int r = 0;

	for (i = 0; i < c->w->services_len && c->w->limits.state_bytes < WORLD_BYTES_MAX; i++) {
		state = cJSON_GetObjectItemCaseSensitive(c->w->services[i].json, "state");
		if (!state)
			continue;
		text = json_print(state);
		if (!text)
			return out_of_memory(c->d);
		bytes += strlen(text);
		free(text);
	}
	if (bytes <= c->w->limits.state_bytes)
		return 0;
	mark = wr_enter(c, "limits");
	wr_enter(c, "state_bytes");
	r = wr_fail(c, -EPROTO, "the initial state of the services has %zu bytes already", bytes);
	diag_fix(c->d, "raise state_bytes well above that, or shorten the state");
	wr_leave(c, mark);
	return r;
}

int
world_read_text(struct world *w, struct diag *d)
{
	struct wr c = { .w = w, .d = d };
	struct json_scan scan;
	int r;

	memset(&scan, 0, sizeof(scan));
	r = check_encoding(w, d);
	if (r < 0)
		return r;
	r = json_scan(w->text, w->text_len, WORLD_DEPTH_MAX, &scan);
	if (r < 0)
		return fail_scan(r, w, &scan, d);
	w->doc = cJSON_ParseWithLengthOpts(w->text, w->text_len + 1, NULL, true);
	if (!w->doc)
		return out_of_memory(d); /* json_scan accepted the text: nothing else is left to fail */
	w->limits = (struct world_limits){
		.run_ms = RUN_MS_DEFAULT,
		.start_ms = START_MS_DEFAULT,
		.grace_ms = GRACE_MS_DEFAULT,
		.trigger_ms = TRIGGER_MS_DEFAULT,
		.memory_mb = MEMORY_MB_DEFAULT,
		.pids = PIDS_DEFAULT,
		.files = FILES_DEFAULT,
		.disk_mb = DISK_MB_DEFAULT,
		.operations = OPERATIONS_DEFAULT,
		.output_bytes = OUTPUT_BYTES_DEFAULT,
		.state_bytes = STATE_BYTES_DEFAULT,
	};
	r = check_numbers(&c, w->doc);
	if (r == 0)
		r = wr_object(&c, w->doc, world_keys, "the world", NULL);
	if (r == 0)
		r = check_state_bytes(&c);
	if (r == 0)
		r = world_check_env(&c);
	if (r == 0)
		r = world_check_drive(&c);
	if (r == 0)
		r = world_check_faults(&c);
	if (r == 0)
		r = world_check_references(&c); /* checks name faults */
	if (r == 0)
		r = world_check_outcomes(&c);
	if (r == 0)
		r = world_check_vacuous(&c);
	if (r < 0 && r != -ENOMEM && !d->fix[0])
		diag_fix(d, "correct it; agenttwin-world(5) describes every key");
	return r;
}

/* ---- the folder ------------------------------------------------------------------------------------------------------- */

static int
fail_root(struct world *w, int err, struct diag *d, const char *problem, const char *fix)
{
	world_place(w, "/root", false, d);
	diag_set(d, err, "%s", problem);
	diag_fix(d, "%s", fix);
	return err;
}

static bool
is_within(const char *folder, const char *root)
{
	size_t n = strlen(root);

	if (strcmp(root, "/") == 0)
		return true;
	return strncmp(folder, root, n) == 0 && (folder[n] == '\0' || folder[n] == '/');
}

static int
find_root(struct world *w, struct diag *d)
{
	const struct cJSON *key = cJSON_GetObjectItemCaseSensitive(w->doc, "root");
	const char *relative = key ? key->valuestring : ".", *slash = strrchr(w->path, '/');
	char *joined = NULL, *folder = NULL;
	struct stat st;
	int r = 0;

	if (asprintf(&joined, "%.*s", slash ? (int)(slash - w->path) + 1 : 1, slash ? w->path : ".") < 0) {
		joined = NULL;
		r = out_of_memory(d);
		goto out;
	}
	folder = realpath(joined, NULL);
	if (!folder) {
		r = diag_set(d, -errno, "the world's folder cannot be found: %s", strerror(errno));
		goto out;
	}
	free(joined);
	if (asprintf(&joined, "%s/%s", folder, relative) < 0) {
		joined = NULL;
		r = out_of_memory(d);
		goto out;
	}
	w->root = realpath(joined, NULL);
	if (!w->root || stat(w->root, &st) < 0)
		r = fail_root(w, -errno, d, "there is no such folder",
			      "root is the application's folder, relative to the world file");
	else if (!S_ISDIR(st.st_mode))
		r = fail_root(w, -ENOTDIR, d, "root is not a folder", "name the folder that holds the application");
	else if (!is_within(folder, w->root))
		r = fail_root(w, -EPROTO, d, "root does not contain the world file",
			      "root may be \".\" or a folder above it, such as \"..\"");
out:
	free(joined);
	free(folder);
	return r;
}

int
world_load(const char *where, struct world *out, struct diag *d)
{
	struct world w;
	int r;

	memset(&w, 0, sizeof(w));
	memset(d, 0, sizeof(*d));
	r = find_file(where, &w.path, d);
	if (r == 0)
		r = read_file(&w, d);
	if (r == 0) {
		sha256_of(w.text, w.text_len, w.sha256);
		r = world_read_text(&w, d);
	}
	if (r == 0)
		r = world_compile_jq(&w, d);
	if (r == 0)
		r = find_root(&w, d);
	if (r < 0)
		world_wipe(&w);
	else
		*out = w;
	return r;
}

void
world_wipe(struct world *w)
{
	size_t i;

	for (i = 0; i < w->outcomes_len; i++)
		free(w->outcomes[i].when);
	free(w->outcomes);
	for (i = 0; i < w->jq_len; i++)
		free(w->jq[i].pointer);
	free(w->jq);
	free(w->path);
	free(w->root);
	free(w->text);
	free(w->services);
	free(w->checks);
	cJSON_Delete(w->doc);
	memset(w, 0, sizeof(*w));
}
