/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_order.c - the order of frames against a model that is written another way: a stream is a word, one letter a frame,
 * and its valid beginnings are a regular language. */
#include <errno.h>
#include <regex.h>
#include <stdlib.h>

#include "proto/frame.h"
#include "proto/plan.h"
#include "tests/lib/guard.h"
#include "tests/lib/tap.h"

#define WORD_MAX 40

static const uint8_t random16[FRAME_RANDOM_LEN] = { 42 };
static struct frame_receiver receiver;
static struct frame_sender sender;

static const struct letter {
	char letter;
	uint8_t type;
	const char *body;
	uint32_t len;
} to_host[] = {
	{ 'H', FRAME_HELLO, "{}", 2 },      { '1', FRAME_FIREWALL, "\1", 1 }, { '2', FRAME_FIREWALL, "\2", 1 },
	{ '3', FRAME_FIREWALL, "\3", 1 },   { 's', FRAME_STATE, "\1\0", 2 },  { 't', FRAME_STATE, "\2\0", 2 },
	{ 'r', FRAME_READY, "", 0 },        { 'o', FRAME_STDOUT, "x", 1 },    { 'o', FRAME_STDERR, "x", 1 },
	{ 'p', FRAME_OP, "{}", 2 },         { 'x', FRAME_EXIT, "x", 1 },      { 'f', FRAME_FAIL, "\0\0", 3 },
	{ 'E', FRAME_END, NULL, 0 },        { 'l', FRAME_LOG, "\1", 1 },      { 'l', FRAME_DENIED, "{}", 2 },
	{ 'l', FRAME_PONG, "0123456789abcdef", 16 }, { 'l', FRAME_TRUNCATED, "0123456789abcdefg", 17 },
	{ '?', FRAME_FIREWALL, "\4", 1 },   { '?', FRAME_STATE, "\3\0", 2 },
}, to_guest[] = {
	{ 'h', FRAME_HELLO_HOST, NULL, 0 }, { 'a', FRAME_RUN, "\1", 1 },  { 'b', FRAME_RUN, "\2", 1 },
	{ 'c', FRAME_RUN, "\3", 1 },        { 'd', FRAME_RUN, "\4", 1 },  { 'F', FRAME_FILE, "x", 1 },
	{ 'D', FRAME_DATA, "x", 1 },        { 'C', FRAME_COMMIT, NULL, 0 }, { 'S', FRAME_START, "", 0 },
	{ 'l', FRAME_PING, "01234567", 8 }, { 'l', FRAME_CANCEL, "\1", 1 }, { '?', FRAME_RUN, "\5", 1 },
};

static bool
matches(const char *pattern, const char *word)
{
	static struct {
		const char *pattern;
		regex_t compiled;
	} cache[16];
	size_t i = 0;

	while (cache[i].pattern && cache[i].pattern != pattern)
		i++;
	if (!cache[i].pattern) {
		if (regcomp(&cache[i].compiled, pattern, REG_EXTENDED | REG_NOSUB) != 0)
			abort();
		cache[i].pattern = pattern;
	}
	return regexec(&cache[i].compiled, word, 0, NULL, 0) == 0;
}

/* Without the frames that may come anywhere after the first; one before the first stays and spoils the word. */
static void
without_noise(const char *word, char last, char *out)
{
	size_t n = 0;
	bool ended = false;

	for (size_t i = 0; word[i]; i++) {
		if (word[i] != 'l' || i == 0 || ended)
			out[n++] = word[i];
		ended |= word[i] == last;
	}
	out[n] = '\0';
}

/* The beginnings of a good run, and what may follow once it has failed, by how far it had come. */
static const char good[] = "^(H(1s*[rop]*(xp*(t*(2E?)?)?)?)?)?$";
static const char tail_hello[] = "^f*(x[pf3]*)?(t[tf3]*)?(2f*)?E?$";
static const char tail_running[] = "^[opf3]*(x[pf3]*)?(t[tf3]*)?(2f*)?E?$";
static const char tail_exited[] = "^[pf3]*(t[tf3]*)?(2f*)?E?$";
static const char tail_final[] = "^[tf3]*(2f*)?E?$";
static const char tail_closed[] = "^f*E?$";

static bool
is_run(const char *full)
{
	char word[WORD_MAX + 1], *cut;
	const char *tail;
	size_t n;

	without_noise(full, 'E', word);
	/* READY at most once and not after a failure. */
	cut = strchr(word, 'r');
	if (cut && strchr(cut + 1, 'r'))
		return false;
	n = strcspn(word, "f3");
	if (word[n] == '\0')
		return matches(good, word);
	if (word[n] == '3' && (!memchr(word, '1', n) || memchr(word, '2', n)))
		return false;
	/* before a FIREWALL(1), only FAIL can be the failure; FIREWALL(3) neither comes later in that case */
	tail = memchr(word, '2', n)   ? tail_closed
	       : memchr(word, 't', n) ? tail_final
	       : memchr(word, 'x', n) ? tail_exited
	       : memchr(word, '1', n) ? tail_running
				      : tail_hello;
	if (n == 0 || word[n - 1] == 'E' || !matches(tail, word + n + 1))
		return false;
	word[n] = '\0';
	return matches(good, word);
}

static bool
is_bundle(const char *full)
{
	static const char pattern[] = "^(h(a(b(c(d(F[FD]*)?(CS?)?)?)?)?)?)?$";
	char word[WORD_MAX + 1];

	without_noise(full, '\0', word);
	return matches(pattern, word);
}

static int
receive(const struct letter *l)
{
	static uint8_t frame[FRAME_HEADER_LEN + 256];
	uint8_t body[64];
	struct writer w;
	struct frame f;
	size_t used;
	int r;

	writer_init(&w, body, sizeof(body));
	if (l->type == FRAME_END) {
		struct plan_end end = { .frames = sender.seq };

		memcpy(end.chain, sender.chain.value, 32);
		plan_end_encode(&w, &end);
	} else if (l->type == FRAME_COMMIT) {
		struct plan_commit commit = { 0 };

		memcpy(commit.chain, sender.chain.value, 32);
		plan_commit_encode(&w, &commit);
	} else if (l->type == FRAME_HELLO_HOST) {
		struct frame_hello hello = { 1, 1, { 42 } };

		frame_hello_encode(&hello, body);
		w.len = FRAME_HELLO_LEN;
	} else {
		write_bytes(&w, l->body, l->len);
	}
	frame_send(&sender, l->type, 0, body, (uint32_t)w.len, frame);
	memcpy(frame + FRAME_HEADER_LEN, body, w.len);
	r = frame_receive(&receiver, frame, FRAME_HEADER_LEN + w.len, &used, &f);
	return r;
}

/* Random words that grow one letter at a time, mostly by a letter that the model allows.  Receiver and model must agree on
 * every one.  Returns the longest word that was accepted. */
static size_t
walk(bool host, const struct letter *letters, size_t letters_len, char last, unsigned *complete)
{
	char word[WORD_MAX + 1] = "";
	size_t n = 0;

	frame_receiver_init(&receiver, host ? FRAME_TO_HOST : FRAME_TO_GUEST, host ? random16 : NULL, false);
	frame_sender_init(&sender, random16);
	while (n < WORD_MAX) {
		const struct letter *l = &letters[guard_random() % letters_len];
		bool allowed;
		int r;

		for (int tries = 0; tries < 50; tries++) {
			word[n] = l->letter;
			word[n + 1] = '\0';
			if ((host ? is_run(word) : is_bundle(word)) || guard_random() % 100 == 0)
				break;
			l = &letters[guard_random() % letters_len];
		}
		word[n] = l->letter;
		word[n + 1] = '\0';
		allowed = host ? is_run(word) : is_bundle(word);
		r = receive(l);
		if ((r == 1) != allowed) {
			ok(0, "%s: the model says %s, the receiver %d (%s)", word, allowed ? "yes" : "no", r,
			   receiver.problem ? receiver.problem : "");
			return 0;
		}
		if (frame_receiver_is_complete(&receiver) != (r == 1 && strchr(word, last) != NULL)) {
			ok(0, "%s: complete or not", word);
			return 0;
		}
		if (r != 1)
			break;
		n++;
	}
	*complete += strchr(word, last) != NULL;
	return n;
}

static void
test_walks(bool host, const struct letter *letters, size_t len, char last, const char *name)
{
	int walks = getenv("AGENTTWIN_LONG") ? 100000 : 4000;
	size_t longest = 0, sum = 0;
	unsigned complete = 0;

	for (int i = 0; i < walks && tap_failed == 0; i++) {
		size_t n = walk(host, letters, len, last, &complete);

		longest = n > longest ? n : longest;
		sum += n;
	}
	ok(longest > 10 && complete > 100, "%s: receiver and model agree on random words", name);
	printf("# longest %zu, mean %zu, %u complete\n", longest, sum / (size_t)walks, complete);
}

/* Words that must be accepted, whatever the model says: both could be wrong in the same way. */
static void
test_words(void)
{
	static const char *const good_words[] = {
		"H1ssrooppxptt2E", "H1rx2E",   "H1x2E",      "Hlf2E", "HfE",     "H1sofxt2E",
		"H1sr3fxt2E",      "H1srx2fE", "H1sroxl2lE", "H13E",  "H1s3x2E",
	};
	static const char *const bad_words[] = {
		"1",      "HH",      "H1E",  "H1xE",   "Hx",  "H2",  "H3", "H1rr", "H1so1", "H1sos", "H1sxo", "H1sxtp",
		"H1sx2p", "H1sx2E2", "HfEl", "H1sx2t", "Hfr", "Hf1", "Ho", "Hs",   "H1xx",  "H1fr",  "l",
	};

	for (size_t i = 0; i < sizeof(good_words) / sizeof(good_words[0]); i++) {
		frame_receiver_init(&receiver, FRAME_TO_HOST, random16, false);
		frame_sender_init(&sender, random16);
		for (const char *c = good_words[i]; *c; c++)
			for (size_t k = 0; k < sizeof(to_host) / sizeof(to_host[0]); k++)
				if (to_host[k].letter == *c) {
					if (receive(&to_host[k]) != 1)
						printf("# refused at '%s'\n", c);
					break;
				}
		ok(frame_receiver_is_complete(&receiver) && is_run(good_words[i]), "accepted: %s", good_words[i]);
	}
	for (size_t i = 0; i < sizeof(bad_words) / sizeof(bad_words[0]); i++) {
		int r = 1;

		frame_receiver_init(&receiver, FRAME_TO_HOST, random16, false);
		frame_sender_init(&sender, random16);
		for (const char *c = bad_words[i]; *c && r == 1; c++)
			for (size_t k = 0; k < sizeof(to_host) / sizeof(to_host[0]); k++)
				if (to_host[k].letter == *c) {
					r = receive(&to_host[k]);
					if (r != 1 && c[1])
						r = 2; /* too early */
					break;
				}
		ok(r == -EPROTO && !is_run(bad_words[i]), "refused: %s", bad_words[i]);
	}
}

int
main(void)
{
	guard_random_start();
	test_words();
	test_walks(true, to_host, sizeof(to_host) / sizeof(to_host[0]), 'E', "to the host");
	test_walks(false, to_guest, sizeof(to_guest) / sizeof(to_guest[0]), 'C', "to the guest");
	return tap_done();
}
