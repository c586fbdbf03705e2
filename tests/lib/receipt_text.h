/* SPDX-License-Identifier: GPL-2.0-or-later
 * receipt_text.h - receipts for unit tests: the parts that matter are given, the others are added empty. */
#ifndef TESTS_RECEIPT_TEXT_H
#define TESTS_RECEIPT_TEXT_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/receipt_read.h"

/* Is there a member of this name outside all brackets? */
static inline int
receipt_text_has(const char *members, const char *name)
{
	int depth = 0, string = 0;

	for (; *members; members++) {
		if (depth == 0 && !string && strncmp(members, name, strlen(name)) == 0)
			return 1;
		if (string && *members == '\\' && members[1])
			members++;
		else if (*members == '"')
			string = !string;
		else if (!string)
			depth += (*members == '{' || *members == '[') - (*members == '}' || *members == ']');
	}
	return 0;
}

/* members without braces, as "\"status\":\"passed\"", or "".  Owned by the caller. */
static inline char *
receipt_text(const char *members)
{
	static const char *const parts[] = {
		"\"agenttwin\":\"receipt/1\"",
		"\"status\":\"passed\"",
		"\"why\":\"\"",
		"\"exit_code\":0",
		"\"run\":{}",
		"\"bundle\":{}",
		"\"runtime\":{}",
		"\"boundary\":{}",
		"\"outcome\":{}",
		"\"operations\":[]",
		"\"faults\":[]",
		"\"checks\":[]",
		"\"state\":{}",
		"\"cleanup\":{}",
		"\"integrity\":{}",
		"\"limits\":[]",
	};
	size_t len = strlen(members), i;
	char *text = malloc(len + 600), name[32];

	if (!text)
		abort();
	sprintf(text, "{%s", members);
	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		snprintf(name, sizeof(name), "%.*s:", (int)(strchr(parts[i], ':') - parts[i]), parts[i]);
		if (!receipt_text_has(members, name))
			sprintf(text + strlen(text), "%s%s", strlen(text) > 1 ? "," : "", parts[i]);
	}
	strcat(text, "}");
	return text;
}
#endif
