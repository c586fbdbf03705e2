/* SPDX-License-Identifier: GPL-2.0-or-later
 * cmd_audit.c - agenttwin-host audit: what would be enforced, in text and digests, without running anything. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "firewall/fw.h"
#include "host/cmd.h"
#include "host/diag.h"
#include "proto/frame.h"

/* guest-image.S */
extern const uint8_t guest_image[];
extern const uint8_t guest_image_end[];

#define STATUS_USAGE 2
#define STATUS_FAILED 1
#define GUEST_OPTIONS 3 /* --seccomp --arch ARCH */

static int
usage(FILE *to)
{
	fputs("usage: agenttwin-host audit [--nft [inner|outer] | --filter | --json | --caps]\n"
	      "       agenttwin-host audit --seccomp [--arch x86_64|aarch64]\n"
	      "\n"
	      "Prints the policy that every run is checked against, and digests of it and of the guest.\n"
	      "  --nft     the rules with their usual parameters, as a script for `nft -f` (default: inner)\n"
	      "  --filter  what the guest says of itself: policy, syscall filter and build\n"
	      "  --json    the same as JSON, with the digests of the filters\n"
	      "  --seccomp the system call filters, instruction by instruction (default: of this machine)\n"
	      "  --arch    those of another machine\n"
	      "  --caps    which process inside keeps which powers\n",
	      to);
	return to == stdout ? 0 : STATUS_USAGE;
}

static int
finish(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	log_line(LOG_LEVEL_ERROR, "audit: writing to standard output failed: %s", strerror(errno));
	return STATUS_FAILED;
}

static int
audit_nft(enum fw_lock_kind lock)
{
	static char text[2 * FW_TEXT_MAX];
	int len = fw_text_usual(lock, text, sizeof(text));

	if (len < 0) {
		log_line(LOG_LEVEL_ERROR, "audit: the rules do not fit their buffer: %s", strerror(-len));
		return STATUS_FAILED;
	}
	fputs(text, stdout);
	return finish();
}

static void
digest_line(const char *name, const void *data, size_t len)
{
	uint8_t digest[32];
	char hex[65];

	sha256_of(data, len, digest);
	sha256_hex(digest, hex);
	printf("%-20s %s  %zu bytes\n", name, hex, len);
}

static int
audit_policy(void)
{
	static const enum fw_lock_kind locks[] = { FW_OUTER, FW_INNER };
	static char text[2 * FW_TEXT_MAX];
	int len;

	printf("agenttwin-host " AGENTTWIN_VERSION "\n");
	digest_line("guest", guest_image, (size_t)(guest_image_end - guest_image));
	for (size_t i = 0; i < sizeof(locks) / sizeof(locks[0]); i++) {
		if ((len = fw_text_policy(locks[i], 0, text, sizeof(text))) < 0)
			goto full;
		digest_line(locks[i] == FW_OUTER ? "outer lock" : "inner lock", text, (size_t)len);
	}
	if ((len = fw_text_policy_all(0, text, sizeof(text))) < 0)
		goto full;
	digest_line("policy", text, (size_t)len);
	printf("\n%s", text);
	return finish();
full:
	log_line(LOG_LEVEL_ERROR, "audit: the policy does not fit its buffer: %s", strerror(-len));
	return STATUS_FAILED;
}

/* Becomes the embedded guest, from memory: nothing is left on disk, and what speaks is what would be sent. */
static int
audit_guest(char **options)
{
	static char name[] = "agenttwin-guest", command[] = "audit";
	char *arguments[2 + GUEST_OPTIONS + 1] = { name, command };
	char *environment[] = { NULL };
	size_t len = (size_t)(guest_image_end - guest_image), at = 0;
	ssize_t n;
	int fd;

	for (unsigned i = 0; i < GUEST_OPTIONS && options[i]; i++)
		arguments[2 + i] = options[i];
	fd = memfd_create(name, MFD_CLOEXEC);
	if (fd < 0) {
		log_line(LOG_LEVEL_ERROR, "audit: making a memory file for the guest failed: %s", strerror(errno));
		return STATUS_FAILED;
	}
	while (at < len) {
		n = write(fd, guest_image + at, len - at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		at += (size_t)n;
	}
	if (at == len)
		fexecve(fd, arguments, environment);
	log_line(LOG_LEVEL_ERROR, "audit: starting the embedded guest failed: %s", strerror(errno));
	close(fd);
	return STATUS_FAILED;
}

static bool
is_arch(const char *name)
{
	return strcmp(name, "x86_64") == 0 || strcmp(name, "aarch64") == 0;
}

/* see cmd.h */
int
cmd_audit(int argc, char **argv)
{
	static char *none[] = { NULL };
	static const char *const forwarded[] = { "--json", "--caps", "--seccomp" };
	const char *option = argc > 1 ? argv[1] : NULL;

	if (!option)
		return audit_policy();
	if (strcmp(option, "--nft") == 0) {
		if (argc == 2 || (argc == 3 && strcmp(argv[2], "inner") == 0))
			return audit_nft(FW_INNER);
		return argc == 3 && strcmp(argv[2], "outer") == 0 ? audit_nft(FW_OUTER) : usage(stderr);
	}
	if (argc == 4 && strcmp(option, "--seccomp") == 0 && strcmp(argv[2], "--arch") == 0 && is_arch(argv[3]))
		return audit_guest(argv + 1);
	if (argc != 2)
		return usage(stderr);
	for (size_t i = 0; i < sizeof(forwarded) / sizeof(forwarded[0]); i++)
		if (strcmp(option, forwarded[i]) == 0)
			return audit_guest(argv + 1);
	if (strcmp(option, "--filter") == 0)
		return audit_guest(none);
	return usage(strcmp(option, "--help") == 0 || strcmp(option, "-h") == 0 ? stdout : stderr);
}
