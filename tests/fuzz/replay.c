/* SPDX-License-Identifier: GPL-2.0-or-later
 * replay.c - runs a fuzz target over files, and over the files of folders, given as arguments: under any compiler, without
 * libFuzzer.  Prints one TAP line a file; a crash ends it without a plan, which is a failure. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static int count, failed;

static void
replay_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data = NULL;
	size_t len = 0;
	long size = -1;

	if (f && fseek(f, 0, SEEK_END) == 0)
		size = ftell(f);
	if (size >= 0 && fseek(f, 0, SEEK_SET) == 0) {
		data = malloc(size > 0 ? (size_t)size
				       : 1); /* of exactly its size, so that the sanitizer sees its end */
		len = data ? fread(data, 1, (size_t)size, f) : 0;
	}
	if (f)
		fclose(f);
	if (!data || len != (size_t)size) {
		printf("not ok %d - cannot read %s\n", ++count, path);
		failed = 1;
	} else {
		(void)LLVMFuzzerTestOneInput(data, len);
		printf("ok %d - %s\n", ++count, path);
	}
	fflush(stdout);
	free(data);
}

static void
replay_path(const char *path)
{
	struct dirent **names;
	struct stat st;
	int n;

	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode)) {
		replay_file(path);
		return;
	}
	n = scandir(path, &names, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		char *child;

		if (names[i]->d_name[0] != '.' && asprintf(&child, "%s/%s", path, names[i]->d_name) >= 0) {
			replay_path(child);
			free(child);
		}
		free(names[i]);
	}
	if (n >= 0)
		free(names);
}

int
main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		replay_path(argv[i]);
	printf("1..%d\n", count);
	return failed || count == 0;
}
