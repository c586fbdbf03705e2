// SPDX-License-Identifier: GPL-2.0-or-later
// test_fit.c - warnings about what enters the sandbox and cannot work there.
#include <elf.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/addon.h"
#include "host/diag.h"
#include "host/stage.h"
#include "host/world.h"
#include "tests/lib/tap.h"

static char folder[] = "/tmp/test-fit-XXXXXX";

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void
clear(void)
{
	nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	mkdir(folder, 0755);
	if (chdir(folder) < 0)
		abort();
}

static void
put(const char *path, const void *data, size_t len)
{
	char dir[512];
	size_t i;
	int fd;

	for (i = 0; path[i]; i++) {
		if (path[i] != '/')
			continue;
		snprintf(dir, sizeof(dir), "%.*s", (int)i, path);
		mkdir(dir, 0755);
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, data, len) != (ssize_t)len)
		abort();
	close(fd);
}

// A shared object of 64 bits with one needed library; nothing else in it is real.
struct object {
	Elf64_Ehdr head;
	Elf64_Phdr load, dynamic;
	Elf64_Dyn entries[3];
	char strings[32];
};
static void
put_object(const char *path, Elf64_Half machine, const char *libc)
{
	struct object o;

	memset(&o, 0, sizeof(o));
	memcpy(o.head.e_ident, ELFMAG, SELFMAG);
	o.head.e_ident[EI_CLASS] = ELFCLASS64;
	o.head.e_ident[EI_DATA] = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
	o.head.e_machine = machine;
	o.head.e_phoff = offsetof(struct object, load);
	o.head.e_phnum = 2;
	o.head.e_phentsize = sizeof(Elf64_Phdr);
	o.load = (Elf64_Phdr){ .p_type = PT_LOAD, .p_vaddr = 0x1000, .p_filesz = sizeof(o) };
	o.dynamic = (Elf64_Phdr){ .p_type = PT_DYNAMIC,
				  .p_offset = offsetof(struct object, entries),
				  .p_filesz = sizeof(o.entries) };
	o.entries[0] = (Elf64_Dyn){ .d_tag = DT_NEEDED, .d_un = { .d_val = 1 } };
	o.entries[1] = (Elf64_Dyn){ .d_tag = DT_STRTAB,
				    .d_un = { .d_ptr = 0x1000 + offsetof(struct object, strings) } };
	snprintf(o.strings + 1, sizeof(o.strings) - 1, "%s", libc);
	put(path, &o, sizeof(o));
}

static Elf64_Half
our_machine(void)
{
	Elf64_Ehdr e;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, &e, sizeof(e)) != sizeof(e))
		abort();
	close(fd);
	return e.e_machine;
}

// The warnings of one world, a line each.
static void
warnings(const char *files, const char *command, const char *want, const char *name)
{
	char text[2048], got[4096] = "";
	struct stage s = { .root_fd = -1 };
	struct world w;
	struct diag d;
	size_t i, n = 0;

	snprintf(text, sizeof(text),
		 "{\"agenttwin\":\"world/1\",\"name\":\"w\",\"files\":[%s],\"workflow\":{\"command\":[%s]},"
		 "\"checks\":[{\"id\":\"e\",\"kind\":\"exit\",\"code\":0}]}",
		 files, command);
	put("world.json", text, strlen(text));
	if (world_load(NULL, &w, &d) < 0 || stage_collect(&w, &s, &d) < 0) {
		ok(false, "%s", name);
		printf("# %s: %s\n", d.pointer, d.problem);
		return;
	}
	for (i = 0; i < s.warnings_len; i++)
		n += (size_t)snprintf(got + n, sizeof(got) - n, "%s\n", s.warnings[i]);
	if (!ok(*want ? strstr(got, want) != NULL && s.warnings_len == 1 : n == 0, "%s", name))
		printf("# got %s\n", got);
	stage_wipe(&s);
	world_wipe(&w);
}

static void
foreign(const char *path, const char *want, const char *name)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	const char *got = addon_foreign(fd);

	is_str(got ? got : "none", want, name);
	close(fd);
}

static void
test_addons(void)
{
	Elf64_Half ours = our_machine(), other = ours == EM_AARCH64 ? EM_X86_64 : EM_AARCH64;
	const char *other_name = other == EM_AARCH64 ? "aarch64" : "x86_64";
	struct object o;
	size_t len;
	int fd;

	clear();
	put_object("a.node", ours, "libc.so.6");
	foreign("a.node", "none", "an addon of this machine");
	put_object("b.node", other, "libc.so.6");
	foreign("b.node", other_name, "one of another machine");
	put_object("c.node", ours, "libc.musl-x86_64.so.1");
	foreign("c.node", "musl", "one for another C library");
	put("d.node", "\xcf\xfa\xed\xfe....", 8);
	foreign("d.node", "macOS", "one of macOS");
	put("e.node", "MZ......", 8);
	foreign("e.node", "Windows", "one of Windows");
	put("f.node", "", 0);
	foreign("f.node", "none", "an empty file");
	// cut anywhere it is judged by what is there, and read nowhere else
	fd = open("c.node", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, &o, sizeof(o)) != sizeof(o))
		abort();
	close(fd);
	for (len = 0; len < sizeof(o); len++) {
		put("g.node", &o, len);
		fd = open("g.node", O_RDONLY | O_CLOEXEC);
		(void)addon_foreign(fd);
		close(fd);
	}
	memset(&o.load, 0xff, sizeof(o) - offsetof(struct object, load));
	put("g.node", &o, sizeof(o));
	foreign("g.node", "none", "headers full of nonsense");
}

static void
test_packages(void)
{
	Elf64_Half ours = our_machine(), other = ours == EM_AARCH64 ? EM_X86_64 : EM_AARCH64;

	clear();
	put("a.js", "1", 1);
	put_object("node_modules/one/linux.node", ours, "libc.so.6");
	put_object("node_modules/one/other.node", other, "libc.so.6");
	warnings("\"a.js\", \"node_modules/**\"", "\"node\", \"a.js\"", "", "a package with an addon for each machine");
	put_object("node_modules/@s/two/build/two.node", other, "libc.so.6");
	warnings("\"a.js\", \"node_modules/**\"", "\"node\", \"a.js\"",
		 "node_modules/@s/two/build/two.node is built for", "a package with none for this machine");
	clear();
	put("a.js", "1", 1);
	put("package.json", "{}", 2);
	put("node_modules/x/index.js", "1", 1);
	warnings("\"a.js\", \"package.json\"", "\"node\", \"a.js\"", "none of node_modules", "packages left behind");
	warnings("\"a.js\", \"package.json\", \"!node_modules/**\"", "\"node\", \"a.js\"", "", "unless on purpose");
	warnings("\"a.js\", \"package.json\", \"node_modules/**\"", "\"node\", \"a.js\"", "", "packages that enter");
	put("node_modules/.bin/tool", "1", 1);
	warnings("\"node_modules/**\"", "\"npx\", \"tool\", \"x\"", "", "npx with a program that is there");
	warnings("\"node_modules/**\"", "\"npx\", \"--no-install\", \"tool@1.2\"", "", "with options and a version");
	warnings("\"node_modules/**\"", "\"npx\", \"@org/tool\"", "", "of a scope");
	warnings("\"node_modules/**\"", "\"npx\", \"-p\", \"x\", \"other\"", "", "an option that says where");
	warnings("\"node_modules/**\"", "\"npx\", \"other@latest\"", "npx other, but node_modules/.bin/other is not",
		 "npx with a program that would be fetched");
}

int
main(void)
{
	if (!mkdtemp(folder))
		return 1;
	test_addons();
	test_packages();
	if (chdir("/") == 0)
		nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return tap_done();
}
