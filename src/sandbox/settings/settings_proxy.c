/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/settings/settings_proxy.h"

#include <stdlib.h>
#include <string.h>

#include "policy/parent_proxy.h"
#include "policy/print.h"
#include "policy/secret_from.h"
#include "policy/strings.h"

static int set_text(const struct value_reader *v, const struct node *value, const char *text,
		    char **out)
{
	char *copy = text ? strdup(text) : NULL;

	if (text && !copy)
		return node_error(v->d, value, v->e, "out of memory");
	free(*out);
	*out = copy;
	return 0;
}

int settings_read_upstream_proxy(const struct value_reader *v, struct settings *s,
				 const struct node *value)
{
	struct parent_url url;
	const char *word;
	struct err why;

	if (value_string(v, value, &word))
		return -1;
	if (strcmp(word, "none") == 0)
		return set_text(v, value, NULL, &s->upstream_proxy);
	if (parent_url_parse(word, &url, &why))
		return node_error(v->d, value, v->e, "%s, or `none`", why.text);
	return set_text(v, value, word, &s->upstream_proxy);
}

json_t *settings_show_upstream_proxy(const struct settings *s)
{
	return json_string(s->upstream_proxy ? s->upstream_proxy : "none");
}

int settings_read_upstream_proxy_from(const struct value_reader *v, struct settings *s,
				      const struct node *value)
{
	enum secret_kind kind;
	const char *word;
	struct err why;

	if (value_string(v, value, &word))
		return -1;
	if (strcmp(word, "none") == 0)
		return set_text(v, value, NULL, &s->upstream_proxy_from);
	if (secret_from_parse(word, &kind, NULL, &why))
		return node_error(v->d, value, v->e, "%s", why.text);
	if (kind == SECRET_GIT)
		return node_error(v->d, value, v->e,
				  "git has no password of a proxy; take env:, file:, command: or "
				  "keyring:");
	return set_text(v, value, word, &s->upstream_proxy_from);
}

json_t *settings_show_upstream_proxy_from(const struct settings *s)
{
	return json_string(s->upstream_proxy_from ? s->upstream_proxy_from : "none");
}

static int read_exception(const struct value_reader *v, const struct node *value, char ***list)
{
	struct parent_exception x;
	const char *word;
	struct err why;

	if (value_string(v, value, &word))
		return -1;
	if (parent_exception_parse(word, &x, &why))
		return node_error(v->d, value, v->e, "%s", why.text);
	return string_list_add(list, word) ? node_error(v->d, value, v->e, "out of memory") : 0;
}

int settings_read_no_proxy(const struct value_reader *v, struct settings *s,
			   const struct node *value)
{
	char **list = NULL;

	if (value_list(v, value, true))
		return -1;
	if (value->n > PARENT_EXCEPTIONS_MAX)
		return node_error(v->d, value, v->e, "more than %d of them", PARENT_EXCEPTIONS_MAX);
	for (size_t i = 0; i < value->n; i++)
		if (read_exception(v, &value->items[i], &list)) {
			string_list_free(list);
			return -1;
		}
	string_list_free(s->no_proxy);
	s->no_proxy = list;
	return 0;
}

json_t *settings_show_no_proxy(const struct settings *s)
{
	return s->no_proxy ? strings_print_json(s->no_proxy) : json_array();
}
