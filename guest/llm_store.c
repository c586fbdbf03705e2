/* SPDX-License-Identifier: GPL-2.0-or-later
 * llm_store.c - responses of OpenAI's API that later ones may name as previous_response_id.  Nothing is forgotten within a run:
 * once there is no room for more, an id that is not found is no mistake of the workflow, and answered 507. */
#include <cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guest/llm.h"
#include "guest/request.h"
#include "guest/service.h"

#define OVERHEAD (sizeof(struct llm_stored) + 32) /* with what malloc adds */

static struct llm_stored **
bucket_of(struct llm *l, const char *id)
{
	uint32_t h = 2166136261u;

	for (; *id != '\0'; id++)
		h = (h ^ (unsigned char)*id) * 16777619u;
	return &l->stored[h % LLM_BUCKETS];
}

/* see llm.h */
const struct llm_stored *
llm_stored_find(struct llm *l, const char *response)
{
	const struct llm_stored *s;

	if (strncmp(response, "resp_", 5) != 0)
		return NULL;
	s = *bucket_of(l, response + 5);
	while (s != NULL && strcmp(s->id, response + 5) != 0)
		s = s->next;
	return s;
}

/* see llm.h */
int
llm_keep(struct service *s, struct request *q, const struct llm_call *c, const struct llm_turn *turn, const char *id)
{
	const struct cJSON *body = request_member(q, "body"), *input = cJSON_GetObjectItemCaseSensitive(body, "input");
	struct llm_stored **bucket = bucket_of(s->llm, id), *made;
	size_t wanted = OVERHEAD + json_heap(input);

	if (cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(body, "store")))
		return 0;
	for (made = *bucket; made != NULL; made = made->next)
		if (strcmp(made->id, id) == 0)
			return 0; /* the same call once more: the same response */
	if (wanted > LLM_STORED_MAX - s->llm->stored_len) {
		s->llm->lost = true;
		return 0;
	}
	made = calloc(1, sizeof(*made));
	if (made == NULL)
		return -ENOMEM;
	made->input = cJSON_Duplicate(input, true);
	if (made->input == NULL) {
		free(made);
		return -ENOMEM;
	}
	snprintf(made->id, sizeof(made->id), "%s", id);
	made->turn = turn;
	made->before = c->previous;
	made->next = *bucket;
	*bucket = made;
	s->llm->stored_len += wanted;
	return 0;
}

/* see llm.h */
void
llm_wipe(struct llm *l)
{
	for (size_t i = 0; i < LLM_BUCKETS; i++)
		while (l->stored[i] != NULL) {
			struct llm_stored *s = l->stored[i];

			l->stored[i] = s->next;
			cJSON_Delete(s->input);
			free(s);
		}
}
