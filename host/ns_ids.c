/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Runs as the caller.  As root the ids come from a range that no distribution hands out to people or services, a block
 * of 65,536 for each run, so that two runs never share one; as an ordinary user from the caller's own subordinate range, by
 * the setuid programs newuidmap and newgidmap, which check the range again. */
#include "host/ns.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/diag.h"
#include "host/process.h"

#define BLOCK_FIRST 0x70000000u /* above the ranges of systemd-nspawn and of useradd, below 2^31 */
#define BLOCKS 4094u
#define IDS_FOLDER "/run/agenttwin"
#define TOOL_WAIT_MS 10000
#define SUBID_FILE_MAX (256u << 10)

/* Room at the top of a small user namespace (rootless container): never the ids that its own users have. */
#define NESTED_FLOOR 10000u

/* The longest extent that this user namespace has: first id inside and length. */
static int
own_extent(const char *path, uint32_t *first, uint32_t *count)
{
	unsigned long inside, outside, n, best = 0;
	char text[4096], *at, *line, *save = NULL;
	ssize_t len;

	len = process_read(path, text, sizeof(text));
	if (len < 0)
		return (int)len;
	for (at = text; (line = strtok_r(at, "\n", &save)); at = NULL)
		/* NOLINTNEXTLINE(cert-err34-c): the kernel wrote it */
		if (sscanf(line, "%lu %lu %lu", &inside, &outside, &n) == 3 && n > best) {
			best = n;
			*first = (uint32_t)inside;
			*count = (uint32_t)n;
		}
	return best ? 0 : -EPROTO;
}

/* CAP_SETGID (6) and CAP_SETUID (7) in the effective set: what writing foreign ids into a map takes. */
static bool
has_caps(void)
{
	const uint64_t want = 1u << 6 | 1u << 7;
	char text[4096], *at;

	if (process_read("/proc/self/status", text, sizeof(text)) < 0 || !(at = strstr(text, "\nCapEff:")))
		return false;
	return (strtoull(at + 8, NULL, 16) & want) == want;
}

/* see ns.h */
bool
ns_ids_is_root(void)
{
	return geteuid() == 0;
}

/* see ns.h */
bool
ns_ids_tool(const char *name, char *out, size_t size)
{
	static const char *const folders[] = { "/usr/bin", "/bin", "/usr/local/bin", "/usr/sbin", "/run/wrappers/bin" };
	size_t i;

	for (i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(out, size, "%s/%s", folders[i], name);
		if (access(out, X_OK) == 0)
			return true;
	}
	out[0] = '\0';
	return false;
}

/* FNV-1a: spreads run ids over the blocks; the lock settles the rest. */
static uint32_t
hash(const char *s)
{
	uint32_t h = 2166136261u;

	for (; *s; s++)
		h = (h ^ (uint8_t)*s) * 16777619u;
	return h;
}

/* A block that no living run has: one byte of one file for each block, locked by its open file description (fcntl(2), OFD
 * locks).  The init inherits the descriptor, so the block stays taken exactly as long as the sandbox lives, also when this
 * program is killed. */
static uint32_t
take_block(const char *run_id, int *lock)
{
	uint32_t at = hash(run_id) % BLOCKS, i;
	struct flock byte = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };

	*lock = -1;
	if (mkdir(IDS_FOLDER, 0700) < 0 && errno != EEXIST)
		return at; /* no /run: the hash alone */
	*lock = open(IDS_FOLDER "/id-blocks", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	for (i = 0; *lock >= 0 && i < BLOCKS; i++, at = (at + 1) % BLOCKS) {
		byte.l_start = (off_t)at;
		if (fcntl(*lock, F_OFD_SETLK, &byte) == 0)
			break;
	}
	return at;
}

static void
map_one(struct ns_map *m, uint32_t outside, uint32_t count)
{
	m->len = 1;
	m->total = count;
	m->extents[0] = (struct ns_extent){ .inside = 0, .outside = outside, .count = count };
}

static int
choose_root(const char *run_id, struct ns_ids *ids, struct diag *d)
{
	uint32_t first[2], count[2], base, n;
	int r, k;

	if (!has_caps()) {
		ns_explain(-EPERM, d);
		return diag_set(d, -ENOTSUP,
				"root without CAP_SETUID and CAP_SETGID cannot give a sandbox ids of its own");
	}
	if ((r = own_extent("/proc/self/uid_map", &first[0], &count[0])) < 0 ||
	    (r = own_extent("/proc/self/gid_map", &first[1], &count[1])) < 0)
		return diag_set(d, r, "/proc/self/uid_map cannot be read: is /proc mounted?");
	ids->direct = true;
	if (count[0] == ~0u && count[1] == ~0u) {
		base = BLOCK_FIRST + NS_IDS_MAX * take_block(run_id, &ids->lock);
		map_one(&ids->uid, base, NS_IDS_MAX);
		map_one(&ids->gid, base, NS_IDS_MAX);
		snprintf(ids->mode, sizeof(ids->mode), "root");
		return 0;
	}
	/* Root of a user namespace that is itself a part (a rootless container): its highest ids. */
	for (k = 0; k < 2; k++) {
		n = count[k] > NESTED_FLOOR ? count[k] - NESTED_FLOOR : 0;
		if (n > NS_IDS_MAX)
			n = NS_IDS_MAX;
		if (n < NS_IDS_MIN) {
			diag_fix(d,
				 "give the container's user namespace 65536 ids or more, or use a machine of its own");
			return diag_set(d, -ENOTSUP, "this user namespace has only %u %s", count[k],
					k ? "gids" : "uids");
		}
		map_one(k ? &ids->gid : &ids->uid, first[k] + count[k] - n, n);
	}
	snprintf(ids->mode, sizeof(ids->mode), "root of a user namespace");
	return 0;
}

/* see ns.h */
void
ns_ids_parse(const char *text, const char *user, uint32_t uid, uint32_t inside, struct ns_map *map)
{
	const char *at = text, *end;
	char line[256], name[64];
	unsigned long start, count;
	char number[16];
	int used;

	memset(map, 0, sizeof(*map));
	map->total = inside;
	snprintf(number, sizeof(number), "%u", uid);
	for (; *at; at = *end ? end + 1 : end) {
		end = strchrnul(at, '\n');
		if ((size_t)(end - at) >= sizeof(line))
			continue;
		memcpy(line, at, (size_t)(end - at));
		line[end - at] = '\0';
		used = 0;
		/* NOLINTNEXTLINE(cert-err34-c): ten digits always fit */
		if (sscanf(line, "%63[^:]:%10lu:%10lu%n", name, &start, &count, &used) != 3 ||
		    (line[used] != '\0' && line[used] != '\r'))
			continue;
		if (strcmp(name, user) != 0 && strcmp(name, number) != 0)
			continue;
		/* A range with root or with a person in it is a mistake of the administrator that we do not share. */
		if (start == 0 || count == 0 || start >= 0xffffffffu || count > 0xffffffffu - start ||
		    (uid >= start && uid < start + count))
			continue;
		if (map->len == NS_EXTENTS_MAX || map->total >= NS_IDS_MAX)
			break;
		if (count > NS_IDS_MAX - map->total)
			count = NS_IDS_MAX - map->total;
		map->extents[map->len++] = (struct ns_extent){ .inside = map->total,
							       .outside = (uint32_t)start,
							       .count = (uint32_t)count };
		map->total += (uint32_t)count;
	}
}

static int
load_ranges(const char *path, const struct passwd *pw, uint32_t inside, struct ns_map *map, struct diag *d)
{
	char *text = malloc(SUBID_FILE_MAX);
	bool uids = strcmp(path, "/etc/subuid") == 0;
	ssize_t n;

	if (!text)
		return diag_set(d, -ENOMEM, "out of memory");
	n = process_read(path, text, SUBID_FILE_MAX);
	if (n < 0)
		text[0] = '\0';
	ns_ids_parse(text, pw->pw_name, (uint32_t)pw->pw_uid, inside, map);
	free(text);
	if (map->total >= NS_IDS_MIN)
		return 0;
	diag_fix(d, "sudo usermod --add-sub%ss 100000-165535 %s (another range if %s already has this one)",
		 uids ? "uid" : "gid", pw->pw_name, path);
	if (map->len == 0)
		return diag_set(d, -ENOTSUP, "%s has no range for %s: the sandbox needs ids of its own", path,
				pw->pw_name);
	return diag_set(d, -ENOTSUP, "the range of %s in %s has %u ids; at least %u are needed", pw->pw_name, path,
			map->total - inside, NS_IDS_MIN);
}

static int
choose_user(struct ns_ids *ids, struct diag *d)
{
	struct passwd *pw;
	int r;

	if (!ns_ids_tool("newuidmap", ids->newuidmap, sizeof(ids->newuidmap)) ||
	    !ns_ids_tool("newgidmap", ids->newgidmap, sizeof(ids->newgidmap))) {
		diag_fix(
			d,
			"sudo apt-get install uidmap (Fedora: shadow-utils; Arch: shadow), or run as root: sudo agenttwin-host ...");
		return diag_set(
			d, -ENOTSUP,
			"newuidmap and newgidmap are not installed: without them an ordinary user's sandbox has "
			"one id, and the workflow could not be kept apart from its guard");
	}
	errno = 0;
	pw = getpwuid(getuid());
	if (!pw) {
		diag_fix(d, "add a line for this uid to /etc/passwd, or run as root");
		return diag_set(d, -ENOTSUP, "uid %u has no name: newuidmap needs one", (unsigned)getuid());
	}
	if ((r = load_ranges("/etc/subuid", pw, 1, &ids->uid, d)) < 0 ||
	    (r = load_ranges("/etc/subgid", pw, 0, &ids->gid, d)) < 0)
		return r;
	/* Root inside is the caller outside; gids all come from the range, so that no group of the caller is in force. */
	if (ids->uid.len == NS_EXTENTS_MAX)
		ids->uid.len--;
	memmove(&ids->uid.extents[1], &ids->uid.extents[0], ids->uid.len * sizeof(ids->uid.extents[0]));
	ids->uid.extents[0] = (struct ns_extent){ .inside = 0, .outside = (uint32_t)getuid(), .count = 1 };
	ids->uid.len++;
	snprintf(ids->mode, sizeof(ids->mode), "user with newuidmap");
	return 0;
}

/* see ns.h */
int
ns_ids_choose(const char *run_id, struct ns_ids *ids, struct diag *d)
{
	memset(ids, 0, sizeof(*ids));
	ids->lock = -1;
	return ns_ids_is_root() ? choose_root(run_id, ids, d) : choose_user(ids, d);
}

static int
write_text(pid_t pid, const char *file, const struct ns_map *m, bool same)
{
	char path[64], text[NS_EXTENTS_MAX * 40];
	size_t len = 0;
	uint32_t i;
	int fd, r = 0;

	for (i = 0; i < m->len; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%u %u %u\n", m->extents[i].inside,
					same ? m->extents[i].inside : m->extents[i].outside, m->extents[i].count);
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, len) != (ssize_t)len) /* one write: the kernel takes the whole map or nothing */
		r = -errno;
	if (fd >= 0)
		close(fd);
	return r;
}

static int
write_map(pid_t pid, const char *file, const struct ns_map *m, struct diag *d)
{
	int r = write_text(pid, file, m, false);

	if (r == 0)
		return 0;
	ns_explain(r, d);
	return diag_set(d, r, "%s of the sandbox: %s", file, strerror(-r));
}

/* see ns.h */
int
ns_ids_repeat(const struct ns_ids *ids, pid_t pid)
{
	int r = write_text(pid, "gid_map", &ids->gid, true);

	return r < 0 ? r : write_text(pid, "uid_map", &ids->uid, true);
}

static int
run_tool(const char *tool, pid_t pid, const struct ns_map *m, struct diag *d)
{
	char numbers[NS_EXTENTS_MAX * 3 + 1][12], said[512];
	const char *argv[NS_EXTENTS_MAX * 3 + 3];
	uint32_t i, n = 0;
	int r;

	snprintf(numbers[0], sizeof(numbers[0]), "%d", (int)pid);
	argv[n++] = tool;
	argv[n++] = numbers[0];
	for (i = 0; i < m->len; i++) {
		snprintf(numbers[1 + 3 * i], sizeof(numbers[0]), "%u", m->extents[i].inside);
		snprintf(numbers[2 + 3 * i], sizeof(numbers[0]), "%u", m->extents[i].outside);
		snprintf(numbers[3 + 3 * i], sizeof(numbers[0]), "%u", m->extents[i].count);
		argv[n++] = numbers[1 + 3 * i];
		argv[n++] = numbers[2 + 3 * i];
		argv[n++] = numbers[3 + 3 * i];
	}
	argv[n] = NULL;
	r = process_run(argv, said, sizeof(said), TOOL_WAIT_MS);
	if (r == 0)
		return 0;
	said[strcspn(said, "\n")] = '\0';
	diag_fix(
		d,
		"check that %s is installed setuid root or with file capabilities: sudo apt-get install --reinstall uidmap",
		tool);
	if (r < 0)
		return diag_set(d, r, "%s: %s", tool, strerror(-r));
	return diag_set(d, -ENOTSUP, "%s failed: %s", tool, said[0] ? said : "no message");
}

/* see ns.h */
int
ns_ids_write(const struct ns_ids *ids, pid_t pid, struct diag *d)
{
	int r;

	if (ids->direct) {
		if ((r = write_map(pid, "gid_map", &ids->gid, d)) < 0)
			return r;
		return write_map(pid, "uid_map", &ids->uid, d);
	}
	if ((r = run_tool(ids->newgidmap, pid, &ids->gid, d)) < 0)
		return r;
	return run_tool(ids->newuidmap, pid, &ids->uid, d);
}

/* see ns.h */
void
ns_ids_wipe(struct ns_ids *ids)
{
	if (ids->lock >= 0)
		close(ids->lock);
	ids->lock = -1;
}
