/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/request_check.h"

#include <strings.h>

#include "base/compiler.h"
#include "broker/form.h"
#include "broker/graphql.h"
#include "broker/lfs.h"
#include "broker/scope.h"
#include "http/text.h"

static bool has_method(const struct asked *a, const char *method)
{
	return strcmp(a->destination->method, method) == 0;
}

static bool is_safe(const struct asked *a)
{
	return has_method(a, "GET") || has_method(a, "HEAD");
}

/* A GET may have one, and some servers read it. */
static bool has_body(const struct asked *a)
{
	const struct message *m = a->request;

	return m->body == MESSAGE_BODY_STREAM || (m->body == MESSAGE_BODY_LENGTH && m->length > 0);
}

static bool has_query(const struct asked *a)
{
	return strchr(a->destination->path, '?') != NULL;
}

/* A parameter of a media type: only that the body is UTF-8 may be said. */
static bool is_utf8(struct span parameter)
{
	parameter = http_trim(parameter);
	return http_is_word(parameter, "charset=utf-8") ||
	       http_is_word(parameter, "charset=\"utf-8\"");
}

/* By a type that is told once: of two, servers take either. */
static bool has_type(const struct asked *a, const char *type)
{
	const struct field *f = message_find(a->request, "content-type", NULL);
	struct span rest, head;

	if (!f || message_find(a->request, "content-type", f))
		return false;
	rest = f->value;
	head = http_trim(http_take_until(&rest, ';'));
	return http_is_word(head, type) && (rest.n == 0 || is_utf8(rest));
}

/* Is the body there, and as it is sent? Else what it is instead. */
static enum admits read_body(const struct asked *a, const char **why)
{
	const struct message *m = a->request;

	*why = NULL;
	if (message_find(m, "content-encoding", NULL))
		*why = "its body is encoded, so that it cannot be read";
	else if (m->body == MESSAGE_BODY_NONE)
		*why = "it has no body";
	else if ((m->body == MESSAGE_BODY_LENGTH && m->length > REQUEST_BODY_MAX) ||
		 (!a->body_whole && a->body.n >= REQUEST_BODY_MAX) || a->body.n > REQUEST_BODY_MAX)
		*why = "its body is larger than 64 KiB";
	if (*why)
		return ADMITS_NOT;
	return a->body_whole ? ADMITS : ADMITS_PERHAPS;
}

static enum admits fail(const char **why, const char *what)
{
	*why = what;
	return ADMITS_NOT;
}

/*
 * A server that reads by the type finds nothing in a form without `=`: so curl's -d, which says it
 * is one, may send JSON as GitHub's documents have it.
 */
static bool may_be_json(const struct asked *a)
{
	if (has_type(a, "application/json"))
		return true;
	return has_type(a, "application/x-www-form-urlencoded") &&
	       (a->body.n == 0 || !memchr(a->body.p, '=', a->body.n));
}

/* Some servers take `query` from the target as well, and before that of the body. */
static enum admits check_graphql_query(const struct asked *a, const char **why)
{
	enum admits there;

	if (has_query(a))
		return fail(why, "a query of GraphQL is read from the body only");
	if (is_safe(a))
		return has_body(a) ? fail(why, "a GET of GraphQL has no body") : ADMITS;
	there = read_body(a, why);
	if (there != ADMITS_NOT && !may_be_json(a))
		return fail(why, "its content-type is not application/json");
	if (there == ADMITS && !graphql_body_is_query(a->body))
		return fail(why, "not every operation in its body is a query of GraphQL");
	return there;
}

static enum admits check_lfs(const struct asked *a, const char *operation, const char **why)
{
	enum admits there = read_body(a, why);

	if (there == ADMITS_NOT)
		return there;
	if (has_query(a) ||
	    (!has_type(a, "application/vnd.git-lfs+json") && !has_type(a, "application/json")))
		return fail(why, "it is not a batch request of Git LFS");
	if (there == ADMITS && !lfs_batch_is(a->body, operation))
		return fail(why, "its body is not a batch of Git LFS for that");
	return there;
}

static enum admits check_lfs_download(const struct asked *a, const char **why)
{
	return check_lfs(a, "download", why);
}

static enum admits check_lfs_upload(const struct asked *a, const char **why)
{
	return check_lfs(a, "upload", why);
}

static enum admits check_scope(const struct asked *a, enum scope_width width, const char **why)
{
	bool has;
	struct span query = form_of_target(a->destination->path, &has);
	enum admits there;

	if (is_safe(a))
		return !has_body(a) && scope_is_within(query, width)
			       ? ADMITS
			       : fail(why, "the token that it asks for could do more");
	there = read_body(a, why);
	if (there == ADMITS_NOT)
		return there;
	if (has || !has_type(a, "application/x-www-form-urlencoded"))
		return fail(why, "it is not a request for a token");
	if (there == ADMITS && !scope_is_within(a->body, width))
		return fail(why, "the token that it asks for could do more");
	return there;
}

static enum admits check_scope_pull(const struct asked *a, const char **why)
{
	return check_scope(a, SCOPE_PULL, why);
}

static enum admits check_scope_push(const struct asked *a, const char **why)
{
	return check_scope(a, SCOPE_PUSH, why);
}

enum admits request_check(const char *check, const struct asked *a, const char **why)
{
	static const struct {
		const char *name;
		enum admits (*check)(const struct asked *a, const char **why);
	} checks[] = {
		{"graphql-query", check_graphql_query}, {"lfs-download", check_lfs_download},
		{"lfs-upload", check_lfs_upload},	{"scope-pull", check_scope_pull},
		{"scope-push", check_scope_push},
	};

	for (size_t i = 0; i < sg_array_len(checks); i++)
		if (strcmp(check, checks[i].name) == 0)
			return checks[i].check(a, why);
	return fail(why, "its check is not known here");
}
