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

static int begin_held(struct vault *v, size_t i, struct err *e)
{
	const struct credential *c = &v->list.v[i];
	struct held *h = &v->held[i];

	*h = (struct held){.state = HELD_ENDED};
	if (name_parse_ascii(c->host, strlen(c->host), &h->host) != NAME_OK)
		return err_set(e, "a credential without a host");
	credential_describe(c, h->shown);
	placeholder_make(v->seed, c, h->placeholder);
	return 0;
}

static size_t number_of(const struct vault *v, const struct credential *c)
{
	size_t i = 0;

	while (i < v->list.n && !credential_is_same(&v->list.v[i], c))
		i++;
	return i;
}

static size_t count_new(const struct vault *v, const struct credential_list *list)
{
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++)
		n += number_of(v, &list->v[i]) == v->list.n;
	return n;
}

/* All of them, or none. */
static int grow(struct vault *v, const struct credential_list *list, struct err *e)
{
	size_t before = v->list.n, n = count_new(v, list);
	struct held *held;

	if (list->n > CREDENTIALS_MAX)
		return err_set(e, "more than %d credentials", CREDENTIALS_MAX);
	if (n > VAULT_MAX - before)
		return err_set(e,
			       "the sandbox has had %zu credentials since its start, and may have "
			       "%d; start it again",
			       before, VAULT_MAX);
	held = reallocarray(v->held, before + n + 1, sizeof(*held));
	if (!held)
		return err_set(e, "out of memory");
	v->held = held;
	if (credential_list_grow(&v->list, list))
		return err_set(e, "out of memory");
	for (size_t i = before; i < v->list.n; i++)
		if (begin_held(v, i, e)) {
			while (v->list.n > before)
				credential_clear(&v->list.v[--v->list.n]);
			return -1;
		}
	return 0;
}

static void end_held(struct held *h);

int vault_follow(struct vault *v, const struct credential_list *list, struct err *e)
{
	if (grow(v, list, e))
		return -1;
	v->n_order = list->n;
	for (size_t k = 0; k < list->n; k++)
		v->order[k] = (uint16_t)number_of(v, &list->v[k]);
	for (size_t i = 0; i < v->list.n; i++) {
		struct held *h = &v->held[i];

		if (!vault_is_in_force(v, i))
			end_held(h);
		else if (h->state == HELD_ENDED)
			h->state = HELD_WANTED;
	}
	return 0;
}

bool vault_is_in_force(const struct vault *v, size_t i)
{
	for (size_t k = 0; k < v->n_order; k++)
		if (v->order[k] == i)
			return true;
	return false;
}

static int begin(struct vault *v, const struct credential_list *list, struct err *e)
{
	v->scratch = locked_new(VAULT_SCRATCH, e);
	return v->scratch ? vault_follow(v, list, e) : -1;
}

struct vault *vault_new(const struct credential_list *list, const uint8_t *seed, struct err *e)
{
	struct vault *v = calloc(1, sizeof(*v));

	if (!v) {
		err_set(e, "out of memory");
		return NULL;
	}
	memcpy(v->seed, seed, sizeof(v->seed));
	if (begin(v, list, e)) {
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

static void end_held(struct held *h)
{
	h->state = HELD_ENDED;
	snprintf(h->why, sizeof(h->why), "the policy does not have it any more");
	for (size_t part = 0; part < SECRET_PARTS; part++)
		part_free(&h->part[part]);
}

void vault_free(struct vault *v)
{
	if (!v)
		return;
	for (size_t i = 0; i < v->list.n; i++)
		end_held(&v->held[i]);
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

void vault_fail(struct vault *v, size_t i, const char *why)
{
	struct held *h = &v->held[i];

	if (h->state == HELD_ENDED)
		return;
	h->state = HELD_FAILED;
	snprintf(h->why, sizeof(h->why), "%s", why);
	h->retry_at = time(NULL) + RETRY_SECONDS;
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
