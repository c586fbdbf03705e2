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

/* build_info's lines "name value" as members. */
static void
build_members(struct writer *w)
{
	for (const char *line = build_info(); *line;) {
		size_t len = strcspn(line, "\n"), name = strcspn(line, " \n");

		write_text(w, ",");
		json_string(w, line, name);
		write_text(w, ":");
		json_string(w, name < len ? line + name + 1 : "", name < len ? len - name - 1 : 0);
		line += len + (line[len] == '\n');
	}
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
