/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * All backends, from the list that the build makes of backends/sources.am.
 * Used by the broker; no rights, no input but names.
 */

#include "config.h"

#include <string.h>

#include "backends/backend.h"

#define BACKEND(name)	extern const struct backend name##_backend;
#include "backends/list.h"
#undef BACKEND

const struct backend *const backend_table[] = {
#define BACKEND(name)	&name##_backend,
#include "backends/list.h"
#undef BACKEND
	NULL
};

const struct backend *
backend_find(const char *name)
{
	size_t i;

	for (i = 0; backend_table[i] != NULL; i++)
		if (strcmp(backend_table[i]->name, name) == 0)
			return backend_table[i];
	return NULL;
}
