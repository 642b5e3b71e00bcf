/* SPDX-License-Identifier: Apache-2.0 */
/* credential_print: what is the default is left out, so that what is printed reads back to the
 * same. */
#include "policy/credential_entry.h"
#include "policy/print.h"

static bool put(json_t *object, const char *key, json_t *value)
{
	return json_object_set_new(object, key, value) == 0;
}

static bool put_text(json_t *object, const char *key, const char *text)
{
	return !text || put(object, key, json_string(text));
}

static bool put_strings(json_t *object, const char *key, char *const *list)
{
	return !list || put(object, key, strings_print_json(list));
}

static bool put_form(json_t *object, const struct credential *c)
{
	switch ((enum credential_slot)c->slot) {
	case SLOT_HEADER:
		return put_text(object, "header", c->name) && put_text(object, "value", c->value);
	case SLOT_BASIC:
		return put_text(object, "basic", c->value);
	case SLOT_QUERY:
		return put_text(object, "query", c->name);
	case SLOT_AWS:
		return put(object, "aws",
			   json_pack("{s:s, s:s}", "region", c->name, "service", c->value));
	case CREDENTIAL_SLOTS:
		break;
	}
	return false;
}

static bool put_refresh(json_t *object, const struct credential_refresh *r)
{
	json_t *inner = r ? json_object() : NULL;

	if (!r)
		return true;
	if (put_text(inner, "url", r->url) && put_text(inner, "client_id", r->client_id) &&
	    put_text(inner, "client_secret", r->client_secret) &&
	    put_text(inner, "scope", r->scope))
		return put(object, "refresh", inner);
	json_decref(inner);
	return false;
}

static bool put_pin(json_t *object, const struct credential *c)
{
	static const char *const words[CREDENTIAL_PINS] = {
		[PIN_STRICT] = "strict", [PIN_KEEP] = "keep"};

	return put_text(object, "pin", words[c->pin]);
}

static json_t *credential_json(const struct credential *c)
{
	json_t *object = json_object();

	if (put_text(object, "host", c->host) &&
	    (c->port == CREDENTIAL_PORT || put(object, "port", json_integer(c->port))) &&
	    put_strings(object, "methods", c->methods) && put_strings(object, "paths", c->paths) &&
	    put_form(object, c) && put_text(object, "from", c->from) && put_pin(object, c) &&
	    put_text(object, "env", c->env) && put_refresh(object, c->refresh))
		return object;
	json_decref(object);
	return NULL;
}

json_t *credentials_print_json(const struct credential_list *list)
{
	json_t *array = json_array();

	for (size_t i = 0; array && i < list->n; i++)
		if (json_array_append_new(array, credential_json(&list->v[i])) != 0) {
			json_decref(array);
			array = NULL;
		}
	return array;
}
