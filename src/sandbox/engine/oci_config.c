/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/engine/oci_config.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_place.h"
#include "sandbox/engine/oci_seccomp.h"
#include "sandbox/engine/oci_state.h"

static const char *const env_keys[] = {"process", "env", NULL};
static const char *const seccomp_keys[] = {"linux", "seccomp", NULL};

/* `text` takes the place of `n` octets from `at` on. */
struct edit {
	const uint8_t *at;
	size_t n;
	char *text;
};

static json_t *follow(json_t *root, const char *const *keys)
{
	for (; *keys; keys++)
		root = json_object_get(root, *keys);
	return root;
}

/* --- variables --- */

static bool is_given(const json_t *env, const char *pair)
{
	size_t n = strcspn(pair, "="), i;
	json_t *one;

	json_array_foreach(env, i, one)
	{
		const char *text = json_string_value(one);

		if (text && strncmp(text, pair, n) == 0 && (text[n] == '=' || !text[n]))
			return true;
	}
	return false;
}

/* `"A=1","B=2",`, or without the last comma where nothing follows. */
static char *print_missing(const json_t *env, char *const *wanted)
{
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);
	bool any = json_array_size(env) > 0;

	if (!out)
		return NULL;
	for (size_t i = 0, put = 0; wanted[i]; i++) {
		json_t *pair = is_given(env, wanted[i]) ? NULL : json_string(wanted[i]);

		if (!pair)
			continue;
		if (put++)
			fputc(',', out);
		json_dumpf(pair, out, JSON_ENCODE_ANY);
		json_decref(pair);
	}
	if (any && ftell(out) > 0)
		fputc(',', out);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

static int add_env(json_t *root, struct span config, char *const *wanted, struct edit *out,
		   struct err *e)
{
	struct span place = json_place_find(config, env_keys);
	json_t *env = follow(root, env_keys);

	if (!json_is_array(env) || !place.p)
		return err_set(e, "the container's configuration has no variables");
	*out = (struct edit){.at = place.p + 1, .text = print_missing(env, wanted)};
	return out->text ? 0 : err_set(e, "out of memory");
}

/* --- the filter --- */

static int replace_seccomp(json_t *root, struct span config, struct edit *out, struct err *e)
{
	struct span place = json_place_find(config, seccomp_keys);
	json_t *seccomp;
	int rc;

	if (!json_is_object(follow(root, seccomp_keys)))
		return 0;
	/* Once more by itself: `root` has its numbers as reals. */
	seccomp = place.p ? json_loadb((const char *)place.p, place.n, JSON_REJECT_DUPLICATES, NULL)
			  : NULL;
	if (!seccomp)
		return err_set(e, "the container's filter of system calls has numbers that are too "
				  "large, or keys with escapes");
	rc = oci_seccomp_refuse_vsock(seccomp, e);
	if (rc == 0)
		*out = (struct edit){place.p, place.n, json_dumps(seccomp, JSON_COMPACT)};
	json_decref(seccomp);
	return rc || out->text ? rc : err_set(e, "out of memory");
}

/* --- the text --- */

static char *write_edited(struct span config, struct edit edits[2])
{
	const uint8_t *end = config.p + config.n;
	struct edit first = edits[0];
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	if (!out)
		return NULL;
	if (edits[1].text && (!first.text || edits[1].at < first.at)) {
		edits[0] = edits[1];
		edits[1] = first;
	}
	for (size_t i = 0; i < 2 && edits[i].text; i++) {
		fwrite(config.p, 1, (size_t)(edits[i].at - config.p), out);
		fputs(edits[i].text, out);
		config.p = edits[i].at + edits[i].n;
	}
	fwrite(config.p, 1, (size_t)(end - config.p), out);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

char *oci_config_add(struct span config, const struct oci_additions *a, struct err *e)
{
	json_t *root = oci_config_load(config, e);
	struct edit edits[2] = {0};
	char *text = NULL;
	int rc = root ? 0 : -1;

	if (rc == 0 && a->env)
		rc = add_env(root, config, a->env, &edits[0], e);
	if (rc == 0 && a->no_vsock)
		rc = replace_seccomp(root, config, &edits[1], e);
	if (rc == 0 && !(text = write_edited(config, edits)))
		err_set(e, "out of memory");
	free(edits[0].text);
	free(edits[1].text);
	json_decref(root);
	return text;
}
