/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/broker_link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/refusals.h"
#include "broker/parent.h"

enum { STATUS_PROXY_AUTHENTICATION = 407 };

/* ---- What it says unasked ---- */

static void keep_authority(struct broker_link *b, const json_t *message)
{
	const char *pem = json_string_value(json_object_get(message, "authority"));

	if (!pem)
		return;
	free(b->authority);
	b->authority = strdup(pem);
}

/* The words for them, in messages. */
static const char *const parts[] = {
	[BROKER_SECRET_SOURCE] = "source",
	[BROKER_SECRET_CLIENT] = "client-secret",
	[BROKER_SECRET_PARENT] = PARENT_PART,
};
_Static_assert(sg_array_len(parts) == BROKER_SECRETS, "each has a word");

/* The number of the credential that a message is about, or -1. */
static int number_of(const json_t *message)
{
	const json_t *number = json_object_get(message, "credential");
	json_int_t n = json_integer_value(number);

	return json_is_integer(number) && n >= 0 && n < VAULT_MAX ? (int)n : -1;
}

static void keep_wanted(struct broker_link *b, const json_t *message)
{
	const char *part = json_string_value(json_object_get(message, "part"));
	int n = number_of(message);

	if (n < 0)
		return;
	for (size_t i = 0; i < BROKER_SECRETS; i++)
		if (strcmp(part ? part : parts[BROKER_SECRET_SOURCE], parts[i]) == 0)
			b->wanted[i][n] = true;
}

/* The broker reads the sandbox's octets: it keeps no more of this process than a message has. */
static void keep_text(char **at, const char *text)
{
	free(*at);
	*at = strndup(text, ERR_MAX);
}

static void keep_failure(struct broker_link *b, int number, const char *why)
{
	if (number >= 0 && number < VAULT_MAX && why)
		keep_text(&b->failing[number], why);
}

static void keep_parent_status(struct broker_link *b, json_int_t status)
{
	char why[ERR_MAX];

	if (status < 100 || status > 999)
		return;
	snprintf(why, sizeof(why), "it answers with status %d%s", (int)status,
		 status == STATUS_PROXY_AUTHENTICATION
			 ? ": the user of `upstream_proxy` or the password of "
			   "`upstream_proxy_from` is not what it wants"
			 : "");
	keep_text(&b->parent_trouble, why);
}

static void heard(void *ctx, const json_t *message)
{
	const char *op = json_string_value(json_object_get(message, "op"));

	if (op && strcmp(op, "authority") == 0)
		keep_authority(ctx, message);
	else if (op && strcmp(op, "wanted") == 0)
		keep_wanted(ctx, message);
	else if (op && strcmp(op, "parent-refused") == 0)
		keep_parent_status(ctx, json_integer_value(json_object_get(message, "status")));
	else if (op && strcmp(op, "failing") == 0)
		keep_failure(ctx, number_of(message),
			     json_string_value(json_object_get(message, "why")));
}

bool broker_link_wants(const struct broker_link *b, size_t number, enum broker_secret part)
{
	return number < VAULT_MAX && b->wanted[part][number];
}

void broker_link_take_wanted(struct broker_link *b, size_t number, enum broker_secret part)
{
	if (number < VAULT_MAX)
		b->wanted[part][number] = false;
}

char *broker_link_take_authority(struct broker_link *b)
{
	char *pem = b->authority;

	b->authority = NULL;
	return pem;
}

/* True: it may be told now, and not for a minute after that. */
static bool may_tell(mono_t *told, mono_t now)
{
	if (told->ns != 0 && mono_before(now, mono_add_ms(*told, BROKER_TELL_MS)))
		return false;
	*told = now;
	return true;
}

bool broker_link_take_parent_trouble(struct broker_link *b, mono_t now, struct err *why)
{
	_cleanup_free_ char *text = b->parent_trouble;

	b->parent_trouble = NULL;
	if (!text || !may_tell(&b->told_parent, now))
		return false;
	err_set(why, "%s", text);
	return true;
}

bool broker_link_take_failure(struct broker_link *b, mono_t now, size_t *number, struct err *why)
{
	for (size_t i = 0; i < b->credentials.n && i < VAULT_MAX; i++) {
		_cleanup_free_ char *text = b->failing[i];

		if (!text)
			continue;
		b->failing[i] = NULL;
		if (!may_tell(&b->told[i], now))
			continue;
		err_set(why, "%s", text);
		*number = i;
		return true;
	}
	return false;
}

/* ---- Its life ---- */

static void forget(struct broker_link *b)
{
	credential_list_free(&b->credentials);
	free(b->authority);
	b->authority = NULL;
	free(b->parent_trouble);
	b->parent_trouble = NULL;
	memset(b->wanted, 0, sizeof(b->wanted));
	memset(b->told, 0, sizeof(b->told));
	b->told_parent = (mono_t){0};
	for (size_t i = 0; i < VAULT_MAX; i++) {
		free(b->failing[i]);
		b->failing[i] = NULL;
	}
	b->ready = false;
}

static void become_broker(const void *setup, int control, pid_t supervisor)
{
	struct broker_setup own = *(const struct broker_setup *)setup;

	own.control = control;
	own.supervisor = supervisor;
	_exit(broker_main(&own));
}

/* No broker writes it now. */
static int prepare_refusals(struct broker_link *b)
{
	if (!b->refusals)
		b->refusals = refusals_new();
	if (!b->refusals)
		return -1;
	refusals_mend(b->refusals);
	return 0;
}

void broker_link_listen(struct broker_link *b)
{
	b->process.heard = heard;
	b->process.ctx = b;
}

int broker_link_begin(struct broker_link *b, const struct broker_setup *s, struct err *e)
{
	const struct policy *p = ruleset_policy(s->rules);
	struct broker_setup setup = *s;

	forget(b);
	broker_link_listen(b);
	if (prepare_refusals(b) || credential_list_grow(&b->credentials, policy_credentials(p)))
		return err_set(e, "starting the broker: out of memory");
	setup.refusals = b->refusals;
	return process_link_fork(&b->process, become_broker, &setup, e);
}

int broker_link_await_ready(struct broker_link *b, struct err *e)
{
	json_t *ready = process_link_await_ready(&b->process, e);

	if (!ready)
		return -1;
	keep_authority(b, ready);
	json_decref(ready);
	b->ready = true;
	return 0;
}

void broker_link_bury(struct broker_link *b, struct err *how)
{
	process_link_bury(&b->process, how);
	forget(b);
}

void broker_link_leave(struct broker_link *b)
{
	json_decref(
		process_link_ask(&b->process, json_pack("{s:s}", "op", "stop"), PROCESS_ANSWER_MS));
	process_link_leave(&b->process);
	forget(b);
}

/* ---- Requests ---- */

int broker_link_set_policy(struct broker_link *b, const struct policy *p, uint64_t generation,
			   struct err *e)
{
	struct credential_list grown;

	if (credential_list_copy(&b->credentials, &grown) ||
	    credential_list_grow(&grown, policy_credentials(p))) {
		credential_list_free(&grown);
		return err_set(e, "the policy cannot be handed to the broker: out of memory");
	}
	if (process_link_set_policy(&b->process, p, generation, e)) {
		credential_list_free(&grown);
		return -1;
	}
	credential_list_free(&b->credentials);
	b->credentials = grown;
	return 0;
}

static void fail_secret(struct broker_link *b, size_t number, enum broker_secret part,
			const char *why)
{
	if (part == BROKER_SECRET_PARENT)
		keep_text(&b->parent_trouble, why);
	else
		keep_failure(b, (int)number, why);
}

/*
 * The answer, the caller's. A broker that hangs holds up who waits for the secret: NULL, and the
 * next one asks again.
 */
static json_t *settle(struct broker_link *b, json_t *request, int passed)
{
	json_t *answer = process_link_exchange(&b->process, request, passed, PROCESS_ANSWER_MS);

	if (!answer)
		process_link_kill(&b->process);
	return answer;
}

void broker_link_give_secret(struct broker_link *b, size_t number, enum broker_secret part,
			     int pipe)
{
	json_t *answer = settle(b,
				json_pack("{s:s, s:I, s:s}", "op", "secret", "credential",
					  (json_int_t)number, "part", parts[part]),
				pipe);
	const char *why = json_string_value(json_object_get(answer, "why"));

	if (why)
		fail_secret(b, number, part, why);
	json_decref(answer);
}

void broker_link_fail_secret(struct broker_link *b, size_t number, enum broker_secret part,
			     const char *why)
{
	json_t *request = json_pack("{s:s, s:I, s:s, s:s}", "op", "secret-failed", "credential",
				    (json_int_t)number, "part", parts[part], "why", why);

	fail_secret(b, number, part, why);
	json_decref(settle(b, request, -1));
}
