/* SPDX-License-Identifier: GPL-2.0-or-later
 * cmd_key.c - `agenttwin-host key new FILE` and `key show FILE`. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host/cmd.h"
#include "host/diag.h"
#include "host/sign_key.h"

static const char usage[] = "usage: agenttwin-host key new FILE\n"
			    "       agenttwin-host key show FILE\n"
			    "new   makes a key to sign receipts with: FILE, which is secret (mode 0600), and\n"
			    "      FILE.pub, for whoever verifies them.  Neither may be there already.\n"
			    "      Runs sign their receipts when " SIGN_ENV " names FILE.\n"
			    "show  prints the public part of a key, and its id on stderr.\n"
			    "Exit status: 0 done, 2 not.\n";

static int
complain(const char *problem, const char *fix)
{
	struct diag d = { 0 };

	diag_set(&d, -EINVAL, "%s", problem);
	diag_fix(&d, "%s", fix);
	log_diag(&d);
	return 2;
}

static int
make(const char *path)
{
	struct diag d = { 0 };
	struct sign_key k;
	int r;

	if (sign_key_make(&k) < 0)
		return complain("the system has no random numbers", "try again later");
	r = sign_key_write(path, &k, &d);
	if (r == 0) {
		log_line(LOG_LEVEL_PHASE, "%s: the secret key; keep it where receipts are signed, and nowhere else",
			 path);
		log_line(LOG_LEVEL_PHASE, "%s.pub: for whoever verifies: agenttwin-host receipt verify --key %s.pub",
			 path, path);
		log_line(LOG_LEVEL_PHASE, "id %s", k.public.id);
		log_line(LOG_LEVEL_PHASE, "runs sign when %s=%s is in their environment", SIGN_ENV, path);
	} else {
		log_diag(&d);
	}
	sign_key_wipe(&k);
	return r < 0 ? 2 : 0;
}

static int
show(const char *path)
{
	struct diag d = { 0 };
	struct sign_public p;
	char pem[SIGN_PEM_MAX];

	if (sign_public_read(path, &p, &d) < 0) {
		log_diag(&d);
		return 2;
	}
	sign_public_pem(&p, pem);
	fputs(pem, stdout);
	log_line(LOG_LEVEL_PHASE, "id %s", p.id);
	return 0;
}

int
cmd_key(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			fputs(usage, stdout);
			return 0;
		}
	if (argc < 2) {
		fputs(usage, stderr);
		return 2;
	}
	if (strcmp(argv[1], "new") != 0 && strcmp(argv[1], "show") != 0)
		return complain("unknown command of key", "use key new or key show");
	if (argc != 3 || !argv[2][0] || argv[2][0] == '-')
		return complain("one file is wanted", "write for example agenttwin-host key new ~/agenttwin.key");
	return strcmp(argv[1], "new") == 0 ? make(argv[2]) : show(argv[2]);
}
