/* SPDX-License-Identifier: GPL-2.0-or-later
 * credential.c - see credential.h. */
#include "host/credential.h"

#include <stddef.h>
#include <string.h>

static bool
ends_in(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n > m && strcasecmp(s + n - m, end) == 0;
}

/* id_rsa, id_ed25519, id_work: but not id_map.js or id_rsa.pub, which hold no key. */
static bool
is_ssh_key(const char *name)
{
	static const char *const harmless[] = { ".js",  ".mjs",  ".cjs",  ".jsx",  ".ts",   ".mts", ".cts", ".tsx",
						".map", ".json", ".md",   ".css",  ".html", ".pub", ".sql", ".txt",
						".svg", ".png",  ".wasm", ".node", ".snap", ".yml", ".yaml" };
	size_t i;

	if (strncmp(name, "id_", 3) != 0 || !name[3])
		return false;
	for (i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++)
		if (ends_in(name, harmless[i]))
			return false;
	return true;
}

static const char *
rule_of_name(const char *name, bool in_modules)
{
	static const char *const names[] = { ".env", ".npmrc", ".netrc", NULL };
	static const char *const names_outside[] = { "_netrc",    ".envrc",  ".git-credentials", ".pgpass", ".pypirc",
						     ".htpasswd", ".my.cnf", ".dockercfg",       NULL };
	static const char *const endings[] = { ".key", ".p12", ".pfx", ".jks", NULL };
	static const char *const rules[] = { "*.key", "*.p12", "*.pfx", "*.jks" };
	static const char *const endings_outside[] = { ".keystore", ".kdbx", ".ppk", NULL };
	static const char *const rules_outside[] = { "*.keystore", "*.kdbx", "*.ppk" };
	size_t i;

	for (i = 0; names[i]; i++)
		if (strcasecmp(name, names[i]) == 0)
			return names[i];
	if (strncasecmp(name, ".env.", 5) == 0 && strcasecmp(name + 5, "example") != 0 &&
	    strcasecmp(name + 5, "sample") != 0)
		return ".env.*";
	if (is_ssh_key(name))
		return "id_*";
	for (i = 0; endings[i]; i++)
		if (ends_in(name, endings[i]))
			return rules[i];
	if (in_modules)
		return NULL;
	for (i = 0; names_outside[i]; i++)
		if (strcasecmp(name, names_outside[i]) == 0)
			return names_outside[i];
	for (i = 0; endings_outside[i]; i++)
		if (ends_in(name, endings_outside[i]))
			return rules_outside[i];
	return NULL;
}

/* Whether the segments of part, "a" or "a/b", stand one after another in path. */
static bool
has_segments(const char *path, const char *part)
{
	size_t n = strlen(part);
	const char *s;

	for (s = path; (s = strstr(s, part)); s++)
		if ((s == path || s[-1] == '/') && (s[n] == '/' || s[n] == '\0'))
			return true;
	return false;
}

const char *
credential_rule(const char *path, bool in_modules)
{
	static const char *const folders[] = { ".aws",           ".ssh",        ".gnupg",
					       ".azure",         ".kube",       ".docker/config.json",
					       ".config/gcloud", ".git/config", NULL };
	const char *slash = strrchr(path, '/');
	size_t i;

	for (i = 0; !in_modules && folders[i]; i++)
		if (has_segments(path, folders[i]))
			return folders[i];
	return rule_of_name(slash ? slash + 1 : path, in_modules);
}
