/* SPDX-License-Identifier: GPL-2.0-or-later
 * loop.c - see loop.h.  Frames are queued whole, so that PING and CANCEL never fall into the middle of another frame; the
 * stream is read whenever there is something, also while the bundle is written, so that neither side can wait for the
 * other for ever. */
#include "host/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* Touched by the handlers. */
static int signal_pipe[2] = { -1, -1 };
static pid_t signal_owner;                    /* a forked child must not write into our pipe, nor jump */
static volatile sig_atomic_t signals_pending; /* came and not yet taken */
static volatile sig_atomic_t guard_active;
static sigjmp_buf guard_jump;
static volatile sig_atomic_t guard_stops; /* a second signal ends the guarded call */
static volatile sig_atomic_t signals_taken;

uint64_t
loop_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

uint64_t
loop_unix_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void
on_signal(int number)
{
	int saved = errno;
	uint8_t byte = (uint8_t)number;

	if (getpid() != signal_owner)
		return;
	if (number != SIGALRM) {
		signals_pending = signals_pending + 1;
		if (write(signal_pipe[1], &byte, 1) < 0)
			signals_pending = signals_pending - 1;
	}
	errno = saved;
	if (guard_active && (number == SIGALRM || (guard_stops && signals_pending + signals_taken > 1))) {
		guard_active = 0;
		siglongjmp(guard_jump, number == SIGALRM ? 1 : 2);
	}
}

static void
on_pipe(int number)
{
	(void)number; /* a handler, not SIG_IGN: what we execute starts with the default again */
}

int
loop_signals_start(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGALRM };
	struct sigaction sa = { 0 };
	size_t i;

	if (signal_pipe[0] < 0 && pipe2(signal_pipe, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	signal_owner = getpid();
	sigemptyset(&sa.sa_mask);
	sa.sa_handler = on_signal; /* no SA_RESTART: a blocked call of the backend shall notice */
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct sigaction before;

		/* nohup(1) means it; SIGINT and SIGTERM are ours even when a shell's background job ignores them. */
		if (numbers[i] == SIGHUP && sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler == SIG_IGN)
			continue;
		if (sigaction(numbers[i], &sa, NULL) < 0)
			return -errno;
	}
	sa.sa_handler = on_pipe;
	sa.sa_flags = SA_RESTART;
	return sigaction(SIGPIPE, &sa, NULL) < 0 || sigaction(SIGXFSZ, &sa, NULL) < 0 ? -errno : 0;
}

int
loop_signal_take(void)
{
	uint8_t byte;

	if (signal_pipe[0] < 0 || read(signal_pipe[0], &byte, 1) != 1)
		return 0;
	signals_pending = signals_pending - 1;
	signals_taken = signals_taken + 1;
	return byte;
}

static void
alarm_set(unsigned ms)
{
	struct itimerval t = { .it_value = { .tv_sec = (time_t)(ms / 1000),
					     .tv_usec = (suseconds_t)(ms % 1000) * 1000 } };

	setitimer(ITIMER_REAL, &t, NULL);
}

int
loop_guarded(int (*call)(void *arg), void *arg, unsigned ms, bool stops)
{
	int r;

	r = sigsetjmp(guard_jump, 1);
	if (r == 0) {
		guard_stops = stops;
		guard_active = 1;
		alarm_set(ms);
		r = call(arg);
		guard_active = 0;
		alarm_set(0);
		return r;
	}
	alarm_set(0);
	return r == 1 ? -ETIMEDOUT : -EINTR;
}

int
loop_init(struct loop *l, struct run *run, struct evidence *e, uint64_t start_ms)
{
	memset(l, 0, sizeof(*l));
	l->in = l->out = -1;
	l->run = run;
	l->evidence = e;
	l->start_ms = start_ms;
	if (getrandom(l->random, sizeof(l->random), 0) != (ssize_t)sizeof(l->random))
		return -EIO;
	l->queue_size = LOOP_QUEUE_MAX + 2 * (FRAME_HEADER_LEN + FRAME_BODY_MAX);
	l->queue = malloc(l->queue_size);
	if (!l->queue)
		return -ENOMEM;
	frame_sender_init(&l->sender, l->random);
	frame_receiver_init(&l->receiver, FRAME_TO_HOST, l->random, false);
	return 0;
}

void
loop_wipe(struct loop *l)
{
	if (l->in >= 0)
		close(l->in);
	if (l->out >= 0)
		close(l->out);
	if (l->queue)
		explicit_bzero(l->queue, l->queue_size);
	free(l->queue);
	l->queue = NULL;
	l->in = l->out = -1;
}

/* Appends one whole frame. */
static int
queue_frame(struct loop *l, uint8_t type, uint8_t flags, const void *body, uint32_t len)
{
	uint8_t header[FRAME_HEADER_LEN];

	if (l->broken)
		return -EPIPE;
	if (l->queue_at) {
		memmove(l->queue, l->queue + l->queue_at, l->queue_len - l->queue_at);
		l->queue_len -= l->queue_at;
		l->queue_at = 0;
	}
	if (l->queue_size - l->queue_len < FRAME_HEADER_LEN + len)
		return -ENOBUFS;
	frame_send(&l->sender, type, flags, body, len, header);
	memcpy(l->queue + l->queue_len, header, sizeof(header));
	if (len)
		memcpy(l->queue + l->queue_len + sizeof(header), body, len);
	l->queue_len += sizeof(header) + len;
	return 0;
}

static void
queue_control(struct loop *l, uint8_t type, const void *body, uint32_t len)
{
	/* A record with MORE pending may not be interrupted but by PING; CANCEL then waits for nobody: destroy follows. */
	if (l->sender.open_type != 0 && type != FRAME_PING)
		return;
	if (queue_frame(l, type, 0, body, len) < 0)
		l->broken = true;
}

static void
act(struct loop *l, unsigned actions)
{
	uint8_t counter[8], reason = 0;
	size_t i;

	if (actions & RUN_DO_BUNDLE)
		l->bundle_due = true;
	if (actions & RUN_DO_START)
		queue_control(l, FRAME_START, NULL, 0);
	if ((actions & RUN_DO_PING) && !l->broken) {
		l->pings++;
		for (i = 0; i < 8; i++)
			counter[i] = (uint8_t)(l->pings >> (56 - 8 * i));
		queue_control(l, FRAME_PING, counter, sizeof(counter));
	}
	if (actions & RUN_DO_CANCEL_SIGNAL)
		reason = CANCEL_SIGNAL;
	else if (actions & RUN_DO_CANCEL_DEADLINE)
		reason = CANCEL_DEADLINE;
	else if (actions & RUN_DO_CANCEL_ERROR)
		reason = CANCEL_HOST_ERROR;
	if (reason)
		queue_control(l, FRAME_CANCEL, &reason, 1);
}

void
loop_event(struct loop *l, const struct run_event *ev)
{
	enum run_state from = l->run->state;
	uint64_t now = loop_now_ms();

	act(l, run_step(l->run, ev, now));
	if (l->changed && l->run->state != from)
		l->changed(l->arg, from, l->run->state, now);
}

void
loop_signals(struct loop *l)
{
	struct run_event ev = { .kind = RUN_EV_SIGNAL };

	while ((ev.value = loop_signal_take()) != 0)
		loop_event(l, &ev);
}

static void
take_bytes(struct loop *l, const uint8_t *data, size_t len)
{
	struct run_event ev, heard;
	struct frame f;
	size_t used;
	int r;

	while (len && l->run->state != RUN_OVER) {
		if (l->run->state == RUN_ENDED) {
			ev = (struct run_event){ .kind = RUN_EV_BAD, .why = "guest sent bytes after END" };
			loop_event(l, &ev);
			return;
		}
		r = frame_receive(&l->receiver, data, len, &used, &f);
		if (r < 0) {
			char why[256];

			snprintf(why, sizeof(why), "guest sent a broken stream: %s",
				 l->receiver.problem ? l->receiver.problem : "?");
			ev = (struct run_event){ .kind = RUN_EV_BAD, .why = why };
			loop_event(l, &ev);
			return;
		}
		data += used;
		len -= used;
		if (r == 0)
			return;
		evidence_frame(l->evidence, &f, &l->receiver.chain, &l->receiver.chain_before,
			       loop_now_ms() - l->start_ms, &ev);
		heard = (struct run_event){ .kind = RUN_EV_HEARD, .ok = f.type != FRAME_PONG && f.type != FRAME_LOG };
		loop_event(l, &heard);
		if (ev.kind != RUN_EV_HEARD)
			loop_event(l, &ev);
	}
}

static void
read_out(struct loop *l)
{
	static uint8_t buf[FRAME_HEADER_LEN + FRAME_BODY_MAX];
	struct run_event ev = { .kind = RUN_EV_EOF };
	ssize_t n;

	n = read(l->out, buf, sizeof(buf));
	if (n > 0) {
		take_bytes(l, buf, (size_t)n);
		return;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	loop_event(l, &ev);
}

static void
write_in(struct loop *l)
{
	ssize_t n;

	n = write(l->in, l->queue + l->queue_at, l->queue_len - l->queue_at);
	if (n > 0) {
		l->queue_at += (size_t)n;
		if (l->queue_at == l->queue_len)
			l->queue_at = l->queue_len = 0;
	} else if (n < 0 && errno != EAGAIN && errno != EINTR) {
		/* The guest reads no more: not an error yet, since it may have said why and END is still to be read. */
		l->broken = true;
		l->queue_at = l->queue_len = 0;
	}
}

/* Waits once, at most until the machine's next moment. */
static void
pump(struct loop *l)
{
	struct run_event tick = { .kind = RUN_EV_TICK };
	uint64_t now = loop_now_ms(), next = run_next_ms(l->run);
	struct pollfd fds[3] = {
		{ .fd = signal_pipe[0], .events = POLLIN },
		{ .fd = l->out, .events = POLLIN },
		{ .fd = !l->broken && l->queue_at < l->queue_len ? l->in : -1, .events = POLLOUT },
	};
	int wait = next <= now ? 0 : next - now > 60000 ? 60000 : (int)(next - now);

	if (poll(fds, 3, wait) > 0) {
		if (fds[0].revents)
			loop_signals(l);
		if (l->run->state != RUN_OVER && fds[1].revents)
			read_out(l);
		if (l->run->state != RUN_OVER && fds[2].revents)
			write_in(l);
	}
	if (l->run->state != RUN_OVER)
		loop_event(l, &tick);
}

int
loop_open(struct loop *l, int in, int out)
{
	uint8_t hello[6 + FRAME_RANDOM_LEN] = { 'A', 'T', 'W', '1', FRAME_VERSION_MIN, FRAME_VERSION_MAX };

	l->in = in;
	l->out = out;
	if (fcntl(in, F_SETFL, O_NONBLOCK) < 0 || fcntl(out, F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	memcpy(hello + 6, l->random, sizeof(l->random));
	return queue_frame(l, FRAME_HELLO_HOST, 0, hello, sizeof(hello));
}

int
loop_put(struct loop *l, uint8_t type, uint8_t flags, const void *body, uint32_t len)
{
	int r;

	while (l->run->state != RUN_OVER && !l->broken && l->queue_len - l->queue_at > LOOP_QUEUE_MAX - FRAME_BODY_MAX)
		pump(l);
	if (l->run->state == RUN_OVER)
		return -ECANCELED;
	r = queue_frame(l, type, flags, body, len);
	return r == -EPIPE ? -ECANCELED : r;
}

int
loop_put_record(struct loop *l, uint8_t type, const void *body, size_t len)
{
	const uint8_t *at = body;
	size_t n;
	int r;

	do {
		n = len > FRAME_BODY_MAX ? FRAME_BODY_MAX : len;
		r = loop_put(l, type, n < len ? FRAME_MORE : 0, at, (uint32_t)n);
		at += n;
		len -= n;
	} while (r == 0 && len);
	return r;
}

static void
send_bundle(struct loop *l)
{
	struct run_event ev = { .kind = RUN_EV_SENT };
	char why[320] = "";
	int r;

	l->bundle_due = false;
	r = l->bundle(l->arg, l, why);
	while (r == 0 && l->run->state != RUN_OVER && !l->broken && l->queue_at < l->queue_len)
		pump(l); /* the deadline of the firewall starts when the guest has it all */
	if (l->run->state == RUN_OVER)
		return;
	if (l->broken) { /* what the guest said last explains it; the phase's deadline bounds the wait */
		while (l->run->state != RUN_OVER)
			pump(l);
		return;
	}
	if (r < 0)
		ev = (struct run_event){ .kind = RUN_EV_BAD, .why = why[0] ? why : "the bundle could not be written" };
	loop_event(l, &ev);
}

void
loop_run(struct loop *l)
{
	while (l->run->state != RUN_OVER) {
		if (l->bundle_due)
			send_bundle(l);
		else
			pump(l);
	}
}
