/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/credential_control.h"

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>

#include "broker/locked.h"

const int credential_control_syscalls[] = {SCMP_SYS(read), -1};

enum { PRINTED_MAX = 16 * 1024 };

/* ---- Asking ---- */

/* Once for each, until there is an answer: a request that waits asks again and again. */
static void ask_for_wanted(void *ctx)
{
	struct broker *b = ctx;
	struct vault *v = b->rules.vault;
	size_t n = vault_count(v);

	for (size_t i = vault_next_wanted(v, 0); i < n; i = vault_next_wanted(v, i + 1)) {
		if (b->asked[i])
			continue;
		b->asked[i] = true;
		requests_say(b->control,
			     json_pack("{s:s, s:I}", "op", "wanted", "credential", (json_int_t)i));
	}
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

static void settle(struct broker *b, size_t i)
{
	b->asked[i] = false;
	connections_advance(b->connections);
}

json_t *credential_control_secret(void *ctx, const struct request *r)
{
	struct broker *b = ctx;
	uint8_t *p;
	struct buf printed;
	size_t i;
	int result;

	if (!find_credential(b, r, &i))
		return NULL;
	p = locked_new(PRINTED_MAX + 1, r->e);
	if (!p)
		return NULL;
	printed = buf_of(p, PRINTED_MAX + 1);
	result = read_pipe(r->passed, &printed, r->e);
	if (result == 0)
		result = vault_put_source(b->rules.vault, i, buf_span(&printed), r->e);
	locked_free(p, PRINTED_MAX + 1);
	if (result != 0)
		vault_fail(b->rules.vault, i, r->e->text);
	settle(b, i);
	return result == 0 ? json_object() : NULL;
}

json_t *credential_control_failed(void *ctx, const struct request *r)
{
	struct broker *b = ctx;
	const char *why = json_string_value(json_object_get(r->object, "why"));
	size_t i;

	if (!find_credential(b, r, &i))
		return NULL;
	vault_fail(b->rules.vault, i, why ? why : "its source failed");
	settle(b, i);
	return json_object();
}

/* ---- Another policy ---- */

int credential_control_follow(struct broker *b, const struct credential_list *list, struct err *e)
{
	if (b->rules.vault)
		return vault_follow(b->rules.vault, list, e);
	if (list->n == 0)
		return 0;
	b->rules.vault = vault_new(list, b->placeholder_seed, e);
	b->rules.stale = ask_for_wanted;
	b->rules.stale_ctx = b;
	return b->rules.vault ? 0 : -1;
}
