/* SPDX-License-Identifier: GPL-2.0-or-later
 * store_list.c - see store_list.h. */
#include "host/store_list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DAY_MS 86400000ull
#define RUNNING_MS (2 * DAY_MS) /* a run lasts a day at most */
#define RUNS_MAX 1000000u

/* ---- names ------------------------------------------------------------------------------------------------------------ */

/* Is text a UUID of version 7 in lower case?  Its time. */
static bool
is_run_id(const char *text, uint64_t *unix_ms)
{
	static const char digits[] = "0123456789abcdef";
	const char *d;
	size_t i;

	*unix_ms = 0;
	for (i = 0; i < STORE_ID_LEN; i++) {
		if (i == 8 || i == 13 || i == 18 || i == 23) {
			if (text[i] != '-')
				return false;
			continue;
		}
		d = text[i] ? strchr(digits, text[i]) : NULL;
		if (!d)
			return false;
		if (i < 13)
			*unix_ms = *unix_ms << 4 | (uint64_t)(d - digits);
	}
	return text[14] == '7' && strchr("89ab", text[19]);
}

enum kind { NOTHING, RECEIPT, EVENTS, TEMPORARY };

/* What a file is by its name; *id is where its run's id starts. */
static enum kind
kind_of(const char *name, const char **id, uint64_t *unix_ms)
{
	size_t n = strlen(name);

	*id = name[0] == '.' ? name + 1 : name;
	if (n < STORE_ID_LEN + 5 || !is_run_id(*id, unix_ms))
		return NOTHING;
	if (name[0] == '.')
		return strcmp(name + 1 + STORE_ID_LEN, ".json.tmp") == 0 ? TEMPORARY : NOTHING;
	if (strcmp(name + STORE_ID_LEN, ".json") == 0)
		return RECEIPT;
	return strcmp(name + STORE_ID_LEN, ".events.jsonl") == 0 ? EVENTS : NOTHING;
}

/* ---- folders ---------------------------------------------------------------------------------------------------------- */

static int
below(int fd, const char *name)
{
	int sub = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (sub < 0)
		return -errno;
	return sub;
}

int
store_folder(const char *root, bool itself, char *path, size_t size)
{
	int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC), top, receipts;

	if (fd < 0)
		return -errno;
	snprintf(path, size, "%s/.agenttwin/receipts", root);
	if (strcmp(root, ".") == 0)
		snprintf(path, size, ".agenttwin/receipts");
	top = below(fd, ".agenttwin");
	if (top == -ENOENT && itself) {
		snprintf(path, size, "%s", root);
		return fd; /* moved */
	}
	close(fd);
	if (top < 0)
		return top;
	receipts = below(top, "receipts");
	close(top);
	return receipts;
}

int
store_state_folder(char *path, size_t size)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	int fd;

	if (state && state[0] == '/')
		snprintf(path, size, "%s/agenttwin", state);
	else if (home && home[0] == '/')
		snprintf(path, size, "%s/.local/state/agenttwin", home);
	else
		return -ENOENT;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	return fd;
}

/* ---- runs --------------------------------------------------------------------------------------------------------------- */

/* The newest first. */
static int
by_id(const void *a, const void *b)
{
	const struct store_run *x = a, *y = b;

	return strcmp(y->id, x->id);
}

/* Files of one run become one entry. */
static void
join(struct store_runs *r)
{
	size_t i, n = 0;

	qsort(r->list, r->len, sizeof(*r->list), by_id);
	for (i = 0; i < r->len; i++) {
		if (n == 0 || strcmp(r->list[n - 1].id, r->list[i].id) != 0) {
			r->list[n++] = r->list[i];
			continue;
		}
		r->list[n - 1].receipt |= r->list[i].receipt;
		r->list[n - 1].events |= r->list[i].events;
		r->list[n - 1].temporary |= r->list[i].temporary;
	}
	r->len = n;
}

static int
note(struct store_runs *r, size_t *size, const char *name)
{
	struct store_run run = { 0 }, *more;
	const char *id;
	enum kind kind = kind_of(name, &id, &run.unix_ms);

	if (kind == NOTHING)
		return 0;
	if (r->len == *size) {
		if (*size >= 3 * RUNS_MAX)
			return -EMSGSIZE;
		*size = *size ? 2 * *size : 256;
		more = realloc(r->list, *size * sizeof(*more));
		if (!more)
			return -ENOMEM;
		r->list = more;
	}
	memcpy(run.id, id, STORE_ID_LEN);
	run.receipt = kind == RECEIPT;
	run.events = kind == EVENTS;
	run.temporary = kind == TEMPORARY;
	r->list[r->len++] = run;
	return 0;
}

int
store_runs_read(int dir_fd, struct store_runs *out)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	struct dirent *e;
	size_t size = 0;
	DIR *d;

	memset(out, 0, sizeof(*out));
	d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		r = -errno;
		if (fd >= 0)
			close(fd);
		return r;
	}
	/* cppcheck-suppress readdirCalled; the program has one thread */
	for (errno = 0; r == 0 && (e = readdir(d)); errno = r == 0 ? 0 : errno)
		r = note(out, &size, e->d_name);
	if (r == 0 && errno)
		r = -errno;
	closedir(d);
	if (r == 0 && out->len)
		join(out);
	return r;
}

void
store_runs_wipe(struct store_runs *r)
{
	free(r->list);
	memset(r, 0, sizeof(*r));
}

/* ---- pruning -------------------------------------------------------------------------------------------------------------- */

/* A file of ours begins as they do; what else has such a name is not ours to remove. */
static bool
begins_as(int dir_fd, const char *name, const char *text)
{
	char head[64] = "";
	ssize_t n;
	int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return false;
	n = read(fd, head, sizeof(head) - 1);
	close(fd);
	return n == 0 || (n > 0 && strstr(head, text));
}

/* 1: it is gone by us; 0: it is not there, or not ours; -errno. */
static int
gone(int dir_fd, const char *name, const char *text, bool dry_run)
{
	struct stat st;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISREG(st.st_mode) || (text && !begins_as(dir_fd, name, text)))
		return 0;
	if (dry_run)
		return 1;
	if (unlinkat(dir_fd, name, 0) < 0)
		return errno == ENOENT ? 0 : -errno;
	return 1;
}

/* The receipt goes first: one without its event file could not be verified, while an event file alone goes some day. */
static int
run_gone(int dir_fd, const struct store_run *run, bool dry_run)
{
	static const char *const texts[] = { "\"agenttwin\": \"receipt/", "{", NULL };
	const bool has[] = { run->receipt, run->events, run->temporary };
	char name[64];
	int r, removed = 0;
	size_t i;

	for (i = 0; i < 3; i++) {
		if (!has[i])
			continue;
		snprintf(name, sizeof(name), i == 0 ? "%s.json" : i == 1 ? "%s.events.jsonl" : ".%s.json.tmp", run->id);
		r = gone(dir_fd, name, texts[i], dry_run);
		if (r < 0)
			return r;
		if (r == 0 && i == 0)
			return 0; /* not a receipt: its events may be somebody's too */
		removed |= r;
	}
	return removed;
}

int
store_prune(int dir_fd, struct store_prune *p)
{
	uint64_t receipts = 0, age;
	struct store_runs runs;
	const char *why;
	size_t i;
	int r = store_runs_read(dir_fd, &runs), one;

	p->removed = p->kept = p->failed = 0;
	for (i = 0; r == 0 && i < runs.len; i++) {
		const struct store_run *run = &runs.list[i];

		age = p->now_ms > run->unix_ms ? p->now_ms - run->unix_ms : 0;
		why = NULL;
		if (!run->receipt)
			why = age > RUNNING_MS ? "left without a receipt" : NULL;
		else if (age > p->days * DAY_MS)
			why = "too old";
		else if (receipts >= p->keep)
			why = "too many";
		one = why ? run_gone(dir_fd, run, p->dry_run) : 0;
		if (one < 0) {
			p->failed++;
			p->error = p->error ? p->error : one;
		}
		if (one > 0) {
			p->removed++;
			if (p->told)
				p->told(p->arg, run, why);
		} else if (run->receipt) {
			receipts++;
			p->kept++;
		}
	}
	store_runs_wipe(&runs);
	return r;
}
