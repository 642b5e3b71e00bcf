/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ca_store: certificates that are trusted, as a PKCS#12 file (RFC 7292) that Java reads. Pure.
 *
 * Nothing in it is secret, so it is neither encrypted nor has it a MAC: whatever password a program
 * gives, none included, opens it. It holds two SafeContents: one of fixed size, for the sandbox's
 * authorities, filled up by a bag of no known type, which readers pass over; and one for whom the
 * host trusts. All lengths before and after the first are those of the whole for good.
 */
#ifndef SG_SANDBOX_CA_STORE_H
#define SG_SANDBOX_CA_STORE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/compiler.h"

/* The first SafeContents: room for what 64 KiB of PEM hold; less than that, for its length. */
enum { CA_STORE_HEAD = 60 * 1024 };

struct ca_store {
	uint8_t *p; /* allocated: the file, with an empty head */
	size_t n;
	size_t head; /* where the CA_STORE_HEAD octets are that ca_store_head() makes */
};

/* From PEM; without memory: false. */
bool ca_store_make(struct span host, struct ca_store *out) sg_must_check;
void ca_store_free(struct ca_store *s);

/* False when the authorities (PEM) do not fit. */
bool ca_store_head(struct span authorities, uint8_t out[CA_STORE_HEAD]) sg_must_check;

#endif
