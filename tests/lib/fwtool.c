/* SPDX-License-Identifier: GPL-2.0-or-later
 * fwtool.c - drives the firewall room for tests and benchmarks: fwtool [OPTION]... STEP...
 *   -o        the outer lock (default: inner)      -c PORT  control port          -u UID  the workflow's (default 1000)
 *   -p        pretend that no peer of the control connection can be seen; the heartbeat is a short sleep
 *   -f LIST   kernel features to hide, of inet,ip4,ip6,reject,log,ct: they are renamed on the way to the kernel
 * Steps: install prove closing text policy watch denied counters probes sh:COMMAND sleep:MS time:N (N installs, each in a
 * new network namespace).  A step that fails prints "STEP: ERRNO step=... text" and ends the program with status 1. */
#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "firewall/fw.h"
#include "tests/lib/nlfault.h"

static struct fw_lock lock;
static struct fw_failure failure;
static char text[FW_TEXT_MAX];
static int unseen;

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

/* The daemon in the test ticks ten times a second by itself. */
static int
heartbeat(void *arg)
{
	(void)arg;
	usleep(250000);
	return 0;
}

int __real_open(const char *, int, ...);
int __wrap_open(const char *, int, ...);

int
__wrap_open(const char *path, int flags, ...)
{
	return __real_open(unseen && strstr(path, "/net/tcp") ? "/dev/null" : path, flags);
}

static int
enter(void *arg)
{
	uid_t uid = *(uint32_t *)arg;

	if (uid == 0)
		return 0;
	if (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0)
		return -errno;
	return 0;
}

static int64_t
now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void
print_probes(unsigned phase)
{
	for (unsigned i = 0; i < lock.probes_len[phase]; i++) {
		const struct fw_probe *p = &lock.probes[phase][i];

		printf("probe %s %s packets=%u denied=%u escaped=%u err=%s\n", fw_verdict_name(p->verdict), p->what,
		       p->packets, p->denied, p->escaped, p->err ? strerrorname_np(p->err) : "0");
	}
}

static void
print_counters(const char *name, const struct fw_counters *c)
{
	printf("%s workflow=%llu twins=%llu others=%llu kernel=%llu input=%llu forward=%llu postrouting=%llu closed=%llu\n",
	       name, (unsigned long long)c->workflow, (unsigned long long)c->twins, (unsigned long long)c->others,
	       (unsigned long long)c->kernel, (unsigned long long)c->input, (unsigned long long)c->forward,
	       (unsigned long long)c->postrouting, (unsigned long long)c->closed);
}

static int
print_denied(void)
{
	uint64_t sum = 0;
	int r;

	while ((r = fw_lock_denied(&lock)) > 0)
		;
	for (unsigned i = 0; i < lock.denied_len; i++) {
		const struct fw_denied_row *d = &lock.denied[i];
		char address[46];

		fw_text_address(&d->destination, address);
		printf("denied %u %u %s %u uid=%d count=%llu\n", d->family, d->protocol, address, d->port, (int)d->uid,
		       (unsigned long long)d->count);
		sum += d->count;
	}
	printf("records %llu overflow %llu lossy %d\n", (unsigned long long)sum,
	       (unsigned long long)lock.denied_overflow, lock.denied_lossy);
	return r;
}

static int
time_installs(const struct fw_params *want, int n)
{
	int64_t start, install = 0, prove = 0;
	uint32_t uid = want->uid_workflow;
	int r;

	for (int i = 0; i < n; i++) {
		if (unshare(CLONE_NEWNET) < 0)
			return -errno;
		start = now_us();
		if ((r = fw_lock_init(&lock, want, &failure)) < 0 || (r = fw_lock_install(&lock, &failure)) < 0)
			return r;
		install += now_us() - start;
		start = now_us();
		if ((r = fw_lock_prove(&lock, 0, enter, &uid, &failure)) < 0)
			return r;
		prove += now_us() - start;
		fw_lock_wipe(&lock);
	}
	printf("install_us %lld prove_us %lld\n", (long long)(install / n), (long long)(prove / n));
	return 0;
}

static int
step(const char *s, const struct fw_params *want)
{
	uint32_t uid = want->uid_workflow;
	struct fw_counters c;
	int r = 0;

	if (strcmp(s, "install") == 0) {
		r = fw_lock_init(&lock, want, &failure);
		lock.heartbeat = unseen ? heartbeat : NULL;
		return r < 0 ? r : fw_lock_install(&lock, &failure);
	}
	if (strcmp(s, "prove") == 0)
		return fw_lock_prove(&lock, 0, enter, &uid, &failure);
	if (strcmp(s, "closing") == 0)
		return fw_lock_close_verify(&lock, enter, &uid, &failure);
	if (strcmp(s, "watch") == 0) {
		r = fw_lock_watch(&lock, &failure);
		if (r >= 0)
			printf("watch %d foreign=%u routes=%u\n", r, lock.foreign_changes, lock.route_changes);
		return r;
	}
	if (strcmp(s, "text") == 0 && (r = fw_text_script(&lock.params, text, sizeof(text))) >= 0)
		fputs(text, stdout);
	else if (strcmp(s, "binding") == 0 && (r = fw_text_binding(&lock.params, text, sizeof(text))) >= 0)
		fputs(text, stdout);
	else if (strcmp(s, "probes") == 0)
		print_probes(lock.proved_closing);
	else if (strcmp(s, "denied") == 0)
		r = print_denied();
	else if (strcmp(s, "counters") == 0 && (r = fw_lock_counters(&lock, &failure)) >= 0) {
		fw_lock_run_counters(&lock, &c);
		print_counters("run", &c);
	} else if (strncmp(s, "sh:", 3) == 0)
		r = system(s + 3) == 0 ? 0 : -ECHILD;
	else if (strncmp(s, "sleep:", 6) == 0)
		usleep((useconds_t)atoi(s + 6) * 1000);
	else if (strncmp(s, "time:", 5) == 0)
		r = time_installs(want, atoi(s + 5));
	return r;
}

int
main(int argc, char **argv)
{
	struct fw_params want = { .lock = FW_INNER, .uid_workflow = 1000, .uid_twins = 991 };
	int c, r;

	setvbuf(stdout, NULL, _IOLBF, 0);
	while ((c = getopt(argc, argv, "opc:u:f:")) != -1) {
		switch (c) {
		case 'o':
			want.lock = FW_OUTER;
			break;
		case 'p':
			unseen = 1;
			break;
		case 'c':
			want.control_port = (uint16_t)atoi(optarg);
			break;
		case 'u':
			want.uid_workflow = (uint32_t)atoi(optarg);
			break;
		case 'f':
			nlfault.hidden = optarg;
			break;
		default:
			return 2;
		}
	}
	for (int i = optind; i < argc; i++) {
		r = step(argv[i], &want);
		if (r < 0) {
			printf("%s: %s step=%s err=%d %s\n", argv[i], strerrorname_np(-r), failure.step, failure.err,
			       failure.text);
			return 1;
		}
	}
	fw_lock_wipe(&lock);
	return 0;
}
