/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_file.c - reports as files, see test_report.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/diag.h"
#include "host/test_report.h"

static int
fail(const struct test_file *f, int err, struct diag *d)
{
	snprintf(d->file, sizeof(d->file), "%.500s", f->name);
	diag_set(d, err, "the report cannot be written: %s", strerror(-err));
	diag_fix(d, "name a file in a folder that is there and can be written, or - for stdout");
	return err;
}

/* A pipe, a terminal, /dev/null: written as it is. */
static int
open_in_place(struct test_file *f)
{
	int fd = open(f->path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	f->f = fdopen(fd, "w");
	if (!f->f)
		close(fd);
	return f->f ? 0 : -ENOMEM;
}

/* Beside the place where it will be: rename(2) is then one step. */
static int
open_temporary(struct test_file *f)
{
	const char *slash = strrchr(f->path, '/');
	int fd, dir = slash ? (int)(slash - f->path) + 1 : 0;

	if (asprintf(&f->temporary, "%.*s.%.200s.XXXXXX", dir, f->path, f->path + dir) < 0) {
		f->temporary = NULL;
		return -ENOMEM;
	}
	fd = mkostemp(f->temporary, O_CLOEXEC);
	if (fd < 0) {
		fd = -errno;
		free(f->temporary);
		f->temporary = NULL;
		return fd;
	}
	f->f = fdopen(fd, "w");
	if (!f->f) {
		close(fd);
		return -ENOMEM;
	}
	return 0;
}

/* see test_report.h */
int
test_file_open(struct test_file *f, const char *name, struct diag *d)
{
	struct stat st;
	int fd, r = 0;

	*f = (struct test_file){ .name = name };
	if (!name)
		return 0;
	if (strcmp(name, "-") == 0) {
		fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
		f->f = fd < 0 ? NULL : fdopen(fd, "w");
		return f->f ? 0 : fail(f, -errno, d);
	}
	/* Through a link: the file that it means is replaced, not the link. */
	f->path = realpath(name, NULL);
	if (!f->path && errno == ENOENT)
		f->path = strdup(name);
	if (!f->path)
		return fail(f, -errno, d);
	if (stat(f->path, &st) < 0)
		r = errno == ENOENT ? open_temporary(f) : -errno;
	else if (S_ISDIR(st.st_mode))
		r = -EISDIR;
	else
		r = S_ISREG(st.st_mode) ? open_temporary(f) : open_in_place(f);
	if (r == 0 && f->temporary && unlink(f->path) < 0 && errno != ENOENT)
		r = -errno;
	if (r < 0) {
		test_file_abandon(f);
		f->name = name;
		return fail(f, r, d);
	}
	return 0;
}

/* see test_report.h */
int
test_file_close(struct test_file *f)
{
	mode_t mask;
	int r = 0;

	if (!f->f)
		return 0;
	errno = 0;
	if (fflush(f->f) != 0 || ferror(f->f))
		r = errno ? -errno : -EIO;
	if (r == 0 && f->temporary) {
		mask = umask(0);
		umask(mask);
		if (fchmod(fileno(f->f), 0666 & ~mask) < 0 || fsync(fileno(f->f)) < 0)
			r = -errno;
	}
	if (fclose(f->f) != 0 && r == 0)
		r = -errno;
	f->f = NULL;
	if (r == 0 && f->temporary && rename(f->temporary, f->path) < 0)
		r = -errno;
	if (r == 0) {
		free(f->temporary); /* it is in its place */
		f->temporary = NULL;
	}
	test_file_abandon(f);
	return r;
}

/* see test_report.h */
void
test_file_abandon(struct test_file *f)
{
	if (f->f)
		fclose(f->f);
	if (f->temporary)
		unlink(f->temporary);
	free(f->temporary);
	free(f->path);
	*f = (struct test_file){ 0 };
}
