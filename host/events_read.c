/* SPDX-License-Identifier: GPL-2.0-or-later
 * events_read.c - see events_read.h. */
#include "host/events_read.h"

#include <cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/json.h"

#define FIRST 65536u

int
event_file_open(const char *path, struct event_file *e)
{
	static const char start[] = "agenttwin-spool/1";
	struct stat st;
	int r = 0;

	memset(e, 0, sizeof(*e));
	sha256_of(start, sizeof(start) - 1, e->chain);
	sha256_init(&e->whole);
	e->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (e->fd < 0)
		return -errno;
	if (fstat(e->fd, &st) < 0)
		r = -errno;
	else if (!S_ISREG(st.st_mode))
		r = -EINVAL;
	else if (!(e->buf = malloc(FIRST)))
		r = -ENOMEM;
	e->size = FIRST;
	if (r < 0)
		event_file_close(e);
	return r;
}

void
event_file_close(struct event_file *e)
{
	if (e->fd >= 0)
		close(e->fd);
	free(e->buf);
	e->fd = -1;
	e->buf = NULL;
}

static int
bad(struct event_file *e, int r, const char *problem)
{
	snprintf(e->why, sizeof(e->why), "line %" PRIu64 ": %s", e->lines + 1, problem);
	return r;
}

/* More bytes behind what is there.  1, 0 at the end of the file, -errno. */
static int
fill(struct event_file *e)
{
	ssize_t n;
	char *p;

	if (e->at) {
		memmove(e->buf, e->buf + e->at, e->have - e->at);
		e->have -= e->at;
		e->at = 0;
	}
	if (e->have == e->size) {
		if (e->size >= EVENTS_LINE_MAX)
			return bad(e, -EPROTO, "the line is too long");
		if (!(p = realloc(e->buf, 2 * e->size)))
			return bad(e, -ENOMEM, "not enough memory");
		e->buf = p;
		e->size *= 2;
	}
	do
		n = read(e->fd, e->buf + e->have, e->size - e->have);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return bad(e, -errno, strerror(errno));
	e->have += (size_t)n;
	return n > 0;
}

/* The value of the last of three members begins behind its key. */
static void
find_value(struct event_file *e, const char *line, size_t len, const char *key)
{
	char lead[80];
	const char *at;
	int n = snprintf(lead, sizeof(lead), ",\"%.64s\":", key);

	at = memmem(line, len, lead, (size_t)n);
	e->value = at ? at + n : NULL;
	e->value_len = at ? (size_t)(line + len - 1 - e->value) : 0; /* without the closing brace */
}

static int
take(struct event_file *e, const char *line, size_t len, cJSON **out)
{
	char why[160];
	cJSON *doc = json_take(line, len, EVENTS_LINE_MAX, why);
	const cJSON *event = json_get(doc, "event");

	if (!doc)
		return bad(e, -EPROTO, why);
	if (!cJSON_IsObject(doc) || cJSON_GetArraySize(doc) != 3 || doc->child != event || !cJSON_IsString(event) ||
	    !cJSON_IsNumber(event->next) || strcmp(event->next->string, "t_ms") != 0) {
		cJSON_Delete(doc);
		return bad(e, -EPROTO, "this is no event");
	}
	find_value(e, line, len, event->next->next->string);
	*out = doc;
	return 1;
}

int
event_file_next(struct event_file *e, struct cJSON **line)
{
	size_t seen = 0, len;
	struct sha256 h;
	char *end;
	int r;

	*line = NULL;
	while (!(end = memchr(e->buf + e->at + seen, '\n', e->have - e->at - seen))) {
		seen = e->have - e->at;
		if ((r = fill(e)) < 0)
			return r;
		if (r == 0)
			return e->have == e->at ? 0 : bad(e, -EPROTO, "it has no end: the file is cut");
	}
	len = (size_t)(end - (e->buf + e->at));
	sha256_init(&h);
	sha256_add(&h, e->chain, sizeof(e->chain));
	sha256_add(&h, e->buf + e->at, len + 1);
	sha256_get(&h, e->chain);
	sha256_add(&e->whole, e->buf + e->at, len + 1);
	if ((r = take(e, e->buf + e->at, len, line)) < 0)
		return r;
	e->at += len + 1;
	e->bytes += len + 1;
	e->lines++;
	return 1;
}
