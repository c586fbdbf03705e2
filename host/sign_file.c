/* SPDX-License-Identifier: GPL-2.0-or-later
 * sign_file.c - key files: PEM (RFC 7468) in and out. */
#include "host/sign_file.h"

#include <bearssl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/diag.h"

#define DER_MAX 2048u

struct object {         /* the last one of the text whose name is wanted */
	char name[129]; /* as the decoder gives it */
	uint8_t der[DER_MAX];
	size_t len;
	bool large;
};

static void
to_object(void *arg, const void *data, size_t len)
{
	struct object *o = arg;

	if (len > sizeof(o->der) - o->len) {
		o->large = true;
		return;
	}
	memcpy(o->der + o->len, data, len);
	o->len += len;
}

static bool
is_key(const char *name)
{
	static const char end[] = " KEY";
	size_t n = strlen(name);

	return n >= sizeof(end) - 1 && strcmp(name + n - (sizeof(end) - 1), end) == 0;
}

/* The first object whose name ends in KEY: "EC PARAMETERS", which openssl writes before it, is passed over.  0, -ENOENT none,
 * -EPROTO broken. */
static int
pem_key(const char *text, size_t len, struct object *o)
{
	br_pem_decoder_context pem;
	const char *at = text;
	bool inside = false;
	size_t n;

	memset(o, 0, sizeof(*o));
	br_pem_decoder_init(&pem);
	while (len) {
		n = br_pem_decoder_push(&pem, at, len);
		at += n;
		len -= n;
		switch (br_pem_decoder_event(&pem)) {
		case BR_PEM_BEGIN_OBJ:
			inside = is_key(br_pem_decoder_name(&pem));
			snprintf(o->name, sizeof(o->name), "%s", br_pem_decoder_name(&pem));
			br_pem_decoder_setdest(&pem, inside ? to_object : NULL, o);
			break;
		case BR_PEM_END_OBJ:
			if (inside)
				return o->large ? -EPROTO : 0;
			break;
		case BR_PEM_ERROR:
			return -EPROTO;
		default:
			break;
		}
	}
	return -ENOENT;
}

int
sign_pem_public(const char *text, size_t len, struct sign_public *p)
{
	struct object o;

	if (pem_key(text, len, &o) < 0 || strcmp(o.name, "PUBLIC KEY") != 0)
		return -EPROTO;
	return sign_public_take(o.der, o.len, p);
}

/* The bytes of a key file, at most SIGN_FILE_MAX, NUL-terminated.  secret: others may not read it. */
static int
slurp(const char *path, bool secret, char out[static SIGN_FILE_MAX + 1], size_t *len, struct diag *d)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), r = 0;
	struct stat st;
	ssize_t n = 0;

	*len = 0;
	if (fd < 0)
		return diag_set(d, -errno, "the key cannot be read: %s", strerror(errno));
	if (fstat(fd, &st) < 0) {
		r = diag_set(d, -errno, "the key cannot be read: %s", strerror(errno));
	} else if (!S_ISREG(st.st_mode)) {
		r = diag_set(d, -EINVAL, "this is no file");
	} else if (secret && (st.st_mode & 077)) {
		r = diag_set(d, -EPERM, "others may read this secret key (mode %04o)", (unsigned)st.st_mode & 07777u);
		diag_fix(d, "chmod 600 it, and make a new one if somebody could have read it");
	} else if (st.st_size > (off_t)SIGN_FILE_MAX) {
		r = diag_set(d, -EFBIG, "this is too large for a key: %lld bytes", (long long)st.st_size);
	}
	while (r == 0 && *len < SIGN_FILE_MAX && (n = read(fd, out + *len, SIGN_FILE_MAX - *len)) != 0) {
		if (n > 0)
			*len += (size_t)n;
		else if (errno != EINTR)
			r = diag_set(d, -errno, "the key cannot be read: %s", strerror(errno));
	}
	close(fd);
	out[*len] = '\0';
	return r;
}

static int
foreign(struct diag *d, const char *what)
{
	diag_fix(
		d,
		"make one with agenttwin-host key new, or openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256");
	return diag_set(d, -EPROTO, "%s", what);
}

static int
take_secret(const struct object *o, struct sign_key *k, struct diag *d)
{
	br_skey_decoder_context skey;
	const br_ec_private_key *ec;
	int r;

	if (strcmp(o->name, "ENCRYPTED PRIVATE KEY") == 0) {
		diag_fix(d, "openssl pkcs8 -in FILE -out PLAIN writes it without one; keep PLAIN at mode 600");
		return diag_set(d, -EPROTO, "the key has a passphrase, and nobody is there to type it");
	}
	if (strcmp(o->name, "PUBLIC KEY") == 0)
		return foreign(d, "this is a public key: receipts are signed with the secret one");
	br_skey_decoder_init(&skey);
	br_skey_decoder_push(&skey, o->der, o->len);
	ec = br_skey_decoder_last_error(&skey) == 0 ? br_skey_decoder_get_ec(&skey) : NULL;
	if (!ec)
		r = foreign(d, "this is no EC key");
	else if (ec->curve != BR_EC_secp256r1)
		r = foreign(d, "this key is of another curve than P-256");
	else
		r = sign_secret_take(ec->x, ec->xlen, k) == 0 ? 0 : foreign(d, "the number in this key is no key");
	explicit_bzero(&skey, sizeof(skey));
	return r;
}

int
sign_key_read(const char *path, struct sign_key *k, struct diag *d)
{
	char text[SIGN_FILE_MAX + 1];
	struct object o;
	size_t len;
	int r;

	memset(k, 0, sizeof(*k));
	snprintf(d->file, sizeof(d->file), "%.500s", path);
	r = slurp(path, true, text, &len, d);
	if (r == 0) {
		if (pem_key(text, len, &o) < 0)
			r = foreign(d, strstr(text, "Proc-Type:")
					       ? "the key has a passphrase, and nobody is there to type it"
					       : "this is no PEM file with a key in it");
		else
			r = take_secret(&o, k, d);
		explicit_bzero(&o, sizeof(o));
	}
	explicit_bzero(text, sizeof(text));
	if (r < 0)
		sign_key_wipe(k);
	return r;
}

int
sign_public_read(const char *path, struct sign_public *p, struct diag *d)
{
	char text[SIGN_FILE_MAX + 1];
	struct sign_key k;
	struct object o;
	size_t len;
	int r;

	snprintf(d->file, sizeof(d->file), "%.500s", path);
	if ((r = slurp(path, false, text, &len, d)) < 0)
		return r;
	if (pem_key(text, len, &o) < 0) {
		r = foreign(d, "this is no PEM file with a key in it");
	} else if (strcmp(o.name, "PUBLIC KEY") == 0) {
		r = sign_public_take(o.der, o.len, p);
		if (r < 0)
			r = foreign(d, "this is no public key of P-256");
	} else {
		r = take_secret(&o, &k, d);
		if (r == 0)
			*p = k.public;
		sign_key_wipe(&k);
	}
	explicit_bzero(&o, sizeof(o));
	explicit_bzero(text, sizeof(text));
	return r;
}

/* A file that was not there before, whole and on the disk. */
static int
put(const char *path, mode_t mode, const char *text, size_t len, struct diag *d)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode), r = 0;
	ssize_t n;

	snprintf(d->file, sizeof(d->file), "%.500s", path);
	if (fd < 0) {
		r = diag_set(d, -errno, "the key cannot be written: %s", strerror(errno));
		if (r == -EEXIST)
			diag_fix(d, "choose another name: a key is never overwritten");
		return r;
	}
	if (fchmod(fd, mode) < 0)
		r = -errno;
	while (r == 0 && len) {
		n = write(fd, text, len);
		if (n > 0) {
			text += n;
			len -= (size_t)n;
		} else if (n == 0 || errno != EINTR) {
			r = n < 0 ? -errno : -EIO;
		}
	}
	if (r == 0 && fsync(fd) < 0 && errno != EINVAL)
		r = -errno;
	if (close(fd) < 0 && r == 0)
		r = -errno;
	if (r < 0) {
		unlink(path);
		return diag_set(d, r, "the key cannot be written: %s", strerror(-r));
	}
	return 0;
}

int
sign_key_write(const char *path, const struct sign_key *k, struct diag *d)
{
	char text[SIGN_PEM_MAX], public[4200];
	size_t len = sign_secret_pem(k, text);
	int r;

	if (len == 0 || (size_t)snprintf(public, sizeof(public), "%s.pub", path) >= sizeof(public)) {
		explicit_bzero(text, sizeof(text));
		return diag_set(d, -ENAMETOOLONG, "the name of the key is too long");
	}
	r = put(path, 0600, text, len, d);
	explicit_bzero(text, sizeof(text));
	if (r < 0)
		return r;
	len = sign_public_pem(&k->public, text);
	r = put(public, 0644, text, len, d);
	if (r < 0)
		unlink(path);
	return r;
}
