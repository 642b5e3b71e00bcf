/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 *	free --wanted--> reading --its reader has ended--> resting --a second after its start--> free
 *
 * One at a time for each secret, and one a second: the broker reads the sandbox's octets, and a
 * source may be a program that asks a person, or a service. What is wanted meanwhile waits in the
 * broker's link.
 */
#include "sandbox/secret/secret_fetch.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Beginning ---- */

static struct secret_fetch *find_free(struct secret_fetches *f)
{
	for (size_t i = 0; i < SECRET_FETCHES_MAX; i++)
		if (!f->v[i].used)
			return &f->v[i];
	return NULL;
}

static bool is_under_way(const struct secret_fetches *f, size_t number, enum broker_secret part)
{
	for (size_t i = 0; i < SECRET_FETCHES_MAX; i++)
		if (f->v[i].used && f->v[i].number == number && f->v[i].part == part)
			return true;
	return false;
}

static bool is_in_force(const struct policy *p, const struct credential *c)
{
	const struct credential_list *list = policy_credentials(p);

	for (size_t i = 0; i < list->n; i++)
		if (credential_is_same(&list->v[i], c))
			return true;
	return false;
}

/* NULL: there is none, or no more. `*host` gets whose it is. */
static const char *source_of(const struct secret_fetches *f, const struct broker_link *b,
			     const struct policy *policy, const struct secret_fetch *s,
			     const char **host)
{
	const struct credential *c;

	*host = "";
	if (s->part == BROKER_SECRET_PARENT)
		return f->parent_from;
	c = &b->credentials.v[s->number];
	*host = c->host;
	if (!is_in_force(policy, c))
		return NULL;
	if (s->part == BROKER_SECRET_SOURCE)
		return c->from;
	return c->refresh ? c->refresh->client_secret : NULL;
}

/* How many may be wanted of a part. */
static size_t count(const struct broker_link *b, enum broker_secret part)
{
	return part == BROKER_SECRET_PARENT ? 1 : b->credentials.n;
}

static void give(const struct secret_fetch *s, struct broker_link *b, int fd, const struct err *e)
{
	if (fd < 0) {
		broker_link_fail_secret(b, s->number, s->part, e->text);
		return;
	}
	broker_link_give_secret(b, s->number, s->part, fd);
	close(fd);
}

/* Begins it, or answers at once. */
static void begin(struct secret_fetch *s, struct broker_link *b, const struct secret_keep *keep,
		  const char *host)
{
	struct err e;
	int fd = -1;

	if (secret_keep_has_kind(s->from))
		fd = secret_keep_open(keep, s->from, &e);
	else if (secret_reader_start(&s->reader, s->from, host, &e) == 0)
		return;
	give(s, b, fd, &e);
}

static void begin_number(struct secret_fetches *f, struct broker_link *b,
			 const struct secret_keep *keep, const struct policy *policy,
			 struct secret_fetch *s, mono_t now)
{
	const char *host, *from = source_of(f, b, policy, s, &host);
	struct err e;

	/* Whatever comes of it: the next time not before it has rested. */
	s->used = true;
	s->rest_until = mono_add_ms(now, SECRET_FETCH_REST_MS);
	s->from = from ? strdup(from) : NULL;
	if (s->from) {
		begin(s, b, keep, host);
		return;
	}
	err_set(&e, from ? "out of memory" : "the policy does not have it any more");
	give(s, b, -1, &e);
}

void secret_fetch_begin(struct secret_fetches *f, struct broker_link *b,
			const struct secret_keep *keep, const struct policy *policy, mono_t now)
{
	for (int part = 0; part < BROKER_SECRETS; part++)
		for (size_t i = 0; i < count(b, part); i++) {
			struct secret_fetch *s = find_free(f);

			if (!s)
				return;
			if (!broker_link_wants(b, i, part) || is_under_way(f, i, part))
				continue;
			broker_link_take_wanted(b, i, part);
			*s = (struct secret_fetch){
				.number = i,
				.part = part,
				.reader = {.pidfd = -1, .secret = -1, .why = -1}};
			begin_number(f, b, keep, policy, s, now);
		}
}

/* ---- Waiting ---- */

void secret_fetch_poll(const struct secret_fetches *f, struct pollfd fds[SECRET_FETCHES_MAX])
{
	for (size_t i = 0; i < SECRET_FETCHES_MAX; i++)
		fds[i] = (struct pollfd){
			.fd = f->v[i].used ? f->v[i].reader.pidfd : -1,
			.events = POLLIN,
		};
}

static mono_t due_of(const struct secret_fetch *s)
{
	return s->reader.pid > 0 ? s->reader.until : s->rest_until;
}

bool secret_fetch_next_deadline(const struct secret_fetches *f, mono_t *at)
{
	bool any = false;

	for (size_t i = 0; i < SECRET_FETCHES_MAX; i++) {
		if (!f->v[i].used || (any && !mono_before(due_of(&f->v[i]), *at)))
			continue;
		*at = due_of(&f->v[i]);
		any = true;
	}
	return any;
}

static void release(struct secret_fetch *s)
{
	free(s->from);
	*s = (struct secret_fetch){.reader = {.pidfd = -1, .secret = -1, .why = -1}};
}

static void finish(struct secret_fetch *s, struct broker_link *b)
{
	struct err e;
	int fd = secret_reader_finish(&s->reader, s->from, &e);

	give(s, b, fd, &e);
}

void secret_fetch_serve(struct secret_fetches *f, struct broker_link *b, const struct pollfd *fds,
			mono_t now)
{
	for (size_t i = 0; i < SECRET_FETCHES_MAX; i++) {
		struct secret_fetch *s = &f->v[i];
		bool due;

		if (!s->used)
			continue;
		due = !mono_before(now, due_of(s));
		if (s->reader.pid > 0 && (due || fds[i].revents))
			finish(s, b);
		if (s->reader.pid <= 0 && !mono_before(now, s->rest_until))
			release(s);
	}
}

void secret_fetch_abandon(struct secret_fetches *f)
{
	for (size_t i = 0; i < SECRET_FETCHES_MAX; i++) {
		if (!f->v[i].used)
			continue;
		if (f->v[i].reader.pid > 0)
			secret_reader_abandon(&f->v[i].reader);
		release(&f->v[i]);
	}
}
