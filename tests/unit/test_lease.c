/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/backend.h"
#include "host/diag.h"
#include "host/lease.h"
#include "host/process.h"
#include "tests/lib/tap.h"

static struct lease
sample(void)
{
	struct lease l = { .start_time = 77, .expires_s = 1999999999, .host_pid = 12, .host_start_time = 34 };

	strcpy(l.backend, "namespace");
	strcpy(l.run_id, "0190b5a2-1111-7222-8333-444455556666");
	strcpy(l.id, "4711");
	strcpy(l.boot_id, "01234567-89ab-cdef-0123-456789abcdef");
	strcpy(l.folder, "/tmp/with space");
	return l;
}

static void
round_trip(void)
{
	struct lease l = sample(), back = { 0 };
	char text[LEASE_TEXT_MAX], changed[LEASE_TEXT_MAX];
	int n, i, bad = 0;

	n = lease_render(&l, text, sizeof(text));
	ok(n > 0, "renders");
	is_int(lease_parse(text, (size_t)n, &back), 0, "parses");
	ok(strcmp(back.backend, l.backend) == 0 && strcmp(back.run_id, l.run_id) == 0 && strcmp(back.id, l.id) == 0 &&
		   back.start_time == 77 && back.expires_s == 1999999999 && back.host_pid == 12 &&
		   back.host_start_time == 34 && strcmp(back.boot_id, l.boot_id) == 0 &&
		   strcmp(back.folder, l.folder) == 0,
	   "every field comes back");
	for (i = 0; i < n; i++)
		bad += lease_parse(text, (size_t)i, &back) != -EPROTO;
	is_int(bad, 0, "every truncation is malformed");
	memcpy(changed, text, (size_t)n);
	changed[n] = 'x';
	is_int(lease_parse(changed, (size_t)n + 1, &back), -EPROTO, "something behind the last line is malformed");
	memcpy(changed, text, (size_t)n);
	changed[20] = '\0';
	is_int(lease_parse(changed, (size_t)n, &back), -EPROTO, "a NUL is malformed");
	is_int(lease_render(&l, text, 50), -ENOSPC, "no room is said");
	strcpy(l.cgroups[0], "/sys/fs/cgroup/pids/agenttwin-x");
	strcpy(l.cgroups[1], "/sys/fs/cgroup/memory/a b/agenttwin-x");
	strcpy(l.cgroups[2], "/sys/fs/cgroup/cpu/agenttwin-x");
	n = lease_render(&l, text, sizeof(text));
	is_int(lease_parse(text, (size_t)n, &back), 0, "with control groups");
	ok(strcmp(back.cgroups[0], l.cgroups[0]) == 0 && strcmp(back.cgroups[1], l.cgroups[1]) == 0 &&
		   strcmp(back.cgroups[2], l.cgroups[2]) == 0,
	   "all come back");
	n += snprintf(text + n, sizeof(text) - (size_t)n, "cgroup /a\n");
	is_int(lease_parse(text, (size_t)n, &back), -EPROTO, "a fourth one is malformed");
	strcpy(l.cgroups[1], "/a\nid 1");
	is_int(lease_render(&l, text, sizeof(text)), -EINVAL, "a line break in a group's path is refused");
	l = sample();
	l.id[0] = '\0';
	n = lease_render(&l, text, sizeof(text));
	is_int(lease_parse(text, (size_t)n, &back), 0, "before the first creating call has returned there is no id");
	strcpy(l.folder, "/tmp/a\nid 1");
	is_int(lease_render(&l, text, sizeof(text)), -EINVAL, "a line break in a value is refused");
	l = sample();
	strcpy(l.run_id, "../x");
	is_int(lease_render(&l, text, sizeof(text)), -EINVAL, "a run id that is a path is refused");
	is_int(lease_parse("agenttwin-lease 2\n", 18, &back), -EPROTO, "another version is not read");
}

static int seen, malformed;

static int
count(const struct lease *l, void *arg)
{
	(void)arg;
	seen++;
	malformed += l->backend[0] == '\0';
	return 0;
}

static void
on_disk(void)
{
	struct lease l = { .expires_s = 1 }, other;
	char folder[400], path[512], now[40];
	struct diag d = { 0 };
	struct stat st;
	int before, fd;

	is_int(lease_folder(folder, sizeof(folder)), 0, "a folder for leases");
	before = lease_each(count, NULL);
	ok(before >= 0, "leases can be listed");
	strcpy(l.backend, "namespace");
	snprintf(l.run_id, sizeof(l.run_id), "unit-%d", (int)getpid());
	is_int(lease_write(&l, &d), 0, "written");
	ok(stat(l.path, &st) == 0 && (st.st_mode & 07777) == 0600, "for us alone");
	is_int((long long)l.host_pid, getpid(), "it holds who wrote it");
	ok(lease_is_held(&l), "who is alive");
	ok(!lease_is_alive(&l), "and a run that has no process yet");
	snprintf(l.id, sizeof(l.id), "%d", (int)getpid());
	is_int(process_start_time(getpid(), &l.start_time), 0, "start time");
	is_int(lease_write(&l, &d), 0, "completed");
	ok(lease_is_alive(&l), "the process is alive");
	other = l;
	other.start_time++;
	ok(!lease_is_alive(&other), "a process of another start time is another process");
	other = l;
	other.boot_id[0] ^= 1;
	ok(!lease_is_alive(&other) && !lease_is_held(&other), "a pid of another boot means nothing");
	ok(process_boot_id(now) == 0 && strcmp(now, l.boot_id) == 0, "the boot is this one");
	is_int(lease_each(count, NULL), before + 1, "it is found");

	snprintf(path, sizeof(path), "%s/unit-%d-broken.lease", folder, (int)getpid());
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	ok(fd >= 0 && write(fd, "nonsense\n", 9) == 9, "a malformed one");
	close(fd);
	malformed = 0;
	is_int(lease_each(count, NULL), before + 2, "is reported too");
	ok(malformed >= 1, "as malformed");
	unlink(path);
	is_int(symlink("/etc/passwd", path), 0, "a link in the folder");
	malformed = 0;
	ok(lease_each(count, NULL) == before + 2 && malformed >= 1, "is not followed");
	unlink(path);
	is_int(lease_drop(&l), 0, "dropped");
	is_int(lease_drop(&l), 0, "twice is no fault");
	is_int(lease_each(count, NULL), before, "gone");
}

static void
processes(void)
{
	uint64_t ticks;
	int fd, status;
	pid_t pid;

	pid = fork();
	if (pid == 0) {
		pause();
		_exit(0);
	}
	is_int(process_start_time(pid, &ticks), 0, "start time of a child");
	is_int(process_open(pid, ticks + 1), -ESRCH, "not opened under another start time");
	fd = process_open(pid, ticks);
	ok(fd >= 0, "opened under its own");
	is_int(process_wait(fd, 20), -ETIMEDOUT, "it lives");
	is_int(process_end(fd, 5000), 0, "ended");
	ok(!process_is(pid, ticks), "a zombie is no process");
	waitpid(pid, &status, 0);
	is_int(process_start_time(pid, &ticks), -ESRCH, "gone");
	is_int(process_open(0, 1), -ESRCH, "pid 0 is nobody");
	close(fd);
}

int
main(void)
{
	round_trip();
	on_disk();
	processes();
	return tap_done();
}
