/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/backend.h"

#include <string.h>

/* see backend.h */
const struct backend_ops *
backend_find(const char *name)
{
	static const struct backend_ops *const all[] = { &backend_namespace, &backend_local };
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (strcmp(name, all[i]->name) == 0)
			return all[i];
	return NULL;
}
