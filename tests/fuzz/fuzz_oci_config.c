/* SPDX-License-Identifier: Apache-2.0 */
/* A container's configuration, whatever its engine wrote: what comes out is one, with what was added. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "sandbox/engine/oci_config.h"
#include "sandbox/engine/oci_state.h"

static char *env[] = {"SANDGATE_ADDED=1", NULL};

static bool has_variable(json_t *root)
{
	json_t *list = json_object_get(json_object_get(root, "process"), "env"), *one;
	size_t i;

	json_array_foreach(list, i, one)
	{
		const char *text = json_string_value(one);

		if (text && strncmp(text, "SANDGATE_ADDED", strlen("SANDGATE_ADDED")) == 0)
			return true;
	}
	return false;
}

static void check_words(struct span text)
{
	struct oci_root root;
	struct oci_state s;
	struct err e;

	if (oci_config_words(text, &s, &e) == 0)
		oci_state_free(&s);
	if (oci_root_parse(text, &root, &e) == 0 && *root.path != '/')
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct oci_additions a = {.env = env, .no_vsock = true};
	struct err e;
	char *text = oci_config_add(span_of(data, size), &a, &e);
	json_t *root;

	check_words(span_of(data, size));
	if (!text)
		return 0;
	root = oci_config_load(span_of_string(text), &e);
	if (strlen(text) <= OCI_STATE_MAX && (!root || !has_variable(root)))
		abort();
	json_decref(root);
	free(text);
	return 0;
}
