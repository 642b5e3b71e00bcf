/* SPDX-License-Identifier: Apache-2.0 */
/*
 * credential: a secret that the agent uses and never holds: where it may go, in which form, and the
 * secret itself in locked memory. The binding is policy (policy/policy.h, `credentials`); the
 * secret comes from the supervisor.
 */
#ifndef SG_BROKER_CREDENTIAL_H
#define SG_BROKER_CREDENTIAL_H

#include "broker/message.h"
#include "policy/policy.h"

struct vault; /* all credentials of one sandbox */

enum credential_result {
	CREDENTIAL_NONE,      /* none is bound to this request */
	CREDENTIAL_INJECTED,  /* what the sandbox brought was dropped, the secret put in */
	CREDENTIAL_KEPT,      /* pin: keep, and the sandbox brought its own */
	CREDENTIAL_STRICT,    /* pin: strict, and the sandbox brought its own: refuse */
	CREDENTIAL_MISPLACED, /* a placeholder is on its way to where it does not belong: refuse */
	CREDENTIAL_MISSING,   /* bound, but its source failed: refuse */
	CREDENTIAL_STALE,     /* it has to be fetched or refreshed first; ask again when told */
};

/* Acts on a request to a verified server. `which` gets the credential's name for the audit log, or
 * the names of all that were put in, never a value; valid until the next call. */
enum credential_result vault_apply(struct vault *v, struct message *request, const char **which);

/*
 * Masks echoes in an answer's fields, and in bodies that are text or have a length, octet run by
 * octet run (first 64 KiB): of the secrets that are bound to the server of its request. In the
 * answers of others nothing is touched: they could be guesses, and what becomes of one says whether
 * it is right.
 */
void vault_mask_head(struct vault *v, const struct message *request, struct message *answer);
/*
 * The same of all secrets, in one text that no more comes of; octets from what is returned on may
 * begin an echo.
 */
size_t vault_mask_text(const struct vault *v, uint8_t *text, size_t n);
struct mask; /* state over one body: an echo may lie across two runs */
/* NULL: nothing to mask. */
struct mask *mask_new(struct vault *v, const struct message *request, const struct message *answer);
void mask_apply(struct mask *m, uint8_t *octets, size_t n,
		size_t *ready); /* `ready` of the octets may go on */
void mask_free(struct mask *m);

#endif
