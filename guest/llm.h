/* SPDX-License-Identifier: GPL-2.0-or-later
 * llm.h - a service of kind llm: a script of turns, played to whoever asks through the APIs of OpenAI (chat completions,
 * responses, embeddings) or Anthropic (messages).  agenttwin-world(5), "Language models".
 *
 * Which turn answers depends on the conversation alone: it is in the request, or begins with what led to a response of this run
 * that the request names.  A call that is sent again gets the same reply. */
#ifndef GUEST_LLM_H
#define GUEST_LLM_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct answer;
struct cJSON;
struct eval;
struct reading;
struct request;
struct service;

#define LLM_TURNS_MAX 1000u
#define LLM_MESSAGES_MAX 4096u   /* of one conversation; more is answered 400 */
#define LLM_CALLS_MAX 1024u      /* tool calls in one conversation */
#define LLM_INPUTS_MAX 2048u     /* texts of one request for embeddings */
#define LLM_DIMENSIONS_MAX 3072u /* of one embedding */

enum llm_api { LLM_CHAT, LLM_RESPONSES, LLM_EMBEDDINGS, LLM_MODELS, LLM_MESSAGES };
struct llm_turn {                                           /* route i of the service is turn i */
	uint64_t turn;                                      /* 0: any */
	const char *last_role, *tool_result_for, *contains; /* NULL: any */
	const char *text;                                   /* NULL: none */
	const struct cJSON *calls;                          /* array of {name, arguments}, or NULL */
	const char *finish;
	bool has_usage;
	uint64_t input, output; /* tokens */
	size_t chunk;           /* characters of one piece of a stream */
};
/* A response that may be named as the previous one. */
#define LLM_BUCKETS 512u
#define LLM_STORED_MAX (32u << 20) /* bytes of one service; what finds no room is not kept */
struct llm_stored {
	struct llm_stored *next; /* private: in its bucket */
	const struct llm_stored *before;
	char id[40];         /* without its prefix */
	struct cJSON *input; /* owned: a text, or an array of items */
	const struct llm_turn *turn;
};
struct llm {
	struct llm_turn *turns;
	size_t turns_len;
	const char **models; /* patterns with '*'; none: every model */
	size_t models_len;
	bool calls_are_checked;
	struct llm_stored *stored[LLM_BUCKETS]; /* owned */
	size_t stored_len;                      /* bytes that they hold */
	bool lost;                              /* one found no room */
};
/* A message of the conversation, whatever the API calls it. */
struct llm_message {
	const char *role;           /* "system", "user", "assistant", "tool" */
	const char *text;           /* all its text, joined; "" none */
	size_t calls_at, calls_len; /* of an assistant: in struct llm_call's calls */
	const char *result_of;      /* of a tool: the id of the call that it answers */
	const char *tool;           /* of a tool: the name of that call; NULL: there is none */
	size_t number;              /* place in the request's array */
};
struct llm_tool {
	const char *id, *name;
};
struct llm_call {
	enum llm_api api;
	const char *model;
	bool streams, tells_usage;
	struct llm_message *messages;
	size_t messages_len;
	struct llm_tool *calls;
	size_t calls_len;
	const struct llm_stored *previous; /* of responses, or NULL */
	size_t turn;                       /* 1 + messages of the assistant, one after another counted once */
	size_t input_len;                  /* bytes of all texts */
	const char *problem;               /* of a request that cannot be read; its place in param */
	const char *param;
	int status; /* of a request that the service itself refuses, in its words; 0: it does not */
	const char *code, *refusal;
};
/* What part of a reply's body is the model's own text. */
enum llm_part { LLM_TEXT, LLM_ARGUMENTS };
struct answer_mark {
	enum llm_part part;
	size_t from, to; /* bytes of the body */
};

/* Reads `script` and `validate` of g->service, whose kind is llm; makes its routes.  As routes_read. */
int llm_read(struct reading *g, const struct cJSON *service) __attribute__((warn_unused_result, nonnull));
/* The turn that answers, as a->route; NULL with a->nearest and a->difference.  0; -ENOMEM. */
int llm_find(struct service *s, struct request *q, struct answer *a, struct llm_call *c)
	__attribute__((warn_unused_result, nonnull));
/* The reply of a->route.  0; -ENOMEM. */
int llm_run(struct service *s, struct request *q, struct eval *e, struct answer *a, const struct llm_call *c)
	__attribute__((warn_unused_result, nonnull));

/* ---- between the files of this subject ------------------------------------------------------------------------------ */
/* Takes the conversation out of the body.  c->problem when the service would refuse it.  0; -ENOMEM. */
int llm_request(struct llm *l, struct request *q, enum llm_api api, struct llm_call *c)
	__attribute__((warn_unused_result, nonnull));
/* The response of this name ("resp_..."); NULL: none. */
const struct llm_stored *llm_stored_find(struct llm *l, const char *response) __attribute__((nonnull));
/* Keeps a response with what the request said, unless it says "store": false or there is no room.  0; -ENOMEM. */
int llm_keep(struct service *s, struct request *q, const struct llm_call *c, const struct llm_turn *turn,
	     const char *id) __attribute__((warn_unused_result, nonnull));
void llm_wipe(struct llm *l) __attribute__((nonnull));
/* Answers in the service's own words: text is copied.  0; -ENOMEM. */
int llm_refuse(struct request *q, struct llm_call *c, int status, const char *code, const char *text)
	__attribute__((warn_unused_result, nonnull(1, 2, 5)));
int llm_embeddings(const struct service *s, struct request *q, struct answer *a, const struct llm_call *c)
	__attribute__((warn_unused_result, nonnull));
/* The end of one frame of a stream; of the model's own text in it. */
void answer_frame(struct answer *a) __attribute__((nonnull));
void answer_mark(struct answer *a, enum llm_part part, size_t from) __attribute__((nonnull));
/* Where the body is to be cut at a part (0 to 1) of its text or tool arguments: in the middle of a frame, or with
 * whole_frames after the frame in which that point is.  Its length when there is no such text. */
size_t answer_cut(const struct answer *a, enum llm_part part, double at, bool whole_frames)
	__attribute__((warn_unused_result, nonnull));

#endif
