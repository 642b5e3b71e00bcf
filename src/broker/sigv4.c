/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sigv4: theory of operation. The canonical request is a text of the method, the path, the query,
 * the signed headers and the hash of the body; its hash is signed with a key that is derived from
 * the secret, the day, the region and the service. All texts are built in the scratch of the
 * caller, one behind the other.
 */
#include "broker/sigv4.h"

#include <stdio.h>
#include <time.h>

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/compiler.h"
#include "broker/carrier.h"
#include "broker/sigv4_canonical.h"
#include "http/text.h"

enum { DIGEST = 32, SCOPE_MAX = 192 };

static const char hash_field[] = "x-amz-content-sha256";
static const char unsigned_payload[] = "UNSIGNED-PAYLOAD";

/* ---- The body ---- */

static bool is_s3(const char *service)
{
	return strcmp(service, "s3") == 0;
}

static bool is_hex_hash(struct span s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!(s.p[i] >= '0' && s.p[i] <= '9') && !(s.p[i] >= 'a' && s.p[i] <= 'f'))
			return false;
	return s.n == SIGV4_HASH_TEXT;
}

/* Chunks without signatures of their own: STREAMING-UNSIGNED-PAYLOAD-TRAILER. */
static bool is_kept(struct span s)
{
	return is_hex_hash(s) || span_equal(s, span_of_string(unsigned_payload)) ||
	       span_equal(s, span_of_string("STREAMING-UNSIGNED-PAYLOAD-TRAILER"));
}

/* S3 alone takes a body that nobody has hashed, over TLS. */
enum sigv4_payload sigv4_payload_of(const struct message *request, const char *service)
{
	const struct field *said = message_find(request, hash_field, NULL);

	if (said)
		return is_kept(said->value) ? SIGV4_PAYLOAD_KNOWN : SIGV4_PAYLOAD_UNSIGNABLE;
	if (is_s3(service) || request->body == MESSAGE_BODY_NONE ||
	    (request->body == MESSAGE_BODY_LENGTH && request->length == 0))
		return SIGV4_PAYLOAD_KNOWN;
	return SIGV4_PAYLOAD_WANTED;
}

static void put_hex(struct buf *b, const uint8_t *p, size_t n)
{
	static const char hex[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		buf_put_u8(b, (uint8_t)hex[p[i] >> 4]);
		buf_put_u8(b, (uint8_t)hex[p[i] & 15]);
	}
}

static bool put_hash(struct buf *b, struct span octets)
{
	uint8_t digest[DIGEST];

	if (!EVP_Digest(octets.n ? octets.p : (const uint8_t *)"", octets.n, digest, NULL,
			EVP_sha256(), NULL))
		return false;
	put_hex(b, digest, sizeof(digest));
	return true;
}

/* S3 wants the field in each request. */
static bool put_payload_hash(struct message *m, const char *service, struct span body,
			     struct buf *scratch, struct span *out)
{
	const struct field *said = message_find(m, hash_field, NULL);
	size_t from = scratch->n;

	if (said) {
		*out = said->value;
		return true;
	}
	if (is_s3(service) && m->body != MESSAGE_BODY_NONE)
		buf_put_text(scratch, unsigned_payload);
	else if (!put_hash(scratch, body))
		return false;
	*out = span_of(scratch->p + from, scratch->n - from);
	return !is_s3(service) || message_add(m, span_of_string(hash_field), *out);
}

/* ---- The key ---- */

static bool hmac(struct span key, struct span text, uint8_t out[DIGEST])
{
	return HMAC(EVP_sha256(), key.p, (int)key.n, text.p, text.n, out, NULL) != NULL;
}

/* kSecret, kDate, kRegion, kService, kSigning: each in the scratch, which is wiped. */
static bool derive(const struct sigv4_key *key, struct span day, struct buf *scratch, uint8_t **out)
{
	const struct span steps[] = {day, span_of_string(key->region), span_of_string(key->service),
				     span_of_string("aws4_request")};
	size_t from = scratch->n;
	struct span k;

	buf_put_text(scratch, "AWS4");
	buf_put_span(scratch, key->secret);
	k = span_of(scratch->p + from, scratch->n - from);
	for (size_t i = 0; i < sg_array_len(steps); i++) {
		uint8_t *to = scratch->p + scratch->n;

		if (scratch->full || scratch->cap - scratch->n < DIGEST)
			return false;
		scratch->n += DIGEST;
		if (!hmac(k, steps[i], to))
			return false;
		k = span_of(to, DIGEST);
		*out = to;
	}
	return true;
}

/* ---- Signing ---- */

struct span sigv4_signed_headers(const struct message *request)
{
	static const char key[] = "SignedHeaders=";
	const struct field *f = message_find(request, "authorization", NULL);
	const uint8_t *at = f ? memmem(f->value.p, f->value.n, key, sizeof(key) - 1) : NULL;
	struct span rest;

	if (!at)
		return span_of("", 0);
	at += sizeof(key) - 1;
	rest = span_of(at, (size_t)(f->value.p + f->value.n - at));
	return http_trim(http_take_until(&rest, ','));
}

struct signing {
	struct message *m;
	const struct sigv4_key *key;
	struct buf *scratch;
	char date[SIGV4_DATE_N + 1]; /* 20150830T123600Z */
	char scope[SCOPE_MAX];	     /* 20150830/us-east-1/service/aws4_request */
	struct span names;	     /* "host;x-amz-date" */
};

static void remove_same(struct message *m, const char *name)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->n_fields; i++)
		if (!carrier_is_same_name(m->fields[i].name, name))
			m->fields[kept++] = m->fields[i];
	m->n_fields = kept;
}

static bool set_field(struct message *m, const char *name, struct span value, bool sensitive)
{
	remove_same(m, name);
	if (!message_add(m, span_of_string(name), value))
		return false;
	m->fields[m->n_fields - 1].sensitive = sensitive;
	return true;
}

static bool set_date(struct signing *s)
{
	time_t now = (time_t)s->key->now;
	struct tm t;

	if (!gmtime_r(&now, &t) || strftime(s->date, sizeof(s->date), "%Y%m%dT%H%M%SZ", &t) == 0)
		return false;
	snprintf(s->scope, sizeof(s->scope), "%.8s/%s/%s/aws4_request", s->date, s->key->region,
		 s->key->service);
	return set_field(s->m, "x-amz-date", span_of_string(s->date), false);
}

static bool set_session(struct signing *s)
{
	remove_same(s->m, "x-amz-security-token");
	return s->key->session.n == 0 ||
	       set_field(s->m, "x-amz-security-token", s->key->session, true);
}

/* "AWS4-HMAC-SHA256", the time, the scope and the hash of the canonical request, a line each. */
static bool put_string_to_sign(struct signing *s, struct span canonical)
{
	buf_put_text(s->scratch, "AWS4-HMAC-SHA256\n");
	buf_put_text(s->scratch, s->date);
	buf_put_text(s->scratch, "\n");
	buf_put_text(s->scratch, s->scope);
	buf_put_text(s->scratch, "\n");
	return put_hash(s->scratch, canonical);
}

static bool put_authorization(struct signing *s, const uint8_t signature[DIGEST])
{
	struct buf *b = s->scratch;
	size_t from = b->n;

	buf_put_text(b, "AWS4-HMAC-SHA256 Credential=");
	buf_put_span(b, s->key->id);
	buf_put_text(b, "/");
	buf_put_text(b, s->scope);
	buf_put_text(b, ",SignedHeaders=");
	buf_put_span(b, s->names);
	buf_put_text(b, ",Signature=");
	put_hex(b, signature, DIGEST);
	return !b->full &&
	       set_field(s->m, "authorization", span_of(b->p + from, b->n - from), true);
}

static bool sign(struct signing *s, struct span canonical)
{
	size_t from = s->scratch->n;
	uint8_t signature[DIGEST], *key = NULL;
	struct span text;

	if (!put_string_to_sign(s, canonical) || s->scratch->full)
		return false;
	text = span_of(s->scratch->p + from, s->scratch->n - from);
	return derive(s->key, span_of(s->date, 8), s->scratch, &key) &&
	       hmac(span_of(key, DIGEST), text, signature) && put_authorization(s, signature);
}

const char *sigv4_sign(struct message *request, const struct sigv4_key *key, struct span had_signed,
		       struct span body, struct buf *scratch)
{
	static const char too_large[] = "the head of the request is too large to be signed";
	struct signing s = {.m = request, .key = key, .scratch = scratch};
	struct span hash, canonical;

	if (sigv4_payload_of(request, key->service) == SIGV4_PAYLOAD_UNSIGNABLE)
		return "its body is signed chunk by chunk, which cannot be signed again; let the "
		       "client send UNSIGNED-PAYLOAD";
	if (!set_date(&s) || !set_session(&s) ||
	    !put_payload_hash(request, key->service, body, scratch, &hash))
		return too_large;
	if (!sigv4_put_names(request, had_signed, scratch, &s.names) ||
	    !sigv4_put_canonical(request, s.names, hash, is_s3(key->service), scratch, &canonical))
		return too_large;
	return sign(&s, canonical) ? NULL : too_large;
}
