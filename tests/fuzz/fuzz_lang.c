/* SPDX-License-Identifier: GPL-2.0-or-later
 * fuzz_lang.c - expressions and templates of a world. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "proto/lang.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What the parser built must be a tree: each node is reached at most once. */
static void
visit(const struct lang_expr *x, uint8_t n, uint8_t *seen)
{
	const struct lang_node *node;

	assert(n < x->nodes_len && seen[n]++ == 0);
	node = &x->nodes[n];
	if (node->op == LANG_CALL) {
		for (uint8_t a = node->a; a != LANG_NONE; a = x->nodes[a].next)
			visit(x, a, seen);
		return;
	}
	if (node->a != LANG_NONE)
		visit(x, node->a, seen);
	if (node->b != LANG_NONE)
		visit(x, node->b, seen);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data, *expr;
	struct lang_expr x;
	struct lang_error e;
	size_t before, len, used;
	uint8_t seen[LANG_NODES_MAX] = { 0 };

	if (lang_parse(text, size, NULL, NULL, &x, &e) == 0) {
		visit(&x, x.root, seen);
		for (uint8_t i = 0; i < x.nodes_len; i++) {
			char out[LANG_TEXT_MAX];

			assert(x.nodes[i].op != LANG_STRING || lang_string(&x.nodes[i], out, sizeof(out)) >= 0);
		}
	} else {
		assert(e.problem[0] != '\0' && e.offset <= size);
	}
	while (lang_template_next(text, size, &before, &expr, &len, &used) == 1) {
		assert(used <= size && before + len + 4 == used && expr == text + before + 2);
		text += used;
		size -= used;
	}
	return 0;
}
