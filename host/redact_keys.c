/* SPDX-License-Identifier: GPL-2.0-or-later
 * redact_keys.c - see redact_keys.h. */
#include "host/redact_keys.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/digest_map.h"

static const char token[] = "{{secret.";

struct keys {
	struct digest_map seen; /* by object and key: how many were called so */
	char *text;             /* owned: the object's number, then the key as it reads */
	uint64_t objects;
	size_t depth;
	uint64_t stack[REDACT_KEYS_DEPTH];
};

/* One UTF-16 unit as UTF-8 would have it: halves of a pair stay two, which tells keys apart as well as the pair would. */
static size_t
unit(uint32_t c, char *out)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 63));
		return 2;
	}
	out[0] = (char)(0xe0 | c >> 12);
	out[1] = (char)(0x80 | (c >> 6 & 63));
	out[2] = (char)(0x80 | (c & 63));
	return 3;
}

/* The inside of a JSON string as it reads: two ways to write one key are one.  Never longer than what is written. */
static size_t
unescape(const char *s, size_t len, char *out)
{
	static const char names[] = "bfnrt", bytes[] = "\b\f\n\r\t";
	size_t i, n = 0;
	const char *at;
	char hex[5] = "";

	for (i = 0; i < len; i++) {
		if (s[i] != '\\' || i + 1 == len) {
			out[n++] = s[i];
		} else if (s[++i] == 'u' && len - i > 4) {
			memcpy(hex, s + i + 1, 4);
			n += unit((uint32_t)strtoul(hex, NULL, 16), out + n);
			i += 4;
		} else {
			at = s[i] ? strchr(names, s[i]) : NULL;
			out[n++] = at ? bytes[at - names] : s[i];
		}
	}
	return n;
}

/* The number that key len bytes in k->text must get to be the first of its name, 0 for none.  -ENOMEM. */
static int
number(struct keys *k, size_t len, uint32_t *out)
{
	uint32_t *of, n;
	bool added;

	*out = 0;
	of = digest_map_add(&k->seen, k->text, len, &added);
	if (!of)
		return -ENOMEM;
	if (added) {
		*of = 1;
		return 0;
	}
	/* The next search for the same key goes on behind this number, so that all of them together are linear. */
	n = *of;
	do {
		of = digest_map_add(&k->seen, k->text, len + (size_t)snprintf(k->text + len, 16, "#%u", ++n), &added);
		if (!of)
			return -ENOMEM;
		if (added)
			*of = 1;
	} while (!added);
	of = digest_map_find(&k->seen, k->text, len);
	if (of)
		*of = n;
	*out = n;
	return 0;
}

/* Where the string at json[0], a quote, ends: behind its second quote. */
static size_t
string_end(const char *json, size_t len)
{
	size_t i;

	for (i = 1; i < len && json[i] != '"'; i++)
		if (json[i] == '\\')
			i++;
	return i < len ? i + 1 : len;
}

static bool
is_key(const char *json, size_t len, size_t i)
{
	while (i < len && (json[i] == ' ' || json[i] == '\t' || json[i] == '\n' || json[i] == '\r'))
		i++;
	return i < len && json[i] == ':';
}

/* Takes the key s[0..len) without its quotes: what its number must be. */
static int
take_key(struct keys *k, const char *s, size_t len, uint32_t *out)
{
	uint64_t object = k->depth && k->depth <= REDACT_KEYS_DEPTH ? k->stack[k->depth - 1] : 0;
	size_t n;

	*out = 0;
	if (!object)
		return 0;
	memcpy(k->text, &object, sizeof(object));
	n = unescape(s, len, k->text + sizeof(object));
	if (!memmem(k->text + sizeof(object), n, token, sizeof(token) - 1))
		return 0; /* no other becomes equal to it */
	return number(k, sizeof(object) + n, out);
}

static int
walk(struct keys *k, const char *json, size_t len, redact_sink *sink, void *arg)
{
	size_t i = 0, from = 0, end;
	char suffix[16];
	uint32_t n;
	int r;

	for (; i < len; i = end) {
		end = i + 1;
		if (json[i] == '{' || json[i] == '[') {
			if (k->depth < REDACT_KEYS_DEPTH)
				k->stack[k->depth] = json[i] == '{' ? ++k->objects : 0;
			k->depth++;
		} else if ((json[i] == '}' || json[i] == ']') && k->depth) {
			k->depth--;
		}
		if (json[i] != '"')
			continue;
		end = i + string_end(json + i, len - i);
		if (end - i < 2 || !is_key(json, len, end))
			continue;
		if ((r = take_key(k, json + i + 1, end - i - 2, &n)) < 0)
			return r;
		if (!n)
			continue;
		r = sink(arg, json + from, end - 1 - from);
		if (r < 0 || (r = sink(arg, suffix, (size_t)snprintf(suffix, sizeof(suffix), "#%u", n))) < 0)
			return r;
		from = end - 1;
	}
	return from < len ? sink(arg, json + from, len - from) : 0;
}

int
redact_keys(const char *json, size_t len, redact_sink *sink, void *arg)
{
	struct keys *k;
	int r;

	if (!memmem(json, len, token, sizeof(token) - 1))
		return len ? sink(arg, json, len) : 0;
	k = calloc(1, sizeof(*k));
	if (!k)
		return -ENOMEM;
	k->text = malloc(len + sizeof(uint64_t) + 16);
	r = k->text ? walk(k, json, len, sink, arg) : -ENOMEM;
	digest_map_wipe(&k->seen);
	free(k->text);
	free(k);
	return r;
}
