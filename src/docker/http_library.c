/* SPDX-License-Identifier: Apache-2.0 */
#include "docker/http_library.h"

#include <assert.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include "base/compiler.h"

/* The version of the interface that the header is of: 0.9.34 to 1.0. */
static const char soname[] = "libmicrohttpd.so.12";

#define NAME(name) "MHD_" #name,

static const char *const names[] = {HTTP_LIBRARY_FUNCTIONS(NAME)};

static struct http_library loaded;
static bool is_loaded;

static_assert(sizeof(loaded) == sizeof(names), "a function pointer for each name, and as large");

static int load(void **functions, struct err *e)
{
	void *library = dlopen(soname, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return err_set(e, "%s; install libmicrohttpd12", dlerror());
	for (size_t i = 0; i < sg_array_len(names); i++) {
		functions[i] = dlsym(library, names[i]);
		if (!functions[i])
			return err_set(e, "%s has no %s", soname, names[i]);
	}
	return 0;
}

const struct http_library *http_library_load(struct err *e)
{
	void *functions[sg_array_len(names)];

	if (!is_loaded) {
		if (load(functions, e))
			return NULL;
		memcpy(&loaded, functions, sizeof(loaded));
		is_loaded = true;
	}
	return &loaded;
}
