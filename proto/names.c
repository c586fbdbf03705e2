/* SPDX-License-Identifier: GPL-2.0-or-later
 * names.c - the names that frames and receipts carry instead of numbers, see frame.h and plan.h */
#include <errno.h>
#include <stdio.h>

#include "proto/frame.h"
#include "proto/plan.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

const char *
frame_type_name(uint8_t type)
{
	static const char *const names[] = {
		[FRAME_HELLO_HOST] = "HELLO",  [FRAME_RUN] = "RUN",       [FRAME_FILE] = "FILE",
		[FRAME_DATA] = "DATA",         [FRAME_COMMIT] = "COMMIT", [FRAME_START] = "START",
		[FRAME_PING] = "PING",         [FRAME_CANCEL] = "CANCEL", [FRAME_HELLO] = "HELLO",
		[FRAME_FIREWALL] = "FIREWALL", [FRAME_STATE] = "STATE",   [FRAME_READY] = "READY",
		[FRAME_STDOUT] = "STDOUT",     [FRAME_STDERR] = "STDERR", [FRAME_OP] = "OP",
		[FRAME_DENIED] = "DENIED",     [FRAME_EXIT] = "EXIT",     [FRAME_TRUNCATED] = "TRUNCATED",
		[FRAME_PONG] = "PONG",         [FRAME_LOG] = "LOG",       [FRAME_FAIL] = "FAIL",
		[FRAME_END] = "END",
	};

	return type < COUNT(names) && names[type] ? names[type] : "?";
}

static const char *
name_at(const char *const *names, size_t len, uint8_t i)
{
	return i < len ? names[i] : "?";
}

const char *
exec_stage_name(uint8_t stage)
{
	static const char *const names[] = { "ok",     "fork", "session", "fds",    "namespace",
					     "limits", "drop", "cwd",     "filter", "exec" };

	return name_at(names, COUNT(names), stage);
}

const char *
exit_ended_by_name(uint8_t v)
{
	static const char *const names[] = {
		"itself",    "run deadline",   "idle",  "cancel",        "output limit", "firewall",
		"host lost", "start deadline", "twins", "out of memory", "world",
	};

	return name_at(names, COUNT(names), v);
}

const char *
truncated_what_name(uint8_t what)
{
	static const char *const names[] = { "?", "stdout", "stderr", "operations", "state", "denied" };

	return name_at(names, COUNT(names), what);
}

/* One entry an errno of Linux; EWOULDBLOCK, EDEADLOCK and EOPNOTSUPP's twin ENOTSUP share a number and have one name. */
/* Version 14 makes other stairs of it each time. */
/* clang-format off */
#define ERRNO_NAMES(X) \
	X(EPERM) X(ENOENT) X(ESRCH) X(EINTR) X(EIO) X(ENXIO) X(E2BIG) X(ENOEXEC) X(EBADF) \
	X(ECHILD) X(EAGAIN) X(ENOMEM) X(EACCES) X(EFAULT) X(ENOTBLK) X(EBUSY) X(EEXIST) X(EXDEV) \
	X(ENODEV) X(ENOTDIR) X(EISDIR) X(EINVAL) X(ENFILE) X(EMFILE) X(ENOTTY) X(ETXTBSY) \
	X(EFBIG) X(ENOSPC) X(ESPIPE) X(EROFS) X(EMLINK) X(EPIPE) X(EDOM) X(ERANGE) X(EDEADLK) \
	X(ENAMETOOLONG) X(ENOLCK) X(ENOSYS) X(ENOTEMPTY) X(ELOOP) X(ENOMSG) X(EIDRM) X(ECHRNG) \
	X(EL2NSYNC) X(EL3HLT) X(EL3RST) X(ELNRNG) X(EUNATCH) X(ENOCSI) X(EL2HLT) X(EBADE) \
	X(EBADR) X(EXFULL) X(ENOANO) X(EBADRQC) X(EBADSLT) X(EBFONT) X(ENOSTR) X(ENODATA) \
	X(ETIME) X(ENOSR) X(ENONET) X(ENOPKG) X(EREMOTE) X(ENOLINK) X(EADV) X(ESRMNT) X(ECOMM) \
	X(EPROTO) X(EMULTIHOP) X(EDOTDOT) X(EBADMSG) X(EOVERFLOW) X(ENOTUNIQ) X(EBADFD) \
	X(EREMCHG) X(ELIBACC) X(ELIBBAD) X(ELIBSCN) X(ELIBMAX) X(ELIBEXEC) X(EILSEQ) X(ERESTART) \
	X(ESTRPIPE) X(EUSERS) X(ENOTSOCK) X(EDESTADDRREQ) X(EMSGSIZE) X(EPROTOTYPE) \
	X(ENOPROTOOPT) X(EPROTONOSUPPORT) X(ESOCKTNOSUPPORT) X(EOPNOTSUPP) X(EPFNOSUPPORT) \
	X(EAFNOSUPPORT) X(EADDRINUSE) X(EADDRNOTAVAIL) X(ENETDOWN) X(ENETUNREACH) X(ENETRESET) \
	X(ECONNABORTED) X(ECONNRESET) X(ENOBUFS) X(EISCONN) X(ENOTCONN) X(ESHUTDOWN) \
	X(ETOOMANYREFS) X(ETIMEDOUT) X(ECONNREFUSED) X(EHOSTDOWN) X(EHOSTUNREACH) X(EALREADY) \
	X(EINPROGRESS) X(ESTALE) X(EUCLEAN) X(ENOTNAM) X(ENAVAIL) X(EISNAM) X(EREMOTEIO) \
	X(EDQUOT) X(ENOMEDIUM) X(EMEDIUMTYPE) X(ECANCELED) X(ENOKEY) X(EKEYEXPIRED) \
	X(EKEYREVOKED) X(EKEYREJECTED) X(EOWNERDEAD) X(ENOTRECOVERABLE) X(ERFKILL) X(EHWPOISON)
/* clang-format on */

const char *
errno_name(int err)
{
#define X(name) [name] = #name,
	static const char *const names[] = { ERRNO_NAMES(X) };
#undef X
	static _Thread_local char number[16];

	if (err > 0 && (size_t)err < COUNT(names) && names[err])
		return names[err];
	(void)snprintf(number, sizeof(number), "E%d", err);
	return number;
}
