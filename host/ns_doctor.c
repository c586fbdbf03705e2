/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What this machine is, as far as it decides whether a sandbox can be made, and the way out where it cannot. */
#include <errno.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "host/backend.h"
#include "host/diag.h"
#include "host/node.h"
#include "host/ns.h"
#include "host/process.h"

#define DOCKER_FLAGS \
	"--cap-add SYS_ADMIN --security-opt seccomp=unconfined --security-opt apparmor=unconfined " \
	"--security-opt systempaths=unconfined"
#define APPARMOR_FIX \
	"sudo apparmor_parser -r /etc/apparmor.d/agenttwin-host (installed by make install), or run as root: " \
	"sudo agenttwin-host ..."

/* A number in a file of /proc/sys; -1 when there is none. */
static long
number_in(const char *path)
{
	char text[32];

	return process_read(path, text, sizeof(text)) < 0 ? -1 : strtol(text, NULL, 10);
}

static bool
file_has(const char *path, const char *word)
{
	char text[8192];

	return process_read(path, text, sizeof(text)) > 0 && strcasestr(text, word);
}

/* The program that runs as PID 1 was given container=NAME by whoever made the container (systemd's convention). */
static bool
in_init_environment(const char *word)
{
	char text[8192];
	size_t at = 0, len;
	ssize_t n;

	n = process_read("/proc/1/environ", text, sizeof(text));
	if (n <= 0)
		return false;
	len = strlen(word);
	for (; at < (size_t)n; at += strlen(text + at) + 1)
		if (strncmp(text + at, word, len) == 0)
			return true;
	return false;
}

/* see ns.h */
const char *
ns_container(void)
{
	if (access("/run/.containerenv", F_OK) == 0)
		return "podman";
	if (getenv("KUBERNETES_SERVICE_HOST") || file_has("/proc/self/cgroup", "kubepods"))
		return "kubernetes";
	if (getenv("GITLAB_CI") && access("/.dockerenv", F_OK) == 0)
		return "gitlab";
	if (access("/.dockerenv", F_OK) == 0 || file_has("/proc/self/cgroup", "docker"))
		return "docker";
	if (file_has("/proc/self/cgroup", "lxc") || in_init_environment("container=lxc"))
		return "lxc";
	if (access("/run/systemd/container", F_OK) == 0 || in_init_environment("container="))
		return "container";
	return NULL;
}

/* see ns.h */
bool
ns_apparmor_blocks(void)
{
	return geteuid() != 0 && number_in("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") > 0;
}

/* Something covers parts of /proc: then the kernel gives no new one. */
static bool
proc_is_masked(void)
{
	char *line = NULL;
	bool masked = false;
	size_t size = 0;
	FILE *f = fopen("/proc/self/mountinfo", "re");

	if (!f)
		return true;
	while (!masked && getline(&line, &size, f) > 0)
		masked = strstr(line, " /proc/") != NULL;
	free(line);
	fclose(f);
	return masked;
}

static void
container_fix(const char *kind, char *out, size_t size)
{
	if (strcmp(kind, "gitlab") == 0)
		snprintf(
			out, size,
			"set privileged = true below [runners.docker] in the runner's config.toml, or use a machine (shell) job");
	else if (strcmp(kind, "kubernetes") == 0)
		snprintf(
			out, size,
			"set securityContext.privileged: true for the container (or procMount: Unmasked with SYS_ADMIN), or use a "
			"machine job");
	else if (strcmp(kind, "podman") == 0)
		snprintf(
			out, size,
			"start the container with: podman run --cap-add SYS_ADMIN,NET_ADMIN --security-opt seccomp=unconfined "
			"--security-opt unmask=ALL --security-opt label=disable ...");
	else if (strcmp(kind, "docker") == 0)
		snprintf(out, size,
			 "start the container with: docker run " DOCKER_FLAGS
			 " ... (or --privileged), or use a machine job");
	else
		snprintf(out, size,
			 "allow nesting for this container (lxc: security.nesting=true), or use a machine job");
}

/* see ns.h */
void
ns_explain(int err, struct diag *d)
{
	const char *kind = ns_container();
	char fix[512];

	if (number_in("/proc/sys/user/max_user_namespaces") == 0) {
		diag_fix(d, "sudo sysctl user.max_user_namespaces=15000");
	} else if (geteuid() != 0 && number_in("/proc/sys/kernel/unprivileged_userns_clone") == 0) {
		diag_fix(d, "sudo sysctl kernel.unprivileged_userns_clone=1, or run as root: sudo agenttwin-host ...");
	} else if ((err == -EPERM || err == -EACCES) && ns_apparmor_blocks()) {
		diag_fix(d, APPARMOR_FIX);
	} else if ((err == -EPERM || err == -EACCES) && kind) {
		container_fix(kind, fix, sizeof(fix));
		diag_fix(d, "%s", fix);
	} else if (err == -ENOSPC || err == -EUSERS) {
		diag_fix(
			d,
			"sudo sysctl user.max_user_namespaces=15000 user.max_net_namespaces=15000 user.max_mnt_namespaces=15000, or "
			"run fewer at once");
	} else if (err == -EINVAL) {
		diag_fix(d, "use a kernel with user, pid, net, ipc, uts, mnt and cgroup namespaces (5.4 or newer)");
	} else {
		diag_fix(d, "agenttwin-host doctor --runtime namespace");
	}
}

static struct doctor_item *
item(struct doctor *d, bool ok, const char *what)
{
	static struct doctor_item spill;
	struct doctor_item *i = d->items_len < DOCTOR_ITEMS_MAX ? &d->items[d->items_len++] : &spill;

	memset(i, 0, sizeof(*i));
	i->ok = ok;
	snprintf(i->what, sizeof(i->what), "%s", what);
	return i;
}

static void __attribute__((format(printf, 2, 3))) found(struct doctor_item *i, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(i->found, sizeof(i->found), format, ap);
	va_end(ap);
}

static void __attribute__((format(printf, 2, 3))) fix(struct doctor_item *i, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(i->fix, sizeof(i->fix), format, ap);
	va_end(ap);
}

/* In a child, in its own user and network namespace: does the kernel answer the first question the firewall asks?
 * Exit status: 0 yes, else errno. */
static _Noreturn void
nf_tables_child(void)
{
	struct {
		struct nlmsghdr h;
		struct nfgenmsg g;
	} ask = { .h = { .nlmsg_len = sizeof(ask),
			 .nlmsg_type = NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETGEN,
			 .nlmsg_flags = NLM_F_REQUEST } };
	union {
		struct nlmsghdr h;
		char space[4096];
	} answer;
	struct nlmsgerr *e;
	struct pollfd p;
	ssize_t n;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
		_exit(errno & 0x7f);
	p.fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
	p.events = POLLIN;
	if (p.fd < 0 || send(p.fd, &ask, sizeof(ask), 0) < 0)
		_exit(errno & 0x7f);
	if (poll(&p, 1, 5000) <= 0)
		_exit(ETIMEDOUT);
	n = recv(p.fd, &answer, sizeof(answer), 0);
	if (n < (ssize_t)sizeof(struct nlmsghdr))
		_exit(EIO);
	if (answer.h.nlmsg_type != NLMSG_ERROR)
		_exit(0);
	e = NLMSG_DATA(&answer.h);
	_exit(-e->error & 0x7f);
}

static void
check_nf_tables(struct doctor *d, int *r)
{
	struct doctor_item *i;
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		nf_tables_child();
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	i = item(d, pid > 0 && status == 0, "nf_tables in a network namespace");
	if (i->ok) {
		found(i, "answers");
		return;
	}
	*r = -ENOTSUP;
	found(i, "%s", pid > 0 && WIFEXITED(status) ? strerror(WEXITSTATUS(status)) : "no answer");
	fix(i,
	    "sudo modprobe nf_tables nfnetlink_log nft_reject_inet (kernel options NF_TABLES, NF_TABLES_INET, NFT_REJECT)");
}

/* The only full proof: make a sandbox, look whether it comes up, end it. */
static void
check_trial(struct doctor *d, int *r)
{
	struct backend_spec s = { .guest = "", .guest_len = 0 };
	struct doctor_item *i;
	struct diag diag = { 0 };
	struct cleanup c = { 0 };
	struct backend *b = NULL;
	uint64_t from = process_clock_ms();
	struct facts f;
	char id[40];
	int e;

	snprintf(id, sizeof(id), "doctor-%d", (int)getpid());
	s.run_id = id;
	s.limits.memory_bytes = 1u << 30;
	s.limits.pids = 64;
	s.limits.cpu_milli = 1000;
	s.expires_s = (uint64_t)time(NULL) + 60;
	e = backend_namespace.open(&b, &s, &diag);
	i = item(d, e == 0, "a sandbox comes up");
	if (e < 0) {
		*r = -ENOTSUP;
		found(i, "%s", diag.problem);
		fix(i, "%s", diag.fix);
		return;
	}
	backend_namespace.describe(b, &f);
	found(i, "as %s, in %llu ms", f.mode, (unsigned long long)(process_clock_ms() - from));
	if (backend_namespace.destroy(b, &c) < 0) {
		*r = -ENOTSUP;
		i->ok = false;
		found(i, "came up, but did not end: %s", c.reason);
		fix(i, "agenttwin-host reap");
	}
	backend_namespace.release(b);
	/* A run does without: the receipt says what was enforced.  The processor is limited only where a world asks. */
	i = item(d, f.pids_most && f.memory_most, "limits");
	found(i, "%.500s", f.limits_enforced);
	if (!i->ok)
		fix(i, "%s", f.limits_fix);
}

static void
check_machine(struct doctor *d)
{
	const char *kind = ns_container();
	struct doctor_item *i;
	char text[256];

	if (process_read("/proc/version", text, sizeof(text)) > 0 &&
	    (strcasestr(text, "microsoft") || strcasestr(text, "wsl"))) {
		i = item(d, strcasestr(text, "wsl2") || strcasestr(text, "microsoft-standard"), "Windows subsystem");
		found(i, "%s", i->ok ? "WSL2" : "WSL1: its kernel has no namespaces");
		if (!i->ok)
			fix(i, "wsl --set-version DISTRIBUTION 2 (in Windows)");
	}
	if (!kind)
		return;
	/* Not a fault by itself: many containers allow what is needed.  The trial below decides. */
	i = item(d, true, "container");
	found(i, "inside %s%s", strcmp(kind, "gitlab") == 0 ? "a GitLab docker job" : kind,
	      proc_is_masked() ? "; parts of /proc are covered" : "");
}

static void
check_user(struct doctor *d, int *r)
{
	char tool[64], tool2[64];
	struct doctor_item *i;
	struct ns_ids ids;
	struct diag diag = { 0 };
	int e;

	i = item(d, !ns_apparmor_blocks(), "AppArmor");
	found(i, "%s",
	      i->ok ? "lets ordinary users make namespaces" : "kernel.apparmor_restrict_unprivileged_userns is on");
	if (!i->ok) /* the profile may be loaded already: the trial decides */
		fix(i, APPARMOR_FIX);
	i = item(d, ns_ids_tool("newuidmap", tool, sizeof(tool)) && ns_ids_tool("newgidmap", tool2, sizeof(tool2)),
		 "newuidmap, newgidmap");
	if (i->ok) {
		found(i, "%s", tool);
	} else {
		*r = -ENOTSUP;
		found(i, "not installed");
		fix(i, "sudo apt-get install uidmap");
		return;
	}
	e = ns_ids_choose("doctor", &ids, &diag);
	i = item(d, e == 0, "subordinate ids");
	if (e == 0) {
		found(i, "%u uids, %u gids", ids.uid.total, ids.gid.total);
		ns_ids_wipe(&ids);
		return;
	}
	*r = -ENOTSUP;
	found(i, "%s", diag.problem);
	fix(i, "%s", diag.fix);
}

static void
check_namespaces(struct doctor *d, int *r)
{
	long most = number_in("/proc/sys/user/max_user_namespaces");
	struct doctor_item *i;

	i = item(d, most > 0 && access("/proc/self/ns/user", F_OK) == 0, "user namespaces");
	if (i->ok && geteuid() != 0 && number_in("/proc/sys/kernel/unprivileged_userns_clone") == 0) {
		i->ok = false;
		found(i, "kernel.unprivileged_userns_clone is 0");
		fix(i, "sudo sysctl kernel.unprivileged_userns_clone=1");
	} else if (i->ok) {
		found(i, "at most %ld", most);
	} else {
		found(i, most == 0 ? "user.max_user_namespaces is 0" : "not in this kernel");
		fix(i, most == 0 ? "sudo sysctl user.max_user_namespaces=15000" : "use a kernel with CONFIG_USER_NS");
	}
	if (!i->ok)
		*r = -ENOTSUP;
}

static void
check_node(struct doctor *d, int *r)
{
	struct diag diag = { 0 };
	struct doctor_item *i;
	struct node n;
	int e = node_find(NULL, &n, &diag);

	i = item(d, e == 0, "Node.js");
	if (e == 0) {
		found(i, "%s, version %s%s", n.path, n.version, n.major < 22 ? " (22 or newer is recommended)" : "");
		return;
	}
	*r = -ENOTSUP;
	found(i, "%s", diag.problem);
	fix(i, "%s", diag.fix);
}

/* see ns.h */
int
ns_doctor(struct doctor *d)
{
	int r = 0;

	check_machine(d);
	check_namespaces(d, &r);
	if (geteuid() != 0)
		check_user(d, &r);
	check_node(d, &r);
	check_nf_tables(d, &r);
	check_trial(d, &r);
	return r;
}
