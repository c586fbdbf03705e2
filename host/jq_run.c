/* SPDX-License-Identifier: GPL-2.0-or-later
 * jq_run.c - see jq_run.h: starts the child, reads what it says, which is not trusted, and says why it died. */
#include "host/jq_run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/process.h"

struct child {
	pid_t pid;
	int fd;
	bool late; /* killed because it did not answer in time */
};

static int
start(struct child *c, const struct jq_task *tasks, size_t len, const char *json, size_t json_len)
{
	int fds[2] = { -1, -1 }, r;

	c->late = false;
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	fflush(NULL); /* nothing of ours is written twice */
	c->pid = fork();
	if (c->pid < 0) {
		r = -errno;
		close(fds[0]);
		close(fds[1]);
		return r;
	}
	if (c->pid == 0)
		jq_child(tasks, len, json, json_len, fds[1]);
	close(fds[1]);
	c->fd = fds[0];
	return 0;
}

/* Exactly len bytes before deadline_ms.  False: there are none, or not in time. */
static bool
get(struct child *c, void *data, size_t len, uint64_t deadline_ms)
{
	struct pollfd p = { .fd = c->fd, .events = POLLIN };
	char *at = data;
	uint64_t now;
	ssize_t n;

	while (len > 0) {
		now = process_clock_ms();
		if (now >= deadline_ms) {
			c->late = true;
			return false;
		}
		if (poll(&p, 1, (int)(deadline_ms - now)) < 0 && errno != EINTR)
			return false;
		if (!p.revents)
			continue;
		n = read(c->fd, at, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		len -= (size_t)n;
	}
	return true;
}

/* One record with its text, owned by the caller.  NULL: the child is done, or dead, or says what it cannot mean. */
static char *
next_record(struct child *c, struct jq_record *r)
{
	uint64_t deadline_ms = process_clock_ms() + JQ_WALL_MS;
	char *text;

	if (!get(c, r, sizeof(*r), deadline_ms) || r->len > JQ_TEXT_MAX || r->verdict > JQ_TRUE)
		return NULL;
	text = malloc(r->len + 1u);
	if (!text)
		return NULL;
	if (!get(c, text, r->len, deadline_ms) || memchr(text, '\0', r->len)) {
		free(text);
		return NULL;
	}
	text[r->len] = '\0';
	return text;
}

/* Ends the child and says why it had not come further. */
static void
finish(struct child *c, char *why, size_t size)
{
	int status = 0;

	close(c->fd);
	(void)kill(c->pid, SIGKILL);
	while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (c->late)
		snprintf(why, size, "it did not come to an end within %u s", JQ_WALL_MS / 1000);
	else if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGPROF || WTERMSIG(status) == SIGXCPU))
		snprintf(why, size, "it took more than %u ms of processor time", JQ_CPU_MS);
	else if (WIFEXITED(status) && WEXITSTATUS(status) == JQ_EXIT_MEMORY)
		snprintf(why, size, "it needs more than %llu MiB of memory", JQ_MEMORY >> 20);
	else if (WIFEXITED(status) && WEXITSTATUS(status) == JQ_EXIT_ISOLATION)
		snprintf(why, size, "the process that evaluates it could not be shut in");
	else if (WIFSIGNALED(status))
		snprintf(why, size, "it was too much for libjq (signal %d): too deep, or too large", WTERMSIG(status));
	else
		snprintf(why, size, "the process that evaluates it ended without an answer (status %d)", status);
}

static int
store(struct jq_task *t, const struct jq_record *r, char *text)
{
	free(t->text);
	t->text = text;
	t->verdict = (enum jq_verdict)r->verdict;
	t->op = r->op;
	t->at = r->at;
	return text ? 0 : -ENOMEM;
}

static int
fail(struct jq_task *t, const char *why)
{
	static const struct jq_record trouble = { .verdict = JQ_TROUBLE, .op = UINT32_MAX };

	return store(t, &trouble, strdup(why));
}

/* What the child says of tasks, in order.  How many it answered; *loaded: it had read the document. */
static size_t
listen(struct child *c, struct jq_task *tasks, size_t len, bool *loaded, char *why, size_t size)
{
	struct jq_record r;
	size_t n = 0;
	char *text;

	while (n < len && (text = next_record(c, &r))) {
		if (!*loaded) {
			*loaded = r.task == JQ_RECORD_LOADED;
			if (r.task == JQ_RECORD_NO_LOAD)
				snprintf(why, size, "the document cannot be read: %.300s", text);
			free(text);
			if (!*loaded)
				break;
		} else if (r.task == n) {
			if (store(&tasks[n], &r, text) == 0)
				n++;
		} else {
			free(text);
			break;
		}
	}
	return n;
}

static int
run(struct jq_task *tasks, size_t len, const char *json, size_t json_len)
{
	char why[400], died[200];
	struct child c = { .fd = -1 };
	size_t next = 0;
	bool loaded;
	int r;

	while (next < len) {
		if ((r = start(&c, tasks + next, len - next, json, json_len)) < 0)
			return r;
		why[0] = '\0';
		loaded = json == NULL;
		next += listen(&c, tasks + next, len - next, &loaded, why, sizeof(why));
		finish(&c, died, sizeof(died));
		if (next == len)
			return 0;
		if (!loaded && !why[0])
			snprintf(why, sizeof(why), "the document cannot be read: %s", died);
		/* Whoever killed it is left out; without the document nobody is asked again. */
		do
			if ((r = fail(&tasks[next++], loaded ? died : why)) < 0)
				return r;
		while (!loaded && next < len);
	}
	return 0;
}

int
jq_run_compile(struct jq_task *tasks, size_t len)
{
	return run(tasks, len, NULL, 0);
}

int
jq_run_all(struct jq_task *tasks, size_t len, const char *json, size_t json_len)
{
	char why[120];
	size_t i;
	int r = 0;

	if (json_len <= JQ_INPUT_MAX)
		return run(tasks, len, json, json_len);
	snprintf(why, sizeof(why), "the document is larger than %u MiB", JQ_INPUT_MAX >> 20);
	for (i = 0; r == 0 && i < len; i++)
		r = fail(&tasks[i], why);
	return r;
}

void
jq_run_wipe(struct jq_task *tasks, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		free(tasks[i].text);
		tasks[i].text = NULL;
	}
}
