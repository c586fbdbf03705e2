/* SPDX-License-Identifier: GPL-2.0-or-later
 * audit.c - see audit.h.
 *
 * Runs as: the caller.  Input: none but the kernel's answers. */
#include "guest/audit.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest/build_info.h"
#include "guest/disasm.h"
#include "guest/evidence.h"
#include "guest/filter.h"
#include "proto/cursor.h"
#include "proto/frame.h"
#include "proto/plan.h"

static uint8_t paper[128u << 10];
static char text[2 * FW_TEXT_MAX];

static int
print(const void *data, size_t len)
{
	return fwrite(data, 1, len, stdout) == len && fflush(stdout) == 0 ? 0 : -EIO;
}

int
audit_nft(enum fw_lock_kind lock)
{
	int len = fw_text_usual(lock, text, sizeof(text));

	return len < 0 ? len : print(text, (size_t)len);
}

static void
digest_of_filter(struct writer *w, enum filter_kind kind, bool allow_unix)
{
	static struct filter_program p;
	uint8_t digest[32];

	if (filter_build(&p, kind, filter_arch_native(), allow_unix) < 0)
		memset(digest, 0, sizeof(digest));
	else
		filter_digest(&p, digest);
	json_hex(w, digest, sizeof(digest));
}

/* build_info's lines "name value" as members; a name that comes again and again becomes one list. */
static void
build_members(struct writer *w)
{
	const char *open = NULL;
	size_t open_len = 0;

	for (const char *line = build_info(); *line;) {
		size_t len = strcspn(line, "\n"), name = strcspn(line, " \n");
		bool list = strncmp(line, "package ", 8) == 0 || strncmp(line, "pin ", 4) == 0;

		if (open && (!list || open_len != name || memcmp(open, line, name) != 0)) {
			write_text(w, "]");
			open = NULL;
		}
		write_text(w, ",");
		if (!open) {
			json_string(w, line, name);
			write_text(w, list ? ":[" : ":");
		}
		if (list) {
			open = line;
			open_len = name;
		}
		json_string(w, name < len ? line + name + 1 : "", name < len ? len - name - 1 : 0);
		line += len + (line[len] == '\n');
	}
	if (open)
		write_text(w, "]");
}

int
audit_summary(bool json)
{
	uint8_t self[32], digest[32];
	struct writer w;
	int len = fw_text_policy_all(0, text, sizeof(text));

	if (len < 0)
		return len;
	sha256_of(text, (size_t)len, digest);
	writer_init(&w, paper, sizeof(paper));
	write_text(&w, "{\"guest\":{\"version\":\"" AGENTTWIN_VERSION "\",\"sha256\":");
	if (evidence_self(self) < 0)
		write_text(&w, "null");
	else
		json_hex(&w, self, sizeof(self));
	write_text(&w, "},\"policy\":{\"sha256\":");
	json_hex(&w, digest, sizeof(digest));
	write_text(&w, ",\"text\":");
	json_string(&w, text, (size_t)len);
	write_text(&w, "},\"filter\":{\"workflow\":");
	digest_of_filter(&w, FILTER_WORKFLOW, true);
	write_text(&w, ",\"workflow_without_unix\":");
	digest_of_filter(&w, FILTER_WORKFLOW, false);
	write_text(&w, ",\"twins\":");
	digest_of_filter(&w, FILTER_TWINS, false);
	write_text(&w, "},\"build\":{\"arch\":");
	json_text(&w, filter_arch_native() == FILTER_X86_64 ? "x86_64" : "aarch64");
	build_members(&w);
	write_text(&w, "}}\n");
	if (w.failed)
		return -EMSGSIZE;
	if (json)
		return print(w.at, w.len);
	printf("agenttwin-guest " AGENTTWIN_VERSION "\n%s\n# policy: SHA-256 ", build_info());
	for (unsigned i = 0; i < sizeof(digest); i++)
		printf("%02x", digest[i]);
	printf("\n%s", text);
	return fflush(stdout) == 0 ? 0 : -EIO;
}

/* One program: a head line with its digest, then its instructions. */
static void
filter_text(struct writer *w, const char *name, enum filter_kind kind, enum filter_arch arch, bool allow_unix)
{
	static struct filter_program p;
	uint8_t digest[32];
	char hex[65];

	if (filter_build(&p, kind, arch, allow_unix) < 0) {
		w->failed = true;
		return;
	}
	filter_digest(&p, digest);
	sha256_hex(digest, hex);
	write_format(w, "# %s, %s: %u instructions, SHA-256 %s\n", name, arch == FILTER_X86_64 ? "x86_64" : "aarch64",
		     (unsigned)p.len, hex);
	disasm_write(w, &p, arch);
}

int
audit_seccomp(enum filter_arch arch)
{
	struct writer w;

	writer_init(&w, paper, sizeof(paper));
	filter_text(&w, "workflow", FILTER_WORKFLOW, arch, true);
	filter_text(&w, "workflow without AF_UNIX", FILTER_WORKFLOW, arch, false);
	filter_text(&w, "twins", FILTER_TWINS, arch, false);
	return w.failed ? -EMSGSIZE : print(w.at, w.len);
}

int
audit_caps(void)
{
	/* Where each is made: monitor.c, room.c, bundle.c, arm.c, services.c, spawn.c.  audit.t compares with /proc. */
	static const char table[] =
		"# process   user      capabilities  bounding  no_new_privs  filter    mounts\n"
		"monitor     root      all           all       no            none      the sandbox's\n"
		"room-init   root      none          none      yes           none      own, fresh /proc, empty /run\n"
		"writer      workflow  none          none      yes           none      the sandbox's\n"
		"probe       workflow  none          none      yes           workflow  the sandbox's\n"
		"killer      workflow  none          none      no            none      the sandbox's\n"
		"twins       twins     none          none      yes           twins     own, empty /run\n"
		"workflow    workflow  none          none      yes           workflow  own, fresh /proc, empty /run\n"
		"# root is uid 0 of the sandbox's user namespace, and its capabilities are those of that namespace.\n"
		"# Nobody has a supplementary group.  There is a killer only where no inner room can be made.\n"
		"# With --runtime local all of them are the caller, without filter, and there is no room-init and no probe.\n"
		"# What the monitor's capabilities are for:\n"
		"CAP_NET_ADMIN         tables, devices, routes, the log of denied packets\n"
		"CAP_SYS_ADMIN         the inner room; without it the outer lock stands alone\n"
		"CAP_SETUID            giving up root in a child\n"
		"CAP_SETGID            giving up root in a child\n"
		"CAP_SETPCAP           emptying the bounding set in a child\n"
		"CAP_KILL              ending the run's processes\n"
		"CAP_CHOWN             handing the output files and folders to the workflow\n"
		"CAP_NET_BIND_SERVICE  services on ports below 1024\n";

	return print(table, sizeof(table) - 1);
}

static bool
finding(bool good, const char *what, const char *found, const char *fix)
{
	printf("%s  %s: %s%s%s\n", good ? "ok  " : "FAIL", what, found,
	       good || !fix[0] ? "" : "\n      fix: ", good ? "" : fix);
	return good;
}

/* In a child, because it cannot be undone: which of the namespaces the kernel grants. */
static bool
may_unshare(int flags)
{
	pid_t child = fork();
	int status = 1;

	if (child == 0)
		_exit(unshare(flags) < 0 ? 1 : 0);
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return child > 0 && status == 0;
}

static bool
has_netfilter(char *found, size_t size)
{
	int fd = socket(16, SOCK_RAW | SOCK_CLOEXEC, 12), err = errno;

	snprintf(found, size, "%s", fd >= 0 ? "netlink answers" : errno_name(err));
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int
audit_doctor(void)
{
	char found[256];
	struct utsname u;
	bool good = true, admin = prctl(PR_CAPBSET_READ, 12, 0, 0, 0) == 1 && geteuid() == 0;

	if (uname(&u) < 0)
		return -errno;
	snprintf(found, sizeof(found), "%s %s", u.sysname, u.release);
	(void)finding(true, "kernel", found, "");
	good &= finding(geteuid() == 0, "root", geteuid() == 0 ? "uid 0 here" : "not uid 0",
			"the guest must start as root of its sandbox; agenttwin-host does that");
	good &= finding(admin, "CAP_NET_ADMIN", admin ? "held" : "missing",
			"give the sandbox CAP_NET_ADMIN (docker: --cap-add NET_ADMIN)");
	good &= finding(has_netfilter(found, sizeof(found)), "nf_tables", found,
			"a kernel with nf_tables is needed; without it nothing runs");
	good &= finding(prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0, "seccomp", "available",
			"a kernel with seccomp filters is needed");
	if (!may_unshare(CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC))
		printf("note  inner room: namespaces are refused here; the first lock must hold alone\n");
	else
		(void)finding(true, "inner room", "namespaces can be made", "");
	return good ? 0 : -ENOTSUP;
}
