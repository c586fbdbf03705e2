/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_spawn.c - the way from root to the workflow: what a started program really is, typed failures, and every system call of
 * the way failing in turn, where a marker file proves that the program never ran. */
// LINK: -Wl,--wrap=setsid,--wrap=dup2,--wrap=dup3,--wrap=setrlimit,--wrap=getrlimit,--wrap=chdir,--wrap=fork,--wrap=pipe2
// LINK: -Wl,--wrap=setgroups,--wrap=setresgid,--wrap=setresuid,--wrap=getresuid,--wrap=getresgid,--wrap=getgroups
// LINK: -Wl,--wrap=prctl,--wrap=syscall,--wrap=poll,--wrap=unshare,--wrap=mount
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest/spawn.h"
#include "proto/plan.h"
#include "tests/lib/tap.h"

#define UID 1000
#define GID 1000

/* Shared with children: which call is to fail, and what it was. */
static struct {
	int countdown; /* 0 off */
	char name[32];
} * inject;

static bool
fails(const char *name)
{
	if (!inject || inject->countdown == 0 || --inject->countdown != 0)
		return false;
	snprintf(inject->name, sizeof(inject->name), "%s", name);
	errno = EIO;
	return true;
}

#define WRAP(name, params, args) \
	int __real_##name params; \
	int __wrap_##name params; \
	int __wrap_##name params \
	{ \
		return fails(#name) ? -1 : __real_##name args; \
	}
WRAP(setsid, (void), ())
WRAP(dup2, (int a, int b), (a, b))
WRAP(dup3, (int a, int b, int c), (a, b, c))
WRAP(setrlimit, (int a, const struct rlimit *b), (a, b))
WRAP(getrlimit, (int a, struct rlimit *b), (a, b))
WRAP(chdir, (const char *a), (a))
WRAP(fork, (void), ())
WRAP(pipe2, (int *a, int b), (a, b))
WRAP(setgroups, (size_t a, const gid_t *b), (a, b))
WRAP(setresgid, (gid_t a, gid_t b, gid_t c), (a, b, c))
WRAP(setresuid, (uid_t a, uid_t b, uid_t c), (a, b, c))
WRAP(getresuid, (uid_t * a, uid_t *b, uid_t *c), (a, b, c))
WRAP(getresgid, (gid_t * a, gid_t *b, gid_t *c), (a, b, c))
WRAP(getgroups, (int a, gid_t *b), (a, b))
WRAP(poll, (struct pollfd * a, nfds_t b, int c), (a, b, c))
WRAP(unshare, (int a), (a))
WRAP(mount, (const char *a, const char *b, const char *c, unsigned long d, const void *e), (a, b, c, d, e))

long __real_syscall(long nr, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long nr, long a, long b, long c, long d, long e, long f);
long
__wrap_syscall(long nr, long a, long b, long c, long d, long e, long f)
{
	return fails("syscall") ? -1 : __real_syscall(nr, a, b, c, d, e, f);
}
int __real_prctl(int op, unsigned long a, unsigned long b, unsigned long c, unsigned long d);
int __wrap_prctl(int op, unsigned long a, unsigned long b, unsigned long c, unsigned long d);
int
__wrap_prctl(int op, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
	return fails("prctl") ? -1 : __real_prctl(op, a, b, c, d);
}

static char dir[] = "/tmp/agenttwin-spawn-XXXXXX", marker[64];
static struct filter_program filter;
static int null_fd;

static struct spawn_request
request(const char *const *argv, bool sandbox)
{
	static const char *const env[] = { "PATH=/nowhere:/usr/bin:/bin", "LANG=C", NULL };
	struct spawn_request r = { .argv = argv,
				   .envp = env,
				   .stdin_fd = null_fd,
				   .stdout_fd = null_fd,
				   .stderr_fd = null_fd,
				   .root = dir,
				   .cwd = "",
				   .sandbox = sandbox,
				   .hide = sandbox,
				   .uid = UID,
				   .gid = GID,
				   .file_bytes = 1u << 30,
				   .files = 512,
				   .processes = sandbox ? 4096 : 0,
				   .filter = &filter };

	return r;
}

static int
run(const struct spawn_request *r, struct spawn_failure *f, int *status)
{
	pid_t pid = 0;
	int e = spawn_workflow(r, &pid, f);

	*status = -1;
	if (e == 0)
		waitpid(pid, status, 0);
	return e;
}

static size_t
read_marker(char *buf, size_t size)
{
	FILE *f = fopen(marker, "re");
	size_t n = f ? fread(buf, 1, size - 1, f) : 0;

	if (f)
		fclose(f);
	buf[n] = '\0';
	return n;
}

static bool
has(const char *text, const char *line)
{
	if (strstr(text, line))
		return true;
	printf("# no '%s'\n", line);
	return false;
}

static bool
is_dropped(const char *s)
{
	return has(s, "Uid:\t1000\t1000\t1000\t1000") && has(s, "Gid:\t1000\t1000\t1000\t1000") &&
	       has(s, "Groups:\t \n") && has(s, "CapInh:\t0000000000000000") && has(s, "CapPrm:\t0000000000000000") &&
	       has(s, "CapEff:\t0000000000000000") && has(s, "CapBnd:\t0000000000000000") &&
	       has(s, "CapAmb:\t0000000000000000") && has(s, "NoNewPrivs:\t1") && has(s, "Seccomp:\t2");
}

static const char *const show[] = { "sh", "-c", "umask; ls -l /proc/self/fd; cat /proc/self/status /proc/self/limits",
				    NULL };

static void
test_identity(void)
{
	static char text[65536];
	struct spawn_request r = request(show, true);
	struct spawn_failure f;
	int status, fd = open(marker, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666), leak = dup(fd);

	r.stdout_fd = fd;
	is_int(run(&r, &f, &status), 0, "starts");
	is_int(status, 0, "ends well");
	read_marker(text, sizeof(text));
	ok(is_dropped(text), "identity, groups, capabilities, no_new_privs, filter");
	ok(has(text, "0022"), "umask");
	ok(has(text, "Max core file size        1                    1 "), "core limit is exactly 1");
	ok(has(text, "Max open files            512                  512 "), "file limit");
	ok(!strstr(text, " 4 -> /") && !strstr(text, " 5 -> /"), "no other descriptor is left");
	close(leak);
	close(fd);
	unlink(marker);
}

static void
test_typed(void)
{
	static const char *const missing[] = { "no-such-program", NULL }, *const absolute[] = { "/tmp", NULL },
				 *const empty[] = { "", NULL };
	struct spawn_request r = request(missing, false);
	struct spawn_failure f;
	int status;

	is_int(run(&r, &f, &status), -ENOENT, "a program that is not there");
	is_str(exec_stage_name(f.stage), "exec", "its stage");
	r = request(absolute, false);
	is_int(run(&r, &f, &status), -EACCES, "a folder is no program");
	r = request(empty, false);
	is_int(run(&r, &f, &status), -ENOENT, "no name");
	r = request(show, false);
	r.cwd = "not-there";
	is_int(run(&r, &f, &status), -ENOENT, "a folder that is not there");
	is_int(f.stage, EXEC_CWD, "its stage");
	errno = 0;
	ok(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD, "no child is left");
}

static void
test_root_refused(void)
{
	struct spawn_request r = request(show, true);
	struct spawn_failure f;
	int status;

	r.uid = 0;
	is_int(run(&r, &f, &status), -EPERM, "uid 0 is refused");
	is_int(f.stage, EXEC_DROP, "its stage");
	r = request(show, true);
	r.gid = 0;
	is_int(run(&r, &f, &status), -EPERM, "gid 0 is refused");
}

/* A call that must fail anyway (an attempt to become root again) may fail in another way: then the program runs, but only as
 * itself. */
static void
test_each_call_fails(bool sandbox)
{
	const char *const argv[] = { "/bin/sh", "-c", "cat /proc/self/status > \"$0\"", marker, NULL };
	static char text[65536];
	int started = 0, wrong = 0, calls = 0;

	for (int n = 1; n < 2000; n++) {
		struct spawn_request r = request(argv, sandbox);
		struct spawn_failure f;
		int status, e;

		unlink(marker);
		inject->name[0] = '\0';
		inject->countdown = n;
		e = run(&r, &f, &status);
		inject->countdown = 0;
		if (inject->name[0] == '\0') {
			is_int(e, 0, "without a failing call it starts");
			break;
		}
		calls++;
		if (e == 0) {
			started++;
			read_marker(text, sizeof(text));
			if (strncmp(inject->name, "setres", 6) != 0 && strcmp(inject->name, "setgroups") != 0)
				wrong++;
			if (!is_dropped(text))
				wrong++;
		} else if (access(marker, F_OK) == 0 || f.err == 0) {
			wrong++;
		}
		if (wrong) {
			printf("# call %d, %s: result %d stage %d\n", n, inject->name, e, f.stage);
			break;
		}
	}
	is_int(wrong, 0,
	       sandbox ? "sandbox: each call fails in turn, the program never runs" : "local: each call fails in turn");
	ok(sandbox ? calls > 80 : calls > 8, "%d calls were made to fail", calls);
	is_int(started, sandbox ? 5 : 0, "only the attempts to go back may fail otherwise");
	unlink(marker);
}

int
main(void)
{
	inject = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!mkdtemp(dir) || chmod(dir, 0777) < 0 || inject == MAP_FAILED)
		return 1;
	snprintf(marker, sizeof(marker), "%s/marker", dir);
	null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (filter_build(&filter, FILTER_WORKFLOW, filter_arch_native(), false) < 0)
		return 1;
	test_typed();
	test_each_call_fails(false);
	if (geteuid() == 0) {
		test_identity();
		test_root_refused();
		test_each_call_fails(true);
	} else {
		skip("NOT ROOT: the drop of privilege is not tested");
	}
	unlink(marker);
	rmdir(dir);
	return tap_done();
}
