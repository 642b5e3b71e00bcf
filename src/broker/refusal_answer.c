/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation. One table of forms, asked in its order; the last fits all. Each form writes
 * the same line where its client looks for one. What that is was found out with the clients: git
 * 2.39 prints the text of a 403 when it asks for references, and of a later answer only an ERR
 * packet (fetch) or the third side band (push) of a 200.
 */
#include <jansson.h>
#include <stdio.h>
#include <strings.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "broker/refusal_text.h"

struct refusal {
	const struct message *request;
	const struct request_verdict *verdict;
	char line[REFUSAL_TEXT_MAX];
};

/* ---- What a request is ---- */

static bool has_prefix(struct span s, const char *prefix)
{
	size_t n = strlen(prefix);

	return s.n >= n && strncasecmp((const char *)s.p, prefix, n) == 0;
}

static bool holds(struct span s, const char *piece)
{
	return s.n && memmem(s.p, s.n, piece, strlen(piece)) != NULL;
}

static bool has_suffix(struct span s, const char *suffix)
{
	size_t n = strlen(suffix);

	return s.n >= n && memcmp(s.p + s.n - n, suffix, n) == 0;
}

static struct span value_of(const struct message *request, const char *name)
{
	const struct field *f = message_find(request, name, NULL);

	return f ? f->value : span_of(NULL, 0);
}

static bool is_grpc(const struct message *request)
{
	return has_prefix(value_of(request, "content-type"), "application/grpc");
}

static bool is_git_references(const struct message *request)
{
	return holds(request->path, "/info/refs?service=git-");
}

static bool is_git_fetch(const struct message *request)
{
	return has_suffix(request->path, "/git-upload-pack");
}

static bool is_git_push(const struct message *request)
{
	return has_suffix(request->path, "/git-receive-pack");
}

static bool is_npm(const struct message *request)
{
	static const char *const clients[] = {"npm/", "pnpm/", "yarn/", "Bun/"};
	struct span agent = value_of(request, "user-agent");

	for (size_t i = 0; i < sg_array_len(clients); i++)
		if (has_prefix(agent, clients[i]))
			return true;
	return false;
}

static bool is_registry(const struct message *request)
{
	return has_prefix(request->path, "/v2/") || has_prefix(request->path, "/token?") ||
	       span_equal(request->path, span_of_string("/token")) ||
	       has_prefix(value_of(request, "user-agent"), "cargo");
}

/* Browsers take anything, and pip pages in JSON or HTML; neither shows JSON to a person. */
static bool is_json(const struct message *request)
{
	struct span accept = value_of(request, "accept");

	return (holds(accept, "json") && !holds(accept, "text/html")) ||
	       holds(value_of(request, "content-type"), "json") ||
	       (request->has_host && has_prefix(span_of_string(request->host.s), "api."));
}

static bool is_any(const struct message *request)
{
	return true;
}

/* ---- The forms ---- */

static bool add(struct message *answer, const char *name, const char *value)
{
	return message_add(answer, span_of_string(name), span_of_string(value));
}

static bool start(const struct refusal *r, uint16_t status, const char *type,
		  struct message *answer)
{
	answer->status = status;
	return add(answer, "content-type", type) && add(answer, "cache-control", "no-store") &&
	       add(answer, "sandgate-reason", reason_word(r->verdict->reason));
}

static bool finish(struct message *answer, struct body *body, struct span octets)
{
	answer->body = MESSAGE_BODY_LENGTH;
	answer->length = octets.n;
	body->ended = true;
	return body_put(body, octets);
}

/* pip, apt and wget show the phrase of HTTP/1.1, and not the body. */
static bool answer_text(const struct refusal *r, struct message *answer, struct body *body)
{
	char text[REFUSAL_TEXT_MAX + 1];
	int n = snprintf(text, sizeof(text), "%s\n", r->line);

	return message_store(answer, span_of_string(r->line), &answer->phrase) &&
	       start(r, 403, "text/plain; charset=utf-8", answer) &&
	       finish(answer, body, span_of(text, (size_t)n));
}

/* A packet line (gitprotocol-common(5)): its length in hexadecimal, with that of the length. */
static bool answer_packet(const struct refusal *r, const char *type, const char *before,
			  const char *behind, struct message *answer, struct body *body)
{
	char text[REFUSAL_TEXT_MAX + 32];
	size_t n = strlen(before) + strlen(r->line) + 1;
	int all = snprintf(text, sizeof(text), "%04zx%s%s\n%s", n + 4, before, r->line, behind);

	return start(r, 200, type, answer) && finish(answer, body, span_of(text, (size_t)all));
}

static bool answer_git_fetch(const struct refusal *r, struct message *answer, struct body *body)
{
	return answer_packet(r, "application/x-git-upload-pack-result", "ERR ", "", answer, body);
}

/* Side band 3 is a fatal message of the other side (gitprotocol-pack(5)). */
static bool answer_git_push(const struct refusal *r, struct message *answer, struct body *body)
{
	return answer_packet(r, "application/x-git-receive-pack-result", "\x03", "0000", answer,
			     body);
}

/*
 * "Trailers-Only" (gRPC over HTTP2, Responses): 7 is PERMISSION_DENIED. Only `%` has to be encoded.
 */
static bool answer_grpc(const struct refusal *r, struct message *answer, struct body *body)
{
	bool web = has_prefix(value_of(r->request, "content-type"), "application/grpc-web");
	char text[REFUSAL_TEXT_MAX * 3];
	struct buf b = buf_of(text, sizeof(text) - 1);

	for (const char *s = r->line; *s; s++)
		buf_put_text(&b, *s == '%' ? "%25" : (const char[]){*s, 0});
	text[b.n] = 0;
	answer->body = MESSAGE_BODY_NONE;
	body->ended = true;
	return start(r, 200, web ? "application/grpc-web" : "application/grpc", answer) &&
	       add(answer, "grpc-status", "7") && add(answer, "grpc-message", text);
}

/* Takes the object. */
static bool answer_object(const struct refusal *r, json_t *object, struct message *answer,
			  struct body *body)
{
	_cleanup_free_ char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;

	json_decref(object);
	return text && start(r, 403, "application/json", answer) &&
	       finish(answer, body, span_of_string(text));
}

static bool answer_npm(const struct refusal *r, struct message *answer, struct body *body)
{
	return answer_object(r, json_pack("{s:s}", "error", r->line), answer, body);
}

/*
 * distribution-spec, "Error Codes", and `details`, where its clients look for a token; cargo:
 * `detail`.
 */
static bool answer_registry(const struct refusal *r, struct message *answer, struct body *body)
{
	return answer_object(r,
			     json_pack("{s:[{s:s, s:s, s:s}], s:s}", "errors", "code", "DENIED",
				       "message", r->line, "detail", r->line, "details", r->line),
			     answer, body);
}

/* `error` as APIs of models have it, and `message` as GitHub, GitLab and Git LFS do. */
static bool answer_json(const struct refusal *r, struct message *answer, struct body *body)
{
	return answer_object(r,
			     json_pack("{s:s, s:{s:s, s:s, s:s}, s:s}", "type", "error", "error",
				       "type", "permission_error", "message", r->line, "code",
				       reason_word(r->verdict->reason), "message", r->line),
			     answer, body);
}

bool refusal_answer(const struct message *request, const struct request_verdict *v,
		    struct message *answer, struct body *body)
{
	static const struct {
		bool (*is)(const struct message *request);
		bool (*answer)(const struct refusal *r, struct message *answer, struct body *body);
	} forms[] = {
		{is_grpc, answer_grpc},
		{is_git_references, answer_text},
		{is_git_fetch, answer_git_fetch},
		{is_git_push, answer_git_push},
		{is_npm, answer_npm},
		{is_registry, answer_registry},
		{is_json, answer_json},
		{is_any, answer_text},
	};
	struct refusal r = {.request = request, .verdict = v};
	size_t i = 0;

	refusal_text(request, v, r.line);
	while (!forms[i].is(request))
		i++;
	return forms[i].answer(&r, answer, body);
}
