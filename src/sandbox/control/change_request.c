/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/control/change_request.h"

#include <stdlib.h>
#include <string.h>

#include "policy/quote.h"

static bool put_list(json_t *m, const char *key, const char *const *items)
{
	json_t *list = json_array();
	bool ok = list != NULL;

	for (; ok && items && *items; items++)
		ok = json_array_append_new(list, json_string(*items)) == 0;
	if (ok && json_array_size(list))
		ok = json_object_set(m, key, list) == 0;
	json_decref(list);
	return ok;
}

json_t *change_request_print(const struct policy_change *change, bool dry_run)
{
	json_t *m = json_pack("{s:s}", "op", "change");

	if (m && put_list(m, "allow", change->allow) && put_list(m, "deny", change->deny) &&
	    put_list(m, "remove", change->remove) &&
	    (!change->preset ||
	     json_object_set_new(m, "preset", json_string(change->preset)) == 0) &&
	    (!dry_run || json_object_set_new(m, "dry_run", json_true()) == 0))
		return m;
	json_decref(m);
	return NULL;
}

static int take_list(const char *key, const json_t *value, const char *const **out, struct err *e)
{
	size_t n = json_array_size(value);
	const char **list;

	if (!json_is_array(value) || n > CHANGE_ITEMS_MAX)
		return err_set(e, "%s: not a list of %d items at most", key, CHANGE_ITEMS_MAX);
	list = calloc(n + 1, sizeof(*list));
	if (!list)
		return err_set(e, "out of memory");
	*out = list;
	for (size_t i = 0; i < n; i++) {
		list[i] = json_string_value(json_array_get(value, i));
		/* A NUL inside would hide what follows it. */
		if (!list[i] || strlen(list[i]) != json_string_length(json_array_get(value, i)))
			return err_set(e, "%s: item %zu is not a text", key, i + 1);
	}
	return 0;
}

static int take_preset(const json_t *value, struct change_request *out, struct err *e)
{
	out->change.preset = json_string_value(value);
	if (out->change.preset && strlen(out->change.preset) == json_string_length(value))
		return 0;
	return err_set(e, "preset: not a text");
}

static int take_key(const char *key, const json_t *value, struct change_request *out, struct err *e)
{
	char shown[QUOTE_MAX];

	if (strcmp(key, "op") == 0)
		return 0;
	if (strcmp(key, "allow") == 0)
		return take_list(key, value, &out->change.allow, e);
	if (strcmp(key, "deny") == 0)
		return take_list(key, value, &out->change.deny, e);
	if (strcmp(key, "remove") == 0)
		return take_list(key, value, &out->change.remove, e);
	if (strcmp(key, "preset") == 0)
		return take_preset(value, out, e);
	if (strcmp(key, "dry_run") == 0 && json_is_boolean(value)) {
		out->dry_run = json_is_true(value);
		return 0;
	}
	return err_set(e, "%s: not understood in a change; is sandgate of two versions here?",
		       quote_string(key, shown));
}

int change_request_parse(const json_t *message, struct change_request *out, struct err *e)
{
	const char *key;
	json_t *value;

	*out = (struct change_request){.dry_run = false};
	json_object_foreach((json_t *)message, key, value)
	{
		if (take_key(key, value, out, e)) {
			change_request_free(out);
			return -1;
		}
	}
	return 0;
}

void change_request_free(struct change_request *r)
{
	free((void *)r->change.allow);
	free((void *)r->change.deny);
	free((void *)r->change.remove);
	*r = (struct change_request){.dry_run = false};
}
