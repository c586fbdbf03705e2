/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/node.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/diag.h"
#include "host/process.h"

#define VERSION_WAIT_MS 10000
#define UID_NOBODY 65534u

static bool
is_below(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	return strncmp(path, folder, len) == 0 && path[len] == '/';
}

/* see node.h */
void
node_place(const char *real, const char *home, struct node *out)
{
	static const char *const shown[] = { "/usr", "/bin" };
	const char *base;
	size_t i, len;

	out->prefix[0] = out->file[0] = '\0';
	for (i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		if (is_below(real, shown[i])) {
			snprintf(out->inside, sizeof(out->inside), "%s", real);
			return;
		}
	base = strrchr(real, '/') + 1;
	len = (size_t)(base - real); /* with the slash */
	/* /x/y/bin/node: the prefix is /x/y.  Never a home itself (~/bin/node) and never "/": those would show what is not Node's. */
	if (len > 5 && strncmp(real + len - 5, "/bin/", 5) == 0) {
		snprintf(out->prefix, sizeof(out->prefix), "%.*s", (int)(len - 5), real);
		if (!home || strcmp(out->prefix, home) != 0) {
			snprintf(out->inside, sizeof(out->inside), "/opt/node/bin/%s", base);
			return;
		}
		out->prefix[0] = '\0';
	}
	snprintf(out->file, sizeof(out->file), "%s", real);
	snprintf(out->inside, sizeof(out->inside), "/opt/node/bin/node");
}

/* see node.h */
int
node_version_parse(const char *text, struct node *out)
{
	unsigned major = 0;
	size_t i, dots = 0;

	if (*text == 'v')
		text++;
	for (i = 0; text[i] && text[i] != '\n'; i++) {
		if (i >= sizeof(out->version) - 1)
			return -EPROTO;
		if (text[i] == '.')
			dots++;
		else if (text[i] >= '0' && text[i] <= '9' && dots == 0)
			major = major * 10u + (unsigned)(text[i] - '0');
		else if (dots == 0 || !strchr("0123456789abcdefghijklmnopqrstuvwxyz-+", text[i]))
			return -EPROTO;
		if (major > 9999)
			return -EPROTO;
	}
	if (dots < 2 || text[0] == '.')
		return -EPROTO;
	memcpy(out->version, text, i);
	out->version[i] = '\0';
	out->major = major;
	return 0;
}

/* The first executable regular file called node in PATH.  An empty PATH element is the current folder for a shell; here not. */
static int
search_path(char *out, size_t size)
{
	const char *path = getenv("PATH"), *at, *end;
	struct stat st;
	int n;

	for (at = path ? path : "/usr/local/bin:/usr/bin:/bin"; *at; at = *end ? end + 1 : end) {
		end = strchrnul(at, ':');
		if (*at != '/')
			continue;
		n = snprintf(out, size, "%.*s/node", (int)(end - at), at);
		if (n > 0 && (size_t)n < size && stat(out, &st) == 0 && S_ISREG(st.st_mode) && access(out, X_OK) == 0)
			return 0;
	}
	return -ENOENT;
}

static int
none_found(struct diag *d)
{
	if (geteuid() == 0 && getenv("SUDO_USER"))
		diag_fix(d, "run with the user's PATH: sudo --preserve-env=PATH env PATH=\"$PATH\" agenttwin-host ..., "
			    "or name the program: --node \"$(command -v node)\"");
	else
		diag_fix(
			d,
			"install Node.js 22 (Debian: sudo apt-get install nodejs), or name the program: --node PROGRAM");
	return diag_set(d, -ENOENT, "no program called node in PATH");
}

/* Until exec, in the child: no rights that asking a version would not need. */
static void
version_child(int program, int out)
{
	static char arg0[] = "node", arg1[] = "--version";
	char *argv[] = { arg0, arg1, NULL }, *envp[] = { NULL };
	struct rlimit none = { 0, 0 }, cpu = { 5, 5 };
	const char *by = getenv("SUDO_UID");
	sigset_t empty;
	uid_t uid;
	int null;

	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(null, 2) < 0)
		_exit(126);
	setrlimit(RLIMIT_CORE, &none);
	setrlimit(RLIMIT_CPU, &cpu);
	if (geteuid() == 0) {
		uid = by ? (uid_t)strtoul(by, NULL, 10) : 0;
		if (uid == 0)
			uid = UID_NOBODY;
		if (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0)
			_exit(126);
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || chdir("/") < 0)
		_exit(126);
	sigemptyset(&empty);
	sigprocmask(SIG_SETMASK, &empty, NULL);
	signal(SIGPIPE, SIG_DFL);
	/* By descriptor: the folders above may be closed to the uid that it runs as. */
	syscall(SYS_execveat, program, "", argv, envp, AT_EMPTY_PATH);
	_exit(127);
}

static int
ask_version(int program, struct node *out, struct diag *d)
{
	int pipes[2], r, status = 0;
	char text[128];
	pid_t pid;

	if (pipe2(pipes, O_CLOEXEC) < 0)
		return diag_set(d, -errno, "pipe: %s", strerror(errno));
	pid = fork();
	if (pid < 0) {
		r = diag_set(d, -errno, "fork: %s", strerror(errno));
		close(pipes[0]);
		close(pipes[1]);
		return r;
	}
	if (pid == 0)
		version_child(program, pipes[1]);
	close(pipes[1]);
	r = process_read_line(pipes[0], text, sizeof(text), VERSION_WAIT_MS);
	close(pipes[0]);
	if (r < 0)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	if (r == 0 && status == 0)
		r = node_version_parse(text, out);
	else if (r == 0)
		r = -EPROTO;
	if (r < 0) {
		diag_fix(d, "name another program with --node; this one must print its version: %s --version",
			 out->path);
		return diag_set(d, r, "%s does not answer --version (%s)", out->path,
				r == -ETIMEDOUT              ? "no answer in 10 s"
				: WIFSIGNALED(status)        ? strsignal(WTERMSIG(status))
				: WEXITSTATUS(status) == 127 ? "cannot be executed"
				: WEXITSTATUS(status)        ? "failed"
							     : "not a version");
	}
	if (out->major < NODE_MAJOR_MIN) {
		diag_fix(d, "install Node.js 22 or newer, or name another program with --node");
		return diag_set(d, -ENOTSUP, "%s is version %s; %u or newer is needed", out->path, out->version,
				NODE_MAJOR_MIN);
	}
	return 0;
}

/* A version manager puts a script or a dispatcher where node should be; the sandbox needs the program behind it. */
static int
look_at(int fd, const char *path, struct diag *d)
{
	const char *base = strrchr(path, '/') + 1;
	unsigned char magic[4] = { 0 };
	ssize_t n;

	do
		n = pread(fd, magic, sizeof(magic), 0);
	while (n < 0 && errno == EINTR);
	if (n == 4 && memcmp(magic, "\177ELF", 4) == 0 && strncmp(base, "node", 4) == 0)
		return 0;
	diag_fix(d, "name the program behind it: --node \"$(node -p process.execPath)\"");
	return diag_set(d, -ENOEXEC, "%s is not Node itself but a script or the dispatcher of a version manager", path);
}

/* see node.h */
int
node_find(const char *wanted, struct node *out, struct diag *d)
{
	char found[PATH_MAX], real[PATH_MAX];
	struct passwd *pw;
	struct stat st;
	int fd = -1, r;

	memset(out, 0, sizeof(*out));
	out->digest_pid = -1;
	out->digest_fd = -1;
	if (!wanted && search_path(found, sizeof(found)) < 0)
		return none_found(d);
	if (!realpath(wanted ? wanted : found, real)) {
		r = -errno;
		diag_fix(d, "name an existing program with --node or workflow.node");
		return diag_set(d, r, "Node program %s: %s", wanted ? wanted : found, strerror(-r));
	}
	if (strlen(real) >= sizeof(out->path))
		return diag_set(d, -ENAMETOOLONG, "Node program %.200s...: path is longer than %zu bytes", real,
				sizeof(out->path) - 1);
	memcpy(out->path, real, strlen(real) + 1);
	fd = open(real, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0) {
		r = diag_set(d, -errno, "Node program %s: %s", real, strerror(errno));
		goto out;
	}
	if (!S_ISREG(st.st_mode) || access(real, X_OK) < 0) {
		diag_fix(d, "name Node's program file with --node");
		r = diag_set(d, -EACCES, "Node program %s is not an executable file", real);
		goto out;
	}
	pw = getpwuid(geteuid());
	node_place(real, pw ? pw->pw_dir : NULL, out);
	if ((r = look_at(fd, real, d)) == 0)
		r = ask_version(fd, out, d);
out:
	if (fd >= 0)
		close(fd);
	return r;
}
