/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/method_override.h"

#include "base/compiler.h"
#include "broker/form.h"

static bool asks_in_query(const char *target)
{
	struct form_pair pair;
	enum form_result result;
	bool has;
	struct span query = form_of_target(target, &has);

	while ((result = form_next(&query, &pair)) != FORM_END)
		if (result == FORM_PAIR && strcmp(pair.key, "_method") == 0)
			return true;
	return false;
}

/* What hands fields on as CGI does takes `_` for `-` (RFC 3875, 4.1.18). */
static bool is_named(struct span name, const char *field)
{
	if (name.n != strlen(field))
		return false;
	for (size_t i = 0; i < name.n; i++)
		if (field[i] != (name.p[i] == '_' ? '-' : (char)name.p[i]))
			return false;
	return true;
}

static bool has_field(const struct message *request, const char *field)
{
	for (size_t i = 0; i < request->n_fields; i++)
		if (is_named(request->fields[i].name, field))
			return true;
	return false;
}

const char *method_override_find(const struct message *request, const char *target)
{
	static const struct {
		const char *field, *why;
	} others[] = {
		{"x-http-method-override", "its field x-http-method-override names a method"},
		{"x-http-method", "its field x-http-method names a method"},
		{"x-method-override", "its field x-method-override names a method"},
		{"x-original-method", "its field x-original-method names a method"},
		{"x-original-url", "its field x-original-url names a path"},
		{"x-rewrite-url", "its field x-rewrite-url names a path"},
	};

	for (size_t i = 0; i < sg_array_len(others); i++)
		if (has_field(request, others[i].field))
			return others[i].why;
	return asks_in_query(target) ? "its query names a method" : NULL;
}
