/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mask: echoes of the secrets in answers (credential.h), each octet of one replaced by `*`, so that
 * lengths stay.
 *
 * What may be the begin of an echo is not ready, and comes again with what follows it; so there is
 * no state but how much has gone on.
 */
#include "broker/body.h"
#include "broker/vault_state.h"
#include "http/text.h"

enum { MASKED_MAX = 64 * 1024 };
_Static_assert(SHAPE_ESCAPE_MAX *(SECRET_MAX + 2) / 3 * 4 < BODY_ROOM,
	       "the longest shape fits into a body, or what is held back would wait for ever");

struct mask {
	const struct vault *v;
	struct vault_set of;
	size_t passed;
};

/* ---- One text ---- */

/* The octets that may not go on yet are those from here on; text.n when there are none. */
static size_t mask_part(const struct part *p, uint8_t *text, size_t n, size_t begin_max)
{
	struct shape_found found;
	size_t from = 0;

	while (shapes_find(&p->shapes, span_of(text, n), from, &found)) {
		if (found.at >= begin_max)
			break;
		if (found.cut)
			return found.at;
		memset(text + found.at, '*', found.n);
		from = found.at + found.n;
	}
	return n;
}

static size_t mask_credential(const struct held *h, uint8_t *text, size_t n, size_t begin_max)
{
	size_t ready = n;

	for (size_t part = 0; part < SECRET_PARTS; part++) {
		const struct part *p = h->part[part];
		size_t upto = p && p->shapes.n ? mask_part(p, text, n, begin_max) : n;

		ready = upto < ready ? upto : ready;
	}
	return ready;
}

static size_t mask_text(const struct vault *v, const struct vault_set *of, uint8_t *text, size_t n,
			size_t begin_max)
{
	size_t ready = n;

	for (size_t i = 0; i < v->list.n; i++) {
		size_t upto =
			vault_set_has(of, i) ? mask_credential(&v->held[i], text, n, begin_max) : n;

		ready = upto < ready ? upto : ready;
	}
	return ready;
}

size_t vault_mask_text(const struct vault *v, uint8_t *text, size_t n)
{
	struct vault_set all;

	memset(&all, 0xff, sizeof(all));
	return mask_text(v, &all, text, n, n);
}

/* ---- Whose echoes they are ---- */

static bool is_token_endpoint(const struct credential *c, const struct message *request)
{
	struct name server;

	return c->refresh && request->port == CREDENTIAL_PORT &&
	       credential_refresh_server(c->refresh, &server) &&
	       name_equal(&server, &request->host);
}

static bool is_server(const struct vault *v, size_t i, const struct message *request)
{
	const struct credential *c = &v->list.v[i];

	return request->has_host &&
	       ((request->port == c->port && name_equal(&v->held[i].host, &request->host)) ||
		is_token_endpoint(c, request));
}

static bool has_secret(const struct held *h)
{
	for (size_t part = 0; part < SECRET_PARTS; part++)
		if (h->part[part])
			return true;
	return false;
}

/* False: there is none. */
static bool find_secrets(const struct vault *v, const struct message *request, struct vault_set *of)
{
	bool any = false;

	*of = (struct vault_set){0};
	for (size_t i = 0; i < v->list.n; i++) {
		if (!has_secret(&v->held[i]) || !is_server(v, i, request))
			continue;
		vault_set_add(of, i);
		any = true;
	}
	return any;
}

/* ---- Heads ---- */

/* Spans of a message point into its own memory, which may be written. */
void vault_mask_head(struct vault *v, const struct message *request, struct message *answer)
{
	struct vault_set of;

	if (!find_secrets(v, request, &of))
		return;
	for (size_t i = 0; i < answer->n_fields; i++) {
		struct span *value = &answer->fields[i].value, *name = &answer->fields[i].name;

		mask_text(v, &of, (uint8_t *)value->p, value->n, value->n);
		mask_text(v, &of, (uint8_t *)name->p, name->n, name->n);
	}
}

/* ---- Bodies ---- */

static bool ends_with(struct span s, const char *end)
{
	size_t n = strlen(end);

	return s.n >= n && http_is_word(http_span_from(s, s.n - n), end);
}

static bool begins_with(struct span s, const char *begin)
{
	size_t n = strlen(begin);

	return s.n >= n && http_is_word(span_of(s.p, n), begin);
}

/* What a server sends without a type is read as text by whoever shows it. */
static bool is_text_type(struct span type)
{
	static const char *const words[] = {
		"application/json",	  "application/xml",
		"application/javascript", "application/x-ndjson",
		"application/yaml",	  "application/x-www-form-urlencoded",
		"application/graphql",	  "application/problem+json",
	};
	struct span s = http_trim(http_take_until(&type, ';'));

	if (s.n == 0 || begins_with(s, "text/") || begins_with(s, "message/") ||
	    ends_with(s, "+json") || ends_with(s, "+xml"))
		return true;
	for (size_t i = 0; i < sg_array_len(words); i++)
		if (http_is_word(s, words[i]))
			return true;
	return false;
}

/*
 * A type and a coding are what the server says, and may be what the client asked it to say. Where
 * the length is known all is masked. Else a client may wait for an octet that is held back before it
 * goes on, as calls of gRPC do; text ends its parts with what begins no secret.
 */
static bool is_masked(const struct message *answer)
{
	const struct field *type = message_find(answer, "content-type", NULL);

	return answer->body == MESSAGE_BODY_LENGTH || !type || is_text_type(type->value);
}

struct mask *mask_new(struct vault *v, const struct message *request, const struct message *answer)
{
	struct vault_set of;
	struct mask *m =
		find_secrets(v, request, &of) && is_masked(answer) ? calloc(1, sizeof(*m)) : NULL;

	if (m)
		*m = (struct mask){.v = v, .of = of};
	return m;
}

void mask_apply(struct mask *m, uint8_t *octets, size_t n, size_t *ready)
{
	*ready = n;
	if (m->passed < MASKED_MAX)
		*ready = mask_text(m->v, &m->of, octets, n, MASKED_MAX - m->passed);
	m->passed += *ready;
}

void mask_free(struct mask *m)
{
	free(m);
}
