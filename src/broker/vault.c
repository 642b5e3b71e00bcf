/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/vault.h"

#include <stdio.h>
#include <time.h>

#include "broker/locked.h"
#include "broker/vault_state.h"
#include "policy/secret_text.h"

/* A token is not sent in its last minute: it would be over when it arrives. */
enum { EXPIRY_SKEW = 60 /* seconds */ };

/* ---- The whole ---- */

static int begin_held(struct vault *v, size_t i, const uint8_t *seed, struct err *e)
{
	const struct credential *c = &v->list.v[i];
	struct held *h = &v->held[i];

	if (name_parse_ascii(c->host, strlen(c->host), &h->host) != NAME_OK)
		return err_set(e, "a credential without a host");
	credential_describe(c, h->shown);
	placeholder_make(seed, c, h->placeholder);
	return 0;
}

static int begin(struct vault *v, const struct credential_list *list, const uint8_t *seed,
		 struct err *e)
{
	if (list->n > CREDENTIALS_MAX)
		return err_set(e, "more than %d credentials", CREDENTIALS_MAX);
	if (credential_list_copy(list, &v->list))
		return err_set(e, "out of memory");
	v->held = calloc(list->n + 1, sizeof(*v->held));
	if (!v->held)
		return err_set(e, "out of memory");
	for (size_t i = 0; i < list->n; i++)
		if (begin_held(v, i, seed, e))
			return -1;
	v->scratch = locked_new(VAULT_SCRATCH, e);
	return v->scratch ? 0 : -1;
}

struct vault *vault_new(const struct credential_list *list, const uint8_t *seed, struct err *e)
{
	struct vault *v = calloc(1, sizeof(*v));

	if (!v) {
		err_set(e, "out of memory");
		return NULL;
	}
	if (begin(v, list, seed, e)) {
		vault_free(v);
		return NULL;
	}
	return v;
}

static void part_free(struct part **p)
{
	if (*p)
		locked_free(*p, (*p)->size);
	*p = NULL;
}

void vault_free(struct vault *v)
{
	if (!v)
		return;
	for (size_t i = 0; v->held && i < v->list.n; i++)
		for (size_t part = 0; part < SECRET_PARTS; part++)
			part_free(&v->held[i].part[part]);
	locked_free(v->scratch, VAULT_SCRATCH);
	free(v->held);
	credential_list_free(&v->list);
	free(v);
}

size_t vault_count(const struct vault *v)
{
	return v->list.n;
}

const struct credential *vault_credential(const struct vault *v, size_t i)
{
	return &v->list.v[i];
}

const char *vault_placeholder(const struct vault *v, size_t i)
{
	return v->held[i].placeholder;
}

struct span vault_part(const struct vault *v, size_t i, enum secret_part part)
{
	return part_span(v->held[i].part[part]);
}

const char *vault_why(const struct vault *v)
{
	return v->why;
}

/* ---- Putting ---- */

static int check_secret(enum secret_part part, struct span s, struct err *e)
{
	if (s.n > SECRET_MAX)
		return err_set(e, "the secret has more than %d octets", SECRET_MAX);
	if (s.n < (part == PART_KEY_ID ? 1 : SECRET_MIN))
		return err_set(e,
			       "the secret has fewer than %d characters, too few to be told from "
			       "other text when an answer repeats it",
			       SECRET_MIN);
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] < 0x20 || s.p[i] > 0x7e)
			return err_set(e, "the secret holds something else than visible ASCII");
	if (s.p[0] == ' ' || s.p[s.n - 1] == ' ')
		return err_set(e, "the secret begins or ends with a space");
	return 0;
}

/* The size of the shapes is known before, so that a part is one piece of locked memory. */
static struct part *part_new(enum secret_part part, struct span secret, struct err *e)
{
	size_t size = sizeof(struct part) + secret.n + SHAPES_MEMORY(secret.n);
	struct part *p = locked_new(size, e);
	struct buf memory;

	if (!p)
		return NULL;
	p->size = size;
	memory = buf_of(p->octets, size - sizeof(*p));
	buf_put_span(&memory, secret);
	p->secret = buf_span(&memory);
	if (part != PART_KEY_ID && !shapes_make(p->secret, &memory, &p->shapes)) {
		err_set(e, "the shapes of the secret do not fit");
		part_free(&p);
	}
	return p;
}

int vault_put(struct vault *v, size_t i, enum secret_part part, struct span secret,
	      int64_t expires_at, struct err *e)
{
	struct held *h = &v->held[i];
	struct part *p;

	if (h->state == HELD_ENDED)
		return err_set(e, "%s", h->why);
	if (check_secret(part, secret, e))
		return -1;
	p = part_new(part, secret, e);
	if (!p)
		return -1;
	if (part == PART_VALUE && h->part[PART_VALUE]) {
		part_free(&h->part[PART_PREVIOUS]);
		h->part[PART_PREVIOUS] = h->part[PART_VALUE];
		h->part[PART_VALUE] = NULL;
	}
	part_free(&h->part[part]);
	h->part[part] = p;
	if (part == PART_REFRESH && h->state == HELD_FAILED)
		h->state = HELD_WANTED;
	if (part == PART_VALUE) {
		h->state = HELD_READY;
		h->expires_at = expires_at;
	}
	return 0;
}

/* The value last: it is what makes the credential ready. */
static int put_aws(struct vault *v, size_t i, const struct secret_text *t, struct err *e)
{
	part_free(&v->held[i].part[PART_SESSION]);
	if (vault_put(v, i, PART_KEY_ID, t->key_id, 0, e) ||
	    (t->session.n && vault_put(v, i, PART_SESSION, t->session, 0, e)))
		return -1;
	return vault_put(v, i, PART_VALUE, t->value, t->expires_at, e);
}

static int put_text(struct vault *v, size_t i, const struct secret_text *t, struct err *e)
{
	const struct credential *c = &v->list.v[i];

	if (c->slot == SLOT_AWS)
		return put_aws(v, i, t, e);
	return vault_put(v, i, c->refresh ? PART_REFRESH : PART_VALUE, t->value, t->expires_at, e);
}

int vault_put_source(struct vault *v, size_t i, struct span printed, struct err *e)
{
	struct buf room = buf_of(v->scratch, VAULT_SCRATCH);
	bool aws = v->list.v[i].slot == SLOT_AWS;
	struct secret_text t;
	int rc = secret_text_parse(printed, aws, &room, &t, e);

	if (rc == 0)
		rc = put_text(v, i, &t, e);
	explicit_bzero(v->scratch, room.n);
	return rc;
}

/* ---- States ---- */

static void set_why(struct held *h, enum held_state state, const char *why)
{
	h->state = state;
	snprintf(h->why, sizeof(h->why), "%s", why);
}

void vault_fail(struct vault *v, size_t i, const char *why)
{
	struct held *h = &v->held[i];

	if (h->state == HELD_ENDED)
		return;
	set_why(h, HELD_FAILED, why);
	h->retry_at = time(NULL) + RETRY_SECONDS;
}

void vault_end(struct vault *v, size_t i, const char *why)
{
	struct held *h = &v->held[i];

	set_why(h, HELD_ENDED, why);
	for (size_t part = 0; part < SECRET_PARTS; part++)
		part_free(&h->part[part]);
}

enum held_state held_state_at(const struct held *h, int64_t now)
{
	bool over = (h->state == HELD_READY && h->expires_at && h->expires_at <= now) ||
		    (h->state == HELD_FAILED && h->retry_at <= now);

	return over ? HELD_WANTED : h->state;
}

/* A value is wanted before its time is over, a source that failed not before its wait is. */
static bool is_wanted(const struct held *h, int64_t now)
{
	return held_state_at(h, h->state == HELD_READY ? now + EXPIRY_SKEW : now) == HELD_WANTED;
}

/* A refresh token serves for many access tokens; its source is read once, and again after it
 * failed. */
static size_t next_wanted(const struct vault *v, size_t from, bool refresh)
{
	int64_t now = time(NULL);

	for (; from < v->list.n; from++) {
		const struct held *h = &v->held[from];

		if (is_wanted(h, now) && (h->part[PART_REFRESH] != NULL) == refresh)
			break;
	}
	return from;
}

size_t vault_next_wanted(const struct vault *v, size_t from)
{
	return next_wanted(v, from, false);
}

size_t vault_next_refresh(const struct vault *v, size_t from)
{
	return next_wanted(v, from, true);
}
