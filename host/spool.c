/* SPDX-License-Identifier: GPL-2.0-or-later
 * spool.c - see spool.h. */
#include "host/spool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/base64.h"

void
spool_init(struct spool *s, int fd, const struct redact *r)
{
	static const char start[] = "agenttwin-spool/1";

	memset(s, 0, sizeof(*s));
	s->fd = fd;
	s->redact = r;
	s->max = SPOOL_BYTES_MAX;
	sha256_of(start, sizeof(start) - 1, s->chain);
}

void
spool_redact(struct spool *s, const struct redact *r)
{
	s->redact = r;
}

int
spool_flush(struct spool *s)
{
	size_t done = 0;
	ssize_t n;

	while (s->error == 0 && done < s->have) {
		n = write(s->fd, s->buf + done, s->have - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			s->error = n < 0 ? -errno : -EIO;
		else
			done += (size_t)n;
	}
	s->have = 0;
	return s->error;
}

static int
put(void *arg, const void *data, size_t len)
{
	struct spool *s = arg;
	const uint8_t *at = data;
	size_t n;

	if (s->error)
		return s->error;
	sha256_add(&s->line, data, len);
	if (s->in_value)
		sha256_add(&s->value, data, len);
	s->bytes += len;
	while (len) {
		if (s->have == sizeof(s->buf) && spool_flush(s) < 0)
			return s->error;
		n = sizeof(s->buf) - s->have;
		if (n > len)
			n = len;
		memcpy(s->buf + s->have, at, n);
		s->have += n;
		at += n;
		len -= n;
	}
	return 0;
}

static int
line_start(struct spool *s, const char *event, uint64_t t_ms, const char *key, size_t len)
{
	char head[192];
	int n;

	if (s->error)
		return s->error;
	/* Redaction may lengthen a line, by less than three times: a value of six bytes becomes at most {{secret.NAME}}. */
	if (len > s->max || s->bytes > s->max - len) {
		s->lost++;
		return -ENOSPC;
	}
	sha256_init(&s->line);
	sha256_add(&s->line, s->chain, sizeof(s->chain));
	n = snprintf(head, sizeof(head), "{\"event\":\"%s\",\"t_ms\":%" PRIu64 ",\"%s\":", event, t_ms, key);
	return put(s, head, (size_t)n);
}

static int
line_end(struct spool *s)
{
	int r = put(s, "}\n", 2);

	if (r < 0)
		return r;
	sha256_get(&s->line, s->chain);
	s->records++;
	return 0;
}

int
spool_event(struct spool *s, const char *event, uint64_t t_ms, const char *key, const char *json, size_t len,
	    struct spool_place *place)
{
	uint64_t offset;
	int r;

	if ((r = line_start(s, event, t_ms, key, len)) < 0)
		return r;
	offset = s->bytes;
	if (place)
		sha256_init(&s->value);
	s->in_value = place != NULL;
	r = redact_json(s->redact, json, len, put, s);
	s->in_value = false;
	if (r < 0) {
		s->error = s->error ? s->error : r;
		return s->error;
	}
	if (place) {
		place->offset = offset;
		place->len = s->bytes - offset;
		sha256_get(&s->value, place->digest);
	}
	return line_end(s);
}

/* As a JSON string with its quotes. */
static size_t
base64(const uint8_t *in, size_t len, char *out)
{
	size_t n = base64_text(in, len, out + 1);

	out[0] = out[n + 1] = '"';
	return n + 2;
}

int
spool_bytes(struct spool *s, const char *event, uint64_t t_ms, const uint8_t *data, size_t len)
{
	bool text = spool_is_text(data, len);
	char *json;
	size_t n;
	int r;

	json = malloc(text ? 6 * len + 2 : len / 3 * 4 + 8);
	if (!json)
		return s->error = s->error ? s->error : -ENOMEM;
	n = text ? spool_text(data, len, json) : base64(data, len, json);
	r = line_start(s, event, t_ms, text ? "text" : "base64", n);
	if (r == 0 && (r = put(s, json, n)) == 0)
		r = line_end(s);
	free(json);
	return r;
}

int
spool_read(struct spool *s, const struct spool_place *place, char **out)
{
	uint8_t digest[32];
	struct sha256 value;
	uint64_t done = 0;
	ssize_t n;
	char *p;

	if (spool_flush(s) < 0)
		return s->error;
	if (place->len > SPOOL_BYTES_MAX)
		return -EMSGSIZE;
	p = malloc((size_t)place->len + 1);
	if (!p)
		return -ENOMEM;
	while (done < place->len) {
		n = pread(s->fd, p + done, (size_t)(place->len - done), (off_t)(place->offset + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			int r = n < 0 ? -errno : -EIO;

			free(p);
			return r;
		}
		done += (uint64_t)n;
	}
	/* Where there is no boundary the workflow could have written there too. */
	sha256_init(&value);
	sha256_add(&value, p, (size_t)done);
	sha256_get(&value, digest);
	if (memcmp(digest, place->digest, sizeof(digest)) != 0) {
		free(p);
		return -EBADMSG;
	}
	p[done] = '\0';
	*out = p;
	return 0;
}

int
spool_sync(struct spool *s)
{
	if (spool_flush(s) < 0)
		return s->error;
	if (fsync(s->fd) < 0 && errno != EINVAL && errno != EROFS)
		s->error = -errno;
	return s->error;
}

void
spool_wipe(struct spool *s)
{
	if (s->fd >= 0)
		close(s->fd);
	explicit_bzero(s->buf, sizeof(s->buf));
	s->fd = -1;
}
