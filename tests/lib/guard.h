/* SPDX-License-Identifier: GPL-2.0-or-later
 * guard.h - input that ends where an unreadable page begins: a read one byte too far stops the test at once, also in code
 * that no sanitizer sees. */
#ifndef TESTS_GUARD_H
#define TESTS_GUARD_H
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define GUARD_MAX (4u << 20)

/* A copy of data[0..len), len at most GUARD_MAX, valid until the next call; len 0 gives a pointer that cannot be read. */
static inline uint8_t *
guard_copy(const void *data, size_t len)
{
	static uint8_t *end;

	if (!end) {
		size_t page = (size_t)sysconf(_SC_PAGESIZE);
		uint8_t *at = mmap(NULL, GUARD_MAX + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (at == MAP_FAILED || mprotect(at + GUARD_MAX, page, PROT_NONE) < 0 || len > GUARD_MAX) {
			perror("guard_copy");
			abort();
		}
		end = at + GUARD_MAX;
	}
	if (len > 0)
		memcpy(end - len, data, len);
	return end - len;
}

/* Random numbers that a printed seed repeats (xorshift64*). */
static uint64_t guard_seed;
static inline uint64_t
guard_random(void)
{
	guard_seed ^= guard_seed >> 12;
	guard_seed ^= guard_seed << 25;
	guard_seed ^= guard_seed >> 27;
	return guard_seed * 2685821657736338717u;
}
/* Takes the seed from SEED, else from the clock and the process, and prints it. */
static inline void
guard_random_start(void)
{
	const char *s = getenv("SEED");
	FILE *f;

	guard_seed = s ? strtoull(s, NULL, 10) : 0;
	if (!guard_seed) {
		f = fopen("/dev/urandom", "r");
		if (!f || fread(&guard_seed, sizeof(guard_seed), 1, f) != 1)
			guard_seed = (uint64_t)getpid() + 1;
		if (f)
			fclose(f);
	}
	guard_seed |= 1; /* never 0 */
	printf("# SEED=%llu\n", (unsigned long long)guard_seed);
}

#endif
