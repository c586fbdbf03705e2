/* SPDX-License-Identifier: GPL-2.0-or-later
 * drop.c - see drop.h.
 *
 * Runs as: root, for the last time, in a forked child.  Input: two numbers from the plan.
 * A hostile sender gains nothing: numbers that mean root are refused, and the outcome is read back from the kernel, not
 * assumed. */
#include "guest/drop.h"

#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>

/* While uid 0 still has CAP_SETPCAP: after the change of uid this would fail and do nothing. */
static int
bounding_empty(void)
{
	for (unsigned long cap = 0; cap < 64; cap++) {
		int set = prctl(PR_CAPBSET_READ, cap, 0, 0, 0);

		if (set < 0 && errno == EINVAL)
			break; /* beyond the last capability of this kernel */
		if (set < 0)
			return -errno;
		if (set > 0 && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
			return -errno;
	}
	return 0;
}

static int
capabilities_clear(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { { 0, 0, 0 } };

	/* Kernels before 4.3 have no ambient set; then there is nothing to clear. */
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 && errno != EINVAL)
		return -errno;
	if (syscall(SYS_capset, &head, data) < 0)
		return -errno;
	return 0;
}

static int
capabilities_check(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { { 1, 1, 1 }, { 1, 1, 1 } };

	if (syscall(SYS_capget, &head, data) < 0)
		return -errno;
	for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		if (data[i].effective | data[i].permitted | data[i].inheritable)
			return -EPERM;
	for (unsigned long cap = 0; cap < 64; cap++) {
		int set = prctl(PR_CAPBSET_READ, cap, 0, 0, 0);

		if (set > 0)
			return -EPERM;
		if (set < 0)
			return errno == EINVAL ? 0 : -errno;
	}
	return 0;
}

static int
identity_check(uid_t uid, gid_t gid)
{
	uid_t u[3];
	gid_t g[3];

	if (getresuid(&u[0], &u[1], &u[2]) < 0 || getresgid(&g[0], &g[1], &g[2]) < 0)
		return -errno;
	for (unsigned i = 0; i < 3; i++)
		if (u[i] != uid || g[i] != gid)
			return -EPERM;
	return getgroups(0, NULL) == 0 ? 0 : -EPERM;
}

/* Each of these must be refused.  One that succeeds has just made us root again: the caller ends. */
static bool
is_way_back(void)
{
	gid_t none = 0;

	return setresuid((uid_t)-1, 0, (uid_t)-1) == 0 || setresuid(0, 0, 0) == 0 ||
	       setresgid((gid_t)-1, 0, (gid_t)-1) == 0 || setresgid(0, 0, 0) == 0 || setgroups(1, &none) == 0;
}

int
drop_capabilities(void)
{
	int r = bounding_empty();

	if (r == 0)
		r = capabilities_clear();
	return r < 0 ? r : capabilities_check();
}

int
drop_identity(uint32_t uid, uint32_t gid)
{
	int r;

	if (uid == 0 || gid == 0 || uid == UINT32_MAX || gid == UINT32_MAX)
		return -EPERM;
	r = bounding_empty();
	if (r < 0)
		return r;
	if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
		return -errno;
	/* Set to fs.suid_dumpable by that change, which may be 1: this is still a copy of root's memory, until exec. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return -errno;
	if ((r = identity_check(uid, gid)) < 0 || (r = capabilities_clear()) < 0 || (r = capabilities_check()) < 0)
		return r;
	if (is_way_back())
		return -EPERM;
	return identity_check(uid, gid);
}

int
drop_die_with_parent(int alive)
{
	struct pollfd p = { .fd = alive, .events = 0 };

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return -errno;
	/* The parent may have ended before the line above; getppid tells nothing across process id namespaces. */
	if (poll(&p, 1, 0) < 0)
		return -errno;
	return (p.revents & (POLLERR | POLLHUP)) ? -ECANCELED : 0;
}

int
drop_no_new_privs(void)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : -EPERM;
}
