/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_link: the supervisor's hold on its broker (process_link.h), and what it has said unasked:
 * which secrets it wants, which it cannot renew, and whom clients have to trust. All of it is kept
 * until the supervisor's loop takes it: it may come between a request and its answer.
 *
 * The broker has credentials by number. Both sides count them in the same way
 * (credential_list_grow()), so what a number stands for is what the supervisor knows by itself:
 * nothing that the broker says decides which source is read.
 */
#ifndef SG_SANDBOX_BROKER_LINK_H
#define SG_SANDBOX_BROKER_LINK_H

#include "base/clock.h"
#include "broker/broker.h"
#include "broker/vault.h"
#include "sandbox/process_link.h"

/*
 * What the broker may want: the source of a credential, the secret of its OAuth client, or, by the
 * number 0, the password of the parent proxy.
 */
enum broker_secret {
	BROKER_SECRET_SOURCE,
	BROKER_SECRET_CLIENT,
	BROKER_SECRET_PARENT,
	BROKER_SECRETS
};

struct broker_link {
	struct process_link process;
	bool ready;
	struct credential_list credentials; /* by their numbers */
	/* By number, which may be beyond them: what it wants may come before its answer. */
	bool wanted[BROKER_SECRETS][VAULT_MAX];
	char *failing[VAULT_MAX];  /* why no secret could be had for it; NULL: nothing new */
	mono_t told[VAULT_MAX];	   /* when that was last told */
	char *parent_trouble;	   /* why the parent proxy carries nothing; NULL: nothing new */
	mono_t told_parent;	   /* when that was last told */
	char *authority;	   /* PEM, unchecked; NULL: nothing new */
	struct refusals *refusals; /* of the requests of all brokers of this link; NULL: none yet */
};

#define BROKER_LINK_NONE \
	((struct broker_link){.process = {.what = "broker", .pidfd = -1, .control = -1}})

static inline bool broker_link_is_there(const struct broker_link *b)
{
	return b->process.pid > 0;
}

/* What its process says unasked is kept from here on. */
void broker_link_listen(struct broker_link *b);

/*
 * Forks the broker, which makes itself ready meanwhile. `control` and `supervisor` of s are made
 * here. The caller blocks all signals. 0, or -1 with the message and no broker.
 */
int broker_link_begin(struct broker_link *b, const struct broker_setup *s,
		      struct err *e) sg_must_check;

/* Waits until it is isolated and ready. 0, with its authority; or -1 with the message and no broker. */
int broker_link_await_ready(struct broker_link *b, struct err *e) sg_must_check;

/* As process_link_set_policy(). */
int broker_link_set_policy(struct broker_link *b, const struct policy *p, uint64_t generation,
			   struct err *e) sg_must_check;

/* Is that secret wanted? And: it is seen to. */
bool broker_link_wants(const struct broker_link *b, size_t number, enum broker_secret part);
void broker_link_take_wanted(struct broker_link *b, size_t number, enum broker_secret part);

/* What its authorities are now, the caller's, or NULL: nothing new. */
char *broker_link_take_authority(struct broker_link *b);

/*
 * What the source of a credential gave: the reading end of a pipe whose other end is closed; or why
 * it gave nothing. What the broker finds to be no secret has failed as well. One that does not take
 * it in time is ended, and asks as the next one.
 */
void broker_link_give_secret(struct broker_link *b, size_t number, enum broker_secret part,
			     int pipe);
void broker_link_fail_secret(struct broker_link *b, size_t number, enum broker_secret part,
			     const char *why);

/*
 * A credential for which no secret can be had, and why, when a person has not been told of it for a
 * minute. False: there is none.
 */
enum { BROKER_TELL_MS = 60000 };
bool broker_link_take_failure(struct broker_link *b, mono_t now, size_t *number, struct err *why);
/* The same of the parent proxy: why it carries nothing. */
bool broker_link_take_parent_trouble(struct broker_link *b, mono_t now, struct err *why);

/* It has ended by itself: says how, and is made ready for the next. */
void broker_link_bury(struct broker_link *b, struct err *how);

/* Ends it, orderly if it takes the hint, without waiting for its end. */
void broker_link_leave(struct broker_link *b);

#endif
