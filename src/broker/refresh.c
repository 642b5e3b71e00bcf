/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/refresh.h"

#include <stdio.h>

#include "base/base64.h"
#include "broker/carrier.h"
#include "broker/placeholder.h"
#include "http/text.h"
#include "policy/secret_text.h"

enum {
	SCHEME_N = sizeof("https://") - 1,
	EXPIRES_MAX = 10 * 365 * 86400, /* seconds */
	CLIENT_SECONDS = 3600,
};

/* ---- The request ---- */

static void put_pair(struct buf *b, const char *key, struct span value)
{
	buf_put_text(b, b->n ? "&" : "");
	buf_put_text(b, key);
	buf_put_text(b, "=");
	query_put_encoded(b, value);
}

static void put_grant(const struct vault *v, size_t i, struct buf *body)
{
	const struct credential_refresh *r = vault_credential(v, i)->refresh;

	put_pair(body, "grant_type", span_of_string("refresh_token"));
	put_pair(body, "refresh_token", vault_part(v, i, PART_REFRESH));
	if (r->scope)
		put_pair(body, "scope", span_of_string(r->scope));
	if (r->client_id && !r->client_secret)
		put_pair(body, "client_id", span_of_string(r->client_id));
}

/* A client with a secret says who it is with Basic, which every server has to know (RFC
 * 6749, 2.3.1). */
static bool add_client(const struct vault *v, size_t i, struct message *m, struct buf *body)
{
	const struct credential_refresh *r = vault_credential(v, i)->refresh;
	size_t from = body->n, n;
	char *text;

	if (!r->client_secret)
		return true;
	query_put_encoded(body, span_of_string(r->client_id));
	buf_put_text(body, ":");
	query_put_encoded(body, vault_part(v, i, PART_CLIENT_SECRET));
	n = body->n - from;
	if (body->full || body->cap - body->n <= BASE64_TEXT(n) + 6)
		return false;
	text = (char *)body->p + body->n;
	memcpy(text, "Basic ", 6);
	base64_print(span_of(body->p + from, n), text + 6);
	if (!message_add(m, span_of_string("authorization"), span_of_string(text)))
		return false;
	m->fields[m->n_fields - 1].sensitive = true;
	explicit_bzero(body->p + from, n + BASE64_TEXT(n) + 7);
	body->n = from;
	return true;
}

static bool add_field(struct message *m, const char *name, const char *value)
{
	return message_add(m, span_of_string(name), span_of_string(value));
}

static bool set_target(struct message *m, const char *url)
{
	const char *host = url + SCHEME_N;
	size_t n = strcspn(host, "/");

	m->method = span_of_string("POST");
	m->scheme = span_of_string("https");
	m->port = CREDENTIAL_PORT;
	m->has_host = name_parse_ascii(host, n, &m->host) == NAME_OK;
	return m->has_host && message_store(m, span_of(host, n), &m->authority) &&
	       message_store(m, span_of_string(host + n), &m->path);
}

static bool make_request(const struct vault *v, size_t i, struct message *m, struct buf *body)
{
	put_grant(v, i, body);
	m->body = MESSAGE_BODY_LENGTH;
	m->length = body->n;
	return !body->full && set_target(m, vault_credential(v, i)->refresh->url) &&
	       add_field(m, "content-type", "application/x-www-form-urlencoded") &&
	       add_field(m, "accept", "application/json") &&
	       add_field(m, "accept-encoding", "identity") && add_client(v, i, m, body);
}

int refresh_ask(const struct vault *v, size_t i, struct message *request, struct buf *body,
		struct err *e)
{
	message_init(request);
	if (vault_part(v, i, PART_REFRESH).n == 0)
		return err_set(e, "there is no refresh token yet");
	if (vault_credential(v, i)->refresh->client_secret &&
	    vault_part(v, i, PART_CLIENT_SECRET).n == 0)
		return err_set(e, "there is no client secret yet");
	if (make_request(v, i, request, body))
		return 0;
	message_free(request);
	return err_set(e, "the request for a new token does not fit");
}

/* ---- The answer ---- */

static struct span string_of(const json_t *o, const char *key)
{
	const json_t *value = json_object_get(o, key);

	return json_is_string(value) ? span_of(json_string_value(value), json_string_length(value))
				     : span_of("", 0);
}

/* RFC 6749, 5.2: one of few words. Another text could be anything, the token included. */
static const char *known_error(const json_t *o)
{
	static const char *const words[] = {
		"invalid_request",     "invalid_client",	 "invalid_grant",
		"unauthorized_client", "unsupported_grant_type", "invalid_scope",
	};
	struct span said = string_of(o, "error");

	for (size_t i = 0; i < sg_array_len(words); i++)
		if (span_equal(said, span_of_string(words[i])))
			return words[i];
	return NULL;
}

static int refuse_status(unsigned status, const json_t *o, struct err *e)
{
	const char *word = known_error(o);

	if (word && strcmp(word, "invalid_grant") == 0)
		return err_set(
			e, "the token endpoint says `invalid_grant`: the refresh token has ended "
			   "or was used up; sign in again outside of the sandbox");
	if (word)
		return err_set(e, "the token endpoint says `%s`", word);
	return err_set(e, "the token endpoint answered with status %u", status);
}

static int check_answer(unsigned status, const json_t *o, struct err *e)
{
	struct span type = string_of(o, "token_type");

	if (status != 200)
		return refuse_status(status, o, e);
	if (!o)
		return err_set(e, "the token endpoint's answer is no JSON object");
	if (type.n && !http_is_word(type, "bearer"))
		return err_set(e, "the token endpoint gives a token that is no bearer token");
	if (string_of(o, "access_token").n == 0)
		return err_set(e, "the token endpoint's answer has no `access_token`");
	return 0;
}

/* Servers that say nothing of it, or nonsense, are believed to give what lasts. */
static int64_t expiry_of(const json_t *o, int64_t now)
{
	const json_t *value = json_object_get(o, "expires_in");
	json_int_t seconds = json_is_integer(value) ? json_integer_value(value) : 0;

	return seconds > 0 && seconds <= EXPIRES_MAX ? now + seconds : 0;
}

static int keep(struct vault *v, size_t i, const json_t *o, int64_t now, struct err *e)
{
	struct span next = string_of(o, "refresh_token");

	if (next.n && vault_put(v, i, PART_REFRESH, next, 0, e))
		return -1;
	return vault_put(v, i, PART_VALUE, string_of(o, "access_token"), expiry_of(o, now), e);
}

/* What has to come anew from its source before another try makes sense. */
static enum secret_part refused_part(unsigned status, const json_t *o)
{
	const char *word = status == 200 ? NULL : known_error(o);

	if (word && strcmp(word, "invalid_grant") == 0)
		return PART_REFRESH;
	return word && strcmp(word, "invalid_client") == 0 ? PART_CLIENT_SECRET : SECRET_PARTS;
}

int refresh_take(struct vault *v, size_t i, unsigned status, struct span body, int64_t now,
		 struct err *e)
{
	json_t *o = body.n <= REFRESH_ANSWER_MAX ? secret_json_parse(body) : NULL;
	int rc = check_answer(status, o, e);

	if (rc == 0)
		rc = keep(v, i, o, now, e);
	if (rc)
		vault_fail_refresh(v, i, e->text, refused_part(status, o));
	json_decref(o);
	return rc;
}

/* ---- A client that refreshes by itself ---- */

static bool is_endpoint(const struct credential_refresh *r, const struct message *m)
{
	const char *host = r ? r->url + SCHEME_N : "";
	size_t n = strcspn(host, "/");
	struct span path = m->path, before = http_take_until(&path, '?');

	return r && m->has_host && m->port == CREDENTIAL_PORT &&
	       span_equal(m->scheme, span_of_string("https")) &&
	       span_equal(m->method, span_of_string("POST")) &&
	       span_equal(span_of_string(m->host.s), span_of(host, n)) &&
	       span_equal(before, span_of_string(host + n));
}

size_t refresh_find(const struct vault *v, const struct message *request)
{
	size_t i = 0;

	while (i < vault_count(v) && !is_endpoint(vault_credential(v, i)->refresh, request))
		i++;
	return i;
}

bool refresh_answer_client(const struct vault *v, size_t i, struct span asked,
			   struct message *answer, struct buf *body)
{
	char text[256];

	message_init(answer);
	if (!placeholder_is_in(asked))
		return false;
	snprintf(text, sizeof(text),
		 "{\"access_token\":\"%s\",\"token_type\":\"Bearer\",\"expires_in\":%d,"
		 "\"refresh_token\":\"%s\"}",
		 vault_placeholder(v, i), CLIENT_SECONDS, vault_placeholder(v, i));
	buf_put_text(body, text);
	answer->status = 200;
	answer->body = MESSAGE_BODY_LENGTH;
	answer->length = body->n;
	if (!body->full && add_field(answer, "content-type", "application/json") &&
	    add_field(answer, "cache-control", "no-store"))
		return true;
	message_free(answer);
	return false;
}
