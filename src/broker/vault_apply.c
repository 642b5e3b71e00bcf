/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault_apply: theory of operation. A request is asked four things, in this order, and is changed only when none of
 * them refuses it:
 *
 *	1. Which credentials are bound to it: over TLS, to this host and port, with this method and path?
 *	2. Does a placeholder stand where no secret will take its place? Refused: a client is sending it elsewhere.
 *	3. Does it bring a credential of its own? `pin: strict` refuses that.
 *	4. Is each secret that is bound there? Else refused, or asked again when it was fetched.
 *
 * Then every place that may carry a credential is emptied (carrier.h), and the secrets are put into theirs.
 */
#include <stdio.h>
#include <time.h>

#include "base/base64.h"
#include "broker/carrier.h"
#include "broker/method_override.h"
#include "broker/sigv4.h"
#include "broker/vault_state.h"
#include "http/text.h"
#include "policy/credential_use.h"
#include "policy/strings.h"
#include "policy/template.h"

struct applying {
	struct vault *v;
	struct message *m;
	struct span body; /* of a request whose body is signed */
	bool body_whole;
	bool here;		  /* some credential is bound to this server */
	bool on[CREDENTIALS_MAX]; /* bound to this request; by their order, as all `i` here */
	size_t n_on;
	enum credential_pin pin; /* of this server: its credentials have the same */
	struct span had_signed;
	const char **which;
};

static const struct credential *credential_at(const struct applying *a, size_t i)
{
	return &a->v->list.v[a->v->order[i]];
}

static const struct held *held_at(const struct applying *a, size_t i)
{
	return &a->v->held[a->v->order[i]];
}

static enum credential_result refuse(struct applying *a, enum credential_result r, const char *why)
{
	snprintf(a->v->why, sizeof(a->v->why), "%s", why);
	return r;
}

/* ---- 1. What is bound ---- */

static bool is_server(const struct applying *a, size_t i)
{
	return a->m->has_host && a->m->port == credential_at(a, i)->port &&
	       span_equal(a->m->scheme, span_of_string("https")) &&
	       name_equal(&a->m->host, &held_at(a, i)->host);
}

/* Of two for one place, the one that was written first. */
static bool is_place_taken(const struct applying *a, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (a->on[j] && credential_has_same_place(credential_at(a, j), credential_at(a, i)))
			return true;
	return false;
}

/* May the server take it for a request with another method or path? Without memory it may. */
static bool is_ambiguous(const struct message *m)
{
	_cleanup_free_ char *target = strndup((const char *)m->path.p, m->path.n);

	return !target || method_override_find(m, target);
}

static bool is_bound(const struct applying *a, const struct credential *c)
{
	const struct message *m = a->m;
	bool narrow = c->methods || c->paths;

	/* A WebSocket is for writing as well. */
	if (m->protocol.n && !credential_is_for(c, span_of_string("POST"), m->path))
		return false;
	return credential_is_for(c, m->method, m->path) && !(narrow && is_ambiguous(m));
}

static void find_bound(struct applying *a)
{
	for (size_t i = 0; i < a->v->n_order; i++) {
		const struct credential *c = credential_at(a, i);

		if (!is_server(a, i))
			continue;
		a->here = true;
		a->pin = (enum credential_pin)c->pin;
		a->on[i] = is_bound(a, c) && !is_place_taken(a, i);
		a->n_on += a->on[i];
		if (a->on[i] && !*a->which)
			*a->which = held_at(a, i)->shown;
	}
}

/* ---- Places ---- */

static const char *header_of(const struct credential *c)
{
	return c->slot == SLOT_QUERY ? NULL : c->slot == SLOT_HEADER ? c->name : "authorization";
}

/* A place of this server: where some credential of it goes, or a client may put one. */
static bool is_place(const struct applying *a, struct span name)
{
	for (size_t i = 0; i < a->v->n_order; i++) {
		const char *header = header_of(credential_at(a, i));

		if (is_server(a, i) && header && carrier_is_same_name(name, header))
			return true;
	}
	return carrier_is_header(name);
}

static bool is_place_in_query(const struct applying *a, struct span key)
{
	for (size_t i = 0; i < a->v->n_order; i++)
		if (is_server(a, i) && credential_at(a, i)->slot == SLOT_QUERY &&
		    carrier_is_same_key(key, credential_at(a, i)->name))
			return true;
	return carrier_is_key(key);
}

/* ---- 2. Placeholders ---- */

static bool is_query_misplaced(const struct applying *a)
{
	struct query_piece p;
	size_t at = 0;

	while (query_next(query_of(a->m->path), &at, &p))
		if (placeholder_is_in(p.key) ||
		    (placeholder_is_in(p.value) && !(a->n_on && is_place_in_query(a, p.key))))
			return true;
	return false;
}

/* The whole path first: a placeholder may lie across what parts a query. */
static bool is_path_misplaced(const struct applying *a)
{
	struct span query = a->m->path, path = http_take_until(&query, '?');

	if (!placeholder_is_in(a->m->path))
		return false;
	return placeholder_is_in(path) || is_query_misplaced(a) || !placeholder_is_in(query) ||
	       a->n_on == 0;
}

static bool is_field_misplaced(const struct applying *a, const struct field *f)
{
	if (placeholder_is_in(f->name))
		return true;
	return placeholder_is_in(f->value) && !(a->n_on && is_place(a, f->name));
}

static const char *find_misplaced(const struct applying *a)
{
	if (is_path_misplaced(a))
		return "a placeholder of a credential stands in the URL";
	for (size_t i = 0; i < a->m->n_fields; i++)
		if (is_field_misplaced(a, &a->m->fields[i]))
			return "a placeholder of a credential stands in a header";
	return placeholder_is_in(a->m->authority) || placeholder_is_in(a->m->method)
		       ? "a placeholder of a credential stands in the first line of the request"
		       : NULL;
}

/* ---- 3. What the sandbox brings ---- */

static bool brings_in_query(const struct applying *a)
{
	struct query_piece p;
	size_t at = 0;

	while (query_next(query_of(a->m->path), &at, &p))
		if (is_place_in_query(a, p.key) && !placeholder_is_all(p.value))
			return true;
	return false;
}

/* What was signed with a placeholder as the key id is no credential of anybody's. */
static bool is_own(struct span value)
{
	static const char aws[] = "AWS4-HMAC-SHA256 Credential=" PLACEHOLDER_PREFIX;

	if (value.n >= sizeof(aws) - 1 && memcmp(value.p, aws, sizeof(aws) - 1) == 0)
		return false;
	return !placeholder_is_all(value);
}

static bool brings_own(const struct applying *a)
{
	for (size_t i = 0; i < a->m->n_fields; i++)
		if (is_place(a, a->m->fields[i].name) && is_own(a->m->fields[i].value))
			return true;
	return brings_in_query(a);
}

/* `keep`: does it bring its own in the very place of this one? */
static bool keeps_own(const struct applying *a, const struct credential *c)
{
	const char *header = header_of(c);
	struct query_piece p;
	size_t at = 0;

	if (a->pin != PIN_KEEP)
		return false;
	for (size_t i = 0; header && i < a->m->n_fields; i++)
		if (carrier_is_same_name(a->m->fields[i].name, header) &&
		    is_own(a->m->fields[i].value))
			return true;
	while (!header && query_next(query_of(a->m->path), &at, &p))
		if (carrier_is_same_key(p.key, c->name) && !placeholder_is_all(p.value))
			return true;
	return false;
}

/* ---- 4. Are they there ---- */

static bool wants_body(const struct applying *a, size_t i)
{
	const struct credential *c = credential_at(a, i);

	return c->slot == SLOT_AWS && sigv4_payload_of(a->m, c->value) == SIGV4_PAYLOAD_WANTED;
}

static enum credential_result check_held(struct applying *a)
{
	enum credential_result result = CREDENTIAL_INJECTED;
	int64_t now = time(NULL);

	for (size_t i = 0; i < a->v->n_order; i++) {
		enum held_state state = held_state_at(held_at(a, i), now);

		if (!a->on[i])
			continue;
		if (state == HELD_FAILED || state == HELD_ENDED)
			return refuse(a, CREDENTIAL_MISSING, held_at(a, i)->why);
		if (wants_body(a, i) && !a->body_whole)
			return refuse(a, CREDENTIAL_MISSING,
				      "the signature of AWS covers the body, which is not at hand");
		if (state == HELD_WANTED)
			result = CREDENTIAL_STALE;
	}
	return result;
}

/* ---- Emptying ---- */

static bool is_dropped(const struct applying *a, struct span value)
{
	return a->pin != PIN_KEEP || !is_own(value);
}

static void drop_headers(struct applying *a)
{
	struct message *m = a->m;
	size_t kept = 0;

	for (size_t i = 0; i < m->n_fields; i++)
		if (!is_place(a, m->fields[i].name) || !is_dropped(a, m->fields[i].value))
			m->fields[kept++] = m->fields[i];
	m->n_fields = kept;
}

static bool store_path(struct applying *a, struct buf *b)
{
	return !b->full && message_store(a->m, buf_span(b), &a->m->path);
}

static bool drops_in_query(const struct applying *a)
{
	struct query_piece p;
	size_t at = 0;

	while (query_next(query_of(a->m->path), &at, &p))
		if (is_place_in_query(a, p.key) && is_dropped(a, p.value))
			return true;
	return false;
}

/* What stood before a piece that stays goes on standing before it, but for the first. */
static void put_piece(struct buf *b, struct span query, struct span piece, bool first)
{
	buf_put(b, first ? (const uint8_t *)"?" : piece.p - (piece.p > query.p), 1);
	buf_put_span(b, piece);
}

static bool drop_in_query(struct applying *a)
{
	struct buf b = buf_of(a->v->scratch, VAULT_SCRATCH);
	struct span query = a->m->path, path = http_take_until(&query, '?');
	struct query_piece p;
	size_t at = 0, n = 0;

	if (!drops_in_query(a))
		return true;
	buf_put_span(&b, path);
	while (query_next(query, &at, &p))
		if (!is_place_in_query(a, p.key) || !is_dropped(a, p.value))
			put_piece(&b, query, p.all, n++ == 0);
	return store_path(a, &b);
}

/* ---- Putting in ---- */

static bool add_secret_field(struct applying *a, const char *name, struct span value)
{
	char lower[80];
	size_t n = strlen(name);

	if (n >= sizeof(lower))
		return false;
	for (size_t i = 0; i < n; i++)
		lower[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] | 0x20) : name[i];
	if (!message_add(a->m, span_of(lower, n), value))
		return false;
	a->m->fields[a->m->n_fields - 1].sensitive = true;
	return true;
}

static void put_template(struct buf *b, const struct template *t, struct span secret)
{
	buf_put_span(b, t->before);
	buf_put_text(b, t->colon ? ":" : "");
	buf_put_span(b, secret);
	buf_put_span(b, t->after);
}

static bool put_header(struct applying *a, const struct credential *c, struct span secret)
{
	struct buf b = buf_of(a->v->scratch, VAULT_SCRATCH);
	struct template t;
	struct err e;

	if (template_parse(c->value, &t, &e))
		return false;
	put_template(&b, &t, secret);
	return !b.full && add_secret_field(a, c->name, buf_span(&b));
}

/* RFC 7617, 2. */
static bool put_basic(struct applying *a, const struct credential *c, struct span secret)
{
	static const char scheme[] = "Basic ";
	struct buf b = buf_of(a->v->scratch, VAULT_SCRATCH);
	struct template t;
	struct err e;
	size_t from, n;

	if (template_parse_basic(c->value, &t, &e))
		return false;
	put_template(&b, &t, secret);
	from = n = b.n;
	buf_put_text(&b, scheme);
	if (b.full || BASE64_TEXT(n) >= b.cap - b.n)
		return false;
	base64_print(span_of(b.p, n), (char *)b.p + b.n);
	b.n += BASE64_TEXT(n);
	return add_secret_field(a, "authorization", span_of(b.p + from, b.n - from));
}

static bool put_query(struct applying *a, const struct credential *c, struct span secret)
{
	struct buf b = buf_of(a->v->scratch, VAULT_SCRATCH);

	buf_put_span(&b, a->m->path);
	buf_put_text(&b, memchr(a->m->path.p, '?', a->m->path.n) ? "&" : "?");
	buf_put_text(&b, c->name);
	buf_put_text(&b, "=");
	query_put_encoded(&b, secret);
	a->m->path_sensitive = true;
	return store_path(a, &b);
}

static bool put_signature(struct applying *a, const struct credential *c, const struct held *h)
{
	struct buf b = buf_of(a->v->scratch, VAULT_SCRATCH);
	struct sigv4_key key = {
		.id = part_span(h->part[PART_KEY_ID]),
		.secret = part_span(h->part[PART_VALUE]),
		.session = part_span(h->part[PART_SESSION]),
		.region = c->name,
		.service = c->value,
		.now = time(NULL),
	};
	const char *why = sigv4_sign(a->m, &key, a->had_signed, a->body, &b);

	if (why)
		refuse(a, CREDENTIAL_MISSING, why);
	return !why;
}

static bool put_one(struct applying *a, size_t i)
{
	const struct credential *c = credential_at(a, i);
	struct span secret = part_span(held_at(a, i)->part[PART_VALUE]);
	uint16_t number = a->v->order[i];

	a->v->held[number].used = true;
	vault_set_add(&a->v->uses, number);
	switch ((enum credential_slot)c->slot) {
	case SLOT_HEADER:
		return put_header(a, c, secret);
	case SLOT_BASIC:
		return put_basic(a, c, secret);
	case SLOT_QUERY:
		return put_query(a, c, secret);
	case SLOT_AWS:
		return put_signature(a, c, held_at(a, i));
	case CREDENTIAL_SLOTS:
		break;
	}
	return false;
}

/* An echo in a body that is compressed could not be masked. */
static bool ask_for_plain_body(struct message *m)
{
	message_remove(m, "accept-encoding");
	return message_add(m, span_of_string("accept-encoding"), span_of_string("identity"));
}

/* What was put in so far, for the log: "Authorization at api.example.com, x-org at ...". */
static void name_put(struct applying *a, size_t i)
{
	char *all = a->v->put;
	size_t n = *a->which == all ? strlen(all) : 0;

	snprintf(all + n, sizeof(a->v->put) - n, "%s%s", n ? ", " : "", held_at(a, i)->shown);
	*a->which = all;
}

static enum credential_result put_all(struct applying *a, const bool *kept)
{
	enum credential_result result = CREDENTIAL_KEPT;

	refuse(a, CREDENTIAL_MISSING, "the head of the request is too large for the credential");
	drop_headers(a);
	if (!drop_in_query(a) || !ask_for_plain_body(a->m))
		return CREDENTIAL_MISSING;
	for (size_t i = 0; i < a->v->n_order; i++) {
		if (!a->on[i] || kept[i])
			continue;
		if (!put_one(a, i))
			return CREDENTIAL_MISSING;
		name_put(a, i);
		result = CREDENTIAL_INJECTED;
	}
	return result;
}

static enum credential_result put_in(struct applying *a)
{
	bool kept[CREDENTIALS_MAX] = {false};
	enum credential_result result;

	for (size_t i = 0; i < a->v->n_order; i++)
		kept[i] = a->on[i] && keeps_own(a, credential_at(a, i));
	a->had_signed = sigv4_signed_headers(a->m);
	result = put_all(a, kept);
	explicit_bzero(a->v->scratch, VAULT_SCRATCH);
	return result;
}

/* A request to the server that no credential is bound to still must not bring one. */
static enum credential_result empty_places(struct applying *a)
{
	drop_headers(a);
	if (drop_in_query(a))
		return CREDENTIAL_NONE;
	return refuse(a, CREDENTIAL_MISSING, "the head of the request is too large");
}

static enum credential_result apply(struct applying *a)
{
	enum credential_result result;
	const char *misplaced;

	*a->which = NULL;
	a->v->uses = (struct vault_set){0};
	find_bound(a);
	misplaced = find_misplaced(a);
	if (misplaced)
		return refuse(a, CREDENTIAL_MISPLACED, misplaced);
	if (!a->here)
		return CREDENTIAL_NONE;
	if (a->pin == PIN_STRICT && brings_own(a))
		return refuse(
			a, CREDENTIAL_STRICT,
			"the request brings a credential of its own, which `pin: strict` refuses");
	if (a->n_on == 0)
		return empty_places(a);
	result = check_held(a);
	return result == CREDENTIAL_INJECTED ? put_in(a) : result;
}

enum credential_result vault_apply(struct vault *v, struct message *request, const char **which)
{
	struct applying a = {.v = v, .m = request, .which = which};

	return apply(&a);
}

enum credential_result vault_apply_whole(struct vault *v, struct message *request, struct span body,
					 const char **which)
{
	struct applying a = {
		.v = v, .m = request, .which = which, .body = body, .body_whole = true};

	return apply(&a);
}

bool vault_wants_body(const struct vault *v, const struct message *request)
{
	const char *which = NULL;
	struct message *m = (struct message *)request; /* is only read */
	struct applying a = {.v = (struct vault *)v, .m = m, .which = &which};

	find_bound(&a);
	for (size_t i = 0; i < v->n_order; i++)
		if (a.on[i] && wants_body(&a, i))
			return true;
	return false;
}
