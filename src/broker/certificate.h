/* SPDX-License-Identifier: Apache-2.0 */
/*
 * certificate: X.509 certificates (RFC 5280) with ECDSA P-256 and SHA-256, as an authority of
 * one sandbox makes them.
 */
#ifndef SG_BROKER_CERTIFICATE_H
#define SG_BROKER_CERTIFICATE_H

#include <stdbool.h>
#include <time.h>

#include <openssl/types.h>

#include "base/name.h"

struct validity {
	time_t from, to;
};

/* P-256, in the heap of secrets. NULL: OpenSSL failed. */
EVP_PKEY *certificate_new_key(void);

/* Of a CA for `sandbox`, signed with its own key; constrained to `names` and no address when
 * there are any. */
X509 *certificate_new_authority(EVP_PKEY *key, const char *sandbox, const struct name *names,
				size_t n_names, struct validity validity);

/* Of a server with that name, signed by the authority. */
X509 *certificate_new_leaf(EVP_PKEY *leaf_key, const struct name *name, struct validity validity,
			   X509 *authority, EVP_PKEY *authority_key);

#endif
