/* SPDX-License-Identifier: GPL-2.0-or-later
 * receipt_read.c - see receipt_read.h. */
#include "host/receipt_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/json.h"

static int
slurp(const char *path, char **text, size_t *len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), r = 0;
	struct stat st;
	ssize_t n;

	*text = NULL;
	*len = 0;
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		r = -errno;
	else if (!S_ISREG(st.st_mode))
		r = -EISDIR;
	else if (st.st_size > (off_t)RECEIPT_READ_MAX)
		r = -EFBIG;
	else if (!(*text = malloc((size_t)st.st_size + 1)))
		r = -ENOMEM;
	while (r == 0 && *len < (size_t)st.st_size && (n = read(fd, *text + *len, (size_t)st.st_size - *len)) != 0) {
		if (n > 0)
			*len += (size_t)n;
		else if (errno != EINTR)
			r = -errno;
	}
	close(fd);
	if (r == 0) {
		(*text)[*len] = '\0';
		return 0;
	}
	free(*text);
	*text = NULL;
	return r;
}

int
receipt_read(const char *path, char **text, size_t *len, struct cJSON **doc, char why[static 160])
{
	char *bytes;
	size_t n;
	int r = slurp(path, &bytes, &n);

	*doc = NULL;
	if (r < 0) {
		snprintf(why, 160, "%s", strerror(-r));
		return r;
	}
	*doc = json_take(bytes, n, RECEIPT_READ_MAX, why);
	if (!*doc || !text) {
		free(bytes);
	} else {
		*text = bytes;
		*len = n;
	}
	return *doc ? 0 : -EPROTO;
}
