/* SPDX-License-Identifier: GPL-2.0-or-later
 * Each netlink call of the installation fails in turn; and the kernel's answers when something is missing.  Needs root of
 * a network namespace: makes one of its own, with a user namespace where it is not root. */
// LINK: -Wl,--wrap=sendto,--wrap=recvfrom
#include "tests/lib/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "firewall/fw.h"
#include "tests/lib/nlfault.h"

static struct fw_lock lock;
static struct fw_failure failure;

ssize_t
__wrap_sendto(int fd, const void *data, size_t len, int flags, const struct sockaddr *to, socklen_t to_len)
{
	return to && to->sa_family == AF_NETLINK ? nlfault_sendto(fd, data, len, flags, to, to_len)
						 : __real_sendto(fd, data, len, flags, to, to_len);
}

ssize_t
__wrap_recvfrom(int fd, void *buf, size_t len, int flags, struct sockaddr *from, socklen_t *from_len)
{
	return from ? nlfault_recvfrom(fd, buf, len, flags, from, from_len)
		    : __real_recvfrom(fd, buf, len, flags, from, from_len);
}

static int
enter(void *arg)
{
	(void)arg;
	return 0;
}

/* In a fresh network namespace; the workflow is uid 0 here, because a user namespace of an ordinary user has no other. */
static int
install(enum fw_lock_kind kind, bool prove)
{
	struct fw_params want = { .lock = kind, .uid_workflow = 0, .uid_twins = 991 };
	int r;

	if (unshare(CLONE_NEWNET) < 0)
		return -errno;
	memset(&failure, 0, sizeof(failure));
	r = fw_lock_init(&lock, &want, &failure);
	if (r == 0)
		r = fw_lock_install(&lock, &failure);
	if (r == 0 && prove)
		r = fw_lock_prove(&lock, 0, enter, NULL, &failure);
	return r;
}

static void
test_each_call(int err)
{
	int r, undetected = 0, wrong = 0;

	nlfault.fail_at = -1;
	nlfault.calls = 0;
	is_int(install(FW_INNER, false), 0, "installs when nothing fails");
	int total = nlfault.calls;

	fw_lock_wipe(&lock);
	for (nlfault.fail_at = 0; nlfault.fail_at < total; nlfault.fail_at++) {
		nlfault.error = err;
		nlfault.calls = 0;
		nlfault.injected = false;
		r = install(FW_INNER, false);
		if (!nlfault.injected) { /* waiting for the device pair takes more or fewer looks */
			fw_lock_wipe(&lock);
			continue;
		}
		undetected += r >= 0 || lock.installed;
		wrong += r < 0 && (failure.step[0] == '\0' || failure.text[0] == '\0' || failure.err != err);
		if (r >= 0 || failure.err != err)
			printf("# call %d: r=%d step=%s err=%d %s\n", nlfault.fail_at, r, failure.step, failure.err,
			       failure.text);
		fw_lock_wipe(&lock);
	}
	nlfault.fail_at = -1;
	ok(total > 20, "%d netlink calls", total);
	is_int(undetected, 0, "each failure is an error");
	is_int(wrong, 0, "with its step, errno and a text");
}

static void
test_kernels(void)
{
	static const struct {
		const char *hidden;
		int r;
		enum fw_family family;
		bool reject, log;
	} rows[] = {
		{ "", 0, FW_INET, true, true },
		{ "inet", 0, FW_SPLIT, true, true },
		{ "inet,ip6", -EOPNOTSUPP, FW_SPLIT, false, false },
		{ "inet,ip4", -EOPNOTSUPP, FW_SPLIT, false, false },
		{ "reject", 0, FW_INET, false, true },
		{ "log", 0, FW_INET, true, false },
		{ "inet,reject,log", 0, FW_SPLIT, false, false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		nlfault.hidden = rows[i].hidden;
		int r = install(FW_INNER, true);

		nlfault.hidden = "";
		is_int(r, rows[i].r, rows[i].hidden);
		if (r != rows[i].r)
			printf("# %s: %s\n", failure.step, failure.text);
		if (r == 0)
			ok(lock.params.family == rows[i].family && lock.params.reject == rows[i].reject &&
				   lock.params.log == rows[i].log,
			   "features without %s", rows[i].hidden);
		else
			ok(strcmp(failure.step, "features") == 0 && !lock.installed, "refused at features without %s",
			   rows[i].hidden);
		fw_lock_wipe(&lock);
	}
}

static void
test_counting(void)
{
	is_int(install(FW_INNER, true), 0, "install and prove");
	ok(lock.proved_opening && lock.probes_len[0] > 30, "%u probes", lock.probes_len[0]);
	ok(lock.baseline.workflow > 20 && lock.denied_len == 0,
	   "the proof's own packets are in the baseline, not in the records");
	is_int(fw_lock_watch(&lock, &failure), 0, "nothing changed");
	is_int(fw_lock_close_verify(&lock, enter, NULL, &failure), 0, "closing verification");
	struct fw_counters c;

	fw_lock_run_counters(&lock, &c);
	ok(c.workflow == 0 && c.postrouting == 0, "and the run itself was denied nothing");
	fw_lock_wipe(&lock);
}

static void
test_no_capability(void)
{
	int r = unshare(CLONE_NEWNET);
	struct fw_params want = { .lock = FW_INNER, .uid_workflow = 1000, .uid_twins = 991 };

	/* A user namespace of our own takes the capability over the network namespace that we are in. */
	if (r < 0 || unshare(CLONE_NEWUSER) < 0) {
		skip("user namespaces are refused here");
		return;
	}
	r = fw_lock_init(&lock, &want, &failure);
	if (r == 0)
		r = fw_lock_install(&lock, &failure);
	is_int(r, -EPERM, "without CAP_NET_ADMIN: EPERM");
	is_str(failure.step, "net.lo", "at the first step");
	fw_lock_wipe(&lock);
}

/* uid 0 of a new user namespace is this user. */
static int
become_root(void)
{
	char map[64];
	int fd, len = snprintf(map, sizeof(map), "0 %u 1", (unsigned)geteuid()), r;

	if (unshare(CLONE_NEWUSER) < 0)
		return -1;
	fd = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	r = write(fd, map, (size_t)len) == len ? 0 : -1;
	close(fd);
	return r;
}

int
main(void)
{
	if (geteuid() != 0 && become_root() < 0) {
		printf("1..0 # SKIP needs root, or user namespaces: %s\n", strerror(errno));
		return 0;
	}
	if (unshare(CLONE_NEWNET) < 0) {
		printf("1..0 # SKIP needs CAP_SYS_ADMIN to make network namespaces: %s\n", strerror(errno));
		return 0;
	}
	test_counting();
	test_each_call(EIO);
	test_kernels();
	test_no_capability();
	return tap_done();
}
