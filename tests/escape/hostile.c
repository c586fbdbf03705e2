/* SPDX-License-Identifier: GPL-2.0-or-later
 * hostile.c - attempts that are judged against a control: hostile GROUP [ARGUMENT...] prints one JSON line an attempt:
 * {"id":..., "got":bool, "detail":errno or text, "stage":"socket|send|call", "wire":"PROTOCOL ADDRESS PORT"}.  `wire` is what a packet
 * of the attempt looks like to whoever sees it; no other attempt has the same.  The same program runs as workflow and as
 * control; attempts.tsv says what has to differ.  `hostile sniff INTERFACE` is the eye of the control. */
#define _GNU_SOURCE
#include "hostile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

char wire[128], stage[16];

void
say(const char *id, long result)
{
	const char *detail = result < 0 ? strerrorname_np(errno) : "ok";

	printf("{\"id\":\"%s\",\"got\":%s,\"detail\":\"%s\",\"stage\":\"%s\",\"wire\":\"%s\"}\n", id,
	       result < 0 ? "false" : "true", detail ? detail : "?", *stage ? stage : "call", wire);
	fflush(stdout);
	*stage = *wire = 0;
}

static void
open_path(const char *id, const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK);

	say(id, fd);
	if (fd >= 0)
		close(fd);
}

/* Nothing is read and nothing written: to have it open is enough. */
static void
paths(void)
{
	static const struct {
		const char *id, *path;
		int flags;
	} table[] = {
		{ "open-core-pattern", "/proc/sys/kernel/core_pattern", O_WRONLY },
		{ "open-modprobe", "/proc/sys/kernel/modprobe", O_WRONLY },
		{ "open-sysrq", "/proc/sysrq-trigger", O_WRONLY },
		{ "open-forwarding", "/proc/sys/net/ipv4/ip_forward", O_WRONLY },
		{ "open-route-localnet", "/proc/sys/net/ipv4/conf/all/route_localnet", O_WRONLY },
		{ "open-ping-range", "/proc/sys/net/ipv4/ping_group_range", O_WRONLY },
		{ "open-kcore", "/proc/kcore", O_RDONLY },
		{ "open-kallsyms-write", "/proc/kallsyms", O_WRONLY },
		{ "open-uevent-helper", "/sys/kernel/uevent_helper", O_WRONLY },
		{ "open-link-mtu", "/sys/class/net/lo/mtu", O_WRONLY },
		{ "open-power-state", "/sys/power/state", O_WRONLY },
		{ "open-cgroup-procs", "/sys/fs/cgroup/cgroup.procs", O_WRONLY },
		{ "open-cgroup1-procs", "/sys/fs/cgroup/pids/cgroup.procs", O_WRONLY },
		{ "open-cgroup-unified", "/sys/fs/cgroup/unified/cgroup.procs", O_WRONLY },
		{ "open-release-agent", "/sys/fs/cgroup/memory/release_agent", O_WRONLY },
		{ "open-mem", "/dev/mem", O_RDONLY },
		{ "open-kmsg", "/dev/kmsg", O_WRONLY },
		{ "open-disk", "/dev/vda", O_RDONLY },
		{ "open-vsock", "/dev/vsock", O_RDONLY },
		{ "open-tun", "/dev/net/tun", O_RDWR },
		{ "open-kvm", "/dev/kvm", O_RDWR },
		{ "open-fuse", "/dev/fuse", O_RDWR },
		{ "open-console", "/dev/console", O_WRONLY | O_NOCTTY },
		{ "open-shadow", "/etc/shadow", O_RDONLY },
		{ "open-passwd-write", "/etc/passwd", O_WRONLY },
		{ "open-root-home", "/root", O_RDONLY | O_DIRECTORY },
		{ "open-init-mem", "/proc/1/mem", O_RDWR },
		{ "open-init-root", "/proc/1/root/etc", O_RDONLY | O_DIRECTORY },
		{ "open-init-net", "/proc/1/ns/net", O_RDONLY },
		{ "open-init-environ", "/proc/1/environ", O_RDONLY },
		{ "open-init-oom", "/proc/1/oom_score_adj", O_WRONLY },
	};

	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		open_path(table[i].id, table[i].path, table[i].flags);
}

static long
by_mem(int pid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof path, "/proc/%d/mem", pid);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd;
}

/* Any of the descriptors that it may have: records, listeners, connections, the stream to the host. */
static long
by_fd_folder(int pid)
{
	char path[64];
	int fd = -1, err = 0;

	for (int i = 0; i < 256 && fd < 0; i++) {
		snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, i);
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		err = fd < 0 && i == 0 ? errno : err;
	}
	if (fd >= 0)
		close(fd);
	errno = err;
	return fd;
}

static long
by_pidfd(int pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0), got = -1, err = errno;

	for (int i = 0; fd >= 0 && i < 256 && got < 0; i++) {
		got = (int)syscall(438 /* pidfd_getfd */, fd, i, 0);
		err = got < 0 && i == 0 ? errno : err;
	}
	if (fd >= 0)
		close(fd);
	errno = err;
	return got;
}

static long
by_ptrace(int pid)
{
	long r = ptrace(PTRACE_SEIZE, pid, NULL, NULL);

	if (r == 0)
		ptrace(PTRACE_DETACH, pid, NULL, NULL);
	return r;
}

static long
by_vm_read(int pid)
{
	char c;
	struct iovec mine = { &c, 1 }, theirs = { (void *)8, 1 };
	long r = process_vm_readv(pid, &mine, 1, &theirs, 1, 0);

	return r < 0 && errno == EFAULT ? 0 : r; /* allowed, and nothing lies there */
}

static long
by_signal(int pid)
{
	return kill(pid, 0);
}

static long
by_prlimit(int pid)
{
	struct rlimit l;

	if (prlimit(pid, RLIMIT_NOFILE, NULL, &l) < 0)
		return -1;
	return prlimit(pid, RLIMIT_NOFILE, &l, NULL);
}

static long
by_priority(int pid)
{
	return setpriority(PRIO_PROCESS, (id_t)pid, 1);
}

/* Every process that is neither this one nor an ancestor of the same owner: monitor, twins, inits.  One that yields is enough.
 * hostile others PID: leaves that one out (the driver that started us). */
static void
others(int driver)
{
	static const struct {
		const char *id;
		long (*by)(int);
	} table[] = { { "others-mem", by_mem },           { "others-descriptor", by_fd_folder },
		      { "others-pidfd-getfd", by_pidfd }, { "others-ptrace", by_ptrace },
		      { "others-vm-read", by_vm_read },   { "others-signal", by_signal },
		      { "others-prlimit", by_prlimit },   { "others-priority", by_priority } };

	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		DIR *d = opendir("/proc");
		long r = -1;
		int err = ESRCH;

		for (struct dirent *e; d && r < 0 && (e = readdir(d));) {
			int pid = atoi(e->d_name);

			if (pid <= 0 || pid == getpid() || pid == driver)
				continue;
			r = table[i].by(pid);
			if (r < 0)
				err = errno;
		}
		closedir(d);
		errno = err;
		say(table[i].id, r);
	}
}

/* The effective user of a set-user-id program while it runs, by what /proc says of it. */
static void
setuid_program(const char *id, const char *path, const char *argument)
{
	int in[2], uid = -1;
	char name[64], line[256];
	pid_t pid;
	FILE *f;

	if (access(path, X_OK) < 0 || pipe2(in, O_CLOEXEC) < 0) {
		say(id, -1);
		return;
	}
	pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_WRONLY);

		dup2(in[0], 0);
		dup2(null, 1);
		dup2(null, 2);
		setsid();
		execl(path, path, argument, (char *)NULL);
		_exit(127);
	}
	for (int i = 0; i < 40 && uid != 0; i++) {
		snprintf(name, sizeof name, "/proc/%d/status", (int)pid);
		usleep(2000);
		if (!(f = fopen(name, "r")))
			break;
		while (fgets(line, sizeof line, f))
			(void)sscanf(line, "Uid: %*d %d", &uid);
		fclose(f);
	}
	kill(pid, SIGKILL);
	close(in[0]);
	close(in[1]);
	waitpid(pid, NULL, 0);
	errno = EPERM;
	say(id, uid == 0 ? 0 : -1);
}

static void
device_node(const char *id, mode_t mode, dev_t device_number)
{
	char path[] = "/tmp/hostile-node";

	unlink(path);
	say(id, mknod(path, mode, device_number));
	unlink(path);
}

static void
machine(void)
{
	static const char frame[24] = { 0x4d, 0, 0, 0, 0, 0, 0, 0 };
	long wrote = -1;

	setuid_program("setuid-su", "/usr/bin/su", "-");
	setuid_program("setuid-sudo", "/usr/bin/sudo", "-S");
	setuid_program("setuid-passwd", "/usr/bin/passwd", NULL);
	setuid_program("setuid-chsh", "/usr/bin/chsh", NULL);
	device_node("node-null", S_IFCHR | 0666, makedev(1, 3));
	device_node("node-mem", S_IFCHR | 0600, makedev(1, 1));
	device_node("node-disk", S_IFBLK | 0600, makedev(254, 0));
	say("hardlink-foreign",
	    link("/etc/hostname", "/tmp/hostile-link") < 0 && link("/etc/passwd", "/etc/hostile-link") < 0 ? -1 : 0);
	unlink("/tmp/hostile-link");
	unlink("/etc/hostile-link");
	/* A folder of ours that turns into a way out while it is looked at. */
	{
		char out[4096];
		int got = -1;

		(void)mkdir("/tmp/hostile-a", 0700);
		(void)symlink("/proc/1/root", "/tmp/hostile-b");
		for (int i = 0; i < 2000 && got < 0; i++) {
			(void)syscall(SYS_renameat2, AT_FDCWD, "/tmp/hostile-a", AT_FDCWD, "/tmp/hostile-b", 2);
			got = open("/tmp/hostile-a/etc/shadow", O_RDONLY | O_CLOEXEC);
		}
		say("symlink-race", got < 0 ? -1 : read(got, out, 1));
		(void)unlink("/tmp/hostile-a");
		(void)rmdir("/tmp/hostile-a");
		(void)unlink("/tmp/hostile-b");
		(void)rmdir("/tmp/hostile-b");
	}
	for (int fd = 3; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0 && write(fd, frame, sizeof frame) > 0)
			wrote = fd;
	errno = EBADF;
	say("frames-on-descriptors", wrote);
}

/* hostile memory MEGABYTES */
static void
flood_memory(int megabytes)
{
	int status = 0;
	pid_t pid;

	pid = fork();
	if (pid == 0) {
		for (int i = 0; i < megabytes; i++) {
			char *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

			if (p == MAP_FAILED)
				_exit(1);
			memset(p, 1, 1 << 20);
		}
		_exit(0);
	}
	waitpid(pid, &status, 0);
	errno = ENOMEM;
	say("flood-memory", WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1);
}

/* hostile floods PROCESSES DESCRIPTORS MEGABYTES: more than that many is success. */
static void
floods(int processes, int descriptors, int megabytes)
{
	int made = 0, status = 0, first = -1;
	pid_t *all = calloc((size_t)processes, sizeof *all);

	for (; made < processes && (all[made] = fork()) >= 0; made++)
		if (all[made] == 0)
			for (;;)
				pause();
	status = errno;
	for (int i = 0; i < made; i++) {
		kill(all[i], SIGKILL);
		waitpid(all[i], NULL, 0);
	}
	errno = status;
	say("flood-processes", made == processes ? 0 : -1);
	for (made = 0; made < descriptors; made++) {
		int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

		if (fd < 0)
			break;
		if (first < 0)
			first = fd;
	}
	status = errno;
	(void)close_range((unsigned)first, ~0u, 0);
	errno = status;
	say("flood-descriptors", made == descriptors ? 0 : -1);
	{
		static char block[1 << 20];
		int fd = open("/tmp/hostile-fill", O_CREAT | O_WRONLY | O_CLOEXEC, 0600), i = 0;

		long long written = 0;

		errno = 0;
		for (ssize_t n = 0; n >= 0 && i < megabytes; i = (int)(written >> 20))
			if ((n = write(fd, block, sizeof block)) > 0)
				written += n; /* the last one may be cut short, without an error */
		status = errno;
		close(fd);
		unlink("/tmp/hostile-fill");
		errno = status;
		say("flood-disk", i == megabytes ? 0 : -1);
	}
}

/* hostile survive: leaves processes behind that do not want to end, and ends well. */
static void
live(const char *kind)
{
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	execl("/proc/self/exe", "hostile", "stay", kind, (char *)NULL);
	_exit(1);
}

static void
survive(void)
{
	if (fork() == 0)
		live("child");
	if (fork() == 0) {
		setsid();
		live("session");
	}
	if (fork() == 0) {
		if (fork() == 0) {
			setsid();
			if (fork() == 0)
				live("double-fork");
		}
		_exit(0);
	}
	if (syscall(SYS_clone, 0x8000 /* CLONE_PARENT */ | SIGCHLD, NULL, NULL, NULL, NULL) == 0)
		live("clone-parent");
	if (fork() == 0)
		live("fork-storm");
	if (fork() == 0)
		live("vfork-storm");
	usleep(100000);
}

/* A process that has moved on whenever somebody looks; and one that makes children until it ends. */
static void
stay(const char *kind)
{
	if (strcmp(kind, "fork-storm") == 0)
		for (;;) {
			if (fork() > 0)
				_exit(0);
			usleep(200);
		}
	if (strcmp(kind, "vfork-storm") == 0)
		for (;;) {
			pid_t pid = vfork();

			if (pid == 0)
				_exit(0);
			waitpid(pid, NULL, 0);
		}
	for (;;)
		pause();
}

int
main(int argc, char **argv)
{
	const char *group = argc > 1 ? argv[1] : "";

	net_find_devices();
	if (strcmp(group, "net") == 0) {
		net_all();
	} else if (strcmp(group, "daemons") == 0) {
		net_daemons();
	} else if (strcmp(group, "successor") == 0) {
		net_successor();
	} else if (strcmp(group, "paths") == 0) {
		paths();
	} else if (strcmp(group, "others") == 0 && argc == 3) {
		others(atoi(argv[2]));
	} else if (strcmp(group, "machine") == 0) {
		machine();
	} else if (strcmp(group, "floods") == 0 && argc == 5) {
		floods(atoi(argv[2]), atoi(argv[3]), atoi(argv[4]));
	} else if (strcmp(group, "memory") == 0 && argc == 3) {
		flood_memory(atoi(argv[2]));
	} else if (strcmp(group, "survive") == 0) {
		survive();
	} else if (strcmp(group, "stay") == 0 && argc == 3) {
		stay(argv[2]);
	} else if (strcmp(group, "sniff") == 0 && argc == 3) {
		net_sniff(argv[2]);
	} else {
		return 2;
	}
	return 0;
}
