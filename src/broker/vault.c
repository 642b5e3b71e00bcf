/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/vault.h"

#include <stdio.h>
#include <time.h>

#include "broker/locked.h"
#include "broker/vault_state.h"
#include "policy/secret_text.h"

/*
 * A new value is wanted before the last minute of one, and of one that is short, its last quarter.
 */
enum { RENEW_SECONDS = 60, RENEW_SHARE = 4 };

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

struct vault_set vault_uses(const struct vault *v)
{
	return v->uses;
}

bool vault_has_all(const struct vault *v, const struct vault_set *s)
{
	for (size_t i = 0; i < v->list.n; i++)
		if (vault_set_has(s, i) && !vault_is_in_force(v, i))
			return false;
	return true;
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
	h->expires_at = h->renew_at = h->retry_at = 0;
	h->failures = 0;
	h->used = false;
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

static void try_again(struct held *h)
{
	h->retry_at = 0;
	if (h->state == HELD_FAILED)
		h->state = HELD_WANTED;
}

static void become_ready(struct held *h, int64_t expires_at)
{
	int64_t left = expires_at - time(NULL);

	h->state = HELD_READY;
	h->expires_at = expires_at;
	h->renew_at = expires_at -
		      (left / RENEW_SHARE < RENEW_SECONDS ? left / RENEW_SHARE : RENEW_SECONDS);
	h->retry_at = 0;
	h->failures = 0;
	h->used = false;
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
	if (part == PART_REFRESH || part == PART_CLIENT_SECRET)
		try_again(h);
	if (part == PART_VALUE)
		become_ready(h, expires_at);
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

int vault_put_client_secret(struct vault *v, size_t i, struct span printed, struct err *e)
{
	struct buf room = buf_of(v->scratch, VAULT_SCRATCH);
	struct secret_text t;
	int rc = -1;

	if (!v->list.v[i].refresh || !v->list.v[i].refresh->client_secret)
		return err_set(e, "this credential has no client secret");
	if (secret_text_parse(printed, false, &room, &t, e) == 0)
		rc = vault_put(v, i, PART_CLIENT_SECRET, t.value, 0, e);
	explicit_bzero(v->scratch, room.n);
	return rc;
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

/* What is there serves until its own end. */
static void note_failure(struct held *h, const char *why, int64_t seconds)
{
	int64_t now = time(NULL);

	if (h->state == HELD_ENDED)
		return;
	snprintf(h->why, sizeof(h->why), "%s", why);
	h->retry_at = now + seconds;
	if (h->state != HELD_READY || h->expires_at <= now)
		h->state = HELD_FAILED;
}

void vault_fail(struct vault *v, size_t i, const char *why)
{
	note_failure(&v->held[i], why, RETRY_SECONDS);
}

void vault_fail_refresh(struct vault *v, size_t i, const char *why, enum secret_part refused)
{
	struct held *h = &v->held[i];
	int64_t seconds = RETRY_SECONDS;

	for (unsigned n = 0; n < h->failures && seconds < RETRY_MAX_SECONDS; n++)
		seconds *= 2;
	h->failures++;
	if (refused < SECRET_PARTS)
		part_free(&h->part[refused]);
	note_failure(h, why, seconds < RETRY_MAX_SECONDS ? seconds : RETRY_MAX_SECONDS);
}

const char *vault_failure(const struct vault *v, size_t i)
{
	return v->held[i].retry_at > time(NULL) ? v->held[i].why : NULL;
}

enum held_state held_state_at(const struct held *h, int64_t now)
{
	bool over = (h->state == HELD_READY && h->expires_at && h->expires_at <= now) ||
		    h->state == HELD_FAILED;

	if (!over)
		return h->state;
	return h->retry_at > now ? HELD_FAILED : HELD_WANTED;
}

/*
 * A value that is used is wanted before its time is over, and nothing while a failure is waited
 * for.
 */
static bool is_due(const struct held *h, int64_t now)
{
	return h->state == HELD_READY && h->expires_at && h->renew_at <= now && h->used &&
	       h->retry_at <= now;
}

static bool is_wanted(const struct held *h, int64_t now)
{
	return is_due(h, now) || (h->retry_at <= now && held_state_at(h, now) == HELD_WANTED);
}

bool vault_is_due(const struct vault *v)
{
	int64_t now = time(NULL);

	for (size_t i = 0; i < v->list.n; i++)
		if (is_due(&v->held[i], now))
			return true;
	return false;
}

static bool lacks(const struct vault *v, size_t i, enum secret_part part)
{
	const struct credential_refresh *r = v->list.v[i].refresh;

	if (v->held[i].part[part])
		return false;
	return part == PART_REFRESH ? r != NULL : r && r->client_secret;
}

/*
 * Sources of what makes access tokens are read once, and again after they failed or were refused.
 */
static size_t next_wanted(const struct vault *v, size_t from, bool refresh)
{
	int64_t now = time(NULL);

	for (; from < v->list.n; from++) {
		bool whole = v->list.v[from].refresh && !lacks(v, from, PART_REFRESH) &&
			     !lacks(v, from, PART_CLIENT_SECRET);

		if (is_wanted(&v->held[from], now) && whole == refresh)
			break;
	}
	return from;
}

bool vault_wants_client_secret(const struct vault *v, size_t i)
{
	return lacks(v, i, PART_CLIENT_SECRET);
}

bool vault_wants_source(const struct vault *v, size_t i)
{
	return !v->list.v[i].refresh || lacks(v, i, PART_REFRESH);
}

int64_t vault_next_due(const struct vault *v, int64_t now)
{
	int64_t next = 0;

	for (size_t i = 0; i < v->list.n; i++) {
		const struct held *h = &v->held[i];
		int64_t due = h->renew_at > h->retry_at ? h->renew_at : h->retry_at;

		if (h->state == HELD_READY && h->expires_at && due > now && (!next || due < next))
			next = due;
	}
	return next;
}

size_t vault_next_wanted(const struct vault *v, size_t from)
{
	return next_wanted(v, from, false);
}

size_t vault_next_refresh(const struct vault *v, size_t from)
{
	return next_wanted(v, from, true);
}
