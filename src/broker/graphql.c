/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation. A parser by descent over the grammar of October 2021, one function a
 * production, one token ahead. Nothing is kept: it says only whether the document is one, and
 * whether each of its operations is a query. After the first mistake `bad` holds, the token is that
 * of the end, and every loop ends.
 */
#include "broker/graphql.h"

#include "broker/graphql_token.h"
#include "broker/json_body.h"

struct parser {
	struct reader document;
	struct graphql_token token; /* the next one */
	unsigned depth;
	bool bad;
};

static void fail(struct parser *p)
{
	p->bad = true;
	p->token = (struct graphql_token){.kind = GRAPHQL_END};
}

static void advance(struct parser *p)
{
	if (p->bad)
		return;
	p->token = graphql_token_next(&p->document);
	if (p->token.kind == GRAPHQL_BAD)
		fail(p);
}

static bool is_punctuator(const struct parser *p, char c)
{
	return p->token.kind == GRAPHQL_PUNCTUATOR && p->token.text.p[0] == (uint8_t)c;
}

static bool is_word(const struct parser *p, const char *word)
{
	return p->token.kind == GRAPHQL_NAME && span_equal(p->token.text, span_of_string(word));
}

/* Passes the token when it is that one. */
static bool take(struct parser *p, char c)
{
	if (!is_punctuator(p, c))
		return false;
	advance(p);
	return true;
}

static void need(struct parser *p, char c)
{
	if (!take(p, c))
		fail(p);
}

static void need_name(struct parser *p)
{
	if (p->token.kind == GRAPHQL_NAME)
		advance(p);
	else
		fail(p);
}

static bool enter(struct parser *p)
{
	if (++p->depth > GRAPHQL_DEPTH_MAX)
		fail(p);
	return !p->bad;
}

/* One and more of something, up to `end`. */
static void parse_many(struct parser *p, char end, void (*parse)(struct parser *p))
{
	do
		parse(p);
	while (!p->bad && !take(p, end));
}

/* ---- Values (2.9) and types (2.11) ---- */

static void parse_value(struct parser *p);

static void parse_member(struct parser *p)
{
	need_name(p);
	need(p, ':');
	parse_value(p);
}

/* A list or an object, either of which may be empty. */
static void parse_values(struct parser *p)
{
	bool list = is_punctuator(p, '[');
	char end = list ? ']' : '}';

	advance(p);
	if (!take(p, end))
		parse_many(p, end, list ? parse_value : parse_member);
}

static void parse_value(struct parser *p)
{
	if (!enter(p))
		return;
	if (take(p, '$'))
		need_name(p);
	else if (is_punctuator(p, '[') || is_punctuator(p, '{'))
		parse_values(p);
	else if (p->token.kind == GRAPHQL_NAME || p->token.kind == GRAPHQL_NUMBER ||
		 p->token.kind == GRAPHQL_STRING)
		advance(p);
	else
		fail(p);
	p->depth--;
}

static void parse_type(struct parser *p)
{
	if (!enter(p))
		return;
	if (take(p, '[')) {
		parse_type(p);
		need(p, ']');
	} else {
		need_name(p);
	}
	take(p, '!');
	p->depth--;
}

/* ---- Arguments (2.6), directives (2.12), variables (2.10) ---- */

static void parse_arguments(struct parser *p)
{
	if (take(p, '('))
		parse_many(p, ')', parse_member);
}

static void parse_directives(struct parser *p)
{
	while (take(p, '@')) {
		need_name(p);
		parse_arguments(p);
	}
}

static void parse_variable(struct parser *p)
{
	need(p, '$');
	need_name(p);
	need(p, ':');
	parse_type(p);
	if (take(p, '='))
		parse_value(p);
	parse_directives(p);
}

/* ---- Selections (2.4, 2.5, 2.8) ---- */

static void parse_selection_set(struct parser *p);

static void parse_field(struct parser *p)
{
	need_name(p);
	if (take(p, ':'))
		need_name(p);
	parse_arguments(p);
	parse_directives(p);
	if (is_punctuator(p, '{'))
		parse_selection_set(p);
}

/* Behind "...": the name of a fragment, or one that stands there. */
static void parse_fragment(struct parser *p)
{
	bool spread = p->token.kind == GRAPHQL_NAME && !is_word(p, "on");

	if (spread)
		advance(p);
	else if (is_word(p, "on")) {
		advance(p);
		need_name(p);
	}
	parse_directives(p);
	if (!spread)
		parse_selection_set(p);
}

static void parse_selection(struct parser *p)
{
	if (take(p, '.'))
		parse_fragment(p);
	else
		parse_field(p);
}

static void parse_selection_set(struct parser *p)
{
	if (!enter(p))
		return;
	need(p, '{');
	if (!p->bad)
		parse_many(p, '}', parse_selection);
	p->depth--;
}

/* ---- Documents (2.2, 2.3) ---- */

static void parse_query(struct parser *p)
{
	advance(p);
	if (p->token.kind == GRAPHQL_NAME)
		advance(p);
	if (take(p, '('))
		parse_many(p, ')', parse_variable);
	parse_directives(p);
	parse_selection_set(p);
}

static void parse_fragment_definition(struct parser *p)
{
	advance(p);
	if (is_word(p, "on"))
		fail(p);
	need_name(p);
	if (!is_word(p, "on"))
		fail(p);
	advance(p);
	need_name(p);
	parse_directives(p);
	parse_selection_set(p);
}

/* True: it was a query. Other operations are a mistake, and so is all that defines types. */
static bool parse_definition(struct parser *p)
{
	if (is_word(p, "fragment")) {
		parse_fragment_definition(p);
		return false;
	}
	if (is_punctuator(p, '{'))
		parse_selection_set(p);
	else if (is_word(p, "query"))
		parse_query(p);
	else
		fail(p);
	return true;
}

bool graphql_document_is_query(struct span document)
{
	struct parser p = {.document = reader_of(document)};
	bool query = false;

	advance(&p);
	while (!p.bad && p.token.kind != GRAPHQL_END)
		query |= parse_definition(&p);
	return query && !p.bad;
}

/* ---- Bodies ---- */

static bool is_persisted(const json_t *extensions)
{
	void *at = json_object_iter((json_t *)extensions);

	for (; at; at = json_object_iter_next((json_t *)extensions, at))
		if (strcasecmp(json_object_iter_key(at), "persistedQuery") == 0)
			return true;
	return false;
}

static bool is_absent(const json_t *value)
{
	return !value || json_is_null(value);
}

static bool request_is_query(const json_t *request)
{
	static const char *const keys[] = {"query", "variables", "operationName", "extensions",
					   NULL};
	const json_t *name = json_object_get(request, "operationName");
	const json_t *extensions = json_object_get(request, "extensions");

	return json_body_has_only(request, keys) && (is_absent(name) || json_is_string(name)) &&
	       (is_absent(extensions) || json_is_object(extensions)) && !is_persisted(extensions) &&
	       graphql_document_is_query(json_body_text(json_object_get(request, "query")));
}

bool graphql_body_is_query(struct span body)
{
	json_t *root = json_body_parse(body);
	bool is = json_is_array(root) ? json_array_size(root) > 0 : request_is_query(root);

	for (size_t i = 0; json_is_array(root) && i < json_array_size(root); i++)
		is = is && request_is_query(json_array_get(root, i));
	json_decref(root);
	return is;
}
