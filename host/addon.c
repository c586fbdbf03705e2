/* SPDX-License-Identifier: GPL-2.0-or-later
 * addon.c - see addon.h.  Node on Linux runs on the machine and with the C library that this program was built for. */
#include "host/addon.h"

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define HEADERS_MAX 64u
#define NEEDED_MAX 256u

#if defined(__x86_64__)
#define OURS EM_X86_64
#elif defined(__aarch64__)
#define OURS EM_AARCH64
#elif defined(__riscv)
#define OURS EM_RISCV
#elif defined(__powerpc64__)
#define OURS EM_PPC64
#elif defined(__s390x__)
#define OURS EM_S390
#else
#define OURS EM_NONE
#endif

static bool
read_at(int fd, uint64_t at, void *out, size_t len)
{
	return at <= INT64_MAX - len && pread(fd, out, len, (off_t)at) == (ssize_t)len;
}

static const char *
machine_name(unsigned machine)
{
	static const struct {
		unsigned machine;
		const char *name;
	} names[] = {
		{ EM_386, "x86 (32 bits)" }, { EM_X86_64, "x86_64" },         { EM_ARM, "ARM (32 bits)" },
		{ EM_AARCH64, "aarch64" },   { EM_RISCV, "riscv64" },         { EM_PPC64, "ppc64" },
		{ EM_S390, "s390x" },        { EM_LOONGARCH, "loongarch64" },
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].machine == machine)
			return names[i].name;
	return "another processor";
}

/* The place in the file of an address in memory; 0: none. */
static uint64_t
file_offset(const Elf64_Phdr *headers, size_t n, uint64_t address)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (headers[i].p_type == PT_LOAD && address >= headers[i].p_vaddr &&
		    address - headers[i].p_vaddr < headers[i].p_filesz)
			return headers[i].p_offset + (address - headers[i].p_vaddr);
	return 0;
}

/* The C library that one of the needed libraries is: "glibc", "musl"; NULL it is another library. */
static const char *
library_name(int fd, uint64_t at)
{
	char name[16] = "";

	if (!read_at(fd, at, name, sizeof(name) - 1))
		return NULL;
	if (strncmp(name, "libc.musl-", 10) == 0)
		return "musl";
	return strcmp(name, "libc.so.6") == 0 ? "glibc" : NULL;
}

static const char *
needed_libc(int fd, const Elf64_Phdr *headers, size_t n, const Elf64_Phdr *dynamic)
{
	uint64_t needed[NEEDED_MAX], strings = 0, i;
	size_t needed_len = 0, k;
	const char *name = NULL;
	Elf64_Dyn d;

	for (i = 0; i < dynamic->p_filesz / sizeof(d) && i < 4096; i++) {
		if (!read_at(fd, dynamic->p_offset + i * sizeof(d), &d, sizeof(d)) || d.d_tag == DT_NULL)
			break;
		if (d.d_tag == DT_STRTAB)
			strings = file_offset(headers, n, d.d_un.d_ptr);
		else if (d.d_tag == DT_NEEDED && needed_len < NEEDED_MAX)
			needed[needed_len++] = d.d_un.d_val;
	}
	for (k = 0; k < needed_len && strings && !name; k++)
		name = library_name(fd, strings + needed[k]);
	return name;
}

static const char *
foreign_libc(int fd, const Elf64_Ehdr *e)
{
#ifdef __GLIBC__
	static const char ours[] = "glibc";
#else
	static const char ours[] = "musl";
#endif
	Elf64_Phdr headers[HEADERS_MAX];
	const char *libc = NULL;
	size_t i, n = e->e_phnum < HEADERS_MAX ? e->e_phnum : HEADERS_MAX;

	if (e->e_phentsize != sizeof(headers[0]) || !read_at(fd, e->e_phoff, headers, n * sizeof(headers[0])))
		return NULL;
	for (i = 0; i < n && !libc; i++)
		if (headers[i].p_type == PT_DYNAMIC)
			libc = needed_libc(fd, headers, n, &headers[i]);
	return libc && strcmp(libc, ours) != 0 ? libc : NULL;
}

const char *
addon_foreign(int fd)
{
	Elf64_Ehdr e;
	uint32_t magic;
	bool little;

	memset(&e, 0, sizeof(e));
	if (!read_at(fd, 0, &magic, sizeof(magic)))
		return NULL;
	if (magic == 0xfeedfacfu || magic == 0xcffaedfeu || magic == 0xbebafecau || magic == 0xcafebabeu)
		return "macOS";
	if (memcmp(&magic, "MZ", 2) == 0)
		return "Windows";
	if (memcmp(&magic, ELFMAG, SELFMAG) != 0 || !read_at(fd, 0, &e, sizeof(e)))
		return NULL;
	little = e.e_ident[EI_DATA] == ELFDATA2LSB;
	if (little != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__))
		return "another processor";
	if (e.e_machine != OURS)
		return OURS == EM_NONE ? NULL : machine_name(e.e_machine);
	return e.e_ident[EI_CLASS] == ELFCLASS64 ? foreign_libc(fd, &e) : NULL;
}
