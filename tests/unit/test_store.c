/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_store.c - the runs in a folder of receipts, and which of their files go. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "host/diag.h"
#include "host/store.h"
#include "host/store_list.h"
#include "tests/lib/tap.h"

#define DAY 86400000ull
#define NOW (1800000000000ull)

static char root[64];
static int dir;

static void
id_of(uint64_t ms, unsigned n, char out[static 64])
{
	sprintf(out, "%08llx-%04llx-7000-8000-%012x", (unsigned long long)(ms >> 16), (unsigned long long)(ms & 0xffff),
		n);
}

static void
put(const char *name, const char *text)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		abort();
	close(fd);
}

/* what: r receipt, e events, t temporary. */
static void
run(uint64_t ms, unsigned n, const char *what)
{
	char id[64], name[96];

	id_of(ms, n, id);
	if (strchr(what, 'r')) {
		sprintf(name, "%s.json", id);
		put(name, "{\n  \"agenttwin\": \"receipt/1\",\n  \"status\": \"passed\"\n}\n");
	}
	if (strchr(what, 'e')) {
		sprintf(name, "%s.events.jsonl", id);
		put(name, "{}\n");
	}
	if (strchr(what, 't')) {
		sprintf(name, ".%s.json.tmp", id);
		put(name, "{");
	}
}

static bool
there(uint64_t ms, unsigned n, const char *format)
{
	char id[64], name[96];
	struct stat st;

	id_of(ms, n, id);
	snprintf(name, sizeof(name), *format == '.' ? ".%s%s" : "%s%s", id, *format == '.' ? ".json.tmp" : format + 1);
	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static void
start(void)
{
	char path[128];

	snprintf(root, sizeof(root), "/tmp/test_store.XXXXXX");
	if (!mkdtemp(root))
		abort();
	snprintf(path, sizeof(path), "%s/.agenttwin", root);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/.agenttwin/receipts", root);
	mkdir(path, 0755);
	dir = store_folder(root, false, path, sizeof(path));
	if (dir < 0)
		abort();
}

static void
end(void)
{
	char command[128];

	close(dir);
	snprintf(command, sizeof(command), "rm -rf %s", root);
	if (system(command) != 0)
		printf("# %s is left\n", root);
}

static void
count(void *arg, const struct store_run *r, const char *why)
{
	(void)r;
	(void)why;
	++*(int *)arg;
}

static void
test_list(void)
{
	struct store_runs runs;
	char id[64];

	start();
	run(NOW - 3, 0, "re");
	run(NOW - 1, 0, "e");
	run(NOW - 2, 0, "r");
	run(NOW - 2, 1, "ret");
	put("notes.json", "{}");
	put("01a22f98-eb2f-78c1-8793-17a97a9ee67X.json", "{}");
	put("01a22f98-eb2f-48c1-8793-17a97a9ee670.json", "{}");
	put("01a22f98-eb2f-78c1-8793-17a97a9ee670.json5", "{}");
	put("01a22f98-eb2f-78c1-8793-17a97a9ee670", "{}");
	is_int(store_runs_read(dir, &runs), 0, "a folder");
	is_int((long long)runs.len, 4, "its runs, nothing else");
	id_of(NOW - 1, 0, id);
	is_str(runs.list[0].id, id, "the newest first");
	ok(!runs.list[0].receipt && runs.list[0].events, "which has no receipt yet");
	ok(runs.list[1].receipt && runs.list[1].events && runs.list[1].temporary, "files of one run are one entry");
	ok(runs.list[0].unix_ms == NOW - 1, "its time");
	store_runs_wipe(&runs);
	end();
}

static void
test_prune(void)
{
	int told = 0;
	struct store_prune p = { .keep = 3, .days = 30, .now_ms = NOW, .dry_run = true, .told = count, .arg = &told };
	unsigned i;

	start();
	for (i = 0; i < 5; i++)
		run(NOW - 1000 * i, 0, "re");
	run(NOW - 31 * DAY, 0, "ret");
	run(NOW - 3 * DAY, 0, "et"); /* died */
	run(NOW - DAY, 0, "et");     /* may be running */
	run(NOW + DAY, 0, "re");     /* of a clock that is ahead */
	put(".gitignore", "*\n");
	is_int(store_prune(dir, &p), 0, "a trial");
	ok(p.removed == 5 && p.kept == 3 && told == 5, "says what would go");
	ok(there(NOW - 31 * DAY, 0, "r.json") && there(NOW - 4000, 0, "r.json"), "and removes nothing");
	p.dry_run = false;
	is_int(store_prune(dir, &p), 0, "pruned");
	ok(p.removed == 5 && p.kept == 3 && !p.failed, "so many");
	ok(!there(NOW - 31 * DAY, 0, "r.json") && !there(NOW - 31 * DAY, 0, "e.events.jsonl") &&
		   !there(NOW - 31 * DAY, 0, "."),
	   "all of what is too old");
	ok(there(NOW - 1000, 0, "r.json") && there(NOW - 1000, 0, "e.events.jsonl") &&
		   !there(NOW - 2000, 0, "r.json") && !there(NOW - 2000, 0, "e.events.jsonl"),
	   "all beyond the newest three");
	ok(!there(NOW - 3 * DAY, 0, "e.events.jsonl") && !there(NOW - 3 * DAY, 0, "."), "what a dead run left");
	ok(there(NOW - DAY, 0, "e.events.jsonl") && there(NOW - DAY, 0, "."), "not what a run that lasts has");
	ok(faccessat(dir, ".gitignore", F_OK, 0) == 0, "no other file");
	is_int(store_prune(dir, &p), 0, "pruned again");
	is_int((long long)p.removed, 0, "nothing is left to do");
	end();
}

/* What only has the name of a receipt, links, and folders. */
static void
test_others(void)
{
	struct store_prune p = { .keep = 0, .days = 0, .now_ms = NOW };
	char id[64], name[96], outside[128];
	int fd;

	start();
	id_of(NOW - 90 * DAY, 1, id);
	snprintf(name, sizeof(name), "%s.json", id);
	put(name, "{ \"mine\": true }");
	run(NOW - 90 * DAY, 1, "e");
	id_of(NOW - 90 * DAY, 2, id);
	snprintf(name, sizeof(name), "%s.json", id);
	snprintf(outside, sizeof(outside), "%s/outside", root);
	fd = open(outside, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, "{\n  \"agenttwin\": \"receipt/1\"", 28) < 0 || symlinkat(outside, dir, name) < 0)
		abort();
	close(fd);
	id_of(NOW - 90 * DAY, 3, id);
	snprintf(name, sizeof(name), "%s.json", id);
	mkdirat(dir, name, 0755);
	is_int(store_prune(dir, &p), 0, "a folder with files of others");
	ok(p.removed == 0 && p.failed == 0, "nothing of them goes");
	ok(there(NOW - 90 * DAY, 1, "r.json") && there(NOW - 90 * DAY, 1, "e.events.jsonl"),
	   "neither what is no receipt");
	ok(there(NOW - 90 * DAY, 2, "r.json") && access(outside, F_OK) == 0, "nor a link, nor what it leads to");
	end();
}

static void
test_links(void)
{
	char path[200], real[128], link[128];

	start();
	close(dir);
	snprintf(real, sizeof(real), "%s/.agenttwin", root);
	snprintf(link, sizeof(link), "%s/elsewhere", root);
	if (rename(real, link) < 0 || symlink(link, real) < 0)
		abort();
	dir = store_folder(root, true, path, sizeof(path));
	ok(dir == -ELOOP || dir == -ENOTDIR, "a store behind a link is none: %d", dir);
	dir = store_folder(link, false, path, sizeof(path));
	is_int(dir, -ENOENT, "nor one without its folder");
	dir = store_folder(link, true, path, sizeof(path));
	ok(dir >= 0, "but a named folder may be one itself");
	end();
}

/* Many hosts at once: each removes what is there, nobody fails. */
static void
test_race(void)
{
	struct store_prune p = { .keep = 10, .days = 30, .now_ms = NOW };
	struct store_runs runs;
	int i, status, bad = 0;

	start();
	for (i = 0; i < 400; i++)
		run(NOW - 1000 * (unsigned)i, (unsigned)i, "re");
	for (i = 0; i < 20; i++) {
		if (fork() == 0)
			_exit(store_prune(dir, &p) < 0 || p.failed ? 1 : 0);
	}
	while (wait(&status) > 0)
		bad += status != 0;
	is_int(bad, 0, "twenty at once");
	is_int(store_runs_read(dir, &runs), 0, "what they left");
	is_int((long long)runs.len, 10, "is what was to be kept");
	store_runs_wipe(&runs);
	end();
}

/* A run that begins makes room for itself. */
static void
test_open(void)
{
	struct store_runs runs;
	struct store s;
	struct diag d = { 0 };
	uint64_t now = (uint64_t)time(NULL) * 1000;
	char id[64];
	unsigned i;
	int fd;

	start();
	for (i = 0; i < STORE_KEEP + 20; i++)
		run(now - 100000 - i, i, "re");
	run(now - 40 * DAY, 0, "re");
	id_of(now, 0, id);
	fd = store_open(&s, root, id, NULL, &d);
	ok(fd >= 0, "a store is opened %s", d.problem);
	is_int(store_runs_read(dir, &runs), 0, "what is in it then");
	is_int((long long)runs.len, STORE_KEEP, "room for one");
	ok(!there(now - 40 * DAY, 0, "r.json"), "the oldest went");
	close(fd);
	store_runs_wipe(&runs);
	store_wipe(&s);
	end();
}

int
main(void)
{
	unsetenv("SUDO_UID");
	test_list();
	test_prune();
	test_others();
	test_links();
	test_race();
	test_open();
	return tap_done();
}
