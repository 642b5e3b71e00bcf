/* SPDX-License-Identifier: Apache-2.0 */
/*
 * print_yaml: a policy as a person writes it in a file, from its canonical JSON: a key a line, a
 * rule a line. What JSON has in braces stays JSON, which YAML contains.
 */
#include "policy/print_yaml.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Words that YAML 1.1 reads as something else than text. */
static bool is_plain(const char *s)
{
	static const char *const others[] = {"yes",   "no",   "on", "off", "true",
					     "false", "null", "y",  "n"};

	for (size_t i = 0; i < sg_array_len(others); i++)
		if (strcmp(s, others[i]) == 0)
			return false;
	if (!(*s >= 'a' && *s <= 'z'))
		return false;
	for (const char *c = s; *c; c++)
		if (!((*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') || strchr("._/-", *c) ||
		      (*c == ':' && c[1])))
			return false;
	return true;
}

static void put_value(FILE *to, const json_t *value)
{
	const char *s = json_string_value(value);

	if (s && is_plain(s))
		fputs(s, to);
	else
		json_dumpf(value, to, JSON_ENCODE_ANY);
}

static void put_list(FILE *to, const char *key, const json_t *list)
{
	json_t *value;
	size_t i;

	fprintf(to, "%s:\n", key);
	json_array_foreach(list, i, value)
	{
		fputs("  - ", to);
		put_value(to, value);
		fputc('\n', to);
	}
}

static void put_keys(FILE *to, const json_t *o)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)o, key, value)
	{
		if (strcmp(key, "version") == 0 || strcmp(key, "network") == 0)
			continue;
		if (json_array_size(value)) {
			put_list(to, key, value);
			continue;
		}
		fprintf(to, "%s: ", key);
		put_value(to, value);
		fputc('\n', to);
	}
}

char *policy_print_yaml(const struct policy *p)
{
	char *json = policy_print_json(p), *text = NULL;
	json_t *o = json ? json_loads(json, 0, NULL) : NULL;
	size_t n = 0;
	FILE *to = o ? open_memstream(&text, &n) : NULL;

	if (to) {
		fprintf(to, "network: %s\n", network_base_name(p->network));
		put_keys(to, o);
		if (fclose(to)) {
			free(text);
			text = NULL;
		}
	}
	json_decref(o);
	free(json);
	return text;
}
