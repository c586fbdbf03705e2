/* SPDX-License-Identifier: GPL-2.0-or-later
 * cmd_receipt_verify.c - `agenttwin-host receipt verify`. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/cmd.h"
#include "host/diag.h"
#include "host/emit.h"
#include "host/verify.h"
#include "host/wrap.h"
#include "proto/sha256.h"

extern const uint8_t guest_image[], guest_image_end[];

static const char usage[] = "usage: agenttwin-host receipt verify [OPTION...] [FILE|FOLDER|RUNID|latest]\n"
			    "Recomputes what can be recomputed of a receipt and its event file, and says what\n"
			    "it could not verify.\n"
			    "  --key FILE     the receipt must be signed by this key: a public one, as PEM\n"
			    "  --events FILE  the event file; default: beside the receipt\n"
			    "  --json         the result as JSON\n"
			    "  -q, --quiet    only what is wrong\n"
			    "  -h, --help     this text\n"
			    "Exit status: 0 intact, 1 not, 2 unreadable.\n";

static const char *const words[] = { "verified", "not verified", "WRONG" };

struct asked {
	const char *what, *key, *events;
	bool json, quiet;
};

static void
tell(const struct verify *v, const struct asked *a)
{
	unsigned width = wrap_width(STDOUT_FILENO, 100), indent = 28;
	char shown[4 * VERIFY_TEXT_MAX];
	const char *at;
	size_t i, n;

	for (i = 0; i < v->len; i++) {
		const struct verify_item *item = &v->items[i];

		if (a->quiet && item->verdict != VERIFY_WRONG)
			continue;
		escape_text(item->text, strlen(item->text), shown, sizeof(shown));
		printf("%-12s  %-12s  ", words[item->verdict], item->what);
		if (width < 60)
			printf("\n    ");
		for (at = shown; *at; at += n) {
			if (at != shown)
				printf("%*s", width < 60 ? 4 : (int)indent, "");
			n = wrap_fitting(at, width < 60 ? width - 4 : width - indent);
			printf("%.*s\n", (int)n, at);
			while (at[n] == ' ')
				n++;
		}
	}
	if (!a->quiet)
		printf("%s: %zu verified, %zu not verified, %zu wrong%s\n",
		       verify_is_intact(v) ? "intact" : "NOT INTACT", verify_count(v, VERIFY_GOOD),
		       verify_count(v, VERIFY_CANNOT), verify_count(v, VERIFY_WRONG),
		       v->anchored ? ""
				   : "; there is nothing to compare the receipt with: no signature, no event file");
}

static int
print_json(const struct verify *v)
{
	static const char *const verdicts[] = { "verified", "not-verified", "wrong" };
	struct emit e;
	size_t i;

	if (emit_init(&e, stdout, NULL) < 0)
		return -ENOMEM;
	emit_open(&e, NULL, '{');
	emit_text(&e, "agenttwin", "verification/1");
	emit_text(&e, "receipt", v->path);
	emit_bool(&e, "intact", verify_is_intact(v));
	emit_bool(&e, "signed", v->is_signed);
	emit_open(&e, "items", '[');
	for (i = 0; i < v->len; i++) {
		emit_open(&e, NULL, '{');
		emit_text(&e, "what", v->items[i].what);
		emit_text(&e, "verdict", verdicts[v->items[i].verdict]);
		emit_text(&e, "text", v->items[i].text);
		emit_close(&e);
	}
	emit_close(&e);
	emit_close(&e);
	return emit_finish(&e);
}

static int
verify(const struct asked *a)
{
	static struct verify v; /* large */
	char path[4200], why[RECEIPT_WHY_MAX], guest[65];
	struct receipt_doc doc;
	struct sign_public key;
	struct diag d = { 0 };
	uint8_t digest[32];
	int r;

	if (a->key && sign_public_read(a->key, &key, &d) < 0) {
		log_diag(&d);
		return 2;
	}
	if ((r = receipt_named(a->what ? a->what : "latest", path, sizeof(path))))
		return r;
	if ((r = receipt_open(path, &doc, why)) < 0)
		return receipt_complain(path, why, r == -EPROTO ? "the file is not a receipt, or not whole" : NULL);
	sha256_of(guest_image, (size_t)(guest_image_end - guest_image), digest);
	sha256_hex(digest, guest);
	v = (struct verify){
		.doc = &doc, .path = path, .events = a->events, .key = a->key ? &key : NULL, .guest_sha256 = guest
	};
	r = verify_receipt(&v);
	snprintf(why, sizeof(why), "%s", doc.why[0] ? doc.why : strerror(-r));
	receipt_close(&doc);
	if (r < 0)
		return receipt_complain(path, why, NULL);
	if (a->json)
		r = print_json(&v);
	else
		tell(&v, a);
	if (r < 0 || fflush(stdout) != 0 || ferror(stdout))
		return receipt_complain("stdout", strerror(errno), NULL);
	return verify_is_intact(&v) ? 0 : 1;
}

int
receipt_cmd_verify(int argc, char **argv)
{
	struct asked a = { 0 };
	const char **value;
	int i;

	for (i = 1; i < argc; i++) {
		value = strcmp(argv[i], "--key") == 0 ? &a.key : strcmp(argv[i], "--events") == 0 ? &a.events : NULL;
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			fputs(usage, stdout);
			return 0;
		}
		if (value && i + 1 == argc)
			return receipt_complain(argv[i], "the option has no value", NULL);
		if (value)
			*value = argv[++i];
		else if (strcmp(argv[i], "--json") == 0)
			a.json = true;
		else if (strcmp(argv[i], "--quiet") == 0 || strcmp(argv[i], "-q") == 0)
			a.quiet = true;
		else if (argv[i][0] == '-' && argv[i][1])
			return receipt_complain(argv[i], "unknown option",
						"options are --key, --events, --json, --quiet and --help");
		else if (a.what)
			return receipt_complain(argv[i], "more than one receipt", NULL);
		else
			a.what = argv[i];
	}
	return verify(&a);
}
