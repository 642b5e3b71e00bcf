/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault: the secrets of one sandbox, and the state of each. What a request gets of them is
 * credential.h's.
 *
 *	wanted --put--> ready --its time is over--> wanted
 *	   \--fail--> failed --put--> ready, or --30 seconds--> wanted
 *	any --not in the policy any more--> ended --in it again--> wanted
 *
 * Credentials are numbered as they come (credential_list_grow()), and a number is never another
 * one's: what the supervisor was asked for may arrive when the policy has changed twice.
 *
 * A secret comes in by vault_put() and leaves only in a request to the server that it is bound to.
 * Everything that is made of it lies in locked memory (locked.h), or in the request.
 */
#ifndef SG_BROKER_VAULT_H
#define SG_BROKER_VAULT_H

#include "broker/credential.h"

enum {
	VAULT_MAX =
		256, /* credentials in the life of a vault; CREDENTIALS_MAX of them are not ended */
	SECRET_MIN = 8, /* a shorter one could not be told from other text in an answer */
	SECRET_MAX = 8000,
};

/* What belongs to one credential; all but the key id are masked in answers. */
enum secret_part {
	PART_VALUE,    /* what is added: a token, a password, the secret key of AWS */
	PART_PREVIOUS, /* the value before: an answer to a request that had it may be under way */
	PART_KEY_ID,   /* AWS: the access key id */
	PART_SESSION,  /* AWS: the session token, if any */
	PART_REFRESH,  /* OAuth: the refresh token */
	PART_CLIENT_SECRET, /* OAuth: the client's, if any */
	SECRET_PARTS,
};

/* Copies the list; `seed` is that of the placeholders (placeholder.h). NULL with the error. */
struct vault *vault_new(const struct credential_list *list, const uint8_t *seed, struct err *e);
void vault_free(struct vault *v);

size_t vault_count(const struct vault *v);
const struct credential *vault_credential(const struct vault *v, size_t i);
/* For the environment of the sandbox. */
const char *vault_placeholder(const struct vault *v, size_t i);

/*
 * Keeps a part; the caller wipes its own copy. The value makes the credential ready until
 * `expires_at`, in seconds since 1970, 0: for ever. 0, or -1 with a sentence piece that never holds
 * the secret.
 */
int vault_put(struct vault *v, size_t i, enum secret_part part, struct span secret,
	      int64_t expires_at, struct err *e) sg_must_check;

/*
 * Keeps what a source printed (policy/secret_text.h): for a credential with `refresh` as the
 * refresh token, for AWS as the keys, else as the value.
 */
int vault_put_source(struct vault *v, size_t i, struct span printed, struct err *e) sg_must_check;

/* The same for the client's secret of one with `refresh`. */
int vault_put_client_secret(struct vault *v, size_t i, struct span printed,
			    struct err *e) sg_must_check;

/*
 * Its source failed, and is asked again in 30 seconds; `why` is for the client's person and the
 * log. A value that is there serves until its end.
 */
void vault_fail(struct vault *v, size_t i, const char *why);
/*
 * Its token endpoint gave no token, and is asked again later and later, up to 10 minutes. `refused`
 * is the part that it does not take any more, which is wiped: its source is read again;
 * SECRET_PARTS: none.
 */
void vault_fail_refresh(struct vault *v, size_t i, const char *why, enum secret_part refused);
/* Why it fails at present; NULL: it does not. */
const char *vault_failure(const struct vault *v, size_t i);

/*
 * Another policy, with these credentials, in the order in which they are looked at. Secrets of
 * those that it does not have are wiped, and nothing is put any more. 0, or -1 with the error, and
 * nothing has changed.
 */
int vault_follow(struct vault *v, const struct credential_list *list, struct err *e) sg_must_check;
/* Is it in the policy? */
bool vault_is_in_force(const struct vault *v, size_t i);

/* A part, or an empty span; valid until the next put. */
struct span vault_part(const struct vault *v, size_t i, enum secret_part part);

/*
 * The first credential from `from` on whose source has to be read: it is not there, or its value
 * was used and will soon be over; vault_count() when there is none. The other one: of those with
 * `refresh` whose sources were read, that need another access token (refresh.h).
 */
size_t vault_next_wanted(const struct vault *v, size_t from);
size_t vault_next_refresh(const struct vault *v, size_t from);
/* Which of its sources have to be read for that. */
bool vault_wants_source(const struct vault *v, size_t i);
bool vault_wants_client_secret(const struct vault *v, size_t i);

/*
 * When the next of the values that are there will want another one, in seconds since 1970; 0: none.
 */
int64_t vault_next_due(const struct vault *v, int64_t now);
/* Does one of them want it already? */
bool vault_is_due(const struct vault *v);

struct vault_set {
	uint8_t bits[VAULT_MAX / 8]; /* credentials by number */
};

static inline void vault_set_add(struct vault_set *s, size_t i)
{
	s->bits[i / 8] |= (uint8_t)(1U << i % 8);
}

static inline bool vault_set_has(const struct vault_set *s, size_t i)
{
	return s->bits[i / 8] & 1U << i % 8;
}

/*
 * Those that the request of the last vault_apply() got. When one of them is taken away its secret
 * is wiped, and an answer that repeats it could not be masked any more.
 */
struct vault_set vault_uses(const struct vault *v);
/* Are all of them in the policy? */
bool vault_has_all(const struct vault *v, const struct vault_set *s);

/* Why the last vault_apply() said CREDENTIAL_MISSING, STRICT or MISPLACED: a sentence piece. */
const char *vault_why(const struct vault *v);

/*
 * Does the signature of this request cover its body? Then vault_apply() says CREDENTIAL_MISSING,
 * and vault_apply_whole() is to be asked, with all of the body.
 */
bool vault_wants_body(const struct vault *v, const struct message *request);
enum credential_result vault_apply_whole(struct vault *v, struct message *request, struct span body,
					 const char **which);

#endif
