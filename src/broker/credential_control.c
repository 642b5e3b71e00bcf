/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/credential_control.h"

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>

#include "broker/locked.h"
#include "broker/parent.h"
#include "broker/refresher.h"

const int credential_control_syscalls[] = {SCMP_SYS(read), -1};

enum { PRINTED_MAX = 16 * 1024 };

/* A `part` of messages; without one it is what `from` gives. */
#define CLIENT_SECRET "client-secret"

/* ---- Asking ---- */

enum { ASKED_SOURCE = 1, ASKED_CLIENT_SECRET = 2 };

static void ask_for(struct broker *b, size_t i, uint8_t what)
{
	if (b->asked[i] & what)
		return;
	b->asked[i] |= what;
	requests_say(b->control,
		     json_pack("{s:s, s:I, s:s*}", "op", "wanted", "credential", (json_int_t)i,
			       "part", what == ASKED_CLIENT_SECRET ? CLIENT_SECRET : NULL));
}

/* Once for each, until there is an answer: a request that waits asks again and again. */
static void ask_for_wanted(struct broker *b)
{
	struct vault *v = b->rules.vault;
	size_t n = vault_count(v);

	for (size_t i = vault_next_wanted(v, 0); i < n; i = vault_next_wanted(v, i + 1)) {
		if (vault_wants_source(v, i))
			ask_for(b, i, ASKED_SOURCE);
		if (vault_wants_client_secret(v, i))
			ask_for(b, i, ASKED_CLIENT_SECRET);
	}
}

static void ask(void *ctx)
{
	struct broker *b = ctx;

	ask_for_wanted(b);
	refresher_start(b->refresher);
}

void credential_control_renew(struct broker *b)
{
	if (b->rules.vault && vault_is_due(b->rules.vault))
		ask(b);
}

/* The supervisor hears once of a failure that goes on. */
void credential_control_refreshed(struct broker *b, size_t i)
{
	const char *why = vault_failure(b->rules.vault, i);

	if (why && !b->told[i])
		requests_say(b->control, json_pack("{s:s, s:I, s:s}", "op", "failing", "credential",
						   (json_int_t)i, "why", why));
	b->told[i] = why != NULL;
	connections_advance(b->connections);
}

/* ---- Answers ---- */

json_t *credential_control_list(void *ctx, const struct request *r)
{
	const struct broker *b = ctx;
	const struct vault *v = b->rules.vault;
	json_t *rows = json_array();

	for (size_t i = 0; v && i < vault_count(v); i++) {
		const struct credential *c = vault_credential(v, i);

		json_array_append_new(rows, json_pack("{s:s, s:s?, s:s, s:b, s:b}", "host", c->host,
						      "env", c->env, "placeholder",
						      vault_placeholder(v, i), "wanted",
						      vault_next_wanted(v, i) == i, "ended",
						      !vault_is_in_force(v, i)));
	}
	return json_pack("{s:o}", "credentials", rows);
}

/* False, with the reason, when the request names none. */
static bool find_credential(const struct broker *b, const struct request *r, size_t *i)
{
	const json_t *n = json_object_get(r->object, "credential");

	if (!b->rules.vault || !json_is_integer(n) || json_integer_value(n) < 0 ||
	    (size_t)json_integer_value(n) >= vault_count(b->rules.vault)) {
		err_set(r->e, "there is no such credential");
		return false;
	}
	*i = (size_t)json_integer_value(n);
	return true;
}

/* All that is in the pipe, whose other end is closed already: nothing is waited for. */
static int read_pipe(int fd, struct buf *out, struct err *e)
{
	ssize_t n;

	if (fcntl(fd, F_GETPIPE_SZ) < 0 || fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
		return err_set(e, "the secret does not come by a pipe");
	while ((n = read(fd, out->p + out->n, out->cap - out->n)) > 0)
		out->n += (size_t)n;
	if (n < 0)
		return err_set(e, "the secret cannot be read: %s", strerror(errno));
	return out->n < out->cap ? 0 : err_set(e, "the secret is larger than 16 KiB");
}

static bool is_client_secret(const struct request *r)
{
	const char *part = json_string_value(json_object_get(r->object, "part"));

	return part && strcmp(part, CLIENT_SECRET) == 0;
}

static void settle(struct broker *b, size_t i, const struct request *r)
{
	b->asked[i] &= (uint8_t) ~(is_client_secret(r) ? ASKED_CLIENT_SECRET : ASKED_SOURCE);
	connections_advance(b->connections);
	refresher_look_ahead(b->refresher);
}

static int put_client_secret(struct vault *v, size_t i, struct span printed, struct err *e)
{
	const struct credential *c = vault_credential(v, i);

	if (vault_put_client_secret(v, i, printed, e) == 0)
		return 0;
	return c->refresh && c->refresh->client_secret
		       ? err_prefix(e, "%s", c->refresh->client_secret)
		       : -1;
}

/* What is no secret is told with its source, as a source that fails is. */
static int put(struct vault *v, size_t i, const struct request *r, struct span printed)
{
	if (is_client_secret(r))
		return put_client_secret(v, i, printed, r->e);
	return vault_put_source(v, i, printed, r->e) == 0
		       ? 0
		       : err_prefix(r->e, "%s", vault_credential(v, i)->from);
}

/* What the pipe brought, in locked memory; NULL: it brought nothing. */
static uint8_t *read_printed(const struct request *r, struct buf *printed)
{
	uint8_t *p = locked_new(PRINTED_MAX + 1, r->e);

	if (!p)
		return NULL;
	*printed = buf_of(p, PRINTED_MAX + 1);
	if (read_pipe(r->passed, printed, r->e) == 0)
		return p;
	locked_free(p, PRINTED_MAX + 1);
	return NULL;
}

static bool is_for_parent(const struct broker *b, const struct request *r)
{
	const char *part = json_string_value(json_object_get(r->object, "part"));

	return b->parent && part && strcmp(part, PARENT_PART) == 0;
}

static json_t *take_password(const struct broker *b, const struct request *r)
{
	struct buf printed;
	uint8_t *p = read_printed(r, &printed);
	int rc;

	if (!p) {
		parent_fail_password(b->parent);
		return NULL;
	}
	rc = parent_put_password(b->parent, buf_span(&printed), r->e);
	locked_free(p, PRINTED_MAX + 1);
	return rc == 0 ? json_object() : NULL;
}

json_t *credential_control_secret(void *ctx, const struct request *r)
{
	struct broker *b = ctx;
	struct buf printed;
	int result = -1;
	uint8_t *p;
	size_t i;

	if (is_for_parent(b, r))
		return take_password(b, r);
	if (!find_credential(b, r, &i))
		return NULL;
	p = read_printed(r, &printed);
	if (p)
		result = put(b->rules.vault, i, r, buf_span(&printed));
	locked_free(p, PRINTED_MAX + 1);
	if (result != 0)
		vault_fail(b->rules.vault, i, r->e->text);
	settle(b, i, r);
	return result == 0 ? json_object() : NULL;
}

json_t *credential_control_failed(void *ctx, const struct request *r)
{
	struct broker *b = ctx;
	const char *why = json_string_value(json_object_get(r->object, "why"));
	size_t i;

	if (is_for_parent(b, r)) {
		parent_fail_password(b->parent);
		return json_object();
	}
	if (!find_credential(b, r, &i))
		return NULL;
	vault_fail(b->rules.vault, i, why ? why : "its source failed");
	settle(b, i, r);
	return json_object();
}

/* ---- Another policy ---- */

/* What was asked for those that are no more may never be answered. */
static int follow(struct broker *b, const struct credential_list *list, struct err *e)
{
	if (vault_follow(b->rules.vault, list, e))
		return -1;
	for (size_t i = 0; i < vault_count(b->rules.vault); i++)
		if (!vault_is_in_force(b->rules.vault, i)) {
			b->asked[i] = 0;
			b->told[i] = false;
		}
	return 0;
}

int credential_control_follow(struct broker *b, const struct credential_list *list, struct err *e)
{
	if (b->rules.vault)
		return follow(b, list, e);
	if (list->n == 0)
		return 0;
	b->rules.vault = vault_new(list, b->placeholder_seed, e);
	b->rules.stale = ask;
	b->rules.stale_ctx = b;
	return b->rules.vault ? 0 : -1;
}
